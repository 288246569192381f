"""A slot of a checkpoint: a fit between two sweeps as a sealed file."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.results.records import RunState, Saved, Status, SweepRecord
from ringlet.store.sealed import SealedFile, open_sealed, seal

__all__ = ["Slot", "read_slot", "slot_content"]

_KIND, _VERSION = "checkpoint", 1
_FIELDS = {"fit", "sweeps", "sequence", "ended", "axes"}
_DTYPES = ("F32", "F64", "I64")


@dataclass(frozen=True)
class Slot:
    """Content of one slot.

    Attributes
    ----------
    fit : dict
        Identity of the fit, in JSON types.
    sweeps : int
        Maximum number of sweeps of the fit; with more it can be continued.
    sequence : int
        Larger in slots written later.
    saved : Saved
    """

    fit: dict[str, Any]
    sweeps: int
    sequence: int
    saved: Saved


def slot_content(slot: Slot) -> list[memoryview]:
    """The parts of a slot's file; arrays of a run that are already in the stored layout are not copied.

    Numbers and the history are stored as arrays, too, because JSON has no infinity. The memory layout of arrays is
    stored, because sums over the same numbers in another layout are rounded differently.
    """
    saved = slot.saved
    arrays = {f"state.{name}": np.asarray(value) for name, value in saved.state.items()}
    arrays["quiet"] = np.asarray(saved.quiet)
    for field in fields(SweepRecord):
        arrays[f"history.{field.name}"] = np.array([getattr(record, field.name) for record in saved.history])
    axes = {name: _slowest_first(array) for name, array in arrays.items()}
    tensors = {name: np.asarray(array.transpose(axes[name]), order="C") for name, array in arrays.items()}
    description = {
        "fit": slot.fit,
        "sweeps": slot.sweeps,
        "sequence": slot.sequence,
        "ended": None if saved.ended is None else saved.ended.name,
        "axes": {name: order for name, order in axes.items() if order != sorted(order)},
    }
    return seal(tensors, _KIND, _VERSION, description)


def read_slot(path: Path) -> Slot:
    """Read a slot; safe on files from strangers. A FormatError if it is damaged or no slot."""
    with open_sealed(path, _KIND, _VERSION) as file:
        described = file.description
        if set(described) != _FIELDS:
            raise FormatError(f"the metadata lacks or adds {sorted(set(described) ^ _FIELDS)}")
        fit, sweeps, sequence, ended = (described[name] for name in ("fit", "sweeps", "sequence", "ended"))
        if not isinstance(fit, dict):
            raise FormatError("the metadata does not name the fit")
        if type(sweeps) is not int or sweeps < 1:
            raise FormatError("the metadata does not have the number of sweeps")
        if type(sequence) is not int or sequence < 1:
            raise FormatError("the metadata gives no sequence number")
        if ended is not None and (not isinstance(ended, str) or ended not in Status.__members__):
            raise FormatError(f"the metadata gives {ended!r} as the fit's status")
        arrays = _arrays(file, described["axes"])
        quiet = arrays.get("quiet")
        if quiet is None or quiet.shape != () or quiet.dtype != np.int64:
            raise FormatError("it does not have the number of quiet sweeps")
        state: RunState = {
            name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")
        }
        status = None if ended is None else Status[ended]
        return Slot(fit, sweeps, sequence, Saved(_history(arrays), int(quiet), status, state))


def _slowest_first(array: NDArray[Any]) -> list[int]:
    """The axes from the slowest to the fastest in memory."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def _arrays(file: SealedFile, axes: object) -> dict[str, NDArray[Any]]:
    if not isinstance(axes, dict):
        raise FormatError("the metadata's axes are not an object")
    arrays = {}
    for name, dtype in file.dtypes.items():
        if dtype not in _DTYPES:
            raise FormatError(f"{name} has dtype {dtype}; a checkpoint holds {', '.join(_DTYPES)}")
        own = list(range(len(file.shapes[name])))
        order = axes.get(name, own)
        if not isinstance(order, list) or any(type(axis) is not int for axis in order) or sorted(order) != own:
            raise FormatError(f"the metadata's axes of {name} are {order}")
        arrays[name] = file.read(name).transpose([order.index(axis) for axis in own])
    return arrays


def _history(arrays: dict[str, NDArray[Any]]) -> tuple[SweepRecord, ...]:
    columns = [arrays.get(f"history.{field.name}") for field in fields(SweepRecord)]
    numbers = [column.tolist() for column in columns if column is not None and column.ndim == 1]
    if len(numbers) < len(columns) or len({len(column) for column in numbers}) != 1:
        raise FormatError("its history is not one record a sweep")
    history = tuple(SweepRecord(*record) for record in zip(*numbers, strict=True))
    if not history or [record.sweep for record in history] != list(range(1, len(history) + 1)):
        raise FormatError("its history does not count the sweeps from 1")
    return history
