"""Ranks, penalties and widths chosen by held-out entries: what is promised of them."""

import warnings

import numpy as np
import pytest
from skimage import data, transform

import ringlet
from oracles import dense, random_cores
from reference_awrtrd import path_laplacian
from reference_awrtrd import sweep as reference_sweep
from ringlet import AWRTRD, SAWRTRD, complete, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning
from ringlet.ring.kronecker import KroneckerSum
from ringlet.solvers.engine import smoothness as smoothness
from ringlet.solvers.tuning import controller as automatic_run
from ringlet.solvers.tuning.bond_expansion import evened, widen, with_features
from ringlet.solvers.tuning.holdout import HiddenSource, Judge, Lot, Verdict, hide
from ringlet.solvers.tuning.tuned_parameters import Knob, Knobs, Penalties
from ringlet.sources import as_source

QUICK = AWRTRD(smooth="auto", sweeps=16, threads=1)


def waves(shape=(40, 36, 5), rank=3, seed=0):
    """A tensor of low rank that is smooth along all modes, of size about one."""
    rng = np.random.default_rng(seed)
    places = [np.linspace(0, 1, length) for length in shape]
    terms = [
        np.multiply.outer(
            np.multiply.outer(*(np.cos(rng.uniform(1, 6) * place + rng.uniform(0, 6)) for place in places[:2])),
            np.cos(rng.uniform(1, 6) * places[2] + rng.uniform(0, 6)),
        )
        for _ in range(rank)
    ]
    return np.sum(terms, axis=0)


def spoiled(truth, observed, outliers, seed=1, noise=0.01):
    rng = np.random.default_rng(seed)
    x = truth + noise * rng.standard_normal(truth.shape)
    x[rng.random(truth.shape) < outliers] = truth.max() * 3
    return x, rng.random(truth.shape) < observed


def photo_fields(shape, slope, rng):
    """Two pictures with the spectrum of photos."""
    distances = np.hypot(*np.meshgrid(*(length * np.fft.fftfreq(length) for length in shape), indexing="ij"))
    spectra = [np.fft.fft2(rng.standard_normal(shape)) / np.maximum(distances, 1) ** slope for _ in range(2)]
    return [field / field.std() for field in map(np.real, map(np.fft.ifft2, spectra))]


def error(fit, truth):
    return np.linalg.norm(np.asarray(fit.ring) - truth) / np.linalg.norm(truth)


@pytest.fixture
def penalties(monkeypatch):
    """The penalties of every automatic fit at its end."""
    runs, begin = [], automatic_run.AutomaticRun.__init__

    def note(run, *given, **named):
        runs.append(run)
        begin(run, *given, **named)

    monkeypatch.setattr(automatic_run.AutomaticRun, "__init__", note)
    return lambda: runs[-1].penalties


@pytest.fixture
def narrow_bands(monkeypatch):
    """Every frequency gets its own factorisation, so that the scaling is exact."""
    monkeypatch.setattr(smoothness, "_BAND", 1.0001)
    monkeypatch.setattr(smoothness, "_FLOOR", 1e-9)


def test_a_smooth_sweep_equals_the_dense_reference(narrow_bands):
    shape, rank, smooth = (6, 5, 3, 4), (2, 3, 2, 2), (0.4, 3.0, 0.0, 0.1)
    x = dense(random_cores(shape, rank, seed=0)) + 3.0
    observed = np.random.default_rng(3).random(shape) < 0.7
    init = expected = random_cores(shape, rank, seed=5)
    solver = AWRTRD(sweeps=2, tol=0, sigma=2.5, ridge=0.02, smooth=dict(enumerate(smooth)))
    fit = decompose(x, rank, solver=solver, mask=observed, init=init)
    for _ in range(2):
        expected = reference_sweep(expected, x, observed, 2.5, "correntropy", 0.02, "global", smooth)
    np.testing.assert_allclose(np.asarray(fit.ring), dense(expected), rtol=1e-6, atol=1e-7)


