"""Paths of automatic fits in which entries are judged: loss="learned"."""

from dataclasses import replace

import numpy as np
import pytest
from skimage import data

from oracles import dense, random_cores
from ringlet import AWRTRD, decompose
from ringlet.request import FitRequest
from ringlet.solvers.tuning.path import PathRules
from ringlet.solvers.tuning.path_state import Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks
from tuning_fits import bits, error, spoiled, tuned, waves


def small_photo():
    return data.astronaut()[::4, ::4].copy()


def peppered(x, rng, share=0.2):
    drawn = rng.random(x.shape)
    damaged = x.copy()
    damaged[drawn < share / 2], damaged[drawn > 1 - share / 2] = 0, 255
    return damaged


@pytest.fixture(scope="module")
def peppered_fit():
    """The peppered photo, and its fit."""
    damaged = peppered(small_photo(), np.random.default_rng(0))
    return damaged, decompose(damaged, loss="learned")


def test_exact_data_are_found_by_a_ring_that_is_hardly_larger():
    truth = dense(random_cores((30, 28, 26), (3, 3, 3), seed=1))
    fit = decompose(truth, loss="learned")
    assert error(fit, truth) < 1e-5
    assert max(fit.ring.rank) <= 6


def test_salt_and_pepper_do_less_harm_than_with_a_kernel(peppered_fit):
    truth, (damaged, fit) = small_photo(), peppered_fit
    learned, kernel = np.asarray(fit.ring), np.asarray(decompose(damaged, loss="correntropy").ring)
    assert np.std(learned - truth) < 0.9 * np.std(kernel - truth)


def test_wrong_entries_are_not_believed():
    truth = waves()
    x, observed = spoiled(truth, 0.9, 0.1)
    judged, plain = decompose(x, mask=observed, loss="learned"), decompose(x, mask=observed, loss="l2")
    assert error(judged, truth) < 0.2 * error(plain, truth)


def test_the_path_is_told(peppered_fit):
    _, fit = peppered_fit
    sizes = [rung.parameters for rung in fit.path]
    assert len(sizes) > 1
    assert sizes == sorted(sizes)
    assert min(rung.validation for rung in fit.path[1:]) < fit.path[0].validation
    assert decompose(waves(), 3, loss="learned").path == ()


def test_penalties_of_large_data_are_tried_again_as_soon_as_the_best_rung_is_taken_up(monkeypatch):
    climbed, found = PathRules.climbed, []

    def spy(self, path, number):
        after = climbed(self, path, number)
        if after.at.phase is Phase.POLISHING:
            found.append((after.at.tuned_at, set(after.at.parameters.size)))
        return after

    monkeypatch.setattr(PathRules, "climbed", spy)
    for large_from in (0, 1 << 18):
        tuned(waves(), policy=TuningPolicy(last_judging_entries=large_from))
    (at_once, sizes), (later, _) = found
    assert sizes == {0}
    assert at_once < later == np.inf


def test_a_fit_goes_on_from_its_checkpoint_to_the_same_bits(tmp_path):
    x = peppered(small_photo()[:60, :50], np.random.default_rng(0))
    solver = AWRTRD(loss="learned")
    whole = decompose(x, solver=solver)
    for last in (3, 9, len(whole.history) - 1):
        folder = tmp_path / str(last)
        decompose(x, solver=solver, checkpoint=folder, callback=lambda state, last=last: state.sweep == last)
        resumed = decompose(x, solver=solver, checkpoint=folder)
        assert [record.change for record in resumed.history] == [record.change for record in whole.history]
        for core, other in zip(resumed.ring.cores, whole.ring.cores, strict=True):
            np.testing.assert_array_equal(core, other)
        assert [rung.rank for rung in resumed.path] == [rung.rank for rung in whole.path]


