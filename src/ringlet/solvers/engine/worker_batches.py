"""A pass over many machines: its pieces in shares, each with the rows of core k that its pieces need.

Which pieces go together changes no bit of the result: pieces are computed and summed one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile
from ringlet.solvers.engine.block_work import PassInputs, Piece, PieceWork
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.prefetch import hold
from ringlet.solvers.engine.subchain import Workspace
from ringlet.sources import ArraySource, Source

__all__ = ["ENTRY_SECONDS", "Share", "share_count", "share_out", "work_on_share"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Result = TypeVar("Result")
Span = TypeVar("Span", slice, slice | None)

_LEAST_SECONDS = 0.05  # of a share: below that, sending it costs more than working on it
_SHARES_A_SLOT = 4  # so that slots that are done early, or replace a lost one, find work
ENTRY_SECONDS = 1e-8  # for reading and weighting an entry, beside the products

_workspace = Workspace()  # a worker's threads come back to it


@dataclass(frozen=True)
class Share:
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


def share_count(plan: CorePlan, pieces: int, slots: int) -> int:
    """How many shares a pass is worth, on so many slots; 1: it is not worth sending."""
    seconds = 2 * plan.seconds + plan.entries * ENTRY_SECONDS
    return max(1, min(pieces, int(seconds / _LEAST_SECONDS), _SHARES_A_SLOT * slots))


def share_out(pieces: Sequence[Piece], count: int, rows: Floats, direction: Floats | None) -> list[Share]:
    """Neighbouring pieces together, in `count` shares of nearly equal size."""
    bounds = [len(pieces) * place // count for place in range(count + 1)]
    shares = []
    for start, stop in pairwise(bounds):
        own = pieces[start:stop]
        span = slice(own[0].slices.start, own[-1].slices.stop)
        shares.append(Share(own, rows[span], None if direction is None else direction[span]))
    return shares


def work_on_share(source: Source, shared: tuple[PassInputs, Callable[..., Result]], share: Share) -> list[Result]:
    """What every piece of a share contributes; runs on the worker, which reads the data of the share once."""
    inputs, compute = shared
    held, own, pieces = _held(source, inputs, share.pieces)
    work = PieceWork(held, own, share.rows, workspace=_workspace, profile=Profile())
    given = {} if share.direction is None else {"direction": share.direction}
    return [compute(work, piece, **given) for piece in pieces]


def _held(source: Source, inputs: PassInputs, pieces: Sequence[Piece]) -> tuple[ArraySource, PassInputs, list[Piece]]:
    """The data that neighbouring pieces look at, in memory, and inputs and pieces as they are numbered there."""
    plan, first, last = inputs.plan, pieces[0], pieces[-1]
    spans = {plan.mode: slice(first.slices.start, last.slices.stop)}
    cores = list(inputs.cores)
    if plan.tile_mode is not None and first.tile is not None and last.tile is not None:
        spans[plan.tile_mode] = slice(first.tile.start, last.tile.stop)
        cores[plan.tile_mode] = cores[plan.tile_mode][:, spans[plan.tile_mode], :]
    chosen: list[slice | NDArray[np.intp]] = []
    for mode, (indices, length) in enumerate(zip(inputs.index, source.shape, strict=True)):
        span = spans.get(mode, slice(0, len(indices)))
        chosen.append(span if len(indices) == length else indices[span])
    held = hold(source, chosen, plan.order)
    own = replace(inputs, index=tuple(map(np.arange, held.shape)), cores=cores)
    return held, own, [Piece(_behind(piece.slices, first.slices), _behind(piece.tile, first.tile)) for piece in pieces]


def _behind(span: Span, first: Span) -> Span:
    """A span of slices or columns, counted from where the first begins."""
    return span if span is None or first is None else slice(span.start - first.start, span.stop - first.start)
