"""Which entries a fit trusts after a judgement, and the data without the others."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.results.records import RunState
from ringlet.solvers.base import Problem, first_look
from ringlet.sources import ArraySource, Block, Source
from ringlet.sources.memory import gather
from ringlet.sources.wrapped import WrappingSource

__all__ = ["LEAST_BELIEVED", "TRUSTED", "BelievedSource", "Judgement", "Kept", "WholeJudgement", "in_order"]

TRUSTED = 0.5  # least probability of being right
LEAST_BELIEVED = 0.2  # share of the observed entries: if fewer are, all count

# Which entries of a block, with the axes in the given order, are trusted, or may still be right.
Kept: TypeAlias = Callable[[Block, tuple[int, ...] | None], NDArray[np.bool_]]


class Judgement(Protocol):
    """The trust in every entry of a tensor.

    An entry is trusted if it is right with a probability of at least `TRUSTED`. With a smaller one it is doubted, and
    with probability zero it is wrong, or not observed.
    """

    @property
    def doubts(self) -> bool:
        """Whether there are doubted entries, as far as is known."""
        ...

    def weights(self, block: Block) -> NDArray[np.float32]:
        """Probability that an entry of a block is right."""
        ...

    def counted(self, problem: Problem, *, doubted: bool) -> Problem:
        """The problem without the entries that are wrong, and without doubted ones unless `doubted` is True.

        Unchanged if hardly any entry would remain.
        """
        ...

    def state(self) -> RunState:
        """What a judge needs to repeat the judgement."""
        ...


@dataclass(frozen=True)
class BelievedSource(WrappingSource):
    """A source in which entries that do not count are missing."""

    kept: Kept

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed and count."""
        values, observed = self.source.read(block, order)
        kept = self.kept(block, order)
        if observed is not None:
            kept = kept & observed
        return values, None if kept.all() else kept


@dataclass(frozen=True, eq=False)
class WholeJudgement:
    """A judgement that holds the weights of all entries.

    Attributes
    ----------
    all_weights : float32 array
        Probability of being right for every entry; 0 where nothing is observed.
    """

    all_weights: NDArray[np.float32]

    @cached_property
    def doubts(self) -> bool:
        """Whether there are doubted entries."""
        return bool(np.any((self.all_weights > 0) & (self.all_weights < TRUSTED)))

    def weights(self, block: Block) -> NDArray[np.float32]:
        """Probability that an entry of a block is right."""
        return gather(self.all_weights, block)

    def counted(self, problem: Problem, *, doubted: bool) -> Problem:
        """The problem without the entries that are wrong, and without doubted ones unless `doubted` is True."""
        source, kept = problem.source, self.all_weights > 0 if doubted else self.all_weights >= TRUSTED
        _, observed = source.read((slice(None),) * kept.ndim)
        if observed is not None:
            kept &= observed
        if np.count_nonzero(kept) < LEAST_BELIEVED * problem.survey.observed:
            return problem
        believed: Source
        if isinstance(source, ArraySource):
            believed = replace(source, mask=kept)
        else:
            believed = BelievedSource(source, lambda block, order: gather(*in_order(kept, block, order)))
        return replace(problem, source=believed, survey=first_look(believed, problem.executor))

    def state(self) -> RunState:
        """All weights."""
        return {"path.weights": self.all_weights}


def in_order(array: NDArray[Any], block: Block, order: tuple[int, ...] | None) -> tuple[NDArray[Any], Block]:
    """An array and a block of it, with the axes in the given order."""
    if order is None:
        return array, block
    return array.transpose(order), tuple([block[axis] for axis in order])
