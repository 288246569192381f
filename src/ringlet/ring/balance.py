"""Scale cores to about equal size; penalties relative to Gram matrices do not determine the sizes of single cores."""

from collections.abc import Sequence
from math import frexp

import numpy as np

from ringlet.ring.chain import Core

__all__ = ["balanced"]

_DRIFT = 8  # powers of two by which the size of a core may differ from the mean
_NOTHING = -64  # powers of two: a smaller product of all cores counts as zero, and may underflow


def balanced(cores: Sequence[Core]) -> list[Core] | None:
    """Cores of the same tensor with largest entries within about a factor of two; None if they are, or vanish.

    Cores are multiplied by powers of two whose product is one, so the scaling is exact and does not change the course
    of a fit.

    Examples
    --------
    >>> [float(core.max()) for core in balanced([np.full((1, 1, 1), 2.0**20), np.full((1, 1, 1), 0.5)])]
    [1024.0, 512.0]
    """
    sizes = [max(float(core.max()), -float(core.min())) for core in cores]
    if not all(0.0 < size < np.inf for size in sizes):
        return None
    powers = [frexp(size)[1] for size in sizes]
    if sum(powers) < _NOTHING:
        return None
    common, left = divmod(sum(powers), len(powers))
    shifts = [common + (mode < left) - power for mode, power in enumerate(powers)]
    if max(map(abs, shifts)) < _DRIFT:
        return None
    return [np.ldexp(core, shift) for core, shift in zip(cores, shifts, strict=True)]
