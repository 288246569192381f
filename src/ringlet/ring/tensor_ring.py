"""TensorRing: a tensor held as a ring of cores. Pure mathematics; `save` and `load` call the store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import reduce
from math import isfinite, prod
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ringlet.amounts import format_bytes
from ringlet.arrays import Place, named_place, place_of
from ringlet.checks import allocating, check_range, check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError
from ringlet.ring import algebra
from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core, balanced_cores
from ringlet.ring.core_checks import frozen_cores, mode_names, placed_cores
from ringlet.ring.drawing import draw, size_change
from ringlet.ring.evaluate import dense_block, entries
from ringlet.ring.gram import GramChain
from ringlet.ring.indexing import basic_selectors, evaluate_index, in_bounds
from ringlet.ring.like_xarray import filled_like
from ringlet.ring.naming import check_order
from ringlet.ring.placed_evaluate import outer_placed
from ringlet.ring.rounding import round_cores

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["TensorRing"]

_MOST_AXES = 64  # of NumPy's arrays


class TensorRing:
    """A tensor held as a ring of cores; immutable.

    Entry ``(i_0, .., i_{N-1})`` is the trace of the product of the cores' lateral slices,
    ``tr(Z_0[:, i_0, :] @ Z_1[:, i_1, :] @ ...)``. Indexing and ``np.asarray`` evaluate entries; the algebra
    (`norm`, `inner`, sums, products, `round`) works on the cores and never forms the dense tensor.

    Parameters
    ----------
    cores : sequence of arrays
        Core k has shape ``(rank[k], shape[k], rank[k + 1])``, and the last bond closes on ``rank[0]``. Real
        and finite. Integers become float64 and float16 becomes float32. Arrays that someone could still write
        to are copied. Arrays of PyTorch, CuPy and JAX, all on one device, stay there.
    names : sequence of str, optional
        Names of the modes.
    units : str, optional
        Unit of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ring = TensorRing([rng.standard_normal((3, 40, 2)), rng.standard_normal((2, 50, 3))])
    >>> ring
    TensorRing(shape=(40, 50), rank=(3, 2), float64, 4.32 kB, 3.7x smaller)
    >>> ring[:10, 7].shape
    (10,)
    >>> np.asarray(ring).shape
    (40, 50)
    """

    __slots__ = ("_cores", "_even_cores", "_host_cores", "_names", "_place", "_units")
    __array_ufunc__ = None  # a ufunc would form the dense tensor implicitly; this also lets np.float64(2) * ring work

    _cores: tuple[Core, ...]
    _even_cores: Sequence[Core]  # of the same tensor, set when first needed
    _host_cores: tuple[Core, ...]  # the cores for NumPy, set when first needed
    _place: Place | None  # None: the cores are NumPy's
    _names: tuple[str, ...] | None
    _units: str | None

    def __init__(
        self, cores: Iterable[ArrayLike], *, names: Sequence[str] | None = None, units: str | None = None
    ) -> None:
        placed = placed_cores(cores)
        checked, place = (frozen_cores(cores), None) if placed is None else placed
        object.__setattr__(self, "_cores", checked)
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_names", mode_names(names, len(checked)))
        if units is not None and not isinstance(units, str):
            raise ArgumentTypeError(f"units must be a string or None, not {units!r}")
        object.__setattr__(self, "_units", units)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a TensorRing cannot be changed, so {name!r} cannot be set; make a new ring")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a TensorRing cannot be changed, so {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._cores, self._names, self._units)

    # What it is -----------------------------------------------------------------------------------------

    @property
    def cores(self) -> tuple[Core, ...]:
        """The cores, read-only arrays; core k has shape ``(rank[k], shape[k], rank[k + 1])``.

        Of a ring on a device they are arrays of its library. They are the ring's own and not to be written to.
        """
        return self._cores

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the modes."""
        return tuple(core.shape[1] for core in self._cores)

    @property
    def rank(self) -> tuple[int, ...]:
        """Ranks of the bonds; ``rank[k]`` is the bond before mode k."""
        return tuple(core.shape[0] for core in self._cores)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self._cores)

    @property
    def size(self) -> int:
        """Number of entries of the tensor."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cores and of evaluated entries, as NumPy has it: float32 or float64."""
        return self._cores[0].dtype if self._place is None else self._place.numpy_dtype(self._cores[0])

    @property
    def parameters(self) -> int:
        """Number of stored numbers."""
        return sum(prod(core.shape) for core in self._cores)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored cores."""
        return self.parameters * self.dtype.itemsize

    @property
    def device(self) -> Any:
        """The device that the cores lie on, as their library names it; "cpu" of NumPy's arrays.

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 2, 1))]).device
        'cpu'
        """
        return "cpu" if self._place is None else self._place.device

    @property
    def compression(self) -> float:
        """Entries of the tensor per stored number."""
        return self.size / self.parameters

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the modes, if given."""
        return self._names

    @property
    def units(self) -> str | None:
        """Unit of the entries, if given."""
        return self._units

    def __repr__(self) -> str:
        shape = str(self.shape)
        if self._names is not None:
            shape = "(" + ", ".join(f"{n}={i}" for n, i in zip(self._names, self.shape, strict=True)) + ")"
        units = "" if self._units is None else f", in {self._units}"
        storage = f"{format_bytes(self.nbytes)}, {size_change(self.compression)}"
        where = "" if self._place is None else f", on {self._place}"
        return f"TensorRing(shape={shape}, rank={self.rank}, {self.dtype}, {storage}{units}{where})"

    def _repr_html_(self) -> str:
        return draw(self.shape, self.rank, self.dtype, self.nbytes, self.compression, self._names, self._units)

    # Its entries ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Any:
        """Evaluate a block, with NumPy's indexing rules."""
        with allocating(f"that part of a tensor of shape {self.shape}", "index a smaller one"):
            if self._place is None:
                return evaluate_index(self._even(), key)
            selectors = basic_selectors(key, self.shape)
            if selectors is not None:
                return outer_placed(self._place, balanced_cores(self._cores) or self._cores, selectors)
            return self._place.put(np.asarray(evaluate_index(self._even(), key)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Evaluate the whole tensor."""
        if copy is False:
            raise ArgumentError("a TensorRing is not stored densely, so copy=False is impossible; leave copy out")
        if len(self._host) > _MOST_AXES:
            raise ArgumentError(f"the ring has {len(self._host)} modes, arrays have at most {_MOST_AXES}; index some")
        with allocating(f"a tensor of shape {self.shape}", "index a part of the ring"):
            return dense_block(self._even()).astype(dtype or self.dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Evaluate the whole tensor, for ``torch.from_dlpack(ring)`` and the like."""
        return self[...].__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._cores[0].__dlpack_device__()

    def entries(self, coordinates: ArrayLike) -> NDArray[Any]:
        """Single entries, in batches of bounded memory.

        Parameters
        ----------
        coordinates : array of int, shape (M, N)
            One row an entry; negative indices count from the end.

        Returns
        -------
        array of shape (M,)

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.arange(2.0).reshape(1, 2, 1), np.arange(3.0).reshape(1, 3, 1)])
        >>> ring.entries([[1, 2], [0, 0], [-1, -2]])
        array([2., 0., 1.])
        """
        try:
            place = place_of(coordinates, "coordinates")
            rows = np.asarray(coordinates) if place is None else place.fetch(coordinates)
        except ValueError:
            raise ArgumentError(f"coordinates are ragged; give (M, {self.ndim}), one row an entry") from None
        if rows.size == 0 and rows.shape != (0, self.ndim):
            rows = np.empty((0, self.ndim), np.intp)
        if not np.issubdtype(rows.dtype, np.integer):
            raise ArgumentTypeError(f"coordinates must be integers, not {rows.dtype}")
        if rows.ndim != 2 or rows.shape[1] != self.ndim:
            raise ArgumentError(f"coordinates have shape {rows.shape}; give (M, {self.ndim}), one row an entry")
        wrapped = [in_bounds(rows[:, k], k, size) for k, size in enumerate(self.shape)]
        values = entries(self._even(), np.stack(wrapped, axis=1))
        return values if self._place is None else self._place.put(values)

    def to_xarray(self, like: DataArray | Dataset | None = None) -> Any:
        """Evaluate the whole tensor as an xarray.DataArray with the ring's names as dimensions.

        Parameters
        ----------
        like : xarray.DataArray or xarray.Dataset, optional
            Of the same shape, e.g. the data that were fitted: its coordinates, name and attributes are taken over.
            Dimensions of the same names must have the same order. A Dataset gives a Dataset: its one variable of
            numbers of that shape is replaced, or all that were stacked along a mode `variable`.

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))], names=("time", "place"), units="K")
        >>> ring.to_xarray().sizes
        Frozen({'time': 2, 'place': 3})
        """
        try:
            import xarray
        except ImportError as error:
            raise MissingDependencyError('DataArrays need xarray: pip install "ringlet[xarray]"') from error

        if like is None:
            attributes = {} if self._units is None else {"units": self._units}
            return xarray.DataArray(np.asarray(self), dims=self._names, attrs=attributes)
        return filled_like(like, np.asarray(self), self._names)

    # Measures -------------------------------------------------------------------------------------------

    def norm(self) -> float:
        """Frobenius norm of the tensor, from the cores.

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 2, 1)), np.ones((1, 8, 1))]).norm()
        4.0
        """
        return algebra.norm(self._host)

    def inner(self, other: TensorRing) -> float:
        """Inner product with a ring of the same shape, from the cores.

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))])
        >>> ring.inner(2 * ring)
        12.0
        """
        self._check_same_shape(other)
        return algebra.inner(self._host, other._host)

    def distance(self, other: TensorRing) -> float:
        """Frobenius norm of the difference, from the cores.

        Never negative; 0 for equal cores. Differences below about 1e-8 of the larger norm are lost in rounding errors.

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 1)), np.ones((1, 2, 1))])
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
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 4, 2)), np.ones((2, 5, 1))]).gram_without(0)
        array([[5., 5.],
               [5., 5.]])
        """
        (mode,) = self._check_axes(k, "k")
        return GramChain(self._host).without(mode).dense()

    # Algebra --------------------------------------------------------------------------------------------

    def __neg__(self) -> TensorRing:
        return self._like(algebra.scale(self._host, -1.0))

    def __pos__(self) -> TensorRing:
        return self

    def __add__(self, other: TensorRing | float) -> TensorRing:
        """Add a ring of the same shape (ranks add) or a number (ranks grow by 1, unless it is 0)."""
        if isinstance(other, Real):
            check_range("the summand", other)
            number = float(other)
            if not isfinite(number):
                raise ArgumentError(f"only a finite number can be added to a ring, not {number}")
            if number == 0:
                return self
            return self._like(algebra.add(self._host, algebra.constant(self.shape, number, self.dtype)))
        if not isinstance(other, TensorRing):
            _refuse_array(other)
            return NotImplemented
        self._check_same_shape(other)
        units = self._units if self._units == other._units else None
        return self._made(algebra.add(self._host, other._host), self._common_names(other), units)

    __radd__ = __add__

    def __sub__(self, other: TensorRing | float) -> TensorRing:
        if isinstance(other, Real):
            check_range("the summand", other)
            return self + -float(other)
        if isinstance(other, TensorRing):
            return self + (-other)
        _refuse_array(other)
        return NotImplemented

    def __rsub__(self, other: float) -> TensorRing:
        return (-self).__add__(other)

    def __mul__(self, other: TensorRing | float) -> TensorRing:
        """Multiply by a number, or element-wise by a ring of the same shape (ranks multiply)."""
        if isinstance(other, Real):
            check_range("the factor", other)
            factor = float(other)
            if not isfinite(factor):
                raise ArgumentError(f"a ring can only be scaled by a finite number, not {factor}")
            return self._like(algebra.scale(self._host, factor))
        if isinstance(other, TensorRing):
            self._check_same_shape(other)
            with allocating("the product of the rings", "round them to lower ranks first"):
                return self._made(algebra.hadamard(self._host, other._host), self._common_names(other), None)
        _refuse_array(other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> TensorRing:
        if not isinstance(other, Real):
            _refuse_array(other)
            return NotImplemented
        check_range("the divisor", other)
        divisor = float(other)
        if divisor == 0 or not isfinite(divisor):
            raise ArgumentError(f"a ring can only be divided by a finite number other than 0, not {divisor}")
        return self._like(algebra.scale(self._host, 1 / divisor))

    def sum(
        self, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None
    ) -> TensorRing | float:
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
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))])
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

    def mean(
        self, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None
    ) -> TensorRing | float:
        """Mean over modes; see `sum`.

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.arange(4.0).reshape(1, 4, 1), np.ones((1, 3, 1))]).mean()
        1.5
        """
        return self.sum(axis, dtype, out) / prod(self.shape[k] for k in self._check_axes(axis))

    def rotate(self, shift: int) -> TensorRing:
        """Shift the modes cyclically: mode `shift` becomes the first.

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 4)), np.ones((4, 3, 5)), np.ones((5, 7, 1))])
        >>> ring.rotate(1).shape, ring.rotate(1).rank
        ((3, 7, 2), (4, 5, 1))
        """
        try:
            first = index(shift) % self.ndim
        except TypeError:
            raise ArgumentTypeError(f"shift must be an int, not {shift!r}") from None
        return self.transpose([*range(first, self.ndim), *range(first)])

    @property
    def T(self) -> TensorRing:
        """The modes in reversed order."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int] | None) -> TensorRing:
        """Reorder the modes along the ring or against it.

        Parameters
        ----------
        axes : ints, or one sequence of them, optional
            A cyclic shift of ``0, 1, .., N-1``, or a cyclic shift of the reversed order; the reversed order
            by default. Any other order would need another ring.

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 4)), np.ones((4, 3, 5)), np.ones((5, 7, 1))])
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

    def astype(self, dtype: DTypeLike) -> TensorRing:
        """Cores in another floating dtype (float32 or float64).

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 2, 1))]).astype("float32").dtype
        dtype('float32')
        """
        try:
            wanted = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            raise ArgumentTypeError(f"a TensorRing is float32 or float64, not {dtype!r}") from None
        if wanted not in (np.float32, np.float64):
            raise ArgumentTypeError(f"a TensorRing is float32 or float64, not {wanted}")
        return self._like([core.astype(wanted, copy=False) for core in self._host])

    def round(self, rank: int | Sequence[int] | None = None, tol: float | None = None) -> TensorRing:
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
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> ring = TensorRing([rng.standard_normal(s) for s in [(2, 6, 3), (3, 7, 2), (2, 8, 2)]])
        >>> (ring + ring).round(tol=1e-6).rank
        (2, 3, 2)
        """
        return self._like(round_cores(self._host, rank, tol))

    # To and from elsewhere ------------------------------------------------------------------------------

    def to(self, device: Any) -> TensorRing:
        """The same ring with its cores elsewhere.

        Parameters
        ----------
        device : str or device
            A device of the library that the cores are of, as that library names it: ``"cpu"``, ``"cuda"``. Cores of
            NumPy stay for "cpu", and become torch tensors for any other device. ``"numpy"`` gives NumPy's arrays.

        Examples
        --------
        >>> import array_api_strict as xp
        >>> ring = TensorRing([xp.ones((1, 2, 1), device=xp.Device("device1"))])
        >>> ring.to(xp.Device("device2")).device
        array_api_strict.Device('device2')
        >>> ring.to("numpy").cores[0].shape
        (1, 2, 1)
        """
        stays = isinstance(device, str) and device == "cpu" and self._place is None
        if stays or (isinstance(device, str) and device == "numpy"):
            return self.at(None)
        return self.at(named_place(device, self._place))

    @property
    def place(self) -> Place | None:
        """The library and the device of the cores; None of NumPy's arrays."""
        return self._place

    def at(self, place: Place | None) -> TensorRing:
        """The same ring with its cores at a place that another ring has; None: as NumPy's arrays."""
        if place == self._place:
            return self
        cores = self._host if place is None else [place.put(core) for core in self._host]
        return TensorRing(cores, names=self._names, units=self._units)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        precision: str | None = None,
        error: float | None = None,
    ) -> float:
        """Write the ring to a ``.ring`` file.

        Parameters
        ----------
        path : path
            Where to.
        force : bool
            Overwrite an existing file.
        precision : {"float16", "int8"}, optional
            Store the cores in 2 bytes or 1 byte a number; by default as they are. `load` reads all of them.
        error : float, optional
            Root mean square error of the ring itself, in the data's units. A precision that costs more than a quarter
            of it is refused with a PrecisionError. ``fit.save(path, precision=...)`` knows it.

        Returns
        -------
        float
            Relative error (Frobenius norm) that the precision costs; 0 by default. The file keeps it, too.
        """
        from ringlet.store.ringfile import save_ring

        return save_ring(self.to("numpy"), path, force=force, precision=precision, error=error)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TensorRing:
        """Read a ring from a ``.ring`` file."""
        from ringlet.store.ringfile import load_ring

        return load_ring(path)

    def to_tensorly(self) -> Any:
        """Return the ring as TensorLy's ``TRTensor``, with cores that may be changed.

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 2, 3)), np.ones((3, 4, 1))]).to_tensorly().rank
        (1, 3, 1)
        """
        try:
            from tensorly.tr_tensor import TRTensor
        except ImportError as error:
            raise MissingDependencyError("to_tensorly needs TensorLy: pip install tensorly") from error
        return TRTensor([core.copy() for core in self._host])

    @classmethod
    def from_tensorly(cls, tr: Any) -> TensorRing:
        """Take over a ring from TensorLy (NumPy backend).

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 3)), np.ones((3, 4, 1))])
        >>> TensorRing.from_tensorly(ring.to_tensorly()).rank
        (1, 3)
        """
        return cls(tr)

    # Checks ---------------------------------------------------------------------------------------------

    @property
    def _host(self) -> tuple[Core, ...]:
        """The cores as NumPy's arrays: what algebra and rounding, in float64, are computed from."""
        if self._place is None:
            return self._cores
        if not hasattr(self, "_host_cores"):
            fetched = frozen_cores([self._place.fetch(core) for core in self._cores])
            object.__setattr__(self, "_host_cores", fetched)
        return self._host_cores

    def _like(self, cores: Iterable[ArrayLike]) -> TensorRing:
        """A ring of these cores of NumPy, at the place of this one."""
        return self._made(cores, self._names, self._units)

    def _made(self, cores: Iterable[ArrayLike], names: Sequence[str] | None, units: str | None) -> TensorRing:
        return TensorRing(cores, names=names, units=units).at(self._place)

    def _common_names(self, other: TensorRing) -> tuple[str, ...] | None:
        return self._names if other._names in (None, self._names) else None

    def _check_same_shape(self, other: object) -> None:
        if not isinstance(other, TensorRing):
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

    def _even(self) -> Sequence[Core]:
        """Cores of about equal size, so that no product of some of them overflows or vanishes."""
        if not hasattr(self, "_even_cores"):
            object.__setattr__(self, "_even_cores", balanced_cores(self._host) or self._host)
        return self._even_cores

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


def _restore(cores: Sequence[Core], names: Sequence[str] | None, units: str | None) -> TensorRing:
    return TensorRing(cores, names=names, units=units)
