"""Algorithm 1 for many tensors of one shape and rank at once: all of them are one stack, and so are their cores.

A device needs large operations, and those of small tensors, such as patches, are not. Here every operation is done for
the whole stack. Each tensor has its own scale, kernel width, step length and end. Written for arrays of any library.
"""

from dataclasses import dataclass
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import format_bytes, machine_memory
from ringlet.arrays import Place
from ringlet.errors import ArgumentError, BudgetError
from ringlet.results.many_rings import ManyRings, merge_stacks
from ringlet.results.ring_snapshot import fill_empty
from ringlet.ring.arrays import Array64
from ringlet.robust import Kernel
from ringlet.solvers.base import working_dtype
from ringlet.solvers.engine.block_work import BlockMath, Entries
from ringlet.solvers.engine.device_solve import solved
from ringlet.solvers.engine.fresh_arrays import FreshArrays
from ringlet.solvers.engine.gram_solve import RELATIVE_RIDGE
from ringlet.solvers.sawrtrd.settings import AWRTRD
from ringlet.solvers.sawrtrd.start import Scale, check_representable, measure, random_start
from ringlet.sources import ArraySource, Survey, survey

__all__ = ["check_stack", "fit_stack"]

_HOST = Place(np, "cpu")


@dataclass
class _State:
    """The state of the fits of a stack; arrays with one number per tensor are NumPy's.

    Attributes
    ----------
    cores : list of arrays, shape (tensors, r_k, I_k, r_{k+1})
        Of the data divided by their ranges.
    width, narrowest : array
        Kernel widths, and their least values in this sweep, in data ranges.
    sweeps : array of int
        That a tensor took.
    quiet : array of int
        Number of sweeps in a row with a small change.
    """

    cores: list[Any]
    width: Array64
    narrowest: Array64
    sweeps: NDArray[np.int64]
    quiet: NDArray[np.int64]


