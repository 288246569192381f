"""From the probabilities that entries are right to their weights: events and harmless entries are trusted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.outlier_model import OutlierModel
from ringlet.local.window import Entries
from ringlet.ring.chain import Core
from ringlet.ring.evaluate import dense_block
from ringlet.solvers.tuning.judgements import TRUSTED
from ringlet.sources import Source

__all__ = ["DOUBTFUL", "MOST_DOUBTED", "JudgedPart", "beside_ring", "doubted_share"]

MOST_DOUBTED = 0.25  # share of the entries that may be wrong without taking one of few values
DOUBTFUL = np.float32(1e-6)  # least weight of an entry that may still be right
_CLOSE = 0.005  # of the data's range: an entry so near to the ring does no harm, right or wrong
_WHOLE = 0.6  # share of the entries of a fibre that are doubted if it is unlike all others as a whole,
_CHANCE = 0.01  # and the greatest expected number of such fibres if entries were doubted at random
_DEAD = 0.1  # share of the ring's variation along a fibre: a fibre that varies less is dead


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """A part of a tensor that has been judged.

    Attributes
    ----------
    entries : Entries
    known : bool array
        Which entries are observed.
    atoms : bool array
        Which have one of the few values that wrong entries take.
    weights : float32 array
        Probability of being right; 0 where nothing is observed.
    """

    entries: Entries
    known: NDArray[np.bool_]
    atoms: NDArray[np.bool_]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, entries: Entries, weights: NDArray[np.float32], outliers: OutlierModel) -> "JudgedPart":
        """A part with the weights that follow from its neighbours, and the model of its wrong entries."""
        values, observed = entries.values, entries.observed
        known = np.ones(values.shape, np.bool_) if observed is None else observed
        return cls(entries, known, outliers.atoms[outliers.cell(np.where(known, values, 0))], weights)

    @property
    def doubted(self) -> NDArray[np.bool_]:
        """Entries that are not trusted, and do not take one of the few values of wrong ones."""
        return self.known & (self.weights < TRUSTED) & ~self.atoms

    def with_events(self, share: float, parts: int = 1) -> "JudgedPart":
        """The same, with fibres trusted in which nearly all entries are doubted.

        A day that differs from all others as a whole is no error: more of its entries are doubted than by chance.
        Entries with one of the few values of wrong ones stay wrong. So do fibres that hardly vary where the ring
        does: their detector is dead.

        Parameters
        ----------
        share : float
            Of the observed entries of the tensor that are doubted.
        parts : int
            Number of parts of the tensor; fibres are those of a part.
        """
        doubted, event = self.doubted, np.zeros_like(self.known)
        for mode in range(doubted.ndim):
            count = np.count_nonzero(self.known, axis=mode)
            wrong = np.count_nonzero(doubted, axis=mode)
            fibres = np.flatnonzero((wrong > _WHOLE * count) & (wrong > 1))
            if not fibres.size:
                continue
            values, ring, away, observed, marks = (
                np.moveaxis(array, mode, -1)
                for array in (self.entries.values, self.entries.ring, doubted, self.known, event)
            )
            places = np.unravel_index(fibres, count.shape)
            inside = away[places]
            chance = _chance(wrong.ravel()[fibres], count.ravel()[fibres], share) * count.size * parts
            read = np.where(observed[places], values[places], 0)
            dead = _deviation(read, inside) < _DEAD * _deviation(ring[places], inside)
            marks[places] |= ((chance < _CHANCE) & ~dead)[:, np.newaxis]
        return replace(self, weights=np.where(event & doubted, np.float32(1), self.weights))

    def settled(self, data_range: float) -> NDArray[np.float32]:
        """The weights that a fit uses.

        They are 0 where nothing is observed, and where an entry takes one of the few values of wrong ones and is not
        trusted. Others that are not trusted may be right, but far from what the ring can describe yet: they have at
        least a tiny weight.
        """
        weights, known, atoms = self.weights, self.known, self.atoms
        weights = np.where(atoms, weights * (weights >= TRUSTED), np.maximum(weights, known * DOUBTFUL))
        close = known & (np.abs(np.where(known, self.entries.values, 0) - self.entries.ring) <= _CLOSE * data_range)
        return np.where(close, np.float32(1), weights)


def doubted_share(parts: Sequence[JudgedPart]) -> float:
    """Share of the observed entries of some parts that are doubted."""
    doubted = sum(np.count_nonzero(part.doubted) for part in parts)
    return doubted / max(sum(np.count_nonzero(part.known) for part in parts), 1)


def beside_ring(source: Source, block: tuple[slice, ...], cores: Sequence[Core], data_range: float) -> Entries:
    """A block of a source beside the ring, of which the cores are divided by a range."""
    values, observed = source.read(block)
    parts = [core[:, chosen, :] for core, chosen in zip(cores, block, strict=True)]
    ring: NDArray[Any] = dense_block(parts) * cores[0].dtype.type(data_range)
    return Entries(values, observed, ring)


def _chance(wrong: NDArray[np.intp], count: NDArray[np.intp], share: float) -> NDArray[np.float64]:
    """Probability that this number of the entries of a fibre, or more, are doubted at random."""
    from scipy.special import bdtrc  # here, because importing it takes a fifth of a second

    return np.asarray(bdtrc(np.maximum(wrong - 1.0, 0.0), count, share))


def _deviation(values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Standard deviation of some entries of every row; without overflow, however large they are."""
    number = np.maximum(np.count_nonzero(where, axis=1), 1)[:, np.newaxis]
    mean = np.sum(values / number, axis=1, keepdims=True, where=where, dtype=np.float64)
    distances = np.where(where, np.abs(values - mean), 0)
    unit = np.maximum(distances.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(unit * np.sqrt(np.sum((distances / unit) ** 2, axis=1, keepdims=True) / number)).ravel()
