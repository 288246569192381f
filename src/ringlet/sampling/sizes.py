"""How many indices to draw from each mode."""

from collections.abc import Sequence
from functools import lru_cache
from math import log, prod

__all__ = ["sample_sizes"]


def sample_sizes(shape: Sequence[int], samples: int) -> tuple[int, ...]:
    """Sizes of a subtensor of about `samples` entries, spread over the modes by water-filling.

    Small modes are taken whole and the others get equal counts, so that the product comes as close to `samples` as
    whole numbers allow. A mode never gives more indices than it has, nor fewer than one.

    Examples
    --------
    >>> sample_sizes((1080, 3, 50), 40_000)
    (267, 3, 50)
    >>> sample_sizes((10, 3), 1_000_000)
    (10, 3)
    """
    return _water_filled(tuple(shape), samples)


@lru_cache(maxsize=256)  # the same sizes come back in every core update
def _water_filled(shape: tuple[int, ...], samples: int) -> tuple[int, ...]:
    sizes = [1] * len(shape)
    remaining = float(samples)
    by_size = sorted(range(len(shape)), key=lambda mode: shape[mode])
    for filled, mode in enumerate(by_size):  # raise the water level, the smallest modes fill up first
        level = max(remaining, 1.0) ** (1.0 / (len(shape) - filled))
        sizes[mode] = min(shape[mode], int(level))
        if sizes[mode] < shape[mode]:
            for other in by_size[filled:]:
                sizes[other] = max(1, int(level))
            break
        remaining /= sizes[mode]
    for mode in by_size:  # whole numbers were rounded down: grow while that brings the product closer
        larger = sizes[mode] + 1
        grown = prod(sizes) // sizes[mode] * larger
        if larger <= shape[mode] and abs(log(grown / samples)) < abs(log(prod(sizes) / samples)):
            sizes[mode] = larger
    return tuple(sizes)