def test_the_cosine_transform_makes_the_laplacian_diagonal():
    rows = np.random.default_rng(0).standard_normal((7, 3))
    laplacian = path_laplacian(7)
    np.testing.assert_allclose(smoothness.laplacian(rows), laplacian @ rows, atol=1e-12)
    np.testing.assert_allclose(smoothness.frequencies(7), np.linalg.eigvalsh(laplacian), atol=1e-12)
    assert smoothness.roughness(rows) == pytest.approx(np.sum(rows * (laplacian @ rows)))


@pytest.mark.parametrize("strength", [1e-4, 0.1, 30.0])
def test_bands_give_nearly_the_exact_scaling(strength):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((8, 6))
    gram, rows = half.T @ half, rng.standard_normal((50, 6))
    system = np.kron(np.eye(50), gram + 0.01 * np.eye(6)) + strength * np.kron(path_laplacian(50), np.eye(6))
    exact = np.linalg.solve(system, rows.ravel()).reshape(rows.shape)
    found = smoothness.smooth_solve(KroneckerSum(np.eye(1)[None], gram[None]), 0.01, strength, rows, map)
    assert np.sum(rows * found) > 0
    assert np.linalg.norm(found - exact) < 0.5 * np.linalg.norm(exact)
    cosine = np.sum(found * exact) / np.linalg.norm(found) / np.linalg.norm(exact)
    assert cosine > 0.9


def test_a_lot_draws_its_share_everywhere_and_the_same_whatever_is_read():
    lot = Lot.of((60, 50, 40), 0.05, seed=3)
    whole = lot.drawn((slice(None),) * 3, (0, 1, 2))
    assert 0.045 < whole.mean() < 0.055
    for axis in range(3):
        shares = whole.mean(axis=tuple(other for other in range(3) if other != axis))
        assert shares.min() > 0
        assert shares.max() < 0.12
    part = (np.array([3, 17]), slice(5, 9), slice(None))
    np.testing.assert_array_equal(lot.drawn(part, (2, 0, 1)), whole[np.ix_([3, 17], range(5, 9))].transpose(2, 0, 1))
    source = as_source(np.zeros((60, 50, 40)))
    for hidden in (hide(source, lot), HiddenSource(source, lot)):
        np.testing.assert_array_equal(hidden.read(part)[1], ~whole[np.ix_([3, 17], range(5, 9))])


@pytest.mark.parametrize("rank", ["auto", 3])
def test_held_out_entries_never_influence_the_fit(rank, monkeypatch):
    monkeypatch.setattr(Judge, "compare", lambda *_: Verdict(0.2, 3.0, 0.1))  # what they are to influence: the choices
    x, observed = spoiled(waves(), 0.8, 0.1)
    _, lot = Judge.of(as_source(x, observed), int(observed.sum()), 0)
    held = lot.drawn((slice(None),) * 3, (0, 1, 2)) & observed
    rings = [
        decompose(data, rank, solver=QUICK, mask=observed, callback=lambda state: state.sweep == 6).ring
        for data in (x, np.where(held, x[::-1] * 1e5, x))
    ]
    np.testing.assert_array_equal(np.asarray(rings[0]), np.asarray(rings[1]))
    assert held.sum() > 100


def test_outliers_do_not_mislead_the_judge():
    truth = waves()
    x, _ = spoiled(truth, 1.0, 0.4)
    judge, _ = Judge.of(as_source(x), x.size, 0)
    near = decompose(truth, 4, solver=ringlet.baselines.TRSVD()).ring
    noise = 0.3 * np.random.default_rng(5).standard_normal(truth.shape)
    far = decompose(truth + noise, 4, solver=ringlet.baselines.TRSVD()).ring
    verdict = judge.compare(judge.residuals(near.cores), judge.residuals(far.cores))
    assert verdict.certainty > 3
    assert verdict.gain > 1


