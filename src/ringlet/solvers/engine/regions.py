"""Passes over all entries of stored data, in regions of whole chunks: one is in memory while the next is being read."""

from collections.abc import Callable, Sequence

from ringlet.arrays import namespace
from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core, unfold
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import Weights
from ringlet.solvers.engine.fit_plan import REGION_ENTRIES
from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.solvers.engine.streamed_pass import Pass
from ringlet.sources import ArraySource, Source
from ringlet.sources.base import aligned_blocks

__all__ = ["RegionPass", "Regions"]


class Regions:
    """All entries of stored data, in regions of whole chunks, of which one is in memory and the next is being read.

    Parameters
    ----------
    source : Source
        With chunks.
    ahead : bool
        Whether there is memory for the next region.
    entries : int
        Approximate entries of a region; at least one chunk. The bits depend on it, so all fits use the same number.
    """

    def __init__(self, source: Source, *, ahead: bool, entries: int = REGION_ENTRIES) -> None:
        assert source.chunks is not None  # noqa: S101 - only stores have regions
        self.blocks = aligned_blocks(source.chunks, entries)
        natural = tuple(range(len(source.shape)))
        self._read: Ahead[int, ArraySource] = Ahead(lambda number: hold(source, self.blocks[number], natural), ahead)
        self._only: ArraySource | None = None

    def held(self, number: int) -> ArraySource:
        """The entries of a region."""
        if len(self.blocks) > 1:
            return self._read(number, then=(number + 1) % len(self.blocks))  # the next pass begins with the first again
        if self._only is None:  # a single region stays in memory
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
        over: Callable[[int, list[Core]], Pass],
    ) -> None:
        self._regions = regions
        self._cores = cores
        self._mode = mode
        self._over = over
        self._xp = namespace(cores[mode])
        self.rows = unfold(cores[mode], xp=self._xp)

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights, which are not kept."""
        out = self._xp.zeros_like(self.rows)
        for number, block in enumerate(self._regions):
            out[block[self._mode]] += self._pass(number).gradient(kernel)[0]
        return out, Weights(kernel)

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        return sum(
            self._pass(number).curvature(direction[block[self._mode]], weights)
            for number, block in enumerate(self._regions)
        )

    def _pass(self, number: int) -> Pass:
        cores = [core[:, chosen, :] for core, chosen in zip(self._cores, self._regions[number], strict=True)]
        return self._over(number, cores)
