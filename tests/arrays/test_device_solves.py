"""Gram matrices, solves and penalties on devices agree with those of NumPy, and nothing large crosses."""

from weakref import ref

import numpy as np
import pytest
from scipy.fft import dct

import ringlet
from oracles import random_cores
from ringlet import AWRTRD, SAWRTRD
from ringlet.arrays import Place, place_of
from ringlet.errors import BudgetError
from ringlet.ring import GramChain
from ringlet.solvers.engine.device_gram import DeviceGrams, DeviceSum
from ringlet.solvers.engine.device_solve import DeviceSolve, cosines
from ringlet.solvers.engine.regions import Regions
from ringlet.solvers.engine.scaled_step import CorePenalty, solver_of

RINGS = {"narrow": ((12, 9, 7), (3, 4, 2)), "wide": ((30, 40, 9), (20, 20, 2)), "equal": ((9, 8, 7, 5), (4, 4, 4, 4))}


@pytest.fixture(params=["strict", "torch"])
def place(request):
    """A device with float64 that is not taken for the host."""
    if request.param == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        return place_of(torch.empty(0))
    xp = pytest.importorskip("array_api_strict")
    return Place(xp, xp.Device("device1"))


@pytest.mark.parametrize("ring", RINGS)
def test_gram_matrices_and_solves(place, ring):
    shape, rank = RINGS[ring]
    rng, cores = np.random.default_rng(0), [core.astype(np.float32) for core in random_cores(shape, rank, seed=1)]
    here, there = GramChain(cores), DeviceGrams(place, cores)
    for k, length in enumerate(shape):
        one, other = here.without(k), there.without(k)
        np.testing.assert_allclose(place.fetch(other.dense()), one.dense(), rtol=1e-9, atol=1e-9 * one.norm)
        assert (other.trace(), other.norm) == pytest.approx((one.trace(), one.norm))
        np.testing.assert_allclose(there.unfolding_gram(k), here.unfolding_gram(k), rtol=1e-6, atol=1e-9 * one.norm)
        rows, level = rng.standard_normal((length, one.size)).astype(np.float32), one.trace() / one.size
        for smooth, exact in ((0.0, True), (0.0, False), (0.3 * level, True), (0.3 * level, False)):
            expected = solver_of(one, 0.1 * level, smooth, exact=exact)(rows)
            found = place.fetch(DeviceSolve(other, 0.1 * level, smooth, exact)(place.put(rows)))
            assert found.dtype == np.float32
            assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)
        here, there = here.with_core(k, 2 * cores[k]), there.with_core(k, place.put(2 * cores[k]))


def test_a_chain_is_freed_when_the_next_one_takes_its_place(place):
    """Its products would fill the device; no collection of cycles is needed for that."""
    cores = random_cores((6, 5, 7), (2, 3, 2), seed=1)
    chain = DeviceGrams(place, cores)
    first, chain = ref(chain), chain.with_core(0, place.put(cores[0]))
    assert first() is None
    assert chain.without(0).size == 6


def test_penalties(place):
    rng = np.random.default_rng(0)
    rows, d = rng.standard_normal((2, 7, 4))
    shares = rng.random((7, 1))
    here = CorePenalty(0.3, 0.2, shares)
    there = CorePenalty(0.3, 0.2, place.put(shares), mean=float(shares.mean()), xp=place.xp)
    assert there.curvature(place.put(d)) == pytest.approx(here.curvature(d))
    found = there.pull(place.put(d, copy=True), place.put(rows))
    np.testing.assert_allclose(place.fetch(found), here.pull(d, rows))


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_cosines_are_those_of_scipy(place, count):
    rows = np.random.default_rng(0).standard_normal((count, 3)).astype(np.float32)
    waves = cosines(place, place.put(rows))
    np.testing.assert_allclose(place.fetch(waves), dct(rows, axis=0, norm="ortho"), atol=1e-6)
    np.testing.assert_allclose(place.fetch(cosines(place, waves, back=True)), rows, atol=1e-6)


def test_a_matrix_too_large_for_the_device_is_named(place, monkeypatch):
    def exhausted(*_):
        raise MemoryError

    grams = DeviceGrams(place, random_cores((4, 5, 6), (2, 3, 2), seed=1))
    gram = grams.without(0)
    with monkeypatch.context() as full:
        full.setattr(place.xp, "concat", exhausted)
        with pytest.raises(BudgetError, match="no memory left for the Gram matrix of mode 1; free some"):
            grams.without(1)
    monkeypatch.setattr(DeviceSum, "dense", exhausted)
    with pytest.raises(BudgetError, match=r"no memory left to solve for 6 unknowns, about .*; free some"):
        DeviceSolve(gram, 0.1, 0.0, exact=True)(place.put(np.ones((4, 6))))