def test_a_background_does_not_blind_the_judge():
    y, x, z = (np.linspace(-1, 1, length) for length in (40, 36, 30))
    inside = (y[:, None, None] ** 2 + x[:, None] ** 2 + z**2) < 0.55
    truth = inside * (0.5 + 0.3 * np.cos(5 * y)[:, None, None] * np.cos(4 * x)[:, None])
    rng = np.random.default_rng(1)
    spots = rng.random(truth.shape)
    damaged = np.where(spots < 0.1, 0.0, np.where(spots > 0.9, 1.0, truth))
    observed = rng.random(truth.shape) < 0.5
    assert np.mean(truth == 0) > 0.75  # which a model of zeros finds exactly
    judge, _ = Judge.of(as_source(damaged, observed), int(observed.sum()), 0)
    noisy = decompose(truth + 0.02 * rng.standard_normal(truth.shape), 6, solver=ringlet.baselines.TRSVD()).ring
    zeros = [np.zeros((1, length, 1)) for length in truth.shape]
    verdict = judge.compare(judge.residuals(noisy.cores), judge.residuals(zeros))
    assert verdict.certainty > 3
    assert verdict.gain > 1
    assert error(decompose(damaged, mask=observed), truth) < 0.33


def test_what_is_smaller_than_the_precision_of_data_makes_no_difference_to_the_judge():
    truth = waves()
    judge = Judge.of(as_source(truth), truth.size, 0)[0].scaled(1.0, 1.0, np.dtype("f8"))
    noise = np.random.default_rng(0).standard_normal(len(judge))
    fine, finer, coarse = (judge.compare(size * noise, 1e-7 * noise) for size in (2e-7, 1e-9, 1e-3))
    assert abs(fine.gain) < 0.05
    assert abs(finer.gain) < 0.05
    assert max(fine.doubt, finer.doubt) < 0.05
    assert coarse.gain < -10
    assert judge.error(0 * noise) == pytest.approx(1e-5)


def test_everything_automatic_beats_the_printed_method_on_smooth_data():
    truth = waves(rank=6)
    x, observed = spoiled(truth, 0.15, 0.1)
    fit = decompose(x, mask=observed)
    assert error(fit, truth) < 0.5 * error(decompose(x, fit.ring.rank, solver=AWRTRD(ridge=0), mask=observed), truth)
    assert fit.ring.parameters <= x.size / 5
    scores = [record.held_out for record in fit.history]
    assert np.isfinite(scores[:-2]).all()
    assert np.isnan(scores[-2:]).all()
    assert scores[-3] < scores[0]


def test_a_mode_without_order_is_not_smoothed(penalties):
    truth = waves((60, 50, 8), rank=8, seed=2)
    shuffle = np.random.default_rng(0).permutation(60)
    x, observed = spoiled(truth[shuffle], 0.2, 0.1)
    decompose(x, 5, solver=AWRTRD(smooth="auto", sweeps=40), mask=observed)
    assert penalties().smooth[0] == 0.0
    assert penalties().smooth[1] > 0.0


@pytest.mark.parametrize("true", [2, 4])
@pytest.mark.parametrize(("share", "outliers", "noise"), [(0.8, 0.1, 0.02), (0.5, 0.2, 0.05)])
def test_the_rank_found_is_near_the_true_one(true, share, outliers, noise):
    truth = dense(random_cores((30, 28, 26), (true,) * 3, seed=true))
    x, observed = spoiled(truth, share, outliers, noise=noise * truth.std())
    fit = decompose(x, mask=observed)
    assert error(fit, truth) < 0.05
    assert true <= max(fit.ring.rank) <= 2 * true


@pytest.mark.parametrize(("rank", "dtype"), [((3, 4, 5), "f4"), ((3, 3, 3), "f8")])
def test_exact_data_are_found_exactly_by_a_ring_that_is_hardly_larger(rank, dtype):
    truth = dense(random_cores((30, 28, 26), rank, seed=1)).astype(dtype)
    fit = decompose(truth)
    assert error(fit, truth) < 1e-5
    assert max(fit.ring.rank) <= 2 * max(rank)
    assert fit.ring.parameters < 2.5 * sum(np.size(core) for core in random_cores((30, 28, 26), rank, seed=1))


