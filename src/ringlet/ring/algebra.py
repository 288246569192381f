"""Linear and element-wise algebra on the cores of rings. Nothing here forms a dense tensor."""

from collections.abc import Sequence
from math import frexp, inf, ldexp, sqrt
from typing import Any

import numpy as np

from ringlet.ring.chain import Core
from ringlet.ring.transfer import loop_trace

__all__ = ["add", "collapse", "constant", "distance", "hadamard", "inner", "norm", "scale", "unit_cores"]


def add(cores: Sequence[Core], others: Sequence[Core]) -> list[Core]:
    """Cores of the sum of two rings: lateral slices are block-diagonal, so ranks add.

    Examples
    --------
    >>> import numpy as np
    >>> [core.shape for core in add([np.ones((1, 4, 1))], [np.ones((2, 4, 2))])]
    [(3, 4, 3)]
    """
    sums: list[Core] = []
    for core, other in zip(cores, others, strict=True):
        (a, slices, b), (a2, _, b2) = core.shape, other.shape
        block = np.zeros((a + a2, slices, b + b2), np.result_type(core, other))
        block[:a, :, :b] = core
        block[a:, :, b:] = other
        sums.append(block)
    return sums


def constant(shape: Sequence[int], value: float, dtype: np.dtype[Any]) -> list[Core]:
    """Cores of the ring of rank 1 whose entries are all the same.

    Examples
    --------
    >>> [core.ravel().tolist() for core in constant((2, 3), 5.0, np.dtype(float))]
    [[5.0, 5.0], [1.0, 1.0, 1.0]]
    """
    return scale([np.ones((1, length, 1), dtype) for length in shape], value)


def hadamard(cores: Sequence[Core], others: Sequence[Core]) -> list[Core]:
    """Cores of the element-wise product: Kronecker products of lateral slices, so ranks multiply.

    Examples
    --------
    >>> import numpy as np
    >>> [core.shape for core in hadamard([np.ones((3, 4, 3))], [np.ones((2, 4, 2))])]
    [(6, 4, 6)]
    """
    products: list[Core] = []
    for core, other in zip(cores, others, strict=True):
        (a, slices, b), (a2, _, b2) = core.shape, other.shape
        kronecker = core[:, None, :, :, None] * other[None, :, :, None, :]
        products.append(kronecker.reshape(a * a2, slices, b * b2))
    return products


def scale(cores: Sequence[Core], factor: float) -> list[Core]:
    """Cores of the ring times a number, which is multiplied into the smallest core.

    Examples
    --------
    >>> import numpy as np
    >>> scale([np.ones((1, 2, 1))], 3.0)[0].ravel()
    array([3., 3.])
    """
    smallest = min(range(len(cores)), key=lambda k: cores[k].size)
    scaled = list(cores)
    with np.errstate(over="ignore"):  # TensorRing raises an error for cores that are not finite
        scaled[smallest] = (cores[smallest] * np.float64(factor)).astype(cores[smallest].dtype)
    return scaled


def collapse(cores: Sequence[Core], k: int) -> list[Core]:
    """Sum over mode k: its summed core is multiplied into the neighbour that leaves the narrower bond.

    Examples
    --------
    >>> import numpy as np
    >>> [core.shape for core in collapse([np.ones((2, 4, 3)), np.ones((3, 5, 2))], 1)]
    [(2, 4, 2)]
    """
    matrix = cores[k].sum(axis=1, dtype=np.float64)
    before, after = (k - 1) % len(cores), (k + 1) % len(cores)
    collapsed = list(cores)
    if matrix.shape[1] <= matrix.shape[0]:
        collapsed[before] = (cores[before] @ matrix).astype(cores[before].dtype)
    else:
        collapsed[after] = np.tensordot(matrix, cores[after], axes=1).astype(cores[after].dtype)
    del collapsed[k]
    return collapsed


def inner(cores: Sequence[Core], others: Sequence[Core]) -> float:
    """Inner product of two rings of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> inner([np.ones((1, 4, 1))], [np.full((1, 4, 1), 2.0)])
    8.0
    """
    (cores, exponent), (others, exponent2) = unit_cores(cores), unit_cores(others)
    return _ldexp(loop_trace(cores, others), exponent + exponent2)


def norm(cores: Sequence[Core]) -> float:
    """Frobenius norm of a ring.

    Examples
    --------
    >>> import numpy as np
    >>> norm([np.ones((1, 4, 1))])
    2.0
    """
    cores, exponent = unit_cores(cores)
    return _ldexp(sqrt(max(0.0, loop_trace(cores, cores))), exponent)


def distance(cores: Sequence[Core], others: Sequence[Core]) -> float:
    """Frobenius norm of the difference of two rings of the same shape.

    Exactly 0 for equal cores; otherwise resolved to about 1e-8 of the larger norm.

    Examples
    --------
    >>> import numpy as np
    >>> distance([np.ones((1, 4, 1))], [np.full((1, 4, 1), 2.0)])
    2.0
    """
    (cores, exponent), (others, exponent2) = unit_cores(cores), unit_cores(others)
    common = max(exponent, exponent2)
    # One common scale for the three terms, so that none of them can overflow.
    square = _ldexp(loop_trace(cores, cores), 2 * (exponent - common))
    cross = _ldexp(loop_trace(cores, others), exponent + exponent2 - 2 * common)
    square2 = _ldexp(loop_trace(others, others), 2 * (exponent2 - common))
    return _ldexp(sqrt(max(0.0, square - 2 * cross + square2)), common)


def unit_cores(cores: Sequence[Core]) -> tuple[list[Core], int]:
    """Float64 cores with entries of at most 1, and the power of two that was taken out: no product overflows.

    Examples
    --------
    >>> import numpy as np
    >>> unit, exponent = unit_cores([np.full((1, 2, 1), 3.0)])
    >>> unit[0].ravel(), exponent
    (array([0.75, 0.75]), 2)
    """
    exponents = [frexp(np.abs(core).max())[1] for core in cores]
    unit = [np.ldexp(core.astype(np.float64), -e) for core, e in zip(cores, exponents, strict=True)]
    return unit, sum(exponents)


def _ldexp(value: float, exponent: int) -> float:
    try:
        return ldexp(value, exponent)
    except OverflowError:
        return inf if value > 0 else -inf
