"""How the time of FGMC grows with the order of the ring."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ringlet.bench.timing import least_seconds
from ringlet.execution import Threads
from ringlet.ring import GramChain
from ringlet.ring.chain import Core

__all__ = ["GramGrowth", "measure_gram"]

_ORDERS = range(3, 13)
_SIZE, _RANK = 64, 8


@dataclass(frozen=True)
class GramGrowth:
    """Seconds by order, and the slopes of their logarithms: 1 is linear growth.

    Attributes
    ----------
    orders : list of int
    one : list of float
        One Gram matrix from the cores alone.
    sweep : list of float
        The Gram matrices of all cores, each core replaced before the next, as in a sweep.
    """

    orders: list[int]
    one: list[float]
    sweep: list[float]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the slopes."""
        return asdict(self) | {"one_slope": self._slope(self.one), "sweep_slope": self._slope(self.sweep)}

    def _slope(self, seconds: list[float]) -> float:
        return float(np.polyfit(np.log(self.orders), np.log(seconds), 1)[0])


def measure_gram(repeats: int = 7) -> GramGrowth:
    """Time rings of order 3 to 12 with 64 slices a mode and rank 8."""
    rng = np.random.default_rng(0)
    one, sweep = [], []
    with Threads() as threads:
        for order in _ORDERS:
            cores = [rng.standard_normal((_RANK, _SIZE, _RANK), np.float32) / _SIZE for _ in range(order)]

            def single(cores: Sequence[Core] = cores) -> None:
                GramChain(cores, threads.run).without(0).dense(threads.run)

            def whole(cores: Sequence[Core] = cores) -> None:
                chain = GramChain(cores, threads.run)
                for mode, core in enumerate(cores):
                    chain.without(mode).dense(threads.run)
                    chain = chain.with_core(mode, core)

            one.append(least_seconds(single, repeats))
            sweep.append(least_seconds(whole, repeats))
    return GramGrowth(list(_ORDERS), one, sweep)