def test_colour_bonds_stay_within_their_natural_limits():
    truth = waves((60, 50, 3), rank=5)
    rank = decompose(truth + 0.01 * np.random.default_rng(0).standard_normal(truth.shape)).ring.rank
    assert rank[0] <= 3 * rank[2]
    assert rank[2] <= 3 * rank[0]


@pytest.mark.parametrize("amount", [6000, "9kB", "20 KiB"])
def test_a_budget_is_kept(amount, tmp_path):
    x = np.random.default_rng(0).standard_normal((30, 25, 20)).astype("f4")
    ring = decompose(x, rank=ringlet.budget(amount)).ring
    ring.save(tmp_path / "x.ring")
    assert (tmp_path / "x.ring").stat().st_size <= ringlet.budget(amount).bytes


def test_a_target_is_reached_by_a_small_ring():
    truth = waves(rank=8, seed=4)
    x = truth + 1e-4 * np.random.default_rng(0).standard_normal(truth.shape)
    low, high = (decompose(x, rank=ringlet.target(psnr=psnr)).ring for psnr in (20, 60))
    assert low.parameters < high.parameters
    peak = np.ptp(x)
    for ring, psnr in ((low, 20), (high, 60)):
        reached = 20 * np.log10(peak / np.sqrt(np.mean((np.asarray(ring) - truth) ** 2)))
        assert reached > psnr - 1


def sines(shape=(40, 35, 20)):
    """Three smooth features, exactly."""
    return np.fromfunction(lambda i, j, k: np.sin(i / 7) * np.cos(j / 5) + 0.3 * np.sin((i + j) / 9 + k / 4), shape)


def test_a_target_that_a_small_ring_reaches_asks_for_no_more():
    clean = sines()
    fits = [decompose(clean, rank=ringlet.target(psnr=psnr)) for psnr in (15, 40)]
    small, large = (sum(core.size for core in fit.ring.cores) for fit in fits)
    assert small < large
    assert [-20 * np.log10(np.std(np.asarray(fit.ring) - clean) / np.ptp(clean)) for fit in fits] >= [15, 40]


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
def test_data_far_from_zero_are_fitted_as_finely_as_their_precision_allows(offset):
    clean = sines()
    rng = np.random.default_rng(0)
    x = clean + offset
    x[rng.random(x.shape) < 0.1] += 3.0
    fit = decompose(x, mask=rng.random(x.shape) < 0.5)
    assert np.sqrt(np.mean((np.asarray(fit.ring) - offset - clean) ** 2)) < 0.12 * np.std(clean)


def test_bonds_are_not_trimmed_before_the_ring_has_settled():
    """No bond of so little data may grow, so growth could end with the first sweep."""
    clean = np.fromfunction(
        lambda i, j, k: np.sin(i / 3) * np.cos(j / 2) + 0.3 * np.sin((i + j) / 4 + k / 2), (12, 12, 12)
    )
    assert error(decompose(clean), clean) < 1e-6


def test_little_data_may_have_more_than_rank_one():
    i, j = np.mgrid[:30, :9]
    clean = np.sin((i + 1) / 2) + np.sin((j + 1) / 3) + np.cos(i / 2) * np.cos(j / 3)
    assert error(decompose(clean), clean) < 1e-6
    rng = np.random.default_rng(0)
    unjudged = rng.random((6, 2)) @ rng.random((2, 8))  # too few to hold any out
    assert error(decompose(unjudged, rank=ringlet.budget("1MB")), unjudged) < 0.01


def test_a_target_out_of_reach_is_said():
    x = np.random.default_rng(0).standard_normal((20, 18, 16))
    with pytest.warns(DataWarning, match="target"):
        decompose(x, rank=ringlet.target(psnr=90))


