"""The passes over the data of a fit, with the memory that they share: over pilots, sketches, and regions of stores."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Placement, Profile
from ringlet.ring.chain import Core
from ringlet.solvers.engine.cluster_regions import SpreadRegions
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.engine.regions import RegionPass, Regions
from ringlet.solvers.engine.sketch import Sketch
from ringlet.solvers.engine.streamed_pass import StreamedPass
from ringlet.solvers.engine.subchain import Workspace

__all__ = ["Pass", "Passes"]

Pass: TypeAlias = StreamedPass | RegionPass | SpreadRegions


class Passes:
    """Makes passes.

    Parameters
    ----------
    size : float
        The data are divided by it as they are read.
    dtype : dtype
        Of the work.
    profile : Profile
    """

    def __init__(self, size: float, dtype: np.dtype[Any], profile: Profile) -> None:
        self._size = size
        self._dtype = dtype
        self._profile = profile
        self._workspace = Workspace()
        self._weights_room: NDArray[Any] = np.empty(0, dtype)
        self._keeps_weights: tuple[bool, ...] = ()
        self._regions: Regions | None = None
        self._placement: Placement | None = None

    def prepare(self, plan: FitPlan) -> None:
        """Take the memory for the weights that are kept by this plan."""
        self._keeps_weights = tuple(core.keeps_weights for core in plan.cores)
        kept = (core.plan.entries for core in plan.cores if core.keeps_weights)
        self._weights_room = np.empty(max(kept, default=0), self._dtype)

    def look_at(self, regions: Regions | None, placement: Placement | None) -> None:
        """Where the data are from now on: in regions of a store, on a cluster, or (None) wherever sketches are."""
        self._regions, self._placement = regions, placement

    def pilot(self, sketch: Sketch) -> StreamedPass:
        """A pass over a pilot, here."""
        return self._stream(sketch, None, None)

    def whole(self, sketch: Sketch, mode: int) -> Pass:
        """The pass that core `mode` is updated from."""
        regions, placement = self._regions, self._placement
        if regions is None:
            return self._stream(sketch, mode, placement)
        if placement is not None and len(regions.blocks) >= placement.slots:
            return SpreadRegions(regions.blocks, sketch.cores, mode, self._size, placement)

        def over(number: int, cores: list[Core]) -> StreamedPass:
            if placement is None:
                held = regions.held(number)
                return self._stream(Sketch(held, mode, tuple(map(np.arange, held.shape)), cores), mode, None)
            index = tuple(np.arange(span.start, span.stop) for span in regions.blocks[number])
            return self._stream(Sketch(sketch.source, mode, index, cores), mode, placement)

        return RegionPass(regions.blocks, sketch.cores, mode, over)

    def _stream(self, sketch: Sketch, mode: int | None, placement: Placement | None) -> StreamedPass:
        keeps = mode is not None and self._keeps_weights[mode]
        return StreamedPass(
            sketch.source,
            sketch.index,
            sketch.cores,
            plan_core(sketch.sizes, tuple(core.shape[0] for core in sketch.cores), sketch.mode),
            scale=self._size,
            row_weights=sketch.row_weights,
            weights_room=self._weights_room if keeps else None,
            workspace=self._workspace,
            profile=self._profile,
            placement=placement,
        )
