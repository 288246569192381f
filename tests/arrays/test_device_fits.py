"""Fits of arrays of other libraries agree with those of NumPy's, and come back where the data are.

The strict library of the array API refuses to mix devices: an array that was made without saying where would fail.
"""

from dataclasses import replace

import numpy as np
import pytest

import ringlet
from oracles import random_cores
from ringlet import AWRTRD, SAWRTRD
from ringlet.arrays import Device, DeviceMemory, Place, place_of
from ringlet.baselines import TRALS
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.device_pass import DevicePass
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import DeviceSource, source_in_place

SHAPE = (24, 18, 10)
PLAIN = {"loss": "correntropy", "smooth": 0.0, "sweeps": 3, "tol": 0}


@pytest.fixture(scope="module")
def damaged():
    rng = np.random.default_rng(0)
    x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + np.sin(k / 3 + i / 20), SHAPE).astype(np.float32)
    wrong = rng.random(SHAPE) < 0.1
    x[wrong] += rng.normal(0, 3, np.count_nonzero(wrong)).astype(np.float32)
    return x


@pytest.fixture(scope="module")
def observed():
    return np.random.default_rng(1).random(SHAPE) < 0.7


def relative(found, expected):
    return float(np.linalg.norm(np.asarray(found) - np.asarray(expected)) / np.linalg.norm(np.asarray(expected)))


FITS = {
    "all entries": (AWRTRD(loss="correntropy", smooth=0.0, sweeps=4, tol=0), True),
    "a sample": (SAWRTRD(samples=60, loss="correntropy", smooth=0.0, sweeps=4, tol=0), True),
    "least squares, complete": (AWRTRD(loss="l2", smooth=0.0, sweeps=4, tol=0), False),
    "huber, penalties": (SAWRTRD(samples=60, loss="huber", smooth=0.1, ridge=0.1, sweeps=4, tol=0), True),
    "cauchy, a fixed width": (AWRTRD(loss="cauchy", sigma=0.5, smooth=0.0, sweeps=4, tol=0), False),
    "local scaling": (SAWRTRD(samples=60, loss="correntropy", scaling="local", smooth=0.0, sweeps=4, tol=0), True),
    "no scaling": (AWRTRD(loss="correntropy", scaling="none", sigma="trusted", sweeps=4, tol=0), True),
}


@pytest.mark.parametrize("name", FITS)
def test_equal_sweeps_give_the_ring_of_numpy(name, put, damaged, observed):
    solver, masked = FITS[name]
    there = put(damaged)
    fit = ringlet.decompose(there, 3, solver=solver, mask=put(observed) if masked else None, seed=5)
    expected = ringlet.decompose(damaged, 3, solver=solver, mask=observed if masked else None, seed=5)
    assert relative(fit.ring, expected.ring) < 1e-4
    assert all(type(core) is type(there) and core.device == there.device for core in fit.ring.cores)
    assert [record.sigma for record in fit.history] == pytest.approx(
        [record.sigma for record in expected.history], 1e-4
    )


