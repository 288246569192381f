"""Rounds that improve a restored array: each smooths it and restores trusted entries.

Some trusted entries are hidden all the time. The error there sets the strength of each step, and shows at the end how
much better the result is than the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.local.model import TRUSTED, Clean, LocalModel
from ringlet.local.patches import PatchGeometry, patch_geometry, similar_patches, smoothed_patches
from ringlet.local.window import Entries
from ringlet.ring.arrays import Mapper

__all__ = ["Denoiser", "refined"]

Array64: TypeAlias = NDArray[np.float64]
Denoiser: TypeAlias = Callable[..., Any]  # of an array, and of `sigma` if it has such a parameter

_ROUNDS = 5
_HIDDEN, _MOST_HIDDEN = 0.02, 0.1  # share of the trusted entries, and of few ones,
_ENOUGH = 500  # so that there are as many
_LEAST_HIDDEN = 100  # fewer are not representative
_SEED = 0  # of the draw of hidden entries


@dataclass(frozen=True, eq=False)
class _Errors:
    """The errors of an array, as far as they are known.

    Attributes
    ----------
    known : bool array
        Entries that are trusted.
    noise, unknown : float
        Variance of the errors at these, and elsewhere.
    """

    known: NDArray[np.bool_]
    noise: float
    unknown: float


class _Step(Protocol):
    """Smooths an array with errors."""

    def __call__(self, array: Array64, errors: _Errors) -> Array64:
        """The smoothed array."""
        ...


def refined(
    entries: Entries, clean: Clean, model: LocalModel, refine: str | Denoiser, *, detail: bool, mapper: Mapper = map
) -> Clean:
    """Refine the result of a model for a block.

    Parameters
    ----------
    entries : Entries
        At unseen entries errors are unbiased; without any, a ring that fits too well looks better than it is.
    clean : Clean
        The result of the model for them.
    model : LocalModel
    refine : "patches" or callable
        Fit groups of similar patches, or call a denoiser with the array, in the data's units, and with ``sigma=``, the
        standard error of missing entries, if it has a parameter of that name.
    detail : bool
        Whether the first array is ring and detail, or the ring alone.
    mapper : callable, optional
        Used like `map`.

    Returns
    -------
    Clean
        With refined predictions; unchanged, if too few data can show whether these are better.
    """
    trusted = clean.weights > TRUSTED
    hidden = _hidden(trusted, entries.unseen)
    step = _step(refine, entries.values.shape, model, mapper)
    if step is None or np.count_nonzero(hidden) < _LEAST_HIDDEN:
        return clean
    start = _start(entries, hidden, model, mapper) if detail else np.asarray(entries.ring, np.float64)
    values = entries.values.astype(np.float64)
    shares = np.where(trusted & ~hidden, clean.shares, np.float32(0))
    noise = model.noise * model.unit**2
    held = _Held(np.where(shares > 0, values, 0.0), shares)
    smooth = start
    for _ in range(_ROUNDS):
        error = float(np.mean((smooth[hidden] - values[hidden]) ** 2))
        unknown = max(error - noise, 0.0)
        smooth = step(held(smooth), _Errors(shares > 0, min(noise, unknown), unknown))
    return replace(clean, predicted=_accepted(start, smooth, values, hidden))


def _hidden(trusted: NDArray[np.bool_], unseen: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Some trusted entries, of those that the ring has not seen if there are enough of these."""
    number = int(np.count_nonzero(trusted))
    wanted = min(max(_HIDDEN * number, _ENOUGH), _MOST_HIDDEN * number)
    honest = trusted if unseen is None else trusted & unseen
    drawn = honest if np.count_nonzero(honest) >= _LEAST_HIDDEN else trusted
    share = np.float32(wanted / max(int(np.count_nonzero(drawn)), 1))
    return drawn & (np.random.default_rng(_SEED).random(drawn.shape, np.float32) < share)


@dataclass(frozen=True, eq=False)
class _Held:
    """Trusted entries, and how far each is right and not noise."""

    values: Array64
    shares: NDArray[np.float32]

    def __call__(self, array: Array64) -> Array64:
        """The array, moved towards the trusted entries."""
        return array + self.shares * (self.values - array)


def _start(entries: Entries, hidden: NDArray[np.bool_], model: LocalModel, mapper: Mapper) -> Array64:
    """The model's estimate of all entries, if hidden ones were missing."""
    seen = ~hidden if entries.observed is None else entries.observed & ~hidden
    return model.apply(replace(entries, observed=seen), mapper).predicted


def _accepted(start: Array64, smooth: Array64, values: Array64, hidden: NDArray[np.bool_]) -> Array64:
    """The part of the change that is nearest to the hidden entries."""
    change, error = smooth[hidden] - start[hidden], values[hidden] - start[hidden]
    moved = float(np.sum(change**2))
    part = min(max(float(np.sum(change * error)) / moved, 0.0), 1.0) if moved else 0.0
    return start + part * (smooth - start)


def _step(refine: str | Denoiser, shape: tuple[int, ...], model: LocalModel, mapper: Mapper) -> _Step | None:
    if not isinstance(refine, str):
        return _Called(refine)
    geometry = patch_geometry(shape, model.modes)
    return None if geometry is None else _Patches(geometry, model.judging.origin, model.unit, mapper)


class _Patches:
    """Groups of similar patches; they are searched again in every second round."""

    def __init__(self, geometry: PatchGeometry, origin: float, unit: float, mapper: Mapper) -> None:
        self._geometry, self._origin, self._unit, self._mapper = geometry, origin, unit, mapper
        self._rounds = 0
        self._groups = np.empty((0, 0), np.intp)

    def __call__(self, array: Array64, errors: _Errors) -> Array64:
        geometry = self._geometry
        scaled = np.ascontiguousarray(((array - self._origin) / self._unit).transpose(geometry.order), np.float32)
        noise, unknown = (np.float32(one / self._unit**2) for one in (errors.noise, errors.unknown))
        doubt = np.where(np.ascontiguousarray(errors.known.transpose(geometry.order)), noise, unknown)
        if self._rounds % 2 == 0:
            self._groups = similar_patches(scaled, geometry)
        self._rounds += 1
        smooth = smoothed_patches(scaled, doubt, self._groups, geometry, self._mapper)
        return smooth.transpose(np.argsort(geometry.order)).astype(np.float64) * self._unit + self._origin


@dataclass(frozen=True, eq=False)
class _Called:
    """A denoiser of the user."""

    denoiser: Denoiser

    def __call__(self, array: Array64, errors: _Errors) -> Array64:
        arguments = {"sigma": errors.unknown**0.5} if _takes_sigma(self.denoiser) else {}
        try:
            given = np.ma.filled(np.ma.asanyarray(self.denoiser(array, **arguments)), np.nan)
            result = given.astype(np.float64, casting="same_kind", copy=False)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"refine={self.denoiser!r} failed with an array of shape {array.shape}: {error}"
            ) from error
        if result.shape != array.shape or not np.isfinite(result).all():
            raise ArgumentError(
                f"refine={self.denoiser!r} gave an array of shape {result.shape} for one of shape {array.shape}, or "
                "numbers that are not finite; it must give finite numbers of the same shape"
            )
        return result


def _takes_sigma(function: Denoiser) -> bool:
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):  # built-in functions may have none
        return False
    found = parameters.get("sigma")
    return found is not None and found.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
