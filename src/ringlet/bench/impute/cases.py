"""Outages: which entries are hidden, and which of the others are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.impute.samples import MeasuredTensor
from ringlet.experiments.noise import TrialSeed, add_noise, generator

__all__ = ["OUTAGES", "WRONG", "ImputeCase", "Outage", "Outages", "cases_of"]

Outage = Literal["random", "fibre", "block"]
OUTAGES: tuple[Outage, ...] = ("random", "fibre", "block")
WRONG = (0, 5)  # percent of the entries that are left

_HIDDEN = 0.3  # share of the entries
_BLOCK_SIDE = 1 / 4  # of every mode's length


@dataclass(frozen=True, eq=False)
class Outages:
    """A tensor with outages, and its truth.

    Attributes
    ----------
    data : array of float32
        What the methods see: NaN where an entry is hidden or was never measured.
    truth : array of float32
    hidden : array of bool
        Entries that were measured and then hidden: the ones that are scored.
    """

    data: NDArray[np.float32]
    truth: NDArray[np.float32]
    hidden: NDArray[np.bool_]

    def score(self, estimate: NDArray[np.floating]) -> float:
        """NRMSE: root mean square error of the hidden entries, in standard deviations of all measured entries."""
        errors = estimate[self.hidden].astype(np.float64) - self.truth[self.hidden]
        return float(np.sqrt(np.mean(errors**2)) / np.nanstd(self.truth, dtype=np.float64))


@dataclass(frozen=True)
class ImputeCase:
    """A tensor of which 30 % is hidden, in one of three ways.

    Attributes
    ----------
    tensor : MeasuredTensor
    outage : {"random", "fibre", "block"}
        Single entries; whole fibres of one mode, as when a sensor fails for a day; boxes of a quarter of every mode's
        length.
    wrong : int
        Percent of the entries left that are wrong: the smallest or the largest measured value.
    """

    tensor: MeasuredTensor
    outage: Outage
    wrong: int

    @property
    def name(self) -> str:
        """Name on the command line and in records: ``parking-fibre-w5``."""
        return f"{self.tensor.name}-{self.outage}-w{self.wrong}"

    def outages(self) -> Outages:
        """The data as the methods see them; always the same."""
        truth = self.tensor.read()
        measured = np.isfinite(truth)
        # Clean and wrong data have the same gaps.
        rng = generator(f"{self.tensor.name}-{self.outage}", 1, TrialSeed.MASK)
        hidden = _hidden(truth.shape, self.outage, self.tensor.fibre_mode, rng) & measured
        kept = measured & ~hidden
        low, high = float(np.nanmin(truth)), float(np.nanmax(truth))
        data = np.where(kept, (truth - low) / (high - low or 1.0), np.float32(0))
        add_noise(data, "salt-and-pepper", generator(self.name, 1, TrialSeed.NOISE), kept, outliers=self.wrong / 100)
        data = np.asarray(data * (high - low or 1.0) + low, np.float32)
        data[~kept] = np.nan
        return Outages(data, truth, hidden)


def cases_of(tensors: Sequence[MeasuredTensor]) -> list[ImputeCase]:
    """All cases of all tensors."""
    return [ImputeCase(tensor, outage, wrong) for tensor in tensors for outage in OUTAGES for wrong in WRONG]


def _hidden(shape: tuple[int, ...], outage: Outage, mode: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    if outage == "random":
        return rng.random(shape) < _HIDDEN
    if outage == "fibre":
        fibres = rng.random([1 if other == mode % len(shape) else length for other, length in enumerate(shape)])
        return np.broadcast_to(fibres < _HIDDEN, shape)
    hidden = np.zeros(shape, bool)
    while hidden.mean() < _HIDDEN:
        starts = [int(rng.integers(0, length - _side(length) + 1)) for length in shape]
        hidden[tuple(slice(start, start + _side(length)) for start, length in zip(starts, shape, strict=True))] = True
    return hidden


def _side(length: int) -> int:
    return max(1, round(_BLOCK_SIDE * length))