def test_jax_arrays_are_fitted_by_jax(damaged, observed):
    """One fit only: JAX compiles every operation for every shape."""
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    solver = AWRTRD(loss="correntropy", smooth=0.0, sweeps=2, tol=0)
    fit = ringlet.decompose(jnp.asarray(damaged), 3, solver=solver, mask=jnp.asarray(observed))
    expected = ringlet.decompose(damaged, 3, solver=solver, mask=observed)
    assert relative(fit.ring, expected.ring) < 1e-4
    assert fit.ring[0].device == jnp.asarray(damaged).device
    assert np.asarray((fit.ring + fit.ring)[1, 2]) == pytest.approx(2 * np.asarray(expected.ring)[1, 2], abs=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float64"])
def test_data_keep_their_dtype(dtype, observed):
    xp = pytest.importorskip("array_api_strict")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed") if dtype == "float16" else None
    x = np.fromfunction(lambda i, j, k: 40 + 2 * i + 3 * j + k, SHAPE).astype(dtype)
    there = xp.asarray(x.copy(), device=xp.Device("device1")) if torch is None else torch.from_numpy(x.copy())
    solver = AWRTRD(loss="correntropy", smooth=0.0, sweeps=3, tol=0)
    fit, expected = (ringlet.decompose(data, 3, solver=solver, mask=observed) for data in (there, x))
    assert fit.ring.dtype == expected.ring.dtype
    assert relative(fit.ring, expected.ring) < 1e-4
    restored = fit.restored()
    assert restored.dtype == there.dtype
    assert np.abs(fit.ring.place.fetch(restored).astype(float) - expected.restored().astype(float)).max() <= 1


def test_nan_is_missing_on_a_device(damaged, observed):
    xp = pytest.importorskip("array_api_strict")
    holes = np.where(observed, damaged, np.float32(np.nan))
    solver = AWRTRD(loss="correntropy", smooth=0.0, sweeps=3, tol=0)
    fit = ringlet.decompose(xp.asarray(holes, device=xp.Device("device1")), 3, solver=solver)
    expected = ringlet.decompose(damaged, 3, solver=solver, mask=observed)
    assert relative(fit.ring, expected.ring) < 1e-4
    weights = fit.weights()
    assert weights.device == xp.Device("device1")
    assert np.array_equal(np.isnan(fit.ring.place.fetch(weights)), ~observed)


@pytest.mark.parametrize("loss", ["correntropy", "cauchy", "huber", "l2"])
def test_jax_compiles_the_work_on_a_block_as_a_whole(loss, damaged, observed):
    """Blocks of one shape are compiled once: the Python code of a weight runs once for many of them."""
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    plain, runs = LOSSES[loss], []

    def weight(residual, width, out=None, xp=np):
        runs.append(type(residual))
        return plain.weight(residual, width, out, xp)

    kernel, cores = Kernel(0.7, replace(plain, weight=weight)), random_cores(SHAPE, (3, 3, 3), dtype=np.float32)
    index = tuple(map(np.arange, SHAPE))
    expected = StreamedPass(Sketch(source_in_place(damaged, observed), 0, index, cores), 2.0, Resources())
    source = source_in_place(jnp.asarray(damaged), jnp.asarray(observed))
    device = Device(source.place, DeviceMemory(1 << 19))
    passed = DevicePass(Sketch(source, 0, index, cores), 2.0, Resources(device=device))
    device.memory.entries = 4 * 180  # blocks of four slices
    d, weights = passed.gradient(kernel)
    assert len(weights.kept) == 6
    assert len(runs) == 1
    d2, weights2 = expected.gradient(kernel)
    assert relative(d, d2) < 1e-5
    assert passed.curvature(d2, weights) == pytest.approx(expected.curvature(d2, weights2), 1e-4)


def test_alternating_least_squares_work_where_the_data_are(put, monkeypatch):
    x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + np.sin(k / 3 + i / 20), SHAPE).astype(np.float32)
    solver = TRALS(sweeps=4, tol=0)
    expected = ringlet.decompose(x, 3, solver=solver)
    there = put(x)
    with monkeypatch.context() as patch:
        patch.setattr(DeviceSource, "on_host", None)  # no copy is made
        fit = ringlet.decompose(there, 3, solver=solver)
    assert relative(fit.ring, expected.ring) < 1e-4
    assert fit.ring.cores[0].device == there.device


def test_the_data_never_come_to_the_host(monkeypatch):
    """Counted: what leaves the pretended device is a sample for the scale, pilots, and rows as large as the cores."""
    xp = pytest.importorskip("array_api_strict")
    shape = (120, 100, 60)
    x = xp.asarray(np.fromfunction(lambda i, j, k: i + j * k, shape).astype(np.float32), device=xp.Device("device1"))
    solver = AWRTRD(loss="correntropy", smooth=0.0, sweeps=2, tol=0)
    moved, kind = [], type(x)
    monkeypatch.setattr(kind, "to_device", _counted(kind.to_device, moved))
    fit = ringlet.decompose(x, 3, solver=solver)
    assert fit.ring.device == xp.Device("device1")
    # one sample of 2^17 entries; a sweep of three updates: a pilot each, and rows of a core
    assert moved.count(max(moved)) == 1
    assert max(moved) <= 1 << 17
    assert sorted(moved)[-2] < 1.02 * x.size / 16
    assert sum(moved) - max(moved) < 1.05 * 2 * 3 * (x.size / 16 + 120 * 9)


def _counted(to_device, moved):
    def counting(array, device, /, **options):
        moved.append(array.size)
        return to_device(array, device, **options)

    return counting


