"""What cannot be done on a device is refused with a name and a way out."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD
from ringlet.arrays import Device, DeviceMemory, Place, place_of
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


def test_plans_say_what_runs_where():
    def note(device, **options):
        return ringlet.plan((30, 20, 10), 3, device=on(device, np.ones(2, np.float32)), **options).notes[0]

    assert "device1') of array_api_strict, in float32; matrices are formed and factored there, too" in note("device1")
    assert "formed and factored on the host, in float64" in note("no_float64")
    assert "SampledTRALS works on the host" in note("device1", solver=ringlet.baselines.SampledTRALS())
    assert "formed and factored on the host, in float64" in note("device1", solver=ringlet.baselines.TRALS())
    assert "in float64" in note("device1", dtype=np.int64, solver=PLAIN)
    with pytest.raises(ArgumentTypeError, match="are fitted in float64, which device"):
        note("no_float64", dtype=np.int64)


def test_blocks_are_sent_to_a_card_from_pinned_memory(monkeypatch):
    """Of CUDA there is only this fake here. No more than two blocks are on their way."""
    log = []

    class Tensor:
        def __init__(self, shape, dtype, pin_memory):
            self.host, self.pinned = np.zeros(shape, dtype), pin_memory

        def numpy(self):
            return self.host

        def to(self, device, *, non_blocking):
            log.append(("sent", device, non_blocking, self.pinned))
            return self

    class Event:
        def record(self, stream):
            self.number = len([one for one in log if one[0] == "marked"])
            log.append(("marked", stream))

        def synchronize(self):
            log.append(("awaited", self.number))

    card, cuda = SimpleNamespace(type="cuda"), SimpleNamespace(Event=Event, current_stream=lambda device: device)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    fake = SimpleNamespace(__name__="array_api_compat.torch", float32="f4", bool="?", empty=Tensor)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    send = Device(Place(fake, card), DeviceMemory(8)).send  # the same for all passes
    values, observed = send(x, x > 3)
    assert np.array_equal(values.host, x)
    assert np.array_equal(observed.host, x > 3)
    assert send(x, None)[1] is None
    assert log == [("sent", card, True, True)] * 2 + [("marked", card), ("sent", card, True, True), ("marked", card)]
    send(x), send(x)
    assert [number for kind, number, *_ in log if kind == "awaited"] == [0, 1]
    assert [kind for kind, *_ in log[5:]] == ["awaited", "sent", "marked"] * 2


def test_what_works_on_the_host_only_takes_no_device():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    x = np.ones((6, 5, 4))
    with pytest.raises(ArgumentError, match=r"device='cpu' is not allowed with SampledTRALS\(.*TRALS work"):
        ringlet.decompose(x, 2, solver=ringlet.baselines.SampledTRALS(), device="cpu")
    with pytest.raises(ArgumentError, match=r"device='cpu' is not allowed with SAWRTRD\("):
        ringlet.decompose(x, 2, solver=SAWRTRD(sampling="uniform-rows", smooth=0.0), device="cpu")
    with pytest.raises(ArgumentError, match="device='mars' is no device of torch"):
        ringlet.decompose(x, 2, device="mars")


def test_other_methods_take_a_copy_and_give_the_answer_back_where_the_data_are():
    x = on("device1", np.fromfunction(lambda i, j, k: i + j * k, (6, 5, 4)))
    fit = ringlet.decompose(x, 3, solver=ringlet.baselines.SampledTRALS(sweeps=3))
    assert fit.ring.device == fit.tensor.device == xp.Device("device1")
    seen = []
    found = ringlet.complete(
        x, solver=ringlet.baselines.L1TNN(sweeps=3), callback=lambda state: seen.append(state.tensor)
    )
    assert {array.device for array in (found.tensor, *seen)} == {xp.Device("device1")}
    assert len(seen) == 3


def test_what_was_computed_in_float64_is_given_back_to_a_device_without_it():
    x = on("no_float64", np.arange(60, dtype=np.int32).reshape(5, 4, 3))
    fit = ringlet.decompose(x, 2, solver=ringlet.baselines.SampledTRALS(sweeps=2))
    found = ringlet.complete(x, solver=ringlet.baselines.L1TNN(sweeps=2))
    assert (fit.ring.dtype, found.tensor.dtype) == (np.float32, xp.float32)


def test_tensors_without_entries_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ArgumentTypeError, match="data is a torch tensor without entries"):
        ringlet.decompose(torch.empty(4, 5, 6, device="meta"), 2)
    with pytest.raises(ArgumentTypeError, match="mask is a torch tensor without entries"):
        ringlet.decompose(torch.ones(4, 5), 2, mask=torch.empty(4, 5, device="meta", dtype=torch.bool))
    with pytest.raises(ArgumentTypeError, match="data is a torch tensor without entries"):
        torch.vmap(lambda part: ringlet.decompose(part, 2))(torch.ones(3, 4, 5))
    with pytest.raises(ArgumentTypeError, match=r"nested torch tensor; give data.to_padded_tensor\(float\('nan'\)\)"):
        ringlet.decompose(torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], layout=torch.jagged), 2)
    with pytest.raises(ArgumentError, match="device='meta' is no device of torch: it holds no entries"):
        ringlet.plan((4, 5), 2, device="meta")


def test_arrays_that_jax_traces_are_refused():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = np.ones((4, 5), np.float32)
    with pytest.raises(ArgumentTypeError, match="data is traced by JAX"):
        jax.jit(lambda data: ringlet.decompose(data, 2).ring.cores[0])(x)
    with pytest.raises(ArgumentTypeError, match="mask is traced by JAX"):
        jax.jit(lambda mask: ringlet.decompose(x, 2, mask=mask).ring.cores[0])(x > 0)
    with pytest.raises(ArgumentError, match=r"device=3\.5 is no device of jax"):
        ringlet.decompose(jax.numpy.asarray(x), 2, solver=PLAIN).ring.to(3.5)


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


def test_a_device_that_is_full_is_named_wherever_it_happens(monkeypatch):
    """Here before the first pass, and in a stack; the host's own lack of memory stays one of the host."""

    class OutOfMemoryError(RuntimeError):
        pass  # as torch calls it

    def full(*_, **options):
        raise OutOfMemoryError

    x = on("device1", np.random.default_rng(0).random((4, 6, 5, 4)).astype(np.float32))
    with monkeypatch.context() as patch:
        patch.setattr(xp, "permute_dims", full)
        with pytest.raises(BudgetError, match="no memory left for a stack of 4 tensors; free some, or give fewer"):
            ringlet.decompose_many(x, 2)
    with monkeypatch.context() as patch:
        patch.setattr(xp, "min", full)
        with pytest.raises(BudgetError, match="no memory left for the fit; free some, or give a smaller rank"):
            ringlet.decompose(x, 2, solver=PLAIN)
    monkeypatch.setattr("ringlet.solvers.sawrtrd.algorithm.measure", lambda *_: _exhausted())
    with pytest.raises(MemoryError):
        ringlet.decompose(x, 2, solver=PLAIN)


def _exhausted():
    raise MemoryError


def test_importing_ringlet_imports_no_other_array_library():
    code = (
        "import sys, numpy, ringlet; ringlet.decompose(numpy.eye(4), 2); "
        "print(sorted({'torch', 'jax', 'cupy', 'array_api_compat'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