class _Stack:
    """The tensors, their scales, and the core updates of all of them."""

    def __init__(self, place: Place, values: Any, observed: Any, settings: AWRTRD, seed: int) -> None:
        host = place.fetch(values)
        flags = None if observed is None else place.fetch(observed)
        self.dtype = working_dtype(host.dtype, settings.dtype)
        self.settings, self.place = settings, place
        found = [_looked_over(host, flags, i, seed) for i in range(len(host))]
        self.surveys, self.scales = [one for one, _ in found], [scale for _, scale in found]
        self.ranges = np.array([scale.data_range for scale in self.scales])
        for data_range in self.ranges:
            check_representable(float(data_range), self.dtype)
        missing = any(one.observed < prod(host.shape[1:]) for one in self.surveys)
        if host.dtype.kind == "f" and missing:
            numbers = ~place.xp.isnan(values)
            observed = numbers if observed is None else observed & numbers
        self.observed = observed if missing else None
        inverse = place.put((1 / self.ranges).astype(self.dtype).reshape(-1, *[1] * (host.ndim - 1)))
        self._arrays = FreshArrays(place.xp)
        flags = None if self.observed is None else place.xp.reshape(self.observed, (len(host), -1))
        scaled = self._arrays.scaled(values, flags, 1.0, place.dtype(self.dtype))
        self.values = place.xp.reshape(scaled, values.shape) * inverse
        self.counts = np.array([one.observed for one in self.surveys])
        self.shape = host.shape[1:]
        self.solving = place if place.has(np.dtype(np.float64)) else _HOST

    def start(self, rank: tuple[int, ...], seed: int) -> _State:
        """The first state, which is that of every tensor alone."""
        starts = [random_start(self.shape, rank, scale.centre, self.dtype, seed) for scale in self.scales]
        cores = [self.place.put(np.stack(of_a_mode)) for of_a_mode in zip(*starts, strict=True)]
        reach = [scale.reach if self.settings.width_rule().rule is not None else 1.0 for scale in self.scales]
        count = len(self.scales)
        whole = np.zeros(count, np.int64)
        return _State(cores, np.full(count, inf), np.array(reach), whole, whole.copy())

    def update(self, state: _State, k: int, going: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Any, Any]:
        """Update core k of those that have not ended; return which widths still change, and G_k and A_k."""
        xp, place, modes = self.place.xp, self.place, range(len(self.shape))
        ring_order = [(k + step) % len(self.shape) for step in modes]
        count, (_, a, length, b) = len(self.counts), state.cores[k].shape
        columns = prod(self.shape) // length
        axes = (0, *[1 + mode for mode in ring_order])
        subchain = reduce(merge_stacks, [state.cores[mode] for mode in ring_order[1:]])  # (tensors, b, J, a)
        matrix = xp.reshape(xp.permute_dims(subchain, (0, 3, 1, 2)), (count, a * b, columns))  # S^T
        rows = xp.reshape(xp.permute_dims(state.cores[k], (0, 2, 1, 3)), (count, length, a * b))
        unfolded = (count, length, columns)
        residuals = xp.reshape(xp.permute_dims(self.values, axes), unfolded) - rows @ matrix
        observed = None if self.observed is None else xp.reshape(xp.permute_dims(self.observed, axes), unfolded)
        state.width, settling = self._widths(state, residuals, observed)
        weights = self._weights(residuals, observed, state.width)
        mean_weight = np.ones(count)
        if weights is not None and not np.isinf(state.width).all():
            mean_weight = self._each(weights) / self.counts
        gram = self._wide(matrix) @ self.solving.xp.matrix_transpose(self._wide(matrix))  # G = S^T S
        ridge, penalty = self._ridge(gram, mean_weight, k, state)
        d = (residuals if weights is None else residuals * weights) @ xp.matrix_transpose(matrix)
        d = d - penalty * rows
        h = self._solved(gram, ridge, d)
        steps = h @ matrix
        steps *= steps
        curvature = self._each(steps if weights is None else steps * weights) + self._each(penalty * (h * h))
        gain = self._each(d * h)
        moves = going & (curvature > 0) & np.isfinite(gain)
        eta = np.where(moves, gain / np.where(curvature > 0, curvature, 1.0), 0.0)
        rows = rows + place.put(eta.astype(self.dtype).reshape(-1, 1, 1)) * h
        state.cores[k] = xp.permute_dims(xp.reshape(rows, (count, length, a, b)), (0, 2, 1, 3))
        return settling, gram, rows

    def unfolding_gram(self, gram: Any, rows: Any) -> Any:
        """``D = A G A^T``, which the stop rule compares."""
        wide = self._wide(rows)
        return wide @ gram @ self.solving.xp.matrix_transpose(wide)

    def _widths(self, state: _State, residuals: Any, observed: Any) -> tuple[Array64, NDArray[np.bool_]]:
        """Sigma of every tensor, and whether it is still changing."""
        rule = self.settings.width_rule()
        if rule.rule is None:
            found = [
                rule.fixed_width(self.dtype, float(size), float(least))
                for size, least in zip(self.ranges, state.narrowest, strict=True)
            ]
            return np.array([width for width, _ in found]), np.array([settling for _, settling in found])
        q25, q75 = self._quartiles(residuals, observed)
        spread = q75 - q25 if rule.rule == "iqr" else np.maximum(np.abs(q25), np.abs(q75))
        width = np.maximum(rule.factor * spread, rule.floor)
        return np.maximum(width, state.narrowest), (width <= state.narrowest) & (state.narrowest < inf)

    def _quartiles(self, residuals: Any, observed: Any) -> tuple[Array64, Array64]:
        """By the "hazen" rule, of the observed entries of every tensor."""
        xp, count = self.place.xp, len(self.counts)
        known = residuals if observed is None else xp.where(observed, residuals, xp.full_like(residuals, inf))
        ordered = xp.sort(xp.reshape(known, (count, -1)), axis=1)
        places = np.clip(np.outer(self.counts, [0.25, 0.75]) - 0.5, 0, self.counts[:, None] - 1.0)
        low = places.astype(np.int64)
        high = np.minimum(low + 1, self.counts[:, None] - 1)
        index = self.place.put(np.concatenate([low, high], axis=1))
        found = self.place.fetch(xp.take_along_axis(ordered, index, axis=1)).astype(np.float64)
        quartiles = found[:, :2] + (places - low) * (found[:, 2:] - found[:, :2])
        return quartiles[:, 0], quartiles[:, 1]

    def _weights(self, residuals: Any, observed: Any, width: Array64) -> Any:
        """W o P; None: all are one. Residuals are measured in widths, so that one kernel serves all."""
        entries = Entries(None, observed, 1.0)
        if np.isinf(width).all():
            return BlockMath(self._arrays).weights(residuals, entries, None)
        inverse = self.place.put((1 / width).astype(self.dtype).reshape(-1, 1, 1))
        return BlockMath(self._arrays).weights(residuals * inverse, entries, Kernel(1.0, self.settings.kernel_loss))

    def _ridge(self, gram: Any, mean_weight: Array64, k: int, state: _State) -> tuple[Array64, Any]:
        """The ridge of every tensor, and that of every row, as arrays of the place."""
        size = gram.shape[1]
        level = self.solving.fetch(self.solving.xp.linalg.trace(gram)) / size
        penalties, entries = self.settings.penalties(len(self.shape)), prod(self.shape)
        rank = tuple(core.shape[1] for core in state.cores)
        unknowns = self.settings.plan(self.shape, rank, self.dtype).unknowns
        trusted = mean_weight * self.counts / entries
        strengths = np.array([penalties.ridge_for(unknowns, float(part)) for part in trusted])
        ridge = np.array([scale.penalty_unit for scale in self.scales]) * strengths * level
        shares = np.stack([one.shares[k] for one in self.surveys]) * mean_weight[:, None]
        return ridge, self.place.put((ridge[:, None] * shares).astype(self.dtype)[:, :, None])

    def _solved(self, gram: Any, ridge: Array64, d: Any) -> Any:
        """``h = d (G + lambda I)^-1`` in float64; where G is zero, zero."""
        xp, place, size = self.solving.xp, self.solving, gram.shape[1]
        norm = place.fetch(xp.sqrt(xp.sum(gram * gram, axis=(1, 2))))
        shift = np.where(norm > 0, RELATIVE_RIDGE * norm + ridge, 1.0)
        shifted = gram + place.put(shift[:, None, None]) * place.put(np.eye(size))
        return self.place.put(solved(xp, shifted, d if place is self.place else self.place.fetch(d)))

    def _wide(self, array: Any) -> Any:
        """Convert to float64, in which equations are solved."""
        if self.solving is self.place:
            return self.place.xp.astype(array, self.place.dtype(np.dtype(np.float64)))
        return self.place.fetch(array).astype(np.float64)

    def _each(self, array: Any) -> Array64:
        """One sum for every tensor, on the host."""
        return self.place.fetch(self.place.xp.sum(array, axis=(1, 2))).astype(np.float64)


