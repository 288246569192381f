"""The paper's step on one core: along the scaled gradient, with an exact line search.

Fits, appended slices and the refresh of the other cores take the same step. They differ in the `Penalty` that is
added to the loss of the data.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Any, Protocol, TypeAlias

import numpy as np

from ringlet.arrays import Place
from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.block_work import Weights
from ringlet.solvers.engine.device_gram import inner
from ringlet.solvers.engine.gram_solve import solve_once
from ringlet.solvers.engine.kronecker_solve import conjugate_solve
from ringlet.solvers.engine.smoothness import laplacian, roughness, smooth_solve
from ringlet.solvers.engine.streamed_pass import Pass

__all__ = [
    "CorePenalty",
    "Descent",
    "PartialSearch",
    "Penalties",
    "Penalty",
    "Solve",
    "scaled_step",
    "solver_of",
]

Solve: TypeAlias = Callable[[Floats], Floats]

_BLOCK_NUMBERS = 1 << 18  # numbers of a core per block, so that temporaries stay small
_RIDGE_FACTOR = 2.0  # automatic ridge: its strength at one unknown per entry, squared
_RIDGE_LEAST, _RIDGE_MOST = 0.02, 0.3  # bounds of the strength
_RIDGE_ONSET = 4.0  # the ridge has its full strength if a quarter of the entries is missing or distrusted
_GOLDEN = (sqrt(5.0) - 1.0) / 2.0  # its multiples share no period with the data
_LARGEST_FACTOR = 2.0  # over the factor that equal slices give; beyond it all slices are searched
_LEAST_TRUSTED = 1e-3  # share of the entries


@dataclass(frozen=True)
class Penalties:
    """Strengths of penalties on the cores, and a factor of the kernel width.

    Strengths are relative to the mean diagonal of the Gram matrix; where data lie far from zero, to the part of it that
    is due to what varies (`ringlet.solvers.sawrtrd.start.Scale.penalty_unit`).

    Attributes
    ----------
    ridge : float or None
        None: the rule of `ridge_for` decides.
    smooth : tuple of float
        One per mode.
    width : float
        Factor of the width that the rule of the solver gives.
    """

    ridge: float | None
    smooth: tuple[float, ...]
    width: float = 1.0

    def ridge_for(self, unknowns: float, trusted: float) -> float:
        """The strength of the ridge: as given, or by a rule from how well the data determine the cores.

        It grows with the unknowns of a slice for each of its trusted entries, and is zero where all entries are
        observed and trusted. The worst determined core counts for all: different penalties would only move weight from
        core to core.

        Parameters
        ----------
        unknowns : float
            Of a slice, over its entries.
        trusted : float
            Share of the entries that are observed and trusted.
        """
        if self.ridge is not None:
            return self.ridge
        trusted = max(trusted, _LEAST_TRUSTED)
        doubt = min(1.0, _RIDGE_ONSET * (1.0 - trusted))
        return doubt * min(max(_RIDGE_FACTOR * (unknowns / trusted) ** 2, _RIDGE_LEAST), _RIDGE_MOST)


class Penalty(Protocol):
    """A quadratic term that is added to the loss of the data."""

    def pull(self, gradient: Floats, rows: Floats) -> Floats:
        """The descent direction d plus that of this term, in place if possible."""
        ...

    def curvature(self, direction: Floats) -> float:
        """Twice the term along a direction: what it adds to the denominator of the line search."""
        ...


@dataclass(frozen=True)
class CorePenalty:
    """Ridge and smoothness of one core, ``ridge sum_i s_i ||a_i||^2 + smooth s sum_i ||a_{i+1} - a_i||^2``.

    Attributes
    ----------
    ridge, smooth : float
        Strengths.
    shares : array, shape (rows, 1)
        s_i: for every row, the part of the Gram matrix that its sampled, observed, trusted entries make up. Penalties
        count in proportion; smoothness, which couples rows, by their mean s.
    mapper : callable
        Used like `map` for independent pieces.
    before : array, shape (1, columns), optional
        The row before the first, which does not move: slices that are appended follow it.
    mean : float, optional
        Of the shares, if these are on a device.
    xp : module
        The library of shares, rows and gradients.
    """

    ridge: float
    smooth: float
    shares: Floats
    mapper: Mapper = map
    before: Floats | None = None
    mean: float | None = None
    xp: Any = np

    def pull(self, gradient: Floats, rows: Floats) -> Floats:
        """``d - ridge s A - smooth s L A``."""
        xp, shares, d = self.xp, self.shares, gradient
        number = d.dtype.type if xp is np else float
        if self.ridge and xp is not np:
            d -= self.ridge * shares * rows
        elif self.ridge:  # in place, in blocks
            ridge = number(self.ridge)
            pulls = self.mapper(lambda i: np.subtract(d[i], (ridge * shares[i]) * rows[i], out=d[i]), _blocks(rows))
            deque(pulls, maxlen=0)
        if self.smooth:
            moved = rows if self.before is None else np.concatenate([self.before, rows])
            following = moved.shape[0] - rows.shape[0]
            d -= number(self.smooth * self._mean) * laplacian(moved, xp)[following:, :]
        return d

    def curvature(self, direction: Floats) -> float:
        """``ridge <s h, h> + smooth s <h, L h>``."""
        shares, total = self.shares, 0.0
        if self.xp is not np:
            total += self.ridge * inner(shares * direction, direction) if self.ridge else 0.0
            smooth = self.smooth * self._mean
            return total + (smooth * inner(laplacian(direction, self.xp), direction) if self.smooth else 0.0)
        if self.ridge:
            squares = self.mapper(
                lambda block: float(np.vdot(shares[block] * direction[block], direction[block])), _blocks(direction)
            )
            total += self.ridge * sum(squares)
        if self.smooth:
            still = [] if self.before is None else [np.zeros_like(self.before)]
            total += self._mean * self.smooth * roughness(np.concatenate([*still, direction]))
        return total

    @property
    def _mean(self) -> float:
        return float(self.shares.mean()) if self.mean is None else self.mean


def solver_of(
    gram: KroneckerSum,
    ridge: float,
    smooth: float,
    mapper: Mapper = map,
    room: Array64 | None = None,
    *,
    exact: bool = True,
) -> Solve:
    """What scales a gradient: ``h = d (G + lambda I)^-1``, or ``h (G + lambda I) + smooth L h = d``.

    Parameters
    ----------
    gram : KroneckerSum
        G, not zero.
    ridge, smooth : float
        At least 0.
    mapper : callable
        Used like `map` for independent pieces.
    room : array of float64, shape (n, n), finite, optional
        Where to factor G; overwritten.
    exact : bool
        By a factorisation of G; otherwise by conjugate gradients, for which G is not formed.
    """
    if smooth:
        return lambda d: smooth_solve(gram, ridge, smooth, d, mapper, room, exact=exact)
    if exact:
        return lambda d: solve_once(gram, ridge, d, mapper, room)
    return lambda d: conjugate_solve(gram, ridge, d, mapper)


@dataclass(frozen=True)
class Descent:
    """Where the data pull the rows of a core: the same for steps under any penalty.

    Attributes
    ----------
    data : Pass
        Over what the update looks at.
    gradient : array
        Rows of ``d = (W o P o (X - A S^T)) S``.
    weights : Weights
        W o P.
    """

    data: Pass
    gradient: Floats
    weights: Weights


@dataclass(frozen=True)
class PartialSearch:
    """A line search over one of every `one_of` neighbouring slices.

    The curvature of slice i is close to its share times ``<d_i, h_i>``. So the curvature of all slices is that of the
    searched slices, times the ratio of the sums of these numbers.

    Attributes
    ----------
    one_of : int
        1: all slices are searched.
    shares : array, shape (rows, 1)
        Of the Gram matrix, as in `CorePenalty`.
    place : Place, optional
        Where a pass takes the direction of all slices, most of which are zero; the result agrees with NumPy's.
    """

    one_of: int
    shares: Floats
    place: Place | None = None

    def of(self, d: Floats, h: Floats, mapper: Mapper = map) -> tuple[Floats, float] | None:
        """The direction, zero for slices that are not searched, and the factor of its curvature; None: search all."""
        if self.one_of == 1:
            return None
        on_host = isinstance(h, np.ndarray)
        if on_host or self.place is None:
            gains = np.concatenate(list(mapper(lambda i: np.einsum("ij,ij->i", d[i], h[i]), _blocks(d))))
        else:
            gains = self.place.fetch(self.place.xp.sum(d * h, axis=1))
        gains = gains.astype(np.float64) * self.shares[:, 0]
        starts = np.arange(0, len(gains), self.one_of)
        chosen = starts + (np.arange(len(starts)) * _GOLDEN % 1.0 * self.one_of).astype(np.intp)
        chosen = chosen[chosen < len(gains)]
        whole, part = float(gains.sum()), float(gains[chosen].sum())
        if not 0.0 < whole <= _LARGEST_FACTOR * self.one_of * part:  # other slices outweigh these; or no descent
            return None
        if self.place is not None and not on_host:
            searched = np.isin(np.arange(len(gains)), chosen)[:, np.newaxis]
            return h * self.place.put(searched.astype(self.place.numpy_dtype(h))), whole / part
        direction = np.zeros_like(h)
        direction[chosen] = h[chosen]
        return direction, whole / part


def scaled_step(
    descent: Descent,
    penalty: Penalty | None = None,
    solve: Solve | None = None,
    mapper: Mapper = map,
    search: PartialSearch | None = None,
    *,
    again: bool = False,
) -> Floats | None:
    """The rows of a core after one scaled steepest descent step with exact line search; None if it cannot move.

    Parameters
    ----------
    descent : Descent
    penalty : Penalty, optional
    solve : callable, optional
        Scales the gradient; without it the step is along the gradient itself.
    mapper : callable
        Used like `map` for independent pieces.
    search : PartialSearch, optional
        For a line search over some slices only.
    again : bool
        Whether the descent serves another step afterwards; if not, its gradient is overwritten.
    """
    data, rows, d = descent.data, descent.data.rows, descent.gradient  # d = (W o P o (X - A S^T)) S
    blocks = _blocks(rows)
    if again:
        d = d + 0  # a copy, in any library
    if penalty is not None:
        d = penalty.pull(d, rows)
    h = d if solve is None else solve(d)  # h = d (G + lambda I)^-1
    on_host = isinstance(h, np.ndarray)
    numerator = sum(mapper(lambda i: float(np.vdot(d[i], h[i])), blocks)) if on_host else inner(d, h)
    part = None if search is None else search.of(d, h, mapper)
    if search is None or part is None:
        denominator = data.curvature(h, descent.weights)
    else:
        weights = descent.weights
        if search.place is None:
            weights = replace(weights, room=None, kept=None, one_of=search.one_of)
        denominator = part[1] * data.curvature(part[0], weights)
    denominator += 0.0 if penalty is None else penalty.curvature(h)
    eta = numerator / denominator if denominator > 0.0 else 0.0  # <d, h> / || sqrt(W) o P o (h S^T) ||^2
    if eta == 0.0 or not isfinite(eta):
        return None
    if not on_host:
        return rows + eta * h
    length = h.dtype.type(eta)
    deque(mapper(lambda i: np.add(np.multiply(h[i], length, out=h[i]), rows[i], out=h[i]), blocks), maxlen=0)
    return h  # A + eta h, where h was


def _blocks(rows: Floats) -> list[slice]:
    step = max(1, _BLOCK_NUMBERS // rows.shape[1])
    return [slice(start, start + step) for start in range(0, rows.shape[0], step)]
