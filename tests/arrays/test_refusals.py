"""What cannot be done on a device is refused with a name and a way out."""

import subprocess
import sys

import numpy as np
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD
from ringlet.arrays import Device, DeviceMemory, place_of
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError
from ringlet.robust import Kernel
from ringlet.sampling import draw_subtensor
from ringlet.solvers.engine.device_pass import DevicePass
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import source_in_place

xp = pytest.importorskip("array_api_strict")
PLAIN = AWRTRD(loss="correntropy", smooth=0.0, sweeps=2)


def on(name, array):
    return xp.asarray(array, device=xp.Device(name))


def test_masks_and_devices_must_agree():
    x, known = np.ones((4, 5)), np.ones((4, 5), bool)
    with pytest.raises(ArgumentError, match=r"mask lies on .*'device2'.*, but the data on .*'device1'.*; move one"):
        ringlet.decompose(on("device1", x), 2, mask=on("device2", known))
    with pytest.raises(ArgumentError, match=r"mask lies on .*'device1'.*, but the data on the host"):
        ringlet.decompose(x, 2, mask=on("device1", known))
    with pytest.raises(ArgumentTypeError, match="mask has dtype float64; give a bool array"):
        ringlet.decompose(on("device1", x), 2, mask=on("device1", x))
    with pytest.raises(ArgumentError, match="mask has shape"):
        ringlet.decompose(on("device1", x), 2, mask=known[:3])
    with pytest.raises(ArgumentError, match=r"device=.*'device2'.* is not that of the data, which lie on .*'device1'"):
        ringlet.decompose(on("device1", x), 2, device=xp.Device("device2"))
    with pytest.raises(ArgumentError, match="infinite at index"):
        ringlet.decompose(on("device1", np.where(known, np.inf, x)), 2, solver=PLAIN)


def test_a_device_without_float64_says_what_to_do():
    x = on("no_float64", np.arange(60, dtype=np.int32).reshape(5, 4, 3))
    with pytest.raises(
        ArgumentTypeError, match=r"dtype int32 are fitted in float64, which device .*'no_float64'.* lacks"
    ):
        ringlet.decompose(x, 2, solver=PLAIN)
    fit = ringlet.decompose(x, 2, solver=AWRTRD(loss="l2", smooth=0.0, sweeps=2, dtype="float32"))
    assert fit.ring.dtype == np.float32


def test_what_works_on_the_host_only_takes_no_device():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    x = np.ones((6, 5, 4))
    with pytest.raises(ArgumentError, match=r"device='cpu' is not allowed with TRALS\("):
        ringlet.decompose(x, 2, solver=ringlet.baselines.TRALS(), device="cpu")
    with pytest.raises(ArgumentError, match=r"device='cpu' is not allowed with SAWRTRD\("):
        ringlet.decompose(x, 2, solver=SAWRTRD(sampling="uniform-rows", smooth=0.0), device="cpu")
    with pytest.raises(ArgumentError, match="device='mars' is no device of torch"):
        ringlet.decompose(x, 2, device="mars")


def test_other_methods_take_a_copy_and_give_the_ring_back_where_the_data_are():
    x = on("device1", np.fromfunction(lambda i, j, k: i + j * k, (6, 5, 4)))
    fit = ringlet.decompose(x, 3, solver=ringlet.baselines.TRALS(sweeps=3))
    assert fit.ring.device == xp.Device("device1")


class _Short:
    """A namespace of a device that has memory for products of few numbers."""

    def __init__(self, xp, most):
        self._xp, self._most, self.__name__ = xp, most, xp.__name__

    def __getattr__(self, name):
        return getattr(self._xp, name)

    def astype(self, array, dtype, **options):
        if array.size > self._most:
            raise MemoryError
        return self._xp.astype(array, dtype, **options)


@pytest.mark.parametrize("most", [500, 60, 3])
def test_blocks_are_halved_until_they_fit_the_device(most):
    rng = np.random.default_rng(0)
    x = rng.random((12, 10, 8)).astype(np.float32)
    cores = [rng.random((3, n, 3)).astype(np.float32) for n in x.shape]
    index = draw_subtensor(x.shape, 40, rng, whole=0)
    sampled = [core[:, part, :] for core, part in zip(cores, index, strict=True)]
    place = place_of(on("device1", x))
    device = Device(type(place)(_Short(xp, most), place.device), DeviceMemory(1 << 24))
    source = source_in_place(on("device1", x))
    passed = DevicePass(Sketch(source, 0, index, sampled), 1.0, Resources(device=device))
    if most == 3:
        with pytest.raises(BudgetError, match=r"no memory left for the smallest block of work: \d+ entries"):
            passed.gradient(Kernel(0.5))
        return
    expected = StreamedPass(Sketch(source_in_place(x), 0, index, sampled), 1.0, Resources())
    d, weights = passed.gradient(Kernel(0.5))
    d2, weights2 = expected.gradient(Kernel(0.5))
    assert d == pytest.approx(d2, abs=1e-4)
    assert passed.curvature(d, weights) == pytest.approx(expected.curvature(d2, weights2), 1e-4)
    assert np.sort(passed.residuals()) == pytest.approx(np.sort(expected.residuals()), abs=1e-5)
    assert device.memory.entries < 2 * most


def test_importing_ringlet_imports_no_other_array_library():
    code = (
        "import sys, numpy, ringlet; ringlet.decompose(numpy.eye(4), 2); "
        "print(sorted({'torch', 'jax', 'cupy', 'array_api_compat'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
