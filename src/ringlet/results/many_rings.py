"""Rings of many tensors of the same shape, in one stack."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays import namespace
from ringlet.errors import IndexingError
from ringlet.ring import TensorRing

__all__ = ["ManyRings", "merge_stacks"]


@dataclass(frozen=True, eq=False)
class ManyRings:
    """The result of `decompose_many`: a ring for every tensor of a stack.

    Attributes
    ----------
    cores : tuple of arrays, shape (tensors, r_k, I_k, r_{k+1})
        Arrays of the library and on the device of the data.
    sweeps : array of int
        Number of sweeps of each tensor.
    converged : array of bool
        Whether the estimate of each tensor stopped changing.
    sigma : array
        Last kernel width of each tensor, in the data's units.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> patches = np.fromfunction(lambda p, i, j, k: p + np.cos(i / 3 + j / 4) * k, (50, 8, 7, 6))
    >>> many = ringlet.decompose_many(patches, rank=2)
    >>> many
    ManyRings(50 tensors of shape (8, 7, 6), rank=(2, 2, 2), converged=50)
    >>> many.tensor.shape
    (50, 8, 7, 6)
    >>> many[3]
    TensorRing(shape=(8, 7, 6), rank=(2, 2, 2), float64, 672 B, 4.0x smaller)
    """

    cores: tuple[Any, ...]
    sweeps: NDArray[np.int64]
    converged: NDArray[np.bool_]
    sigma: NDArray[np.float64]

    def __repr__(self) -> str:
        shape = tuple(core.shape[2] for core in self.cores)
        rank = tuple(core.shape[1] for core in self.cores)
        return f"ManyRings({len(self)} tensors of shape {shape}, rank={rank}, converged={int(self.converged.sum())})"

    def __len__(self) -> int:
        return int(self.cores[0].shape[0])

    def __getitem__(self, number: int) -> TensorRing:
        """The ring of one tensor."""
        try:
            place = index(number)
        except TypeError:
            raise IndexingError(f"index={number!r} is not allowed; give the number of one ring") from None
        if not -len(self) <= place < len(self):
            raise IndexingError(f"index {number} is out of bounds for {len(self)} rings")
        return TensorRing([core[place % len(self), ...] for core in self.cores])

    def __iter__(self) -> Iterator[TensorRing]:
        return (self[number] for number in range(len(self)))

    @property
    def tensor(self) -> Any:
        """All entries of all rings, shape (tensors, ...): an array of the library of the cores."""
        xp, (*others, last) = namespace(self.cores[0]), self.cores
        chain = reduce(merge_stacks, others)  # (tensors, a, J, c)
        count, a, columns, c = chain.shape
        left = xp.reshape(xp.permute_dims(chain, (0, 2, 3, 1)), (count, columns, c * a))
        right = xp.reshape(xp.permute_dims(last, (0, 1, 3, 2)), (count, c * a, last.shape[2]))
        return xp.reshape(left @ right, (count, *[core.shape[2] for core in self.cores]))


def merge_stacks(left: Any, right: Any) -> Any:
    """Merge two neighbouring cores of every ring of a stack; the second index is the faster one.

    Examples
    --------
    >>> merge_stacks(np.ones((4, 1, 2, 3)), np.ones((4, 3, 5, 1))).shape
    (4, 1, 10, 1)
    """
    xp, (count, a, i, c), (_, _, j, b) = namespace(left), left.shape, right.shape
    product = xp.reshape(left, (count, a * i, c)) @ xp.reshape(right, (count, c, j * b))
    return xp.reshape(product, (count, a, i * j, b))