FITS = {
    "all entries": (AWRTRD(loss="correntropy", smooth=0.0, sweeps=4, tol=0), 3),
    "penalties": (SAWRTRD(samples=60, loss="huber", smooth=0.1, ridge=0.1, sweeps=4, tol=0), 3),
    "local scaling": (SAWRTRD(samples=60, loss="cauchy", scaling="local", smooth=0.0, sweeps=4, tol=0), 3),
    "no scaling": (AWRTRD(loss="l2", scaling="none", sweeps=4, tol=0), 3),
    "wide bonds": (AWRTRD(loss="correntropy", smooth=0.1, sweeps=2, tol=0), (36, 36, 2)),
    "wide bonds, factored": (AWRTRD(loss="correntropy", smooth=0.0, solve="exact", sweeps=2, tol=0), (36, 36, 2)),
}


@pytest.mark.parametrize("name", FITS)
def test_torch_as_if_it_were_no_host(name, monkeypatch):
    """On the processor NumPy solves for torch; here torch does, as on a GPU."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    solver, rank = FITS[name]
    x = _waves((60, 50, 40))
    known = np.random.default_rng(1).random(x.shape) < (0.8 if rank == 3 else 1.0)
    expected = ringlet.decompose(x, rank, solver=solver, mask=known, seed=5)
    monkeypatch.setattr(Place, "on_host", False)
    fit = ringlet.decompose(torch.from_numpy(x.copy()), rank, solver=solver, mask=torch.from_numpy(known), seed=5)
    found, wanted = np.asarray(fit.ring), np.asarray(expected.ring)
    assert np.linalg.norm(found - wanted) < 1e-4 * np.linalg.norm(wanted)


def test_regions_of_a_store_on_a_device(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import dask.array

    monkeypatch.setattr(Place, "on_host", False)
    monkeypatch.setitem(Regions.__init__.__kwdefaults__, "entries", 3000)
    x, solver = _waves((24, 40, 10)), AWRTRD(loss="correntropy", smooth=0.1, sweeps=3, tol=0)
    stored = dask.array.from_array(x, chunks=(12, 20, 10))
    fit, expected = (ringlet.decompose(stored, 3, solver=solver, device=device) for device in ("cpu", None))
    np.testing.assert_allclose(np.asarray(fit.ring), np.asarray(expected.ring), atol=1e-4)


def test_what_crosses_in_a_sweep_is_small(monkeypatch):
    """Counted: cores go there and come back, pilots and D come back; neither the data nor a Gram matrix do."""
    xp = pytest.importorskip("array_api_strict")
    shape, rank = (100, 60, 50), (36, 36, 2)
    x, solver = _waves(shape), AWRTRD(loss="correntropy", smooth=0.1, solve="exact", sweeps=1, tol=0)
    there = xp.asarray(x, device=xp.Device("device1"))
    crossed = {}
    for sweeps in (1, 3):
        up, down = [], []
        with monkeypatch.context() as patch:
            patch.setattr(Place, "put", _counting(Place.put, up))
            patch.setattr(Place, "fetch", _counting(Place.fetch, down))
            fit = ringlet.decompose(there, rank, solver=solver, sweeps=sweeps)
        crossed[sweeps] = sum(up), sum(down)
        assert max(up + down) <= 1 << 17  # the sample for the scale; the widest Gram matrix has 1296^2 numbers
    up, down = (np.subtract(crossed[3], crossed[1]) / 2).tolist()
    pilots, d = 3 * (x.size // 16), 50**2
    assert fit.ring.parameters <= up < 1.1 * fit.ring.parameters
    assert down < 1.1 * (fit.ring.parameters + pilots + d)


def _counting(method, sizes):
    def counted(self, array, **options):
        if isinstance(array, np.ndarray) == (method.__name__ == "put"):  # else it is there already
            sizes.append(int(np.prod(array.shape)))
        return method(self, array, **options)

    return counted


def _waves(shape):
    x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + np.sin(k / 3 + i / 20), shape)
    return (x + np.random.default_rng(0).normal(0, 0.1, shape)).astype(np.float32)
