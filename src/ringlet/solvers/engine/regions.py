"""Which part of the data a core update looks at, and where that part is held meanwhile.

Arrays in memory are read in place. Of stored data the part is read once, into memory, and the next one in the
background. AWRTRD looks at everything, region by region.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.robust import Loss
from ringlet.sampling import ChunkDraw, Purpose, draw_subtensor, stream
from ringlet.solvers.engine.fit_plan import REGION_ENTRIES
from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.solvers.engine.streamed_pass import Floats, StreamedPass, unfold
from ringlet.sources import ArraySource, Source
from ringlet.sources.base import aligned_blocks

__all__ = ["RegionPass", "Regions", "Subtensors"]

Indices: TypeAlias = tuple[NDArray[np.intp], ...]


class Subtensors:
    """Random subtensors for core updates, the same for the same seed, sweep and mode.

    Parameters
    ----------
    source : Source
    samples : int
        Columns of the unfolding, J.
    seed : int
    uniform : bool
        Draw without regard to chunks.
    """

    def __init__(self, source: Source, samples: int, seed: int, *, uniform: bool) -> None:
        self._shape = source.shape
        self._samples = samples
        self._seed = seed
        self._draws: list[ChunkDraw] | None = None
        if source.chunks is not None and not uniform:
            chunks = source.chunks
            self._draws = [ChunkDraw.plan(chunks, samples, whole=mode) for mode in range(len(self._shape))]

    def index(self, sweep: int, mode: int) -> Indices:
        """Indices used of every mode when core `mode` is updated, all of that mode."""
        if self._draws is not None:
            return self._draws[mode].indices(self._seed, Purpose.SAMPLE, sweep, mode)
        rng = stream(self._seed, Purpose.SAMPLE, sweep, mode)
        return draw_subtensor(self._shape, self._samples, rng, whole=mode)


class Regions:
    """All entries of stored data, in regions of whole chunks, of which one is in memory and the next is being read."""

    def __init__(self, source: Source, *, ahead: bool) -> None:
        assert source.chunks is not None  # noqa: S101 - only stores have regions
        self.blocks = aligned_blocks(source.chunks, REGION_ENTRIES)
        natural, count = tuple(range(len(source.shape))), len(self.blocks)
        # A single region stays; of several, all come again in the next pass.
        self._read = Ahead(
            lambda number: hold(source, self.blocks[number], natural),
            lambda number: (number + 1) % count if ahead and count > 1 else None,
        )
        self._only: ArraySource | None = None

    def held(self, number: int) -> ArraySource:
        """The entries of a region."""
        if len(self.blocks) > 1:
            return self._read(number)
        if self._only is None:
            self._only = self._read(number)
        return self._only

    def close(self) -> None:
        """Stop reading."""
        self._read.close()


class RegionPass:
    """A pass over all entries of stored data, one region after the other; their contributions add up.

    Parameters
    ----------
    regions : sequence of blocks
    cores : sequence of arrays
    mode : int
        The core that is updated, k.
    over : callable
        Makes the pass over a region from its number and the cores at its indices.
    """

    def __init__(
        self,
        regions: Sequence[tuple[slice, ...]],
        cores: list[Core],
        mode: int,
        over: Callable[[int, list[Core]], StreamedPass],
    ) -> None:
        self._regions = regions
        self._cores = cores
        self._mode = mode
        self._over = over
        self.rows = unfold(cores[mode])

    def gradient(self, loss: Loss, width: float, run: Run) -> Floats:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""
        out = np.zeros_like(self.rows)
        for number, block in enumerate(self._regions):
            out[block[self._mode]] += self._pass(number).gradient(loss, width, run)
        return out

    def curvature(self, direction: Floats, loss: Loss, width: float, run: Run) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        return sum(
            self._pass(number).curvature(direction[block[self._mode]], loss, width, run)
            for number, block in enumerate(self._regions)
        )

    def _pass(self, number: int) -> StreamedPass:
        cores = [core[:, chosen, :] for core, chosen in zip(self._cores, self._regions[number], strict=True)]
        return self._over(number, cores)
