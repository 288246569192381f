"""Functions that JAX compiles as a whole; other libraries run them as they are."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from threading import Lock
from typing import Any, TypeVar

__all__ = ["held_arrays", "traced"]

Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS: dict[type, tuple[str, ...]] = {}  # classes that hold arrays, and in which fields
_registering = Lock()  # pieces of a pass run on threads, and JAX takes a class once


def held_arrays(*names: str) -> Callable[[type], type]:
    """Decorate a frozen dataclass that holds arrays in these fields, so that it can be given to traced functions."""

    def registered(kind: type) -> type:
        _KINDS[kind] = names
        return kind

    return registered


def traced(xp: Any, function: Function) -> Function:
    """A function of which the first argument holds no arrays: compiled for every shape by JAX, else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> traced(np, abs) is abs
    True
    """
    return _compiled(function) if xp.__name__.startswith("jax") else function  # type: ignore[return-value]


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    with _registering:
        while _KINDS:
            kind, arrays = _KINDS.popitem()
            others = [field.name for field in fields(kind) if field.name not in arrays]
            jax.tree_util.register_dataclass(kind, list(arrays), others)
    compiled: Callable[..., Any] = jax.jit(function, static_argnums=0)
    return compiled
