"""What `ringlet.testing` offers. Values are small, so that a test can draw hundreds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ringlet.ring import TensorRing

__all__ = ["DamagedTensor", "damaged_tensors", "indices", "ring_cores", "rings"]

Numbers = NDArray[np.float64]


@st.composite
def ring_cores(
    draw: st.DrawFn,
    min_order: int = 1,
    max_order: int = 4,
    max_size: int = 5,
    max_rank: int = 3,
    shape: Sequence[int] | None = None,
) -> list[Numbers]:
    """Gaussian cores of a ring: core k has the shape (rank[k], shape[k], rank[k+1]).

    Parameters
    ----------
    min_order, max_order : int
        Number of modes.
    max_size, max_rank : int
        Largest size of a mode and of a bond.
    shape : sequence of int, optional
        Sizes of the modes, where they are given.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(ring_cores(shape=(3, 4)))
    ... def test(cores):
    ...     assert [core.shape[1] for core in cores] == [3, 4]
    >>> test()
    """
    if shape is None:
        shape = draw(st.lists(st.integers(1, max_size), min_size=min_order, max_size=max_order))
    rank = draw(st.lists(st.integers(1, max_rank), min_size=len(shape), max_size=len(shape)))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    bonds = zip(rank, shape, rank[1:] + rank[:1], strict=True)
    return [rng.standard_normal(sizes) for sizes in bonds]


def rings(
    min_order: int = 2, max_order: int = 4, max_size: int = 5, max_rank: int = 3, shape: Sequence[int] | None = None
) -> st.SearchStrategy[TensorRing]:
    """Tensor rings of Gaussian cores; the parameters are those of `ring_cores`.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(rings())
    ... def test(ring):
    ...     assert np.asarray(2 * ring).shape == ring.shape
    >>> test()
    """
    return ring_cores(min_order, max_order, max_size, max_rank, shape).map(TensorRing)


@dataclass(frozen=True, eq=False)
class DamagedTensor:
    """A tensor of low rank, and what is left of it.

    Attributes
    ----------
    truth : array
    data : array
        NaN where entries are missing, and far from the truth where they are wrong.
    wrong : bool array

    Examples
    --------
    >>> damaged = DamagedTensor(np.ones(3), np.array([1, np.nan, 9]), np.array([False, False, True]))
    >>> bool(np.isnan(damaged.data[1]))
    True
    """

    truth: Numbers
    data: Numbers
    wrong: NDArray[np.bool_]


@st.composite
def damaged_tensors(
    draw: st.DrawFn,
    shape: Sequence[int] = (10, 9, 8),
    max_rank: int = 2,
    missing: float = 0.2,
    wrong: float = 0.05,
) -> DamagedTensor:
    """Tensors of low rank with missing and grossly wrong entries.

    Parameters
    ----------
    shape : sequence of int
    max_rank : int
        Largest bond of the ring that is the truth.
    missing : float
        Share of the entries that are NaN.
    wrong : float
        Share of the others that are moved by ten times the largest entry.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(damaged_tensors())
    ... def test(damaged):
    ...     right = ~np.isnan(damaged.data) & ~damaged.wrong
    ...     assert np.array_equal(damaged.data[right], damaged.truth[right])
    >>> test()
    """
    ring = draw(rings(max_rank=max_rank, shape=shape))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    truth = np.asarray(ring)
    lost = rng.random(truth.shape) < missing
    moved = ~lost & (rng.random(truth.shape) < wrong)
    offset = 10 * np.abs(truth).max() * rng.choice([-1.0, 1.0], truth.shape)
    return DamagedTensor(truth, np.where(lost, np.nan, truth + moved * offset), moved)


@st.composite
def indices(draw: st.DrawFn, shape: Sequence[int]) -> tuple[Any, ...]:
    """Any mixture of integers, slices and index arrays that NumPy takes, with and without an ellipsis.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(indices((3, 4)))
    ... def test(index):
    ...     assert np.ones((3, 4))[index].ndim <= 3
    >>> test()
    """
    count = draw(st.integers(0, len(shape)))
    ahead = draw(st.integers(0, count))
    ellipsis = draw(st.booleans())
    behind = len(shape) - (count - ahead) if ellipsis else ahead
    modes = [*range(ahead), *range(behind, behind + count - ahead)]
    items: list[Any] = [
        draw(st.integers(-shape[k], shape[k] - 1) | _slices(shape[k]) | _index_arrays(shape[k])) for k in modes
    ]
    if ellipsis:
        items.insert(ahead, Ellipsis)
    return tuple(items)


@st.composite
def _index_arrays(draw: st.DrawFn, size: int) -> NDArray[np.intp]:
    """Integer arrays that broadcast with each other: every axis is 1 or a fixed length."""
    shape = draw(st.sampled_from([(3,), (2, 3), (2, 1), (1,), (1, 3), (1, 1)]))
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
    return np.array(values).reshape(shape)


@st.composite
def _slices(draw: st.DrawFn, size: int) -> slice:
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = draw(st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
    return slice(draw(bound), draw(bound), step)