def test_a_fit_that_was_resumed_after_the_last_judgement_restores_the_same(tmp_path):
    """What was judged is not in the checkpoint: it is judged again."""
    x = peppered(small_photo()[:60, :50], np.random.default_rng(0))
    policy = TuningPolicy(last_judging_entries=0)
    whole = tuned(x, policy=policy)
    last = len(whole.history) - 1
    tuned(x, policy=policy, checkpoint=tmp_path / "run", callback=lambda state: state.sweep == last)
    resumed = tuned(x, policy=policy, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(resumed.weights(), whole.weights())
    np.testing.assert_array_equal(resumed.restored(), whole.restored())


def test_the_last_judgement_of_a_store_leaves_out_what_the_detail_leaves_out(tmp_path):
    """Entries of stuck detectors: a fit that was resumed judges without them, so a whole one must, too."""
    x = peppered(small_photo()[:60, :50], np.random.default_rng(0), share=0.05)
    x[10:50, 7, 1] = 77
    source = ChunkedSource(x, regular_chunks(x.shape, (30, 25, 3)))
    request = FitRequest(policy=TuningPolicy(last_judging_entries=0))
    whole = request.run(source)
    last = len(whole.history) - 1
    checked = replace(request, checkpoint=tmp_path / "run")
    replace(checked, callback=lambda state: state.sweep == last).run(source)
    resumed = checked.run(source)
    np.testing.assert_array_equal(resumed.weights(), whole.weights())
    np.testing.assert_array_equal(resumed.restored(), whole.restored())
    assert not whole.weights()[10:50, 7, 1].any()


def test_threads_change_no_bit():
    x = peppered(small_photo()[:70, :60], np.random.default_rng(0))
    one, two = (decompose(x, loss="learned", threads=threads) for threads in (1, 2))
    for core, other in zip(one.ring.cores, two.ring.cores, strict=True):
        np.testing.assert_array_equal(core, other)


@pytest.mark.parametrize("level", [0.0, 1e-12, 0.05])
def test_rare_content_before_a_background_is_believed(level):
    x = np.full((60, 50, 20), level, np.float32)
    content = np.add.outer(np.add.outer(np.arange(12), np.arange(10)), np.arange(20)) / 40 + 0.1  # 4 % of the entries
    x[:12, :10] += content
    found = np.asarray(decompose(x, (3, 3, 3), loss="learned").ring)[:12, :10] - level
    assert np.linalg.norm(found - content) < 0.02 * np.linalg.norm(content)


def test_constant_and_tiny_data_are_not_judged():
    for x in (np.zeros((6, 5, 4)), np.full((9, 8, 7), 3.0)):
        assert np.abs(np.asarray(decompose(x, 2, loss="learned").ring) - x).max() < 1e-3


def test_fill_values_that_were_left_in_hide_no_other_errors():
    """Between data and -9999 lie no values: the errors there are must not look unlikely because of the gap."""
    rng = np.random.default_rng(0)
    i, j, k = np.ogrid[:40, :50, :24]
    truth = 20 + 5 * np.sin(i / 6) + 3 * np.cos(j / 9) * np.sin(k / 4)
    x = truth + 0.1 * rng.standard_normal(truth.shape)
    x[rng.random(x.shape) < 0.05] += 15
    x[rng.random(x.shape) < 0.02] = -9999
    x[rng.random(x.shape) < 0.3] = np.nan
    fit = decompose(x, loss="learned")
    assert np.std(np.asarray(fit.ring) - truth) < 0.03
    assert np.std(fit.restored() - truth) < 0.03


def test_objects_before_a_background_are_not_taken_for_errors():
    """A small ring reaches few of them; what is left out at first must not stay so."""
    rng = np.random.default_rng(0)
    axes = np.meshgrid(*(np.linspace(-1, 1, length) for length in (36, 32, 28)), indexing="ij")
    x = np.zeros(axes[0].shape)
    for _ in range(6):
        centre, radius, level = rng.uniform(-0.35, 0.35, 3), rng.uniform(0.25, 0.5, 3), rng.uniform(80, 240)
        offsets = [(axis - place) / size for axis, place, size in zip(axes, centre, radius, strict=True)]
        x[sum(offset**2 for offset in offsets) < 1] = level
    hidden = rng.random(x.shape) < 0.3
    rms = [
        np.sqrt(np.mean((np.asarray(decompose(x, mask=~hidden, loss=loss).ring) - x)[hidden] ** 2))
        for loss in ("learned", "l2")
    ]
    assert rms[0] < 1.2 * rms[1]


def half_known_log(seed):
    """Days, hours and sensors of a log of rank 3, and the log with a tenth of random values and half of it missing."""
    rng = np.random.default_rng(seed)
    hours = np.arange(24) / 24
    terms = [
        np.einsum(
            "i,j,k",
            rng.uniform(0.3, 1, 28),
            2 + np.cos(2 * np.pi * (hours - rng.random())) + 0.5 * np.cos(4 * np.pi * (hours - rng.random())),
            rng.uniform(0.2, 1, 12),
        )
        for _ in range(3)
    ]
    truth = np.sum(terms, axis=0)
    truth /= np.ptp(truth)
    x = truth + 0.002 * rng.standard_normal(truth.shape)
    wrong = rng.random(x.shape) < 0.1
    x[wrong] = rng.uniform(x.min(), x.max(), wrong.sum())
    x[rng.random(x.shape) < 0.5] = np.nan
    return truth, x


@pytest.mark.parametrize("seed", [2, 4, 7])
def test_small_logs_do_not_keep_what_the_first_small_ring_has_learned(seed):
    truth, x = half_known_log(seed)
    assert np.std(np.asarray(decompose(x).ring) - truth) < 1.2e-3  # noise of 2e-3; errors of a tenth to 1


def test_another_path_is_kept_only_if_it_is_better(monkeypatch):
    def worse(rules, path, _):
        path = rules.entries.strictly_judged(path)
        return replace(path, now=path.trials.with_cores(path.now, [0.9 * core for core in path.now.state.cores]))

    _, x = half_known_log(4)
    alone = tuned(x, policy=TuningPolicy(begins_again=False))
    assert bits(tuned(x)) != bits(alone)
    monkeypatch.setattr(PathRules, "_another", worse)  # no data make another path worse for certain
    assert bits(tuned(x)) == bits(alone)


def other_paths(monkeypatch, x, change=lambda rules: rules):
    """The other paths of a fit, and the number of sweeps of each."""
    another, swept, found = PathRules._another, PathRules.swept, []

    def spy(rules, path, first):
        sweeps = []
        monkeypatch.setattr(PathRules, "swept", lambda *given: sweeps.append(given) or swept(*given))
        other = another(change(rules), path, first)
        found.append((other, len(sweeps)))
        return other

    monkeypatch.setattr(PathRules, "_another", spy)  # a fit tells nothing of paths that are not kept
    tuned(x)
    return found


def test_another_path_ends_with_the_time_of_the_fit(monkeypatch):
    def late(rules):
        return replace(rules, entries=replace(rules.entries, deadline=0.0))

    found = other_paths(monkeypatch, half_known_log(4)[1], late)
    assert [sweeps for _, sweeps in found] == [1]


@pytest.mark.parametrize("sweeps", [3, 9, 14])
def test_another_path_whose_sweeps_are_used_up_is_at_its_best_ring(monkeypatch, sweeps):
    """With the entries that a larger ring would need, the fit would not go on from its checkpoint to the same bits."""
    monkeypatch.setattr("ringlet.solvers.tuning.path._SWEEPS", sweeps)  # no small data use up 80
    for other, _ in other_paths(monkeypatch, half_known_log(4)[1]):
        assert other.at.phase is Phase.POLISHING
        assert other.now.state.enough_for is None
        assert other.trials.compare(other.now, other.best).gain >= 0