@pytest.mark.parametrize("bond", range(3))
def test_widening_leaves_the_tensor_as_it_is(bond):
    cores = random_cores((5, 4, 3), (2, 3, 2), seed=0)
    wider = widen(cores, bond, 5, np.random.default_rng(1))
    features = [core + 1.0 for core in wider]
    other = (bond + 1) % 3
    both = with_features(widen(cores, other, 6, np.random.default_rng(1)), bond, features)
    assert wider[bond].shape[0] == both[bond].shape[0] == 5
    assert both[other].shape[0] == 6
    for found in (wider, both):
        np.testing.assert_allclose(dense(found), dense(cores), atol=1e-12)
    even = evened(features, bond, cores[bond].shape[0])
    np.testing.assert_allclose(dense(even), dense(features), rtol=1e-12)
    before, after = even[bond - 1][:, :, -1], even[bond][-1]
    np.testing.assert_allclose(np.mean(before**2), np.mean(after**2))


def test_growth_does_not_hang_on_the_seed():
    """Every seed comes about as far."""
    rng = np.random.default_rng(0)
    grey, hue = photo_fields((240, 320), 1.5, rng)
    truth = np.multiply.outer(grey, rng.standard_normal(3) + 2) + np.multiply.outer(hue, rng.standard_normal(3))
    x, observed = spoiled(truth, 0.3, 0.0, noise=0.03 * np.ptp(truth))
    x += np.where(rng.random(x.shape) < 0.2, rng.normal(0, 0.7 * np.ptp(truth), x.shape), 0)
    errors = [error(decompose(x, mask=observed, seed=seed), truth) for seed in range(4)]
    assert max(errors) < 1.15 * min(errors)


def test_bonds_that_cost_nothing_do_not_keep_others_from_growing():
    """The bond between colours and frames holds few numbers: what it gains for them is mostly chance."""
    rng = np.random.default_rng(10)
    grey, hue = photo_fields((120, 100), 1.0, rng)
    colours, angles = rng.uniform(0.5, 1, (2, 3)), np.arange(8) / 4
    truth = np.einsum("ij,c,t->ijct", grey, colours[0], 1 + 0.2 * np.sin(angles))
    truth += np.einsum("ij,c,t->ijct", hue, colours[1] / 2, 1 + 0.2 * np.cos(angles))
    x, observed = spoiled(truth, 0.3, 0.0, noise=0.0)
    x = np.where(rng.random(x.shape) < 0.2, rng.choice([truth.min(), truth.max()], x.shape), x)
    fit = decompose(x, mask=observed)
    assert fit.ring.rank[1] > 50


def test_only_exact_data_do_without_a_ridge():
    knob, least = Knob("ridge", 0), Penalties(1e-4, (0.0,))
    assert knob.turned(least, up=False) is None
    without = knob.turned(least, up=False, exact=True)
    assert without.ridge == 0.0
    assert knob.turned(without, up=False, exact=True) is None
    assert knob.turned(without, up=True).ridge == pytest.approx(1e-4)
    assert knob.turned(Penalties(0.9, (0.0,)), up=True) is None


def test_a_knob_that_cannot_be_turned_down_is_turned_up_once():
    knobs, given = Knobs([Knob("smooth", 0)]), Penalties(0.1, (0.0,))
    turned = knobs.turned(0, given, size=100)
    assert turned.smooth[0] > 0
    assert not knobs.answer(0, given, turned, -3.0)
    assert knobs.turned(0, given, size=100) is None
    assert not knobs.due(size=100)


def test_a_knob_that_is_turned_to_and_fro_rests():
    knobs, given = Knobs([Knob("ridge", 0)]), Penalties(0.1, (0.0,))
    low, high = 0.1 / 3, 0.1
    for certainty, found in ((3, low), (-3, low), (3, high), (-3, high), (3, low)):
        turned = knobs.turned(0, given, size=100)
        given = turned if knobs.answer(0, given, turned, certainty) else given
        assert given.ridge == pytest.approx(found)
    assert not knobs.due(size=100)
    assert knobs.due(size=150) == {0: 0}


