"""The gain at hidden entries, and whether it is more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringlet.local.neighbours import Array32

__all__ = ["Gain", "Scores"]

_COEFFICIENTS = 60  # that are fitted, about: by chance they gain 60 / M at the M entries they are fitted to
_STANDARD_ERRORS = 1.0  # that a gain must have elsewhere


@dataclass(frozen=True, eq=False)
class Scores:
    """Hidden entries of a window.

    Attributes
    ----------
    before, after : float32 arrays
        Errors of the ring, and of what was filled.
    """

    before: Array32
    after: Array32


@dataclass(frozen=True)
class Gain:
    """How much nearer to hidden entries an estimate is than the ring.

    Attributes
    ----------
    share : float
        Share of the ring's mean square; negative if the estimate is farther.
    chance : float
        The gain that chance may have caused.
    error : float
        Mean square after.
    """

    share: float
    chance: float
    error: float

    @classmethod
    def of(cls, scores: Sequence[Scores], *, learned_there: bool) -> "Gain":
        """From scores at the entries from which it was learned, or at others.

        Examples
        --------
        >>> before = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
        >>> gain = Gain.of([Scores(before, 0.9 * before)], learned_there=False)
        >>> round(gain.share, 2), gain.pays(0.01)
        (0.19, True)
        """
        before, after = (
            np.concatenate([getattr(score, name) for score in scores]).astype(np.float64)
            for name in ("before", "after")
        )
        ring, gains = float(np.sum(before**2)), before**2 - after**2
        if not ring > 0:
            return cls(0.0, 0.0, 0.0)
        error = float(np.std(gains)) * len(gains) ** 0.5 / ring
        chance = _COEFFICIENTS / len(gains) if learned_there else _STANDARD_ERRORS * error
        return cls(float(gains.sum()) / ring, chance, float(np.mean(after**2)))

    def pays(self, least: float) -> bool:
        """Whether the gain is more than this share, beyond chance."""
        return self.share > least + self.chance
