"""A pass over all entries of stored data on a cluster: workers take regions, whose contributions add up here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Placement, Profile
from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.robust import Loss
from ringlet.solvers.engine.core_plan import CorePlan, plan_core
from ringlet.solvers.engine.prefetch import hold
from ringlet.solvers.engine.streamed_pass import StreamedPass, unfold
from ringlet.solvers.engine.subchain import Workspace
from ringlet.sources import Source

__all__ = ["SpreadRegions", "region_tasks"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Region: TypeAlias = tuple[slice, ...]

_TASKS_A_SLOT = 4  # sent at a time: slots that are done early find work, and the driver's memory is not filled
_REGIONS_A_TASK = 8  # at most

_workspace = Workspace()  # a worker's threads come back to it


@dataclass(frozen=True)
class RegionTask:
    """One region: where it is, how to work on it, the cores at its indices, and the direction of a line search."""

    region: Region
    plan: CorePlan
    cores: Sequence[Core]
    direction: Floats | None


class SpreadRegions:
    """A pass like `RegionPass`, to the bit, with some regions in the hands of every worker.

    Parameters
    ----------
    regions : sequence of blocks
    cores : sequence of arrays
    mode : int
        The core that is updated, k.
    scale : float
        The data are divided by it as they are read.
    placement : Placement
    """

    def __init__(
        self, regions: Sequence[Region], cores: Sequence[Core], mode: int, scale: float, placement: Placement
    ) -> None:
        self._regions = regions
        self._cores = cores
        self._mode = mode
        self._scale = scale
        self._placement = placement
        self.rows = unfold(cores[mode])

    def gradient(self, loss: Loss, width: float, run: Run) -> Floats:  # noqa: ARG002 - workers do it, not threads
        """Rows of ``d = (W o P o (X - A S^T)) S``."""
        out = np.zeros_like(self.rows)
        for region, rows in zip(self._regions, self._each(loss, width, None), strict=True):
            out[region[self._mode]] += rows
        return out

    def curvature(self, direction: Floats, loss: Loss, width: float, run: Run) -> float:  # noqa: ARG002
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        return float(sum(self._each(loss, width, direction)))

    def _each(self, loss: Loss, width: float, direction: Floats | None) -> Iterator[Any]:
        """What every region contributes, in their order."""
        slots, regions = self._placement.slots, self._regions
        count = region_tasks(len(regions), slots)
        bounds = [len(regions) * place // count for place in range(count + 1)]
        for first in range(0, count, _TASKS_A_SLOT * slots):
            tasks = [
                [self._task(region, direction) for region in regions[start:stop]]
                for start, stop in pairwise(bounds[first : first + _TASKS_A_SLOT * slots + 1])
            ]
            yield from chain.from_iterable(self._placement.map(_work_on_regions, (self._scale, loss, width), tasks))

    def _task(self, region: Region, direction: Floats | None) -> RegionTask:
        cores = [np.ascontiguousarray(core[:, chosen, :]) for core, chosen in zip(self._cores, region, strict=True)]
        plan = plan_core(tuple(core.shape[1] for core in cores), tuple(core.shape[0] for core in cores), self._mode)
        return RegionTask(region, plan, cores, None if direction is None else direction[region[self._mode]])


def region_tasks(regions: int, slots: int) -> int:
    """How many tasks a pass over so many regions makes, on so many slots.

    Examples
    --------
    >>> region_tasks(3, 2), region_tasks(64, 2), region_tasks(6400, 2)
    (3, 8, 800)
    """
    return max(ceil(regions / _REGIONS_A_TASK), min(regions, _TASKS_A_SLOT * slots))


def _work_on_regions(
    source: Source, shared: tuple[float, Loss, float], tasks: Sequence[RegionTask]
) -> list[Floats | float]:
    """What every region contributes; runs on the worker."""
    return [_work_on_region(source, shared, task) for task in tasks]


def _work_on_region(source: Source, shared: tuple[float, Loss, float], task: RegionTask) -> Floats | float:
    """Rows of the gradient, or the curvature along the direction."""
    scale, loss, width = shared
    held = hold(source, task.region, tuple(range(len(task.region))))
    streamed = StreamedPass(
        held,
        tuple(map(np.arange, held.shape)),
        task.cores,
        task.plan,
        scale=scale,
        row_weights=None,
        weights_room=None,
        workspace=_workspace,
        profile=Profile(),
    )
    if task.direction is None:
        return streamed.gradient(loss, width, map)
    return streamed.curvature(task.direction, loss, width, map)