def test_the_bits_do_not_depend_on_threads():
    x, observed = spoiled(waves(), 0.6, 0.1)
    fits = [
        decompose(x, solver=SAWRTRD(samples=100, smooth="auto", sweeps=14, threads=threads), mask=observed)
        for threads in (1, 3)
    ]
    assert fits[0].ring.rank == fits[1].ring.rank
    for one, other in zip(fits[0].ring.cores, fits[1].ring.cores, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("factor", [2.0**20, -(2.0**-15)])
def test_units_do_not_matter(factor):
    x, observed = spoiled(waves(), 0.6, 0.1)
    one, other = (decompose(data, solver=QUICK, mask=observed).ring for data in (x, factor * x))
    if factor > 0:
        assert one.rank == other.rank
        np.testing.assert_allclose(np.asarray(other), factor * np.asarray(one), rtol=1e-9, atol=1e-9 * abs(factor))
    else:
        scale = abs(factor) * np.abs(x[observed]).max()
        assert np.abs(np.asarray(other) - factor * np.asarray(one)).max() < 0.1 * scale


def test_an_automatic_fit_goes_on_from_its_checkpoint(tmp_path):
    x, observed = spoiled(waves((20, 18, 4)), 0.7, 0.1)
    solver = AWRTRD(smooth="auto", sweeps=14, tol=0, threads=1)
    whole = decompose(x, solver=solver, mask=observed)
    for last in range(1, 14):
        folder = tmp_path / str(last)
        decompose(x, solver=solver, mask=observed, checkpoint=folder, callback=lambda s, last=last: s.sweep == last)
        resumed = decompose(x, solver=solver, mask=observed, checkpoint=folder)
        assert [core.tobytes() for core in resumed.ring.cores] == [core.tobytes() for core in whole.ring.cores]


def test_a_given_start_is_grown_from():
    truth = waves()
    x, _ = spoiled(truth, 1.0, 0.0)
    start = decompose(x, 2, solver=AWRTRD(sweeps=3)).ring
    fit = decompose(x, init=start)
    assert all(grown >= given for grown, given in zip(fit.ring.rank, start.rank, strict=True))
    assert error(fit, truth) < error(type("Start", (), {"ring": start}), truth)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (1, 5, 1), (9, 1)])
def test_tiny_data_are_fitted_all_the_same(shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fit = decompose(np.arange(np.prod(shape), dtype=float).reshape(shape))
    assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rank": "best"}, ArgumentTypeError, "rank='best'"),
        ({"rank": None}, ArgumentError, "rank=None is not allowed; give e.g. rank=5, or rank='auto'"),
        ({"rank": "auto", "solver": ringlet.baselines.TRSVD()}, ArgumentError, "TRSVD"),
        ({"rank": "auto", "solver": SAWRTRD(sampling="uniform-rows")}, ArgumentError, "uniform-rows"),
        ({"rank": 2, "solver": AWRTRD(smooth={7: 1})}, ArgumentError, "mode 7"),
        (
            {"rank": ringlet.budget("4kB")},
            ArgumentError,
            r"budget\(4000\) .* \(4, 3, 2\).* 4168 bytes",
        ),
    ],
)
def test_wrong_requests_are_refused(given, error, said):
    with pytest.raises(error, match=said):
        decompose(np.ones((4, 3, 2)), **given)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: ringlet.budget("abc"), ArgumentError, "amount='abc'"),
        (lambda: ringlet.target(psnr=-1), ArgumentError, "psnr=-1"),
        (lambda: ringlet.target(psnr="high"), ArgumentTypeError, "psnr"),
        (lambda: AWRTRD(smooth="much"), ArgumentError, "smooth='much'"),
        (lambda: AWRTRD(smooth=-1), ArgumentError, "smooth=-1"),
        (lambda: AWRTRD(smooth={0: -1}), ArgumentError, "smooth"),
        (lambda: AWRTRD(smooth={"x": 1}), ArgumentTypeError, "smooth"),
        (lambda: AWRTRD(smooth=[1, 2]), ArgumentTypeError, "smooth"),
    ],
)
def test_wrong_values_are_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_complete_finds_a_rank_too():
    x = np.add.outer(np.add.outer(np.arange(9.0), np.arange(8.0)), np.arange(7.0))
    by_default, by_name = (complete(x, solver=AWRTRD(sweeps=20), **rank) for rank in ({}, {"rank": "auto"}))
    assert by_default.ring.rank == by_name.ring.rank == decompose(x, solver=AWRTRD(sweeps=20)).ring.rank


