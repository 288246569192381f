"""States of fits to and from arrays and numbers by name, which checkpoints store.

A state is a frozen dataclass. A field becomes an entry of the same name; the fields of a dataclass in it are named
``outer.inner``, the arrays of a tuple ``name.0``, ``name.1``, .... Fields that can be computed again carry the metadata
``NOT_SAVED``. Everything that is read is checked: a checkpoint may be damaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass, replace
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.results.records import RunState
from ringlet.ring.chain import Core

__all__ = ["NOT_SAVED", "by_name", "from_names", "named_cores", "saved_array", "saved_cores", "saved_number"]

NOT_SAVED: Mapping[str, bool] = {"not saved": True}

StateT = TypeVar("StateT")


def by_name(state: Any, prefix: str = "") -> dict[str, NDArray[Any] | float]:
    """The fields of a state by name.

    Examples
    --------
    >>> from ringlet.solvers.engine.scaled_step import Penalties
    >>> by_name(Penalties(0.1, (0.0, 2.0)))
    {'ridge': 0.1, 'smooth': array([0., 2.]), 'width': 1.0}
    """
    named: dict[str, NDArray[Any] | float] = {}
    for field in _saved_fields(state):
        name, value = prefix + field.name, getattr(state, field.name)
        if is_dataclass(value):
            named |= by_name(value, f"{name}.")
        elif isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
            named |= {f"{name}.{place}": item for place, item in enumerate(value)}
        elif isinstance(value, tuple):
            named[name] = np.array(value, np.float64)
        elif value is not None:
            named[name] = int(value) if isinstance(value, bool) else value  # checkpoints hold no booleans
    return named


def from_names(like: StateT, saved: RunState, prefix: str = "") -> StateT:
    """A state with the saved values and the structure of `like`.

    Fields that were not saved keep the values of `like`. Arrays of tuples may have other shapes than those of `like`:
    bonds grow.

    Examples
    --------
    >>> from ringlet.solvers.engine.scaled_step import Penalties
    >>> from_names(Penalties(0.1, (0.0, 0.0)), {"smooth": np.array([1.0, 2.0]), "width": 0.5})
    Penalties(ridge=None, smooth=(1.0, 2.0), width=0.5)
    """
    values: dict[str, Any] = {}
    for field in _saved_fields(like):
        name, now = prefix + field.name, getattr(like, field.name)
        if is_dataclass(now):
            values[field.name] = from_names(now, saved, f"{name}.")
        elif isinstance(now, tuple) and any(isinstance(item, np.ndarray) for item in now):
            values[field.name] = tuple(
                saved_array(saved, f"{name}.{place}", None, item.dtype) for place, item in enumerate(now)
            )
        elif isinstance(now, tuple):
            numbers = saved_array(saved, name, (len(now),), np.dtype("f8"), finite=False)
            values[field.name] = tuple(
                _as(type(old), number, name) for old, number in zip(now, numbers.tolist(), strict=True)
            )
        elif name not in saved and "None" in str(field.type):
            values[field.name] = None
        else:
            values[field.name] = _as(float if now is None else type(now), saved_number(saved, name), name)
    return replace(like, **values)  # type: ignore[type-var]


def named_cores(cores: Sequence[Core]) -> dict[str, NDArray[Any]]:
    """The cores of a ring as part of a state."""
    return {f"cores.{mode}": core for mode, core in enumerate(cores)}


def saved_cores(saved: RunState, like: Sequence[Core]) -> list[Core]:
    """The cores of a state, named ``cores.0``, ...; they must have the shapes and the dtype of `like`."""
    return [saved_array(saved, f"cores.{mode}", core.shape, core.dtype) for mode, core in enumerate(like)]


def saved_array(
    saved: RunState, name: str, shape: tuple[int, ...] | None, dtype: np.dtype[Any], *, finite: bool = True
) -> NDArray[Any]:
    """An array of a state, of this dtype, and of this shape unless that is None.

    Examples
    --------
    >>> saved_array({"x": np.zeros(2)}, "x", (3,), np.dtype("f8"))
    Traceback (most recent call last):
    ringlet.errors.FormatError: 'x' of the state is float64 of shape (2,), not float64 of shape (3,)
    """
    found = np.asarray(_found(saved, name))
    if found.dtype != dtype or (shape is not None and found.shape != shape):
        wanted = dtype if shape is None else f"{dtype} of shape {shape}"
        raise FormatError(f"{name!r} of the state is {found.dtype} of shape {found.shape}, not {wanted}")
    if finite and not np.isfinite(found).all():
        raise FormatError(f"{name!r} of the state has entries that are NaN or infinite")
    return found


def saved_number(saved: RunState, name: str) -> float:
    """A number of a state, possibly infinite.

    Examples
    --------
    >>> saved_number({"sigma": np.array(2.5)}, "sigma")
    2.5
    """
    found = np.asarray(_found(saved, name))
    if found.shape != () or found.dtype.kind not in "biuf" or np.isnan(found):
        raise FormatError(f"{name!r} of the state is not a number")
    return float(found)


def _as(kind: type, number: float, name: str) -> Any:
    """A saved number as the type that the field has."""
    if kind is not float and not isfinite(number):
        raise FormatError(f"{name!r} of the state is {number}, not a whole number")
    return kind(number)


def _saved_fields(state: Any) -> list[Field[Any]]:
    return [field for field in fields(state) if "not saved" not in field.metadata]


def _found(saved: RunState, name: str) -> NDArray[Any] | float:
    if name not in saved:
        raise FormatError(f"the state lacks {name!r}")
    return saved[name]
