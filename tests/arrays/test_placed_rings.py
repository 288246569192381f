"""Rings whose cores are arrays of other libraries: the same numbers as NumPy's, at the place of the cores."""

import pickle

import numpy as np
import pytest

import ringlet
from ringlet import TensorRing
from ringlet.arrays import place_of
from ringlet.errors import ArgumentError, IndexingError

SHAPES = [(2, 6, 3), (3, 5, 1), (1, 4, 2)]


@pytest.fixture
def rings(put):
    rng = np.random.default_rng(0)
    cores = [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    return TensorRing([put(core) for core in cores]), TensorRing(cores)


@pytest.mark.parametrize(
    "index",
    [..., 2, (slice(1, 4), slice(None, None, -2), -1), (0, 0, 0), ([1, 2], slice(None), [0, 3]), (slice(3, 3),)],
)
def test_entries_are_those_of_numpy(index, rings):
    placed, plain = rings
    found = placed[index]
    assert type(found) is type(placed.cores[0])
    assert found.device == placed.device
    assert placed.place.fetch(found) == pytest.approx(np.asarray(plain[index]), abs=1e-5)
    assert found.shape == plain[index].shape


def test_algebra_and_rounding_stay_at_the_place(rings):
    placed, plain = rings
    for compute in (
        lambda ring: 2 * ring + ring - 1.5,
        lambda ring: ring * ring,
        lambda ring: (ring + ring).round(tol=1e-5),
        lambda ring: ring.T.rotate(1),
        lambda ring: ring.mean(axis=1),
        lambda ring: ring.astype("float32"),
    ):
        found = compute(placed)
        assert found.device == placed.device
        assert type(found.cores[0]) is type(placed.cores[0])
        assert np.asarray(found) == pytest.approx(np.asarray(compute(plain)), abs=1e-4)
    assert placed.norm() == pytest.approx(plain.norm(), 1e-6)
    assert placed.inner(placed) == pytest.approx(plain.inner(plain), 1e-6)
    assert placed.sum() == pytest.approx(plain.sum(), 1e-5)
    assert placed.entries([[1, 2, 3]]).device == placed.device
    assert (placed.nbytes, placed.rank, placed.dtype) == (plain.nbytes, plain.rank, plain.dtype)
    assert "on " in repr(placed)


def test_a_ring_goes_elsewhere_and_into_files(rings, tmp_path):
    placed, plain = rings
    placed.save(tmp_path / "a.ring")
    assert np.array_equal(np.asarray(TensorRing.load(tmp_path / "a.ring")), np.asarray(plain))
    assert isinstance(placed.to("numpy").cores[0], np.ndarray)
    assert placed.to("numpy").at(placed.place).device == placed.device
    assert plain.to("cpu") is plain


def test_libraries_without_a_device_called_cpu_give_numpy_arrays():
    """As CuPy; the strict library calls its own another name."""
    xp = pytest.importorskip("array_api_strict")
    ring = TensorRing([xp.ones((1, 2, 1), device=xp.Device("device1"))]).to("cpu")
    assert isinstance(ring.cores[0], np.ndarray)


def test_torch_and_jax_take_a_ring_by_dlpack():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    plain = TensorRing([np.ones((1, 2, 2)), np.ones((2, 3, 1))])
    assert torch.equal(torch.from_dlpack(plain), torch.full((2, 3), 2.0, dtype=torch.float64))
    placed = TensorRing([torch.ones(1, 2, 2), torch.ones(2, 3, 1)])
    assert np.from_dlpack(placed).tolist() == [[2, 2, 2], [2, 2, 2]]
    assert placed.to("cpu").device == torch.device("cpu")


def test_cores_are_the_rings_own():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    core = torch.ones(1, 2, 1)
    ring = TensorRing([core])
    core += 1
    assert ring[...].tolist() == [1, 1]


def test_wildly_uneven_cores_do_not_overflow():
    xp = pytest.importorskip("array_api_strict")
    cores = [np.full((1, 2, 1), size, np.float32) for size in (1e30, 1e30, 1e-30, 1e-30)]
    ring = TensorRing([xp.asarray(core, device=xp.Device("device1")) for core in cores])
    assert ring.place.fetch(ring[0, 0, 0]) == pytest.approx(np.ones(2), 1e-5)


def test_mixed_places_are_refused():
    xp = pytest.importorskip("array_api_strict")
    here, there = (xp.ones((1, 2, 1), device=xp.Device(name)) for name in ("device1", "device2"))
    with pytest.raises(ArgumentError, match=r"core 1 lies in .*'device2'.*, another core on .*'device1'"):
        TensorRing([here, there])
    with pytest.raises(ArgumentError, match=r"core 1 lies in NumPy's memory"):
        TensorRing([here, np.ones((1, 2, 1))])
    with pytest.raises(ArgumentError, match=r"the rings lie on .*'device1'.* and on .*'device2'"):
        TensorRing([here]) + TensorRing([there])
    with pytest.raises(ArgumentError, match="device='mars' is no device of array_api_strict"):
        TensorRing([here]).to("mars")
    with pytest.raises(IndexingError, match="out of bounds for mode 0"):
        TensorRing([here])[5]
    with pytest.raises(ArgumentError, match="core 0 has entries that are NaN or infinite"):
        TensorRing([here * xp.inf])


def test_fits_of_arrays_on_devices_are_kept_by_pickle(put):
    x = put(np.random.default_rng(0).random((6, 5, 4)).astype(np.float32))
    fit = ringlet.decompose(x, 2, solver=ringlet.AWRTRD(loss="l2", smooth=0.0, sweeps=2))
    again = pickle.loads(pickle.dumps(fit))  # noqa: S301
    assert again.ring.place == fit.ring.place
    assert again.restored().device == x.device
    assert np.array_equal(np.asarray(again.ring), np.asarray(fit.ring))


def test_places_of_jax_are_kept_by_pickle():
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    place = place_of(jnp.ones(2))
    assert pickle.loads(pickle.dumps(place)) == place  # noqa: S301
