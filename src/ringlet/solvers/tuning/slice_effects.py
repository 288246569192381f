"""Effects of slices: one number for every slice of every mode, which are added and taken off data with outages.

Where a sensor fails for days, whole fibres are missing. A ring knows them only by what bonds say of their slices, and
held-out entries of other fibres do not tell how wrong that is. Less the effects, what the data do not determine ends
near the usual values of the slices instead of anywhere. The sum of all effects is a ring with bonds of 2, so the ring
of the data is the sum of two rings.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.results.records import Rung
from ringlet.ring.algebra import add
from ringlet.ring.chain import Core
from ringlet.ring.ranks import parameters
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.start import Scale
from ringlet.solvers.tuning.holdout import missing_together
from ringlet.solvers.tuning.snapshot import AutomaticSnapshot
from ringlet.sources import ArraySource, Source
from ringlet.sources.base import slabs

__all__ = ["SliceEffects", "slice_effects", "slice_effects_memory"]

_LONG = 8  # slices: shorter fibres, as the colours of a pixel, are nearly single entries
_NEARLY_ALL = 0.75  # of what is missing is missing in whole fibres; boxes are described better without effects
_BESIDE = 0.5  # of these fibres lie beside a known one; holes get guides
_MOST = 1 << 22  # entries: of larger data all slices are well known
_BYTES = 24  # for every entry: the data without the effects, and what is left over while they are measured
_ROOM = 10  # times these must fit into a memory budget
_MEDIANS, _MEANS = 2, 6  # rounds in which the effects of all modes settle: from medians to means
_SPREAD = 0.75  # quantile of the sizes of what medians leave over,
_FAR = 6.0  # and the multiple of it to which larger ones are moved
_SLAB_ENTRIES = 1 << 19


@dataclass(frozen=True, eq=False)
class SliceEffects:
    """One number for every slice of every mode, to be added.

    Attributes
    ----------
    parts : tuple of float64 arrays
        One a mode, of as many numbers as it has slices.
    """

    parts: tuple[NDArray[np.float64], ...]

    @property
    def bonds(self) -> tuple[int, ...]:
        """Of the ring of their sum."""
        return (1, *(2 for _ in self.parts[1:]))

    def at(self, block: Sequence[slice]) -> NDArray[np.float64]:
        """Their sums in a block.

        Examples
        --------
        >>> SliceEffects((np.array([1.0, 2.0]), np.array([10.0, 20.0]))).at((slice(0, 2), slice(1, 2))).tolist()
        [[21.0], [22.0]]
        """
        sums = np.zeros((1,) * len(self.parts))
        for mode, part in enumerate(self.parts):
            sums = sums + part[block[mode]].reshape([-1 if other == mode else 1 for other in range(len(self.parts))])
        return sums

    def taken_off(self, problem: Problem, dtype: np.dtype[Any]) -> Problem:
        """The problem of what they leave over, of this dtype; its source is in memory."""
        source = problem.source
        values, observed = np.empty(source.shape, dtype), np.empty(source.shape, np.bool_)
        for slab in slabs(source.shape, _SLAB_ENTRIES):
            read, known = source.read(slab)
            values[slab] = read - self.at(slab)
            observed[slab] = True if known is None else known
        rest: Source = ArraySource(values, observed)
        return replace(problem, source=rest, survey=first_look(rest, problem.executor))

    def added_to(self, cores: Sequence[Core], size: float) -> tuple[Core, ...]:
        """Cores of a ring of what they leave over, divided by `size`, to which they are added, divided by it, too."""
        effects, last = [], len(self.parts) - 1
        for mode, part in enumerate(self.parts):
            core = np.zeros((2, len(part), 2), cores[0].dtype)  # [[1, effect], [0, 1]]
            core[0, :, 0] = core[1, :, 1] = 1.0
            core[0, :, 1] = part / size
            core = core[:1] if mode == 0 else core  # the first row of the first,
            effects.append(core[:, :, 1:] if mode == last else core)  # and the last column of the last
        return tuple(add(cores, effects))

    def added_to_snapshot(self, found: AutomaticSnapshot, scale: Scale) -> AutomaticSnapshot:
        """What a fit of what they leave over has found, told of the data, which have this scale."""
        size, order = found.size, len(self.parts)
        unit = found.cores[0].dtype.type((size / scale.data_range) ** (1 / order))

        def whole(cores: Sequence[Core]) -> tuple[Core, ...]:
            return tuple([core * unit for core in self.added_to(cores, size)])

        honest = None
        if found.honest is not None:
            honest = replace(found.honest, cores=whole(found.honest.cores), size=scale.data_range)
        path = tuple(map(self._with_effects, found.path))
        return replace(found, cores=whole(found.cores), size=scale.data_range, scale=scale, honest=honest, path=path)

    def _with_effects(self, rung: Rung) -> Rung:
        """A rung with the size of the ring to which they are added."""
        rank = tuple([bond + more for bond, more in zip(rung.rank, self.bonds, strict=True)])
        return replace(rung, rank=rank, parameters=parameters([len(part) for part in self.parts], rank))


def slice_effects_memory(shape: Sequence[int]) -> int:
    """Bytes that the data without their effects take, beside the data."""
    return prod(shape) * _BYTES


def slice_effects(problem: Problem, budget: int | None = None) -> SliceEffects | None:
    """The effects of the slices of data in memory in which mostly whole fibres are missing; None of others.

    Those of a slice are means of its entries less the other effects. Entries far from medians are moved nearer before,
    so that wrong ones do little.
    A ring of a given size or start has no room for them.

    Parameters
    ----------
    problem : Problem
    budget : int, optional
        Bytes that the fit may take.
    """
    source, choice = problem.source, problem.choice
    if (
        choice is None
        or choice != RankChoice()
        or problem.init is not None
        or problem.executor is not None
        or not isinstance(source, ArraySource)
    ):
        return None
    shape, observed = source.shape, problem.survey.observed
    small = prod(shape) <= _MOST and (budget is None or _ROOM * slice_effects_memory(shape) <= budget)
    if observed == prod(shape) or not small or not _has_room(shape, choice):
        return None
    whole = tuple([np.arange(length) for length in shape])
    together = missing_together(source, [whole], 1.0 - observed / prod(shape), _NEARLY_ALL)
    values, known = source.read(whole)
    if known is None or not any(shape[mode] >= _LONG and _scattered(known, mode) for mode in together):
        return None
    return _measured(np.where(known, values, 0).astype(np.float64), known)


def _has_room(shape: tuple[int, ...], choice: RankChoice) -> bool:
    """Whether the first ring of a path, with the effects added, is as small as an automatic ring has to be."""
    most = choice.most_parameters(shape, itemsize=8)
    first = choice.start_rank(shape, most)
    return parameters(shape, [first[0] + 1, *(bond + 2 for bond in first[1:])]) <= most


def _scattered(known: NDArray[np.bool_], mode: int) -> bool:
    """Whether most fibres of a mode that are missing lie beside one that is not: others are large holes."""
    missing: NDArray[np.bool_] = np.logical_not(np.asarray(known.any(axis=mode)))
    alone = np.zeros_like(missing)
    for other in range(missing.ndim):
        beside, gone = np.moveaxis(alone, other, 0), np.moveaxis(missing, other, 0)
        beside[1:] |= ~gone[:-1]
        beside[:-1] |= ~gone[1:]
    return bool(np.count_nonzero(alone & missing) > _BESIDE * np.count_nonzero(missing))


def _measured(rest: NDArray[np.float64], known: NDArray[np.bool_]) -> SliceEffects | None:
    """Effects of the slices of an array, which is overwritten."""
    order = rest.ndim
    parts, far = [np.zeros(length) for length in rest.shape], 0.0
    for number in range(_MEDIANS + _MEANS):
        if number == _MEDIANS:
            far = _FAR * float(np.quantile(np.abs(rest[known]), _SPREAD))
            if not far > 0:  # mostly one value
                return None
        for mode in range(order):
            found = np.zeros(rest.shape[mode])
            for place, (entries, seen) in enumerate(
                zip(np.moveaxis(rest, mode, 0), np.moveaxis(known, mode, 0), strict=True)
            ):
                if seen.any():
                    left = entries[seen]
                    found[place] = np.clip(left, -far, far).mean() if far else np.median(left)
            parts[mode] += found
            rest -= found.reshape([-1 if other == mode else 1 for other in range(order)])
    return SliceEffects(tuple(parts))
