"""How fast a ring turns into a dense block, as a share of the machine's speed in large matrix products."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ringlet.bench.timing import least_seconds
from ringlet.ring import TensorRing
from ringlet.ring.evaluate import dense_operations

__all__ = ["Evaluation", "measure_evaluation"]

_SQUARE = 2048  # rows and columns of the product that sets the machine's speed
_ENTRIES = 100_000  # single entries asked for at once
_RINGS = {
    "cube 300, rank 40": ((300, 300, 300), (40, 40, 40)),
    "video block": ((480, 270, 3, 50), (80, 80, 3, 20)),
    "photo": ((1356, 2040, 3), (20, 20, 3)),
}


@dataclass(frozen=True)
class Evaluation:
    """Seconds of ``numpy.asarray(ring)``, and its speed over that of a large float32 product.

    Attributes
    ----------
    ring : str
    seconds : float
    share_of_sgemm : float
        The operations of the matrix products count; copying and writing the result are overhead.
    entries_per_second : float
        Single entries at random places, a hundred thousand in one call.
    """

    ring: str
    seconds: float
    share_of_sgemm: float
    entries_per_second: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_evaluation() -> list[Evaluation]:
    """Time dense evaluation of a few rings."""
    square = np.ones((_SQUARE, _SQUARE), np.float32)
    out = np.empty_like(square)
    speed = 2 * _SQUARE**3 / least_seconds(lambda: np.matmul(square, square, out=out))
    return [_measure(name, shape, rank, speed) for name, (shape, rank) in _RINGS.items()]


def _measure(name: str, shape: tuple[int, ...], rank: tuple[int, ...], speed: float) -> Evaluation:
    rng = np.random.default_rng(0)
    order = len(shape)
    ring = TensorRing(
        [rng.standard_normal((rank[k], shape[k], rank[(k + 1) % order]), np.float32) for k in range(order)]
    )
    seconds = least_seconds(lambda: np.asarray(ring))
    places = tuple(rng.integers(0, length, _ENTRIES) for length in shape)
    return Evaluation(
        name,
        seconds,
        dense_operations(ring.cores) / seconds / speed,
        _ENTRIES / least_seconds(lambda: ring[places]),
    )
