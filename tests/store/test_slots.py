"""The files of a checkpoint: the state's fields by name; damaged and forged ones are refused in plain words."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from checkpointed_fits import DATA, SLOTS, begun, fit, names_in
from ringlet import AWRTRD, TensorRing
from ringlet.errors import (
    FormatError,
)
from ringlet.store.sealed import seal
from ringlet.store.slots import read_slot

STATE = {f"state.cores.{k}": np.zeros((2, length, 2)) for k, length in enumerate(DATA.shape)} | {
    "state.sigma": np.array(1.0),
    "state.narrowest": np.array(1.0),
    "state.idle_sweeps": np.array(0),
    "state.penalties.smooth": np.zeros(3),
    "state.penalties.width": np.array(1.0),
}


HISTORY = {
    "history.sweep": np.array([1]),
    **{f"history.{name}": np.ones(1) for name in ("seconds", "change", "loss", "sigma", "mean_weight", "held_out")},
}


GOOD = {**STATE, **HISTORY, "quiet": np.array(0)}


def test_two_slots_hold_the_last_two_sweeps_in_plain_safetensors(quick_path):
    folder = begun(quick_path / "run.ckpt")
    assert names_in(folder) == ["lock", *SLOTS]
    slots = [read_slot(folder / name) for name in SLOTS]
    assert sorted((slot.sequence, len(slot.saved.history)) for slot in slots) == [(2, 2), (3, 3)]
    tensors = load_file(folder / SLOTS[0])
    assert {name for name in tensors if name.startswith("state.")} == set(STATE)
    assert tensors["history.sweep"].tolist() == [1, 2, 3]
    assert tensors["history.change"][0] == np.inf


def test_arrays_come_back_with_their_layout(quick_path):
    """The cores of a run lie slice by slice; sums over them in another layout would be rounded otherwise."""
    slot = read_slot(begun(quick_path / "x") / SLOTS[0])
    core = slot.saved.state["cores.1"]
    assert core.shape == (2, 7, 2)
    assert core.transpose(1, 0, 2).flags.c_contiguous


def test_a_flipped_bit_in_any_byte_of_a_slot_is_found(quick_path):
    slot = begun(quick_path / "x", 1) / SLOTS[0]
    content, rng = slot.read_bytes(), np.random.default_rng(0)
    for place, bit in enumerate(rng.integers(8, size=len(content))):
        slot.write_bytes(content[:place] + bytes([content[place] ^ 1 << int(bit)]) + content[place + 1 :])
        with pytest.raises(FormatError, match=SLOTS[0]):
            read_slot(slot)


def test_a_slot_cut_at_any_length_is_found(quick_path):
    slot = begun(quick_path / "x", 1) / SLOTS[0]
    content = slot.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for length in {*range(20), *range(header - 5, header + 20), *range(20, len(content), 37), len(content) - 1}:
        slot.write_bytes(content[:length])
        with pytest.raises(FormatError, match=SLOTS[0]):
            read_slot(slot)


def forged(folder, tensors, **changes):
    """A slot that an enemy has made, checksum and all, of the fit that the checkpoint is of."""
    real = read_slot(begun(folder, 1) / SLOTS[0])
    description = {"fit": real.fit, "sweeps": 5, "sequence": 9, "ended": None, "axes": {}} | changes
    description = {name: value for name, value in description.items() if value is not ...}
    (folder / SLOTS[0]).write_bytes(b"".join(seal(tensors, changes.pop("kind", "checkpoint"), 1, description)))
    return folder


def without(name):
    return {other: tensor for other, tensor in GOOD.items() if other != name}


FORGERIES = {
    "field missing": (GOOD, {"axes": ...}, r"lacks or adds \['axes'\]"),
    "field too many": (GOOD, {"more": 1}, r"lacks or adds \['more'\]"),
    "no fit": (GOOD, {"fit": []}, "does not name the fit"),
    "no sequence number": (GOOD, {"sequence": True}, "no sequence number"),
    "sweeps none": (GOOD, {"sweeps": 0}, "number of sweeps"),
    "status unknown": (GOOD, {"ended": "HAPPILY"}, "'HAPPILY' as the fit's status"),
    "status no text": (GOOD, {"ended": []}, r"\[\] as the fit's status"),
    "axes no object": (GOOD, {"axes": []}, "axes are not an object"),
    "axes of another tensor": (GOOD, {"axes": {"state.cores.0": [0, 1]}}, r"axes of state.cores.0 are \[0, 1\]"),
    "axes repeated": (GOOD, {"axes": {"state.cores.0": [0, 0, 1]}}, r"axes of state.cores.0 are \[0, 0, 1\]"),
    "axes texts": (GOOD, {"axes": {"state.cores.0": ["0", "1", "2"]}}, "axes of state.cores.0 are"),
    "dtype": (
        GOOD | {"state.sigma": np.array(1, "f2")},
        {},
        "state.sigma has dtype F16; a checkpoint holds F32, F64, I64",
    ),
    "no quiet": (without("quiet"), {}, "number of quiet sweeps"),
    "quiet an array": (GOOD | {"quiet": np.zeros(3, int)}, {}, "number of quiet sweeps"),
    "no history": (without("history.loss"), {}, "not one record a sweep"),
    "history ragged": (GOOD | {"history.loss": np.ones(2)}, {}, "not one record a sweep"),
    "history empty": (
        GOOD | {name: column[:0] for name, column in HISTORY.items()},
        {},
        "does not count the sweeps from 1",
    ),
    "history not counted": (GOOD | {"history.sweep": np.array([2])}, {}, "does not count the sweeps from 1"),
    "core missing": (without("state.cores.1"), {}, "checkpoint .*x: the state lacks 'cores.1'"),
    "core of another shape": (
        GOOD | {"state.cores.1": np.zeros((2, 9, 2))},
        {},
        r"cores of the state have shapes \[.*\(2, 9, 2\).*\], which make no ring of shape \(8, 7, 6\)",
    ),
    "cores that do not meet": (GOOD | {"state.cores.1": np.zeros((2, 7, 3))}, {}, r"which make no ring of shape"),
    "core that is a matrix": (GOOD | {"state.cores.1": np.zeros((2, 7))}, {}, r"which make no ring of shape"),
    "core of another dtype": (
        GOOD | {"state.cores.1": np.zeros((2, 7, 2), "f4")},
        {},
        "'cores.1' of the state is float32",
    ),
    "core not finite": (GOOD | {"state.cores.1": np.full((2, 7, 2), np.nan)}, {}, "'cores.1' .* NaN or infinite"),
    "number missing": (without("state.sigma"), {}, "the state lacks 'sigma'"),
    "number negative": (GOOD | {"state.sigma": np.array(-1.0)}, {}, "'sigma' of the state is negative"),
    "penalty negative": (
        GOOD | {"state.penalties.smooth": np.array([0.0, -1.0, 0.0])},
        {},
        "'penalties.smooth' of the state is negative",
    ),
    "width zero": (GOOD | {"state.penalties.width": np.array(0.0)}, {}, "'penalties.width' of the state is zero"),
    "number NaN": (GOOD | {"state.sigma": np.array(np.nan)}, {}, "'sigma' of the state is not a number"),
    "number infinite": (
        GOOD | {"state.idle_sweeps": np.array(np.inf)},
        {},
        "'idle_sweeps' of the state is inf, not a whole number",
    ),
    "penalties missing": (without("state.penalties.smooth"), {}, "the state lacks 'penalties.smooth'"),
    "penalties of another order": (
        GOOD | {"state.penalties.smooth": np.zeros(4)},
        {},
        r"'penalties.smooth' of the state is float64 of shape \(4,\), not float64 of shape \(3,\)",
    ),
    "names of an old checkpoint": (
        {name.replace("cores", "core"): tensor for name, tensor in GOOD.items()},
        {},
        "checkpoint .*x: the state lacks 'cores.0'",
    ),
    "number an array": (GOOD | {"state.sigma": np.ones(2)}, {}, "'sigma' of the state is not a number"),
}


@pytest.mark.parametrize(("tensors", "changes", "words"), FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_slots_are_refused_in_plain_words(quick_path, tensors, changes, words):
    folder = forged(quick_path / "x", tensors, **changes)
    with pytest.raises(FormatError, match=words):
        fit(folder)


def test_the_slot_that_all_forgeries_vary_is_good(quick_path):
    assert len(fit(forged(quick_path / "x", GOOD)).history) == 4


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("path.parameters.queue", 99.0, "'path.parameters.queue' of the state is not an order"),
        ("path.parameters.queue", 0.0, "'path.parameters.queue' of the state is not an order"),
        ("path.idle_rungs", np.inf, "'path.idle_rungs' of the state is inf, not a whole number"),
        ("path.gain", np.nan, "'path.gain' of the state is not a number"),
        ("penalties.width", 0.0, "'penalties.width' of the state is zero"),
    ],
)
def test_forged_states_of_automatic_fits_are_refused_too(quick_path, name, value, words):
    solver = AWRTRD(smooth="auto", sweeps=6, tol=0, threads=1)
    folder = quick_path / "x"
    fit(folder, solver=solver, callback=lambda state: state.sweep == 1)
    slot = folder / SLOTS[0]
    real, tensors = read_slot(slot), load_file(slot)
    tensors[f"state.{name}"] = np.full(tensors[f"state.{name}"].shape, value)
    axes = {f"state.cores.{k}": [1, 0, 2] for k in range(3)}
    description = {"fit": real.fit, "sweeps": 6, "sequence": 9, "ended": None, "axes": axes}
    slot.write_bytes(b"".join(seal(tensors, "checkpoint", 1, description)))
    with pytest.raises(FormatError, match=words):
        fit(folder, solver=solver)


def test_a_ring_is_no_slot_and_a_slot_no_ring(quick_path):
    slot = begun(quick_path / "x", 1) / SLOTS[0]
    with pytest.raises(FormatError, match=r"not a ring: .* 'checkpoint'"):
        TensorRing.load(slot)
    fit().ring.save(slot, force=True)
    with pytest.raises(FormatError, match=r"not a checkpoint: .* 'ring'"):
        read_slot(slot)
