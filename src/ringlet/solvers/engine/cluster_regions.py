"""A pass over all entries of stored data on a cluster: workers compute regions, and the sums are taken here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from ringlet.execution import Placement
from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core, unfold
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import Weights
from ringlet.solvers.engine.prefetch import hold
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import Source

__all__ = ["ClusterRegions", "region_tasks"]

Region: TypeAlias = tuple[slice, ...]

_TASKS_A_SLOT = 4  # sent at a time: slots that end early find work, and the driver's memory does not fill up
_REGIONS_A_TASK = 8  # at most

_resources = Resources()  # a worker's threads use its workspace again


@dataclass(frozen=True)
class RegionTask:
    """One region: where it is, the core to update, the cores at its indices, and the direction of a line search."""

    region: Region
    mode: int
    cores: list[Core]
    direction: Floats | None


class ClusterRegions:
    """A pass like `RegionPass`, to the bit, in which every worker computes some regions.

    Parameters
    ----------
    regions : sequence of blocks
    sketch : Sketch
        All entries.
    data_range : float
        The data are divided by it as they are read.
    placement : Placement
    """

    def __init__(self, regions: Sequence[Region], sketch: Sketch, data_range: float, placement: Placement) -> None:
        self._regions = regions
        self._cores = sketch.cores
        self._mode = sketch.mode
        self._data_range = data_range
        self._placement = placement
        self.rows = unfold(sketch.cores[sketch.mode])

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights, which are not kept."""
        out = np.zeros_like(self.rows)
        for region, rows in zip(self._regions, self._each(kernel, None), strict=True):
            out[region[self._mode]] += rows
        return out, Weights(kernel)

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        return float(sum(self._each(weights.kernel, direction)))

    def _each(self, kernel: Kernel, direction: Floats | None) -> Iterator[Any]:
        """What every region contributes, in their order."""
        slots, regions = self._placement.slots, self._regions
        count = region_tasks(len(regions), slots)
        bounds = [len(regions) * place // count for place in range(count + 1)]
        for first in range(0, count, _TASKS_A_SLOT * slots):
            tasks = [
                [self._task(region, direction) for region in regions[start:stop]]
                for start, stop in pairwise(bounds[first : first + _TASKS_A_SLOT * slots + 1])
            ]
            yield from chain.from_iterable(self._placement.map(_work_on_regions, (self._data_range, kernel), tasks))

    def _task(self, region: Region, direction: Floats | None) -> RegionTask:
        cores = [np.ascontiguousarray(core[:, chosen, :]) for core, chosen in zip(self._cores, region, strict=True)]
        return RegionTask(region, self._mode, cores, None if direction is None else direction[region[self._mode]])


def region_tasks(regions: int, slots: int) -> int:
    """How many tasks a pass over this number of regions makes, on this number of slots.

    Examples
    --------
    >>> region_tasks(3, 2), region_tasks(64, 2), region_tasks(6400, 2)
    (3, 8, 800)
    """
    return max(ceil(regions / _REGIONS_A_TASK), min(regions, _TASKS_A_SLOT * slots))


def _work_on_regions(source: Source, shared: tuple[float, Kernel], tasks: Sequence[RegionTask]) -> list[Floats | float]:
    """What every region contributes, rows of the gradient or the curvature along the direction; runs on the worker."""
    data_range, kernel = shared
    found: list[Floats | float] = []
    for task in tasks:
        held = hold(source, task.region, tuple(range(len(task.region))))
        sketch = Sketch(held, task.mode, tuple(map(np.arange, held.shape)), task.cores)
        streamed = StreamedPass(sketch, data_range, _resources)
        if task.direction is None:
            found.append(streamed.gradient(kernel)[0])
        else:
            found.append(streamed.curvature(task.direction, Weights(kernel)))
    return found
