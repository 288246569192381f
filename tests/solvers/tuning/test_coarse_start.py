"""Automatic fits of large, smooth data begin at the ring of their block medians: when, and what is promised."""

from dataclasses import replace

import numpy as np
import pytest
import zarr

from ringlet import AWRTRD, target
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.tuning.automatic import PathRun, start_automatic
from ringlet.solvers.tuning.coarse_start import coarse_start
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.validator import Validator, hold_out
from ringlet.sources import as_source
from tuning_fits import bits, error, hills, photo_fields, spoiled_hills, tuned

SOLVER = AWRTRD(smooth="auto", sweeps=20, threads=1)
ALWAYS = TuningPolicy(coarse_from_entries=0)  # also of small data


PATIENT = AWRTRD(smooth="auto", sweeps=80)


@pytest.fixture(scope="module")
def damaged_hills():
    """Hills with noise and wrong entries, and which entries are observed."""
    return spoiled_hills(hills())


@pytest.fixture(scope="module")
def hills_fit(damaged_hills):
    """A fit of the hills that begins with medians."""
    x, observed = damaged_hills
    return tuned(x, solver=PATIENT, mask=observed, policy=ALWAYS)


def start_of(x, observed=None, rank="auto", solver=SOLVER, policy=ALWAYS):
    """Where a fit of these data begins; None: at a nearly constant tensor."""
    source = as_source(x, observed)
    problem = Problem(source, first_look(source, None), (3,) * x.ndim, 0, choice=RankChoice.of(rank))
    seen = hold_out(problem, policy).seen
    return coarse_start(start_automatic, solver, seen, policy)


def test_a_fit_that_begins_with_medians_is_better_from_the_first_round_on(damaged_hills, hills_fit):
    truth, (x, observed) = hills(), damaged_hills
    first = tuned(x, solver=SOLVER, mask=observed, callback=lambda _: True, policy=ALWAYS)
    assert error(hills_fit, truth) < error(first, truth) < 0.15
    assert start_of(x, observed).penalties.smooth[2] == 0.0  # the colours were not made coarse
    never = replace(ALWAYS, coarse_start=False)
    assert error(tuned(x, solver=SOLVER, mask=observed, callback=lambda _: True, policy=never), truth) > 0.3


def test_entries_are_judged_before_the_first_sweep(damaged_hills):
    x, observed = damaged_hills
    first = tuned(x, solver=SOLVER, mask=observed, callback=lambda _: True, policy=ALWAYS)
    assert first.history[0].mean_weight == 1.0  # no kernel weighs those that are believed


@pytest.mark.long
def test_wrong_medians_are_judged():
    rng = np.random.default_rng(0)
    one, other = photo_fields((144, 132), 1.5, rng)
    scene = np.stack([120 + 30 * one, 110 + 25 * one + 10 * other, 100 + 20 * other], 2)
    rows, columns = np.mgrid[:144, :132]
    passing = [np.exp(-((rows - 72) ** 2 + (columns - 20 - 12 * frame) ** 2) / 40) for frame in range(8)]
    truth = np.clip(scene[..., np.newaxis] + 80 * np.stack(passing, 2)[:, :, np.newaxis], 0, 255)
    x, wrong = truth.copy(), rng.random(truth.shape) < 0.2
    x[wrong] = rng.choice([0.0, 255.0], truth.shape)[wrong]
    start = start_of(x, rng.random(truth.shape) < 0.3)  # most medians are those of one or two entries
    assert np.sqrt(np.mean((np.asarray(start.ring) - truth) ** 2)) < 0.15 * truth.std()  # by a kernel 0.18


def test_medians_do_not_know_the_held_out_entries():
    x, observed = spoiled_hills(hills())
    _, mask = Validator.of(as_source(x, observed), int(observed.sum()), 0)
    held = mask.drawn((slice(None),) * 3, (0, 1, 2)) & observed
    assert held.sum() > 500
    one, other = (start_of(data, observed) for data in (x, np.where(held, 1e5 * x[::-1], x)))
    for core, same in zip(one.ring.cores, other.ring.cores, strict=True):
        np.testing.assert_array_equal(core, same)


def test_the_bits_depend_neither_on_threads_nor_on_interruptions(tmp_path, monkeypatch):
    x, observed = spoiled_hills(hills())

    def fit(sweeps, threads, checkpoint=None):
        solver = AWRTRD(smooth="auto", sweeps=sweeps, tol=0, threads=threads)
        return tuned(x, solver=solver, mask=observed, checkpoint=checkpoint, policy=ALWAYS)

    def refuse(*_):
        raise AssertionError("a resumed fit begins where it was, not at the medians")

    whole = fit(6, 3)
    fit(3, 1, tmp_path / "fit")
    monkeypatch.setattr(PathRun, "prepare", refuse)
    assert bits(fit(6, 1, tmp_path / "fit")) == bits(whole)
    with pytest.raises(AssertionError, match="at the medians"):
        fit(6, 1)  # which does begin there


@pytest.mark.parametrize("case", ["no order", "stored", "little memory", "a given rank", "given smoothness", "small"])
def test_other_fits_begin_as_before(case, tmp_path):
    truth = hills()
    if case == "no order":
        truth = truth[np.random.default_rng(0).permutation(144)][:, np.random.default_rng(1).permutation(132)]
    x, observed = spoiled_hills(truth)
    given = {}
    if case == "stored":
        x = zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(72, 66, 3))
    if case == "little memory":
        given = {
            "policy": TuningPolicy(coarse_from_entries=0, coarse_room=1000),
            "solver": AWRTRD(smooth="auto", sweeps=1, memory="10MB"),
        }
    if case == "a given rank":
        given = {"rank": 3}
    if case == "given smoothness":
        given = {"solver": AWRTRD(smooth=0.1, sweeps=1)}
    if case == "small":
        given = {"policy": TuningPolicy()}
    assert start_of(x, observed, **given) is None


def test_a_target_is_kept_in_mind(damaged_hills, hills_fit):
    x, observed = damaged_hills
    aim = target(psnr=22, trusted=True)
    assert start_of(x, observed, aim) is not None
    low = tuned(x, aim, solver=PATIENT, mask=observed, policy=ALWAYS)
    assert low.ring.parameters < hills_fit.ring.parameters


@pytest.mark.parametrize("channels", [3, 4])
def test_long_thin_data_are_fitted(channels):
    """Hardly any ring of them or of their medians is small."""
    times = np.arange(4000)[:, np.newaxis]
    x = (3 + np.sin(times / 300) * [1.0, 2.0, 0.5, 0.1][:channels]).astype(np.float32)
    assert start_of(x) is not None
    assert error(tuned(x, solver=SOLVER, policy=ALWAYS), x) < 1e-3


def test_data_whose_medians_have_no_small_ring_begin_with_a_constant():
    x = np.sin(np.arange(4000.0) / 300)[:, np.newaxis]
    assert start_of(x) is None
    assert np.isfinite(np.asarray(tuned(x, solver=SOLVER, policy=ALWAYS).ring)).all()
