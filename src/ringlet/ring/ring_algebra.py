"""The algebra of rings: norms, sums, products, other orders of the modes, lower ranks. It never forms the tensor."""

from collections.abc import Iterable, Sequence
from functools import reduce
from math import isfinite, prod
from numbers import Real
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from ringlet.checks import allocating, check_range, check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring import algebra
from ringlet.ring.arrays import Array64
from ringlet.ring.gram import GramChain
from ringlet.ring.naming import check_order
from ringlet.ring.ring_base import RingBase
from ringlet.ring.rounding import round_cores

__all__ = ["RingAlgebra"]


class RingAlgebra(RingBase):
    """A ring that can be measured and combined with numbers and other rings."""

    __slots__ = ()

    def norm(self) -> float:
        """Frobenius norm of the tensor, from the cores.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 8, 1))]).norm()
        4.0
        """
        return algebra.norm(self._host)

    def inner(self, other: Self) -> float:
        """Inner product with a ring of the same shape, from the cores.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))])
        >>> ring.inner(2 * ring)
        12.0
        """
        self._check_same_shape(other)
        return algebra.inner(self._host, other._host)

    def distance(self, other: Self) -> float:
        """Frobenius norm of the difference, from the cores.

        Never negative; 0 for equal cores. Differences below about 1e-8 of the larger norm are lost in rounding errors.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 2, 1))])
        >>> ring.distance(3 * ring)
        4.0
        """
        self._check_same_shape(other)
        return algebra.distance(self._host, other._host)

    def gram_without(self, k: int) -> Array64:
        """Gram matrix of the subchain of all cores but k.

        Returns
        -------
        array of float64, shape ``(rank[k] * rank[k+1], rank[k] * rank[k+1])``

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ringlet.TensorRing([np.ones((1, 4, 2)), np.ones((2, 5, 1))]).gram_without(0)
        array([[5., 5.],
               [5., 5.]])
        """
        (mode,) = self._check_axes(k, "k")
        return GramChain(self._host).without(mode).dense()

    def __neg__(self) -> Self:
        return self._like(algebra.scale(self._host, -1.0))

    def __pos__(self) -> Self:
        return self

    def __add__(self, other: Self | float) -> Self:
        """Add a ring of the same shape (ranks add) or a number (ranks grow by 1, unless it is 0)."""
        if isinstance(other, Real):
            check_range("the summand", other)
            number = float(other)
            if not isfinite(number):
                raise ArgumentError(f"only a finite number can be added to a ring, not {number}")
            if number == 0:
                return self
            return self._like(algebra.add(self._host, algebra.constant(self.shape, number, self.dtype)))
        if not isinstance(other, RingAlgebra):
            _refuse_array(other)
            return NotImplemented
        self._check_same_shape(other)
        units = self._units if self._units == other._units else None
        return self._made(algebra.add(self._host, other._host), self._common_names(other), units)

    __radd__ = __add__

    def __sub__(self, other: Self | float) -> Self:
        if isinstance(other, Real):
            check_range("the summand", other)
            return self + -float(other)
        if isinstance(other, RingAlgebra):
            return self + (-other)
        _refuse_array(other)
        return NotImplemented

    def __rsub__(self, other: float) -> Self:
        return (-self).__add__(other)

    def __mul__(self, other: Self | float) -> Self:
        """Multiply by a number, or element-wise by a ring of the same shape (ranks multiply)."""
        if isinstance(other, Real):
            check_range("the factor", other)
            factor = float(other)
            if not isfinite(factor):
                raise ArgumentError(f"a ring can only be scaled by a finite number, not {factor}")
            return self._like(algebra.scale(self._host, factor))
        if isinstance(other, RingAlgebra):
            self._check_same_shape(other)
            with allocating("the product of the rings", "round them to lower ranks first"):
                return self._made(algebra.hadamard(self._host, other._host), self._common_names(other), None)
        _refuse_array(other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Self:
        if not isinstance(other, Real):
            _refuse_array(other)
            return NotImplemented
        check_range("the divisor", other)
        divisor = float(other)
        if divisor == 0 or not isfinite(divisor):
            raise ArgumentError(f"a ring can only be divided by a finite number other than 0, not {divisor}")
        return self._like(algebra.scale(self._host, 1 / divisor))

    def sum(self, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None) -> Self | float:
        """Sum over modes.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Modes to sum over; all of them by default.
        dtype, out : None
            Accepted only so that ``np.sum(ring)`` works.

        Returns
        -------
        TensorRing over the remaining modes, or float when none remain

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))])
        >>> ring.sum()
        6.0
        >>> ring.sum(axis=0)[:]
        array([2., 2., 2.])
        """
        if dtype is not None or out is not None:
            raise ArgumentTypeError("sums and means of a ring take no dtype and no out; leave them out")
        modes = self._check_axes(axis)
        if len(modes) == self.ndim:
            matrices = [core.sum(axis=1, dtype=np.float64) for core in self._even()]
            return float(np.trace(reduce(np.matmul, matrices)))
        cores = self._even()
        for k in sorted(modes, reverse=True):  # from the last, so that earlier positions do not change
            cores = algebra.collapse(cores, k)
        names = self._names and [name for k, name in enumerate(self._names) if k not in modes]
        return self._made(cores, names, self._units)

    def mean(self, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None) -> Self | float:
        """Mean over modes; see `sum`.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ringlet.TensorRing([np.arange(4.0).reshape(1, 4, 1), np.ones((1, 3, 1))]).mean()
        1.5
        """
        return self.sum(axis, dtype, out) / prod(self.shape[k] for k in self._check_axes(axis))

    def rotate(self, shift: int) -> Self:
        """Shift the modes cyclically: mode `shift` becomes the first.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 4)), np.ones((4, 3, 5)), np.ones((5, 7, 1))])
        >>> ring.rotate(1).shape, ring.rotate(1).rank
        ((3, 7, 2), (4, 5, 1))
        """
        try:
            first = index(shift) % self.ndim
        except TypeError:
            raise ArgumentTypeError(f"shift must be an int, not {shift!r}") from None
        return self.transpose([*range(first, self.ndim), *range(first)])

    @property
    def T(self) -> Self:
        """The modes in reversed order."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int] | None) -> Self:
        """Reorder the modes along the ring or against it.

        Parameters
        ----------
        axes : ints, or one sequence of them, optional
            A cyclic shift of ``0, 1, .., N-1``, or a cyclic shift of the reversed order; the reversed order
            by default. Any other order would need another ring.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 4)), np.ones((4, 3, 5)), np.ones((5, 7, 1))])
        >>> ring.transpose().shape, ring.transpose(1, 0, 2).rank
        ((7, 3, 2), (5, 4, 1))
        """
        alone = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Iterable))
        given = axes[0] if alone else axes or None
        order = tuple(range(self.ndim))[::-1] if given is None else self._check_order(given)
        names = self._names and [self._names[k] for k in order]
        if order == tuple((order[0] + k) % self.ndim for k in range(self.ndim)):
            cores = [self._host[k] for k in order]
        elif order == tuple((order[0] - k) % self.ndim for k in range(self.ndim)):
            cores = [self._host[k].swapaxes(0, 2) for k in order]  # tr(A B C) = tr(C' B' A')
        else:
            raise ArgumentError(
                f"axes={order} is no cyclic shift of the modes or of their reversed order, "
                f"so no ring of the same cores has them; use np.asarray(ring).transpose(...)"
            )
        return self._made(cores, names, self._units)

    def astype(self, dtype: DTypeLike) -> Self:
        """Cores in another floating dtype (float32 or float64).

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ringlet.TensorRing([np.ones((1, 2, 1))]).astype("float32").dtype
        dtype('float32')
        """
        try:
            wanted = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            raise ArgumentTypeError(f"a TensorRing is float32 or float64, not {dtype!r}") from None
        if wanted not in (np.float32, np.float64):
            raise ArgumentTypeError(f"a TensorRing is float32 or float64, not {wanted}")
        return self._like([core.astype(wanted, copy=False) for core in self._host])

    def round(self, rank: int | Sequence[int] | None = None, tol: float | None = None) -> Self:
        """Approximate the tensor by a ring of lower rank, never forming the dense tensor.

        All bonds are treated alike, the closing one too. The computation rests on Gram matrices in float64,
        which resolve relative errors down to about 1e-7; a bond is only cut where its error can be verified.
        Bonds up to rank 128 can be rounded.

        Parameters
        ----------
        rank : int or sequence of int, optional
            Largest rank of each bond. A bond that is smaller already stays.
        tol : float, optional
            Relative accuracy: the smallest ranks found with ``self.distance(result) <= tol * self.norm()``.
            Given together with `rank`, `rank` is kept even where `tol` cannot be.

        Returns
        -------
        TensorRing

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> ring = ringlet.TensorRing([rng.standard_normal(s) for s in [(2, 6, 3), (3, 7, 2), (2, 8, 2)]])
        >>> (ring + ring).round(tol=1e-6).rank
        (2, 3, 2)
        """
        return self._like(round_cores(self._host, rank, tol))

    def _common_names(self, other: Self) -> tuple[str, ...] | None:
        return self._names if other._names in (None, self._names) else None

    def _check_same_shape(self, other: object) -> None:
        if not isinstance(other, RingAlgebra):
            raise ArgumentTypeError(f"expected another TensorRing, not {type(other).__name__}")
        if self._place != other._place:
            places = [str(ring._place or "the host") for ring in (self, other)]
            raise ArgumentError(f"the rings lie on {places[0]} and on {places[1]}; move one, e.g. ring.to('numpy')")
        if self.shape != other.shape:
            raise ArgumentError(f"the rings have different shapes: {self.shape} and {other.shape}")
        check_order("the other ring", other._names, "this one", self._names)

    def _check_order(self, axes: Any) -> tuple[int, ...]:
        """All modes in the order of an axes argument."""
        order = self._check_axes(check_sequence("axes", axes, "the modes in their new order"), "axes")
        if len(order) != self.ndim:
            raise ArgumentError(f"axes={order} names {len(order)} modes, but the tensor has {self.ndim}")
        return order

    def _check_axes(self, axis: int | tuple[int, ...] | None, name: str = "axis") -> tuple[int, ...]:
        """Modes named by an argument, from 0 to ndim - 1, each once."""
        if axis is None:
            return tuple(range(self.ndim))
        given = axis if isinstance(axis, tuple) else (axis,)
        try:
            modes = tuple(index(k) for k in given)
        except TypeError:
            raise ArgumentTypeError(f"{name} must be an int or a tuple of ints, not {axis!r}") from None
        if any(not -self.ndim <= k < self.ndim for k in modes):
            raise ArgumentError(f"{name}={axis!r} is out of range for a tensor of {self.ndim} modes")
        wrapped = tuple(k % self.ndim for k in modes)
        if len(set(wrapped)) < len(wrapped):
            raise ArgumentError(f"{name}={axis!r} names a mode twice")
        return wrapped


def _refuse_array(other: object) -> None:
    """Raise an error that explains how to combine an array with a ring."""
    if isinstance(other, np.ndarray):
        raise ArgumentTypeError(
            "a ring is combined with numbers and rings, not with arrays; evaluate it first, e.g. np.asarray(ring) + x"
        )