def test_hopeless_fits_are_announced():
    x, observed = spoiled(waves(), 0.05, 0.0)
    with pytest.warns(DataWarning, match="100 unknowns for each slice of mode 0"):
        decompose(x, 10, solver=AWRTRD(sweeps=1), mask=observed)


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
@pytest.mark.parametrize("known", [1, 2, 9])
def test_of_hardly_any_data_nothing_is_held_out(known):
    x = np.full((3, 3), np.nan)
    x.flat[:known] = 1.0
    for seed in range(20):
        assert np.isfinite(np.asarray(decompose(x, seed=seed, solver=AWRTRD(sweeps=2, smooth="auto")).ring)).all()


def test_a_start_that_is_too_large_for_the_asked_rank_is_refused():
    x = np.random.default_rng(0).standard_normal((30, 20, 10))
    large = decompose(x, 8, solver=AWRTRD(sweeps=1)).ring
    for rank, named in ((ringlet.budget("6kB"), r"budget\(6000\) allows 238"), ("auto", "'auto' allows 1200")):
        with pytest.raises(ArgumentError, match=f"init has 3840 numbers, but rank={named}"):
            decompose(x, rank, init=large)
    with pytest.raises(ArgumentError, match=r"init has shape \(30, 20\), but the data have shape"):
        decompose(x, init=[np.ones((1, 30, 2)), np.ones((2, 20, 1))])


def rare_peaks():
    """Low hills, and a few peaks of many times their height that a ring of small rank has, too."""
    i, j, k = np.ogrid[:50, :40, :30]
    hills = 0.1 * np.sin(i / 8) * np.cos(j / 7) + 0.05 * np.cos(k / 6)
    peaks = np.exp(-(((i - 25) / 3) ** 2)) * np.exp(-(((j - 20) / 3) ** 2)) * np.exp(-(((k - 10) / 4) ** 2))
    return hills + 2 * peaks


def test_rare_peaks_are_no_outliers(monkeypatch):
    truth = rare_peaks()
    x = truth + 0.005 * np.random.default_rng(0).standard_normal(truth.shape)
    x[np.random.default_rng(1).random(truth.shape) < 0.3] = np.nan
    trusting = decompose(x)
    monkeypatch.setattr(automatic_run, "_TRUSTING_GAIN", np.inf)
    assert error(trusting, truth) < 0.8 * error(decompose(x), truth)
    assert (trusting.weights()[np.isfinite(x)] > 0.9).all()


def test_least_squares_are_not_chosen_where_entries_are_wrong():
    x, observed = spoiled(rare_peaks(), 0.9, 0.1)
    fit = decompose(x, mask=observed)
    assert fit.history[-1].sigma < np.ptp(x)


def test_a_kernel_that_a_small_ring_had_narrowed_is_widened_when_it_has_grown(monkeypatch):
    x = transform.resize(data.astronaut(), (240, 240), anti_aliasing=True)
    errors = {}
    for relaxes in (True, False):
        if not relaxes:
            monkeypatch.setattr(automatic_run.AutomaticRun, "_relaxed", lambda _, stand, __: stand)
        for seed in range(2):
            rng = np.random.default_rng(seed)
            damaged = np.where(rng.random(x.shape) < 0.2, rng.choice([0.0, 1.0], x.shape), x).astype(np.float32)
            fit = decompose(damaged, mask=rng.random(x.shape) < 0.3)
            errors.setdefault(relaxes, []).append(np.std(np.asarray(fit.ring) - x))
    assert np.mean(errors[True]) < 0.9 * np.mean(errors[False])