def check_stack(shape: tuple[int, ...], rank: tuple[int, ...], settings: AWRTRD, itemsize: int) -> None:
    """Refuse a stack that needs more memory than the budget, or than the machine has, before it takes any.

    Parameters
    ----------
    shape : tuple of int
        Of the stack; its first mode counts the tensors.
    rank : tuple of int
        Of every ring.
    settings : AWRTRD
    itemsize : int
        Bytes of a number.

    Examples
    --------
    >>> check_stack((2, 3, 4), (1000, 1000), AWRTRD(memory="1MB"), 8)
    Traceback (most recent call last):
    ringlet.errors.BudgetError: a stack of shape (2, 3, 4) with rank (1000, 1000) needs 16 TB of memory or more, but \
there is 1 MB; give a smaller rank, or fewer tensors at a time
    """
    count, *lengths = shape
    entries = prod(lengths)
    work = 0
    for mode, length in enumerate(lengths):
        unknowns = rank[mode] * rank[(mode + 1) % len(rank)]
        # The subchain, the Gram matrix, and residuals and weights of the entries.
        work = max(work, unknowns * (entries // length) + unknowns * unknowns + 2 * entries)
    needed, limit = count * work * itemsize, settings.budget or machine_memory()
    if limit is not None and needed > limit:
        raise BudgetError(
            f"a stack of shape {shape} with rank {rank} needs {format_bytes(needed)} of memory or more, but there is "
            f"{format_bytes(limit)}; give a smaller rank, or fewer tensors at a time"
        )


def fit_stack(
    place: Place, values: Any, observed: Any, rank: tuple[int, ...], settings: AWRTRD, seed: int
) -> ManyRings:
    """Fit all tensors of a stack.

    Parameters
    ----------
    place : Place
        Of values and mask; NumPy's is ``Place(numpy, "cpu")``.
    values : array, shape (tensors, ...)
    observed : bool array of the same shape, or None
    rank : tuple of int
    settings : AWRTRD
        Without smoothness, which would couple rows.
    seed : int
        All tensors begin with the same random numbers, as each would alone.
    """
    stack = _Stack(place, values, observed, settings, seed)
    state, rule = stack.start(rank, seed), settings.width_rule()
    narrowing = np.array([rule.narrowing(float(size), settings.sweeps) for size in stack.ranges])
    levels = np.array([scale.level for scale in stack.scales])
    before: Array64 | None = None
    for _ in range(settings.sweeps):
        going = state.quiet < settings.patience
        if not going.any():
            break
        for k in range(len(rank)):
            settling, gram, rows = stack.update(state, k, going)
        now = stack.solving.fetch(stack.unfolding_gram(gram, rows))
        change = _change(now, before) * levels
        state.narrowest, before = narrowing * state.width, now
        state.sweeps = state.sweeps + going
        state.quiet = np.where(going & ~((change < settings.tol) & ~settling), 0, state.quiet + 1)
    cores = tuple(_in_units(stack, state))
    return ManyRings(cores, state.sweeps, state.quiet >= settings.patience, state.width * stack.ranges)


def _change(now: Array64, before: Array64 | None) -> Array64:
    """``||D - D'||_F / ||D||_F`` of every tensor; infinite at first, zero if both vanish."""
    if before is None:
        return np.full(len(now), inf)
    size, difference = (np.sqrt(np.sum(part * part, axis=(1, 2))) for part in (now, now - before))
    return np.where(size > 0, difference / np.where(size > 0, size, 1.0), np.where(difference > 0, inf, 0.0))


def _in_units(stack: _Stack, state: _State) -> list[Any]:
    """The cores in the data's units; slices without data are interpolated."""
    place, factor = stack.place, stack.ranges ** (1 / len(stack.shape))
    scaled = []
    for k, core in enumerate(state.cores):
        if any(one.empty[k] for one in stack.surveys):
            empty = [one.empty[k] for one in stack.surveys]
            core = place.put(np.stack(list(map(fill_empty, place.fetch(core), empty))))
        scaled.append(core * place.put(factor.astype(stack.dtype).reshape(-1, 1, 1, 1)))
    return scaled


def _looked_over(host: NDArray[Any], flags: NDArray[np.bool_] | None, i: int, seed: int) -> tuple[Survey, Scale]:
    """Survey of one tensor of the stack."""
    source = ArraySource(host[i], None if flags is None else flags[i])
    try:
        found = survey(source)
    except ArgumentError as error:
        raise ArgumentError(f"data[{i}]: {error}") from None
    return found, measure(source, found, seed)
