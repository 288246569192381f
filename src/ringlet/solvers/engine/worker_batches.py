"""A pass on a cluster: neighbouring pieces in batches, each with the rows of core k that its pieces need.

Which pieces go together changes no bit of the result: pieces are computed and summed one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ringlet.execution import LEAST_SECONDS
from ringlet.ring.arrays import Floats
from ringlet.solvers.engine.block_work import BlockWork, PassInputs, block_to_read
from ringlet.solvers.engine.core_plan import CorePlan, Piece
from ringlet.solvers.engine.prefetch import hold
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource, Source

__all__ = ["ENTRY_SECONDS", "Batch", "batch_count", "split_pieces", "work_on_batch"]

Result = TypeVar("Result")

_BATCHES_A_SLOT = 4  # so that slots that end early, or replace a lost one, find work
ENTRY_SECONDS = 1e-8  # for reading and weighting an entry, beside the products

_resources = Resources()  # a worker's threads use its workspace again


@dataclass(frozen=True)
class Batch:
    """Some pieces of a pass, and the rows that they need.

    Attributes
    ----------
    pieces : sequence of Piece
        Neighbours.
    rows : array
        Rows of A_k, from the first slice of the first piece on.
    direction : array or None
        The same rows of the direction, in a line search.
    """

    pieces: Sequence[Piece]
    rows: Floats
    direction: Floats | None


def batch_count(plan: CorePlan, pieces: int, slots: int, least_seconds: float = LEAST_SECONDS, one_of: int = 1) -> int:
    """Number of batches of a pass for this number of slots; 1: sending would not pay.

    A batch has to take `least_seconds`, by estimate.
    """
    seconds = (2 * plan.seconds + plan.entries * ENTRY_SECONDS) / one_of  # of the slices that are used
    return max(1, min(pieces, int(seconds / least_seconds), _BATCHES_A_SLOT * slots))


def split_pieces(pieces: Sequence[Piece], count: int, rows: Floats, direction: Floats | None) -> list[Batch]:
    """Neighbouring pieces together, in `count` batches of nearly equal size."""
    bounds = [len(pieces) * place // count for place in range(count + 1)]
    batches = []
    for start, stop in pairwise(bounds):
        own = pieces[start:stop]
        span = slice(own[0].slices.start, own[-1].slices.stop)
        batches.append(Batch(own, rows[span], None if direction is None else direction[span]))
    return batches


def work_on_batch(source: Source, shared: tuple[PassInputs, Callable[..., Result]], batch: Batch) -> list[Result]:
    """What every piece of a batch contributes; runs on the worker, which reads the data of the batch once."""
    inputs, compute = shared
    held, own, pieces = _held(source, inputs, batch.pieces)
    work = BlockWork(held, own, batch.rows, _resources)
    given = {} if batch.direction is None else {"direction": batch.direction}
    return [compute(work, piece, **given) for piece in pieces]


def _held(source: Source, inputs: PassInputs, pieces: Sequence[Piece]) -> tuple[ArraySource, PassInputs, list[Piece]]:
    """The data of neighbouring pieces, in memory, with inputs and pieces numbered from there."""
    plan, first, last = inputs.plan, pieces[0], pieces[-1]
    slices, tile, cores = slice(first.slices.start, last.slices.stop), None, list(inputs.cores)
    if plan.tile_mode is not None and first.tile is not None and last.tile is not None:
        tile = slice(first.tile.start, last.tile.stop)
        cores[plan.tile_mode] = cores[plan.tile_mode][:, tile, :]
    held = hold(source, block_to_read(plan, inputs.index, source.shape, slices, tile), plan.order)
    own = replace(inputs, index=tuple(map(np.arange, held.shape)), cores=cores)
    return held, own, [_behind(piece, first) for piece in pieces]


def _behind(piece: Piece, first: Piece) -> Piece:
    """A piece whose slices and columns are counted from where the first begins; its weights are not kept."""
    start = first.slices.start
    blocks = [replace(block, slices=_shifted(block.slices, start)) for block in piece.blocks]
    tile = None if piece.tile is None or first.tile is None else _shifted(piece.tile, first.tile.start)
    return Piece(_shifted(piece.slices, start), tile, tuple(blocks))


def _shifted(span: slice, start: int) -> slice:
    return slice(span.start - start, span.stop - start)
