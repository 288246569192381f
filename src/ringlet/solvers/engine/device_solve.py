"""The solve of the scaled step on a device with float64: factored, by conjugate gradients, with or without smoothness.

What `gram_solve`, `kronecker_solve` and `smoothness` do in NumPy, on arrays of any library. A matrix that is formed is
solved in float64.
"""

from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from ringlet.amounts import format_bytes
from ringlet.arrays import Place, device_room
from ringlet.ring.arrays import Array64
from ringlet.solvers.engine.core_plan import cut
from ringlet.solvers.engine.device_gram import DeviceSum
from ringlet.solvers.engine.gram_solve import LEAST_SHIFT, RELATIVE_RIDGE
from ringlet.solvers.engine.kronecker_solve import conjugate_steps, rows_at_once, system_of
from ringlet.solvers.engine.smoothness import banded, frequencies

__all__ = ["DeviceSolve", "cosines", "solved"]

_AT_ONCE = 1 << 26  # numbers in the working arrays of conjugate gradients


@dataclass(frozen=True)
class DeviceSolve:
    """What scales a gradient: ``h = d (G + lambda I)^-1``, or ``h (G + lambda I) + smooth L h = d``.

    Attributes
    ----------
    gram : DeviceSum
        G, not zero.
    ridge, smooth : float
        At least 0.
    exact : bool
        With G formed; otherwise by conjugate gradients.
    """

    gram: DeviceSum
    ridge: float
    smooth: float
    exact: bool

    def __call__(self, rows: Any) -> Any:
        """``h`` for the rows of a gradient."""
        gram, xp = self.gram, self.gram.place.xp
        if not self.smooth:
            return self._factored(rows, self.ridge) if self.exact else self._conjugate(rows, self.ridge)
        shifts, waves = self.smooth * frequencies(rows.shape[0]), cosines(gram.place, rows)
        if self.exact:
            found = banded(gram, self.ridge, shifts)
            waves = xp.concat([self._factored(waves[band, :], shift) for band, shift in found])
        else:
            waves = self._conjugate(waves, self.ridge + shifts)
        return cosines(gram.place, waves, back=True)

    def _factored(self, rows: Any, shift: float) -> Any:
        gram = self.gram
        with device_room(f"to solve for {gram.size} unknowns, about {format_bytes(3 * 8 * gram.size**2)}"):
            return solved(gram.place.xp, gram.dense(max(RELATIVE_RIDGE * gram.norm + shift, LEAST_SHIFT)), rows)

    def _conjugate(self, rows: Any, shifts: float | Array64) -> Any:
        """As `conjugate_solve`: blocks of the same rows end at the same steps, many of them in one product."""
        gram, place, xp = self.gram.fetched(), self.gram.place, self.gram.place.xp
        dtype = place.numpy_dtype(rows)
        here, each, level = system_of(gram, shifts, rows.shape[0], dtype)
        system, terms = here.at(place), len(gram.left)
        step = rows_at_once((gram.left.shape[1], gram.right.shape[1]), terms)
        together, parts = max(1, _AT_ONCE // (step * gram.size * (terms + 8))) * step, []
        for span in cut(rows.shape[0], together):
            block = rows[span, :]
            largest = xp.max(xp.abs(block), axis=1, keepdims=True)
            largest = xp.where(largest > 0, largest, xp.ones_like(largest))
            d = system.turned(block / largest)
            sizes = place.fetch(largest)[:, 0].astype(np.float64)
            shift = place.put(each[span, np.newaxis].astype(dtype))
            parts.append(
                system.turned_back(conjugate_steps(system, shift, d, _Blocks(place, sizes, step))) * (largest / level)
            )
        return xp.concat(parts)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of `step` rows that are solved together; gains of rows count in their own units, `sizes`."""

    place: Place
    sizes: Array64
    step: int

    def gains(self, gains: Any) -> Array64:
        wide = self.place.fetch(gains).astype(np.float64)
        return np.add.reduceat(wide * self.sizes**2, np.arange(0, len(wide), self.step))

    def moving(self, lengths: Any, goes_on: Any) -> Any:
        if goes_on is True:  # at first
            return lengths
        rows = np.repeat(goes_on, self.step)[: len(self.sizes)]
        return lengths * self.place.put(rows.astype(self.place.numpy_dtype(lengths)))


def solved(xp: Any, gram: Any, rows: Any) -> Any:
    """``rows @ G^-1`` in the dtype of G, then that of the rows; of one matrix, or of a stack of them."""
    wide = xp.matrix_transpose(xp.astype(rows, gram.dtype))
    return xp.astype(xp.matrix_transpose(xp.linalg.solve(gram, wide)), rows.dtype)


def cosines(place: Place, rows: Any, *, back: bool = False) -> Any:
    """The orthonormal cosine transform (DCT-II) along the rows, or back: by a Fourier transform of rows in other order.

    Examples
    --------
    >>> waves = cosines(Place(np, "cpu"), np.array([[1.0], [1.0], [1.0], [1.0]]))
    >>> waves.round(9).ravel().tolist(), cosines(Place(np, "cpu"), waves, back=True).round(9).ravel().tolist()
    ([2.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    """
    xp, count, dtype = place.xp, rows.shape[0], place.numpy_dtype(rows)
    order = np.concatenate([np.arange(0, count, 2), np.arange(1, count, 2)[::-1]]).astype(np.int32)
    turns = np.exp(-0.5j * pi * np.arange(count) / count) * np.sqrt(np.where(np.arange(count), 2, 1) / count)
    turns = turns[:, np.newaxis].astype(np.result_type(dtype, np.complex64))
    complex_type = place.dtype(turns.dtype)
    if not back:
        turned = xp.fft.fft(xp.astype(xp.take(rows, place.put(order), axis=0), complex_type), axis=0)
        return xp.real(turned * place.put(turns))
    mirrored = xp.concat([xp.zeros_like(rows[:1, :]), xp.flip(rows[1:, :], axis=0)])
    whole = xp.astype(rows, complex_type) - 1j * xp.astype(mirrored, complex_type)
    entries = xp.real(xp.fft.ifft(whole * place.put(1 / turns), axis=0))
    return xp.take(entries, place.put(np.argsort(order).astype(np.int32)), axis=0)
