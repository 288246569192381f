"""Slices appended to a fitted ring, against dense algebra on all slices at once."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from extended_rings import CORES, EXACT, FRAME, RANK, SHAPE, TRUTH, close, fit_of, head
from oracles import fast_dense, random_cores, subchain, unfolding
from ringlet import AWRTRD, SAWRTRD, TensorRing, decompose
from ringlet.baselines import TRSVD
from ringlet.errors import ArgumentError, DataWarning, IndexingError
from ringlet.solvers.streaming.extend import RingExtender
from ringlet.sources import ArraySource

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("ridge", [0, "auto"])  # the automatic one vanishes where all entries are trusted
@pytest.mark.parametrize("refresh", [0, 2])
@pytest.mark.parametrize("mode", [-1, 0, 1])
def test_exact_slices_are_recovered_to_rounding(mode, refresh, ridge):
    count = SHAPE[mode] - 2
    fit = fit_of(CORES, count, AWRTRD(smooth=0.0, sweeps=300, tol=1e-13, ridge=ridge), mode=mode)
    for i in range(count, SHAPE[mode]):
        fit = fit.extend(TRUTH.take([i], axis=mode), mode, refresh=refresh)
    assert fit.ring.shape == SHAPE
    close(fit.ring, TRUTH, 1e-9)


def test_several_slices_at_once_and_modes_in_turn():
    part = head(head(CORES, 9).cores, 6, mode=0)
    fit = decompose(np.asarray(part), RANK, solver=EXACT, init=part)
    fit = fit.extend(TRUTH[:6, :, :, 9:11]).extend(TRUTH[6:, :, :, :11], 0).extend(TRUTH[:, :, :, 11:])
    close(fit.ring, TRUTH, 1e-9)


@pytest.mark.parametrize("choices", [{"rank": RANK, "solver": EXACT}, {}], ids=["given rank", "automatic"])
def test_a_fit_that_was_pickled_goes_on_with_the_same_bits(choices):
    noisy = TRUTH + 0.01 * np.random.default_rng(1).standard_normal(SHAPE)
    fit = decompose(noisy[..., :10], **choices)
    there = pickle.loads(pickle.dumps(fit))  # noqa: S301
    assert np.array_equal(there.restored(), fit.restored())
    here, there = fit.extend(noisy[..., 10:]), there.extend(noisy[..., 10:])
    assert np.array_equal(np.asarray(there.ring), np.asarray(here.ring))
    assert np.array_equal(there.outliers((..., slice(10, None))), here.outliers((..., slice(10, None))))


def test_outliers_in_new_slices_weigh_nothing_and_change_nothing():
    slices = TRUTH[..., 10:].copy()
    wrong = RNG.random(slices.shape) < 0.15
    slices[wrong] += 40 * np.abs(TRUTH).max() * RNG.standard_normal(int(wrong.sum()))
    fit = fit_of(CORES, 10).extend(slices)
    close(fit.ring, TRUTH, 1e-8)
    weights = fit.weights((..., slice(10, 12)))
    assert weights[wrong].max() < 1e-6
    assert weights[~wrong].min() > 1 - 1e-9


LOSSES = {
    "correntropy": lambda e, s: s**2 * (1 - np.exp(-(e**2) / (2 * s**2))),
    "cauchy": lambda e, s: 0.5 * s**2 * np.log1p((e / s) ** 2),
    "huber": lambda e, s: np.where(np.abs(e) <= s, 0.5 * e**2, s * (np.abs(e) - 0.5 * s)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_new_slice_is_the_robust_regression_on_the_fixed_cores(loss):
    rng = np.random.default_rng(5)
    sigma = 0.7
    frame = TRUTH[..., 11:] + 0.3 * rng.standard_normal((9, 8, 3, 1))
    frame[rng.random(frame.shape) < 0.1] += 8.0
    frame[rng.random(frame.shape) < 0.2] = np.nan
    fit = fit_of(CORES, 11, AWRTRD(smooth=0.0, sweeps=500, tol=1e-12, loss=loss, sigma=sigma, ridge=0))
    grown = fit.extend(frame, refresh=0)
    for old, new in zip(fit.ring.cores[:-1], grown.ring.cores[:-1], strict=True):
        assert np.array_equal(old, new)
    assert np.array_equal(grown.ring.cores[-1][:, :11], fit.ring.cores[-1])
    S, y = subchain(fit.ring.cores, 3), unfolding(frame, 3)[0]
    S, y = S[~np.isnan(y)], y[~np.isnan(y)]
    start = np.linalg.lstsq(S, unfolding(TRUTH[..., 11:], 3)[0][~np.isnan(unfolding(frame, 3)[0])], rcond=None)[0]
    best = minimize(lambda z: LOSSES[loss](y - S @ z, sigma).sum(), start, method="BFGS", options={"gtol": 1e-9})
    found = grown.ring.cores[-1][:, 11].ravel()
    np.testing.assert_allclose(S @ found, S @ best.x, atol=1e-4)


def test_a_ridge_is_that_of_the_normal_equations():
    fit = fit_of(CORES, 11, AWRTRD(smooth=0.0, sweeps=200, tol=1e-13, loss="l2", ridge=0.2))
    grown = fit.extend(TRUTH[..., 11:], refresh=0)
    S = subchain(fit.ring.cores, 3)
    G = S.T @ S
    expected = np.linalg.solve(G + 0.2 * np.trace(G) / len(G) * np.eye(len(G)), S.T @ unfolding(TRUTH[..., 11:], 3)[0])
    np.testing.assert_allclose(S @ grown.ring.cores[-1][:, 11].ravel(), S @ expected, rtol=1e-6, atol=1e-6)


def smooth_rows(cores, slices, ridge, smooth):
    """New slices by the normal equations, everything formed: each is pulled to zero and to the one before it."""
    S, count = subchain(cores, 3), slices.shape[-1]
    G = S.T @ S
    level = np.trace(G) / len(G)
    last = cores[3][:, -1].ravel()
    L = 2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)  # the slice before them does not move
    L[-1, -1] = 1
    right = (unfolding(slices, 3) @ S).ravel()
    right[: len(G)] += smooth * level * last
    matrix = np.kron(np.eye(count), G + ridge * level * np.eye(len(G))) + smooth * level * np.kron(L, np.eye(len(G)))
    return np.linalg.solve(matrix, right).reshape(count, *cores[3][:, 0].shape).transpose(1, 0, 2)


def assert_same_slices(ring, cores, rows):
    expected = fast_dense([*map(np.asarray, cores[:3]), rows])
    np.testing.assert_allclose(np.asarray(ring)[..., cores[3].shape[1] :], expected, rtol=1e-6, atol=1e-5)


def patient(fit):
    """The fit, to be extended until new slices have settled to rounding."""
    return with_state(fit, solver=replace(fit._extender.state.solver, sweeps=2000, tol=1e-13))


def with_state(fit, **changes):
    """The fit, to be extended from another state."""
    return replace(fit, _extender=RingExtender(replace(fit._extender.state, **changes)))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(("ridge", "smooth"), [(0.2, 0.5), (0.01, 8.0)])
def test_ridge_and_smoothness_of_new_slices_are_those_of_the_normal_equations(count, ridge, smooth):
    fit = patient(fit_of(CORES, 8, AWRTRD(sweeps=1, loss="l2", ridge=ridge, smooth={3: smooth})))
    slices = TRUTH[..., 8 : 8 + count] + RNG.standard_normal((9, 8, 3, count))
    cores = fit.ring.cores
    assert_same_slices(fit.extend(slices, refresh=0).ring, cores, smooth_rows(cores, slices, ridge, smooth))


def test_penalties_that_a_fit_has_chosen_stay_in_force():
    rng = np.random.default_rng(2)
    i, j, t = np.meshgrid(*(np.linspace(0, 3, n) for n in (14, 12, 24)), indexing="ij")
    wave = np.stack([np.sin(i + t) * np.cos(j), np.cos(i - t) + 0.3 * j], axis=2)
    noisy = wave + 0.4 * rng.standard_normal(wave.shape)
    noisy[rng.random(wave.shape) < 0.4] = np.nan
    solver = AWRTRD(sweeps=40, loss="l2", smooth="auto", tol=1e-9)
    fit = decompose(noisy[..., :20], (3, 3, 2, 3), solver=solver)
    chosen = fit._extender.state.penalties
    assert chosen.smooth[3] > 0
    assert chosen.ridge > 0
    fit, slices = patient(fit), wave[..., 20:]
    cores = fit.ring.cores
    expected = smooth_rows(cores, slices, chosen.ridge, chosen.smooth[3])
    grown = fit.extend(slices, refresh=0)
    assert_same_slices(grown.ring, cores, expected)
    again = grown.extend(slices[..., :1], refresh=0)  # and after that, too
    cores = grown.ring.cores
    assert_same_slices(again.ring, cores, smooth_rows(cores, slices[..., :1], chosen.ridge, chosen.smooth[3]))


def test_a_kernel_width_that_a_fit_has_chosen_stays_in_force():
    noisy = TRUTH + 0.5 * np.abs(TRUTH).max() * RNG.standard_normal(TRUTH.shape)
    fit = decompose(noisy[..., :10], RANK, solver=AWRTRD(smooth=0.0, sweeps=20, sigma_min=1e-3))
    narrow = with_state(fit, penalties=replace(fit._extender.state.penalties, width=0.5))
    grown, narrower = fit.extend(noisy[..., 10:]), narrow.extend(noisy[..., 10:])
    assert narrower.sigma < 0.7 * grown.sigma
    assert narrower.history[0].sigma == grown.history[0].sigma  # it waits until the other cores have moved
    at_once = [one.extend(noisy[..., 10:], refresh=0).sigma for one in (narrow, fit)]  # unless they never do
    assert at_once[0] < 0.7 * at_once[1]


def test_the_changes_of_smooth_cores_are_smooth():
    cores = random_cores((24, 8, 3, 10), RANK, seed=11)
    frames = fast_dense(random_cores((24, 8, 3, 2), RANK, seed=12))  # nothing like the earlier ones

    def roughness(smooth):
        ring = TensorRing(cores)
        solver = AWRTRD(sweeps=1, loss="l2", smooth={0: smooth})
        fit = replace(decompose(np.asarray(ring), RANK, solver=solver, init=ring), ring=ring)
        change = fit.extend(frames).ring.cores[0] - cores[0]
        return np.linalg.norm(np.diff(change, axis=1)) / np.linalg.norm(change)

    assert roughness(10.0) < 0.5 * roughness(0.0)


def dense_extension(cores, slices, refresh):
    """Least squares on the model of the earlier slices and the data of the new ones, everything formed."""
    cores = [np.asarray(core) for core in cores]
    target = np.concatenate([fast_dense(cores), slices], axis=-1)
    a, old, b = cores[3].shape

    def solve_new():
        rows = np.linalg.lstsq(subchain(cores, 3), unfolding(slices, 3).T, rcond=None)[0].T
        return rows.reshape(-1, a, b).transpose(1, 0, 2)

    cores[3] = np.concatenate([cores[3], solve_new()], axis=1)
    for _ in range(refresh):
        for k in range(3):
            r, _, s = cores[k].shape
            rows = np.linalg.lstsq(subchain(cores, k), unfolding(target, k).T, rcond=None)[0].T
            cores[k] = rows.reshape(-1, r, s).transpose(1, 0, 2)
        cores[3] = np.concatenate([cores[3][:, :old], solve_new()], axis=1)
    return cores


@pytest.mark.parametrize("count", [4, 40])  # fewer and more than the slices that the past is condensed to
def test_a_refresh_is_least_squares_on_earlier_model_values_and_new_data(count):
    cores = random_cores((6, 5, 3, count), RANK, seed=2)
    slices = fast_dense(random_cores((6, 5, 3, 3), RANK, seed=3))  # nothing like the earlier ones
    fit = fit_of(cores, count, AWRTRD(smooth=0.0, sweeps=100, tol=1e-13, loss="l2", ridge=0))
    expected = list(fit.ring.cores)
    for i in range(3):
        fit = fit.extend(slices[..., i : i + 1], refresh=2)
        expected = dense_extension(expected, slices[..., i : i + 1], 2)
    close(fit.ring, fast_dense(expected), 1e-6)


def test_new_content_is_absorbed_and_the_old_is_kept():
    cores = random_cores((14, 12, 3, 16), (4, 4, 3, 3), seed=7)
    cores[3][:, :10, 2:] = 0.0  # the first ten frames live on half of the bond, the others on all of it
    truth = fast_dense(cores)
    fit = decompose(truth[..., :10], (4, 4, 3, 3), solver=AWRTRD(smooth=0.0, sweeps=80, tol=1e-6))
    fixed, moving = fit, fit
    for i in range(10, 16):
        fixed = fixed.extend(truth[..., i : i + 1], refresh=0)
        moving = moving.extend(truth[..., i : i + 1])

    def error(ring, frames):
        return np.linalg.norm(np.asarray(ring)[..., frames] - truth[..., frames]) / np.linalg.norm(truth[..., frames])

    assert error(fixed.ring, slice(10, 16)) > 0.5
    assert error(moving.ring, slice(10, 16)) < 0.6 * error(fixed.ring, slice(10, 16))
    assert error(moving.ring, slice(0, 10)) < 0.15


def test_forgetting_favours_the_new():
    cores = random_cores((12, 10, 3, 20), RANK, seed=8)
    frames = fast_dense(random_cores((12, 10, 3, 4), RANK, seed=9))
    whole = fast_dense(cores)

    def errors(forget):
        fit = fit_of(cores, 20, AWRTRD(smooth=0.0, sweeps=30, loss="l2", ridge=0)).extend(
            frames, refresh=3, forget=forget
        )
        model = np.asarray(fit.ring)
        return np.linalg.norm(model[..., :20] - whole), np.linalg.norm(model[..., 20:] - frames)

    (old_kept, new_kept), (old_lost, new_lost) = errors(0.0), errors(0.5)
    assert new_lost < new_kept
    assert old_lost > old_kept


def test_sketched_fits_extend_from_a_sketch():
    cores = random_cores((30, 25, 3, 10), RANK, seed=4)
    truth = fast_dense(cores)
    fit = fit_of(cores, 9, SAWRTRD(smooth=0.0, samples=60, sweeps=100, tol=1e-12, ridge=0))
    read = []
    original = ArraySource.read

    def counted(self, block, order=None):
        values, observed = original(self, block, order)
        read.append(values.size)
        return values, observed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArraySource, "read", counted)
        grown = fit.extend(truth[..., 9:])
        other = fit.extend(truth[..., 9:], seed=1)
    close(grown.ring, truth, 1e-8)
    assert min(read) < 30 * 75  # columns of mode 0 were sampled
    assert any(not np.array_equal(a, b) for a, b in zip(grown.ring.cores, other.ring.cores, strict=True))


def grown_twice(count):
    """Entries read and peak memory of the second of two extensions of a ring with so many slices."""
    cores = random_cores((12, 10, count + 2), (2, 3, 2), seed=4)
    ring, frames = head(cores, count), np.asarray(head(cores, count + 2)[:, :, count:])
    fit = decompose(np.asarray(ring), ring.rank, solver=AWRTRD(smooth=0.0, sweeps=1, threads=1), init=ring)
    fit = fit.extend(frames[..., :1])
    read = []
    original = ArraySource.read

    def counted(self, block, order=None):
        values, observed = original(self, block, order)
        read.append(values.size)
        return values, observed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArraySource, "read", counted)
        tracemalloc.start()
        fit.extend(frames[..., 1:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return sum(read), peak, ring.cores[2].nbytes


def test_work_and_memory_do_not_grow_with_the_number_of_earlier_slices():
    few, many = grown_twice(50), grown_twice(20_000)
    assert many[0] == few[0]
    assert many[1] - few[1] < 3 * many[2]  # the longer core itself, and a copy of it


def test_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(3)
    x = np.clip(128 + 40 * fast_dense(random_cores((70, 60, 3, 8), (5, 4, 3, 4), seed=6)), 0, 255).astype(np.uint8)
    x[rng.random(x.shape) < 0.1] = 255

    def grown(threads):
        solver = SAWRTRD(smooth=0.0, samples=2000, sweeps=5, threads=threads)
        fit = decompose(x[..., :6], (5, 4, 3, 4), solver=solver)
        return fit.extend(x[..., 6:7]).extend(x[..., 7:])

    one, three = grown(1), grown(3)
    assert one.ring.dtype == np.float32
    assert all(np.array_equal(a, b) for a, b in zip(one.ring.cores, three.ring.cores, strict=True))
    assert one.sigma == three.sigma


def test_data_times_a_constant_give_the_ring_times_it():
    rng = np.random.default_rng(3)
    x = TRUTH + 0.2 * rng.standard_normal(TRUTH.shape)

    def grown(x):
        return np.asarray(
            decompose(x[..., :10], RANK, solver=AWRTRD(smooth=0.0, sweeps=20, tol=0)).extend(x[..., 10:]).ring
        )

    np.testing.assert_allclose(grown(1024.0 * x), 1024.0 * grown(x), rtol=1e-5, atol=1e-5)


def test_frames_without_data_have_no_say_and_let_nothing_fade():
    solver = AWRTRD(smooth=0.0, sweeps=50, tol=1e-12, loss="l2", ridge=0)
    new = fast_dense(random_cores((9, 8, 3, 1), RANK, seed=3))  # nothing like the earlier ones
    fit = fit_of(CORES, 12, solver)
    direct = fit.extend(new, forget=0.3)
    with pytest.warns(DataWarning):
        later = fit.extend(np.full((9, 8, 3, 20), np.nan), forget=0.3).extend(new, forget=0.3)
    seen = [*range(12), 32]
    close(np.asarray(later.ring)[..., seen], np.asarray(direct.ring), 1e-9)


def test_the_given_fit_stays_and_the_new_one_tells_its_own_story():
    fit = fit_of(CORES, 11)
    cores, history = [core.copy() for core in fit.ring.cores], fit.history
    grown = fit.extend(TRUTH[..., 11:], refresh=3)
    assert all(np.array_equal(a, b) for a, b in zip(cores, fit.ring.cores, strict=True))
    assert fit.history is history
    assert [record.sweep for record in grown.history] == [1, 2, 3, 4]
    assert grown.status.name == "DONE"


def test_weights_are_those_of_the_slices_appended_last():
    frame = TRUTH[..., 11:] + 0.1 * RNG.standard_normal((9, 8, 3, 1))
    fit = fit_of(CORES, 10).extend(TRUTH[..., 10:11]).extend(frame)
    residuals = (frame - np.asarray(fit.ring)[..., 11:])[..., 0]
    np.testing.assert_allclose(fit.weights((..., -1)), np.exp(-(residuals**2) / (2 * fit.sigma**2)), rtol=1e-9)
    np.testing.assert_array_equal(fit.weights((2, ..., [11])), fit.weights((2, ..., 11))[np.newaxis])
    with pytest.raises(IndexingError, match="slice 10 of mode 3 are not held: only those of slices 11 to 11"):
        fit.weights((..., slice(10, 12)))
    with pytest.raises(IndexingError, match="slice 0 of mode 3"):
        fit.weights()


def test_only_robust_fits_can_be_extended():
    fit = decompose(TRUTH[..., :11], RANK, solver=TRSVD())
    with pytest.raises(ArgumentError, match="AWRTRD and SAWRTRD"):
        fit.extend(FRAME)


def test_a_pilot_without_data_leaves_the_kernel_as_it_was():
    x = 10 + np.cos(np.add.outer(np.arange(300) / 40, np.arange(300) / 30))[:, :, None] + np.arange(6) * 0.1
    fit = decompose(x, 4, solver=AWRTRD(smooth=0.0, sweeps=10))
    rng = np.random.default_rng(0)
    for seed in range(3):
        new = np.full((300, 300, 1), np.nan)
        wrong, right = rng.permutation(new.size)[:2]
        new.flat[wrong], new.flat[right] = 1000.0, 10.0
        grown = fit.extend(new, seed=seed, refresh=0)
        assert np.isfinite(grown.sigma)
        assert grown.weights((*np.unravel_index(wrong, (300, 300)), 6)) < 0.01