def test_held_out_entries_decide_on_a_device_as_they_do_in_numpy(damaged, observed):
    xp = pytest.importorskip("array_api_strict")
    there = [xp.asarray(part, device=xp.Device("device1")) for part in (damaged, observed)]
    fit = ringlet.decompose(there[0], mask=there[1], sweeps=12)
    expected = ringlet.decompose(damaged, mask=observed, sweeps=12)
    assert fit.ring.rank == expected.ring.rank
    assert relative(fit.ring, expected.ring) < 1e-4
    assert fit.ring.device == xp.Device("device1")


@pytest.mark.parametrize("solver", [AWRTRD(**PLAIN), SAWRTRD(samples=60, **PLAIN), TRALS(sweeps=3, tol=0)])
@pytest.mark.parametrize("on_host", [True, False])
def test_passes_over_data_on_the_host_can_be_sent_to_a_device(solver, on_host, damaged, observed, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import dask.array

    mask = observed if solver.handles_missing else None
    stored = dask.array.from_array(damaged, chunks=(12, 9, 10))
    for data in (damaged, stored):
        expected = ringlet.decompose(data, 3, solver=solver, mask=mask)
        with monkeypatch.context() as patch:
            patch.setattr(Place, "on_host", on_host)  # else as on a GPU
            fit = ringlet.decompose(data, 3, solver=solver, mask=mask, device="cpu")
        assert relative(fit.ring, expected.ring) < 1e-4
        assert isinstance(fit.ring.cores[0], np.ndarray)


def test_a_fit_continues_from_a_checkpoint_and_is_extended_on_its_device(tmp_path, damaged):
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray(damaged, device=xp.Device("device1"))
    solver = SAWRTRD(samples=60, loss="correntropy", smooth=0.0, sweeps=4, tol=0)
    whole = ringlet.decompose(x, 3, solver=solver)
    ringlet.decompose(x, 3, solver=solver, sweeps=2, checkpoint=tmp_path / "fit")
    seen = []
    resumed = ringlet.decompose(
        x, 3, solver=solver, checkpoint=tmp_path / "fit", callback=lambda state: seen.append(state.ring.device)
    )
    assert np.array_equal(np.asarray(resumed.ring), np.asarray(whole.ring))
    assert seen == [xp.Device("device1")] * 2
    longer = whole.extend(xp.asarray(damaged[:, :, :2], device=xp.Device("device1")))
    assert longer.ring.shape == (24, 18, 12)
    assert longer.ring.device == xp.Device("device1")
    again = ringlet.decompose(x, 3, solver=solver, init=whole.ring)
    assert again.ring.device == xp.Device("device1")


def test_restore_takes_a_mask_beside_the_data(put, damaged, observed):
    clean = ringlet.restore(put(damaged), mask=put(observed), rank=3, sweeps=3)
    assert (type(clean), clean.device) == (type(put(damaged)), put(damaged).device)
    expected = ringlet.restore(damaged, mask=observed, rank=3, sweeps=3)
    assert np.array_equal(place_of(clean).fetch(clean), expected)


def test_views_take_index_arrays_beside_the_data(put, damaged):
    fit = ringlet.decompose(put(damaged), 3, sweeps=3)
    numbers, flags = np.array([1, 0]), np.arange(damaged.shape[0]) > 2
    for view in (fit.weights, fit.residuals, fit.outliers, fit.restored, fit.ring.__getitem__):
        for index in (numbers, flags):
            place = fit.ring.place
            assert np.array_equal(place.fetch(view(put(index))), place.fetch(view(index)))


@pytest.mark.parametrize("on_host", [True, False])
def test_searches_over_some_slices_agree_with_numpy(on_host, put, damaged, observed, monkeypatch):
    """Updates of many entries search some slices only; here all updates do."""
    monkeypatch.setattr("ringlet.solvers.sawrtrd.algorithm.searched_one_of", lambda *_: 3)
    monkeypatch.setattr("ringlet.solvers.engine.fit_plan.searched_one_of", lambda *_: 3)
    expected = ringlet.decompose(damaged, 3, solver=AWRTRD(**PLAIN), mask=observed)
    monkeypatch.setattr(Place, "on_host", on_host)
    fit = ringlet.decompose(put(damaged), 3, solver=AWRTRD(**PLAIN), mask=put(observed))
    assert relative(fit.ring, expected.ring) < 1e-4
