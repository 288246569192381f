"""Benchmark cases: shapes, ranks and samples of the paper's experiments, some others, and a small one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """A fit to time.

    Attributes
    ----------
    name : str
    shape, rank : tuple of int
    samples : int
    observed : float
        Share of entries that are observed.
    peer : bool
        TensorLy supports the case in reasonable time and memory (everything observed).
    """

    name: str
    shape: tuple[int, ...]
    rank: tuple[int, ...]
    samples: int = 30_000
    observed: float = 1.0
    peer: bool = False

    def data(self) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
        """Smooth waves along every mode, noise, and a fifth of the entries at the extremes; and which are observed."""
        rng = np.random.default_rng(0)
        out = np.empty(self.shape, np.uint8)
        waves = [rng.random((2, length)).cumsum(axis=1) / 9 for length in self.shape]
        rest = sum(
            np.sin(wave[1]).reshape(-1, *(1,) * (len(self.shape) - mode - 1))
            for mode, wave in enumerate(waves)
            if mode > 0
        )
        for i in range(self.shape[0]):  # a slab at a time: the data are the only large array
            slab = 128 + 30 * np.sin(waves[0][0, i] + rest) + 4 * rng.standard_normal(rest.shape, dtype=np.float32)
            hit = rng.random(rest.shape, dtype=np.float32)
            slab[hit < 0.1], slab[hit > 0.9] = 0, 255
            out[i] = np.clip(slab, 0, 255)
        mask = None
        if self.observed < 1.0:
            mask = np.empty(self.shape, bool)
            for i in range(self.shape[0]):
                mask[i] = rng.random(rest.shape, dtype=np.float32) < self.observed
        return out, mask


CASES = {
    case.name: case
    for case in (
        Case("video", (1920, 1080, 3, 50), (80, 80, 3, 20)),
        Case("video-30", (1920, 1080, 3, 50), (80, 80, 3, 20), observed=0.3),
        Case("photo", (1356, 2040, 3), (20, 20, 3), peer=True),
        Case("cube", (145, 145, 200), (8, 8, 8)),
        Case("order-6", (16,) * 6, (8,) * 6),
        Case("toy", (60, 50, 3), (4, 4, 3), samples=500, peer=True),
    )
}
