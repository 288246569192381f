"""What a ring is: its cores, where they lie, the names of its modes."""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ringlet.amounts import format_bytes
from ringlet.arrays import Place, named_place
from ringlet.errors import ArgumentTypeError
from ringlet.ring.chain import Core, balanced_cores
from ringlet.ring.core_checks import frozen_cores, mode_names, placed_cores
from ringlet.ring.drawing import draw, size_change

__all__ = ["RingBase"]


class RingBase:
    """The cores of a ring and what follows from them directly; immutable. See `TensorRing` for the parameters."""

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
        return _restore, (type(self), self._cores, self._names, self._units)

    @property
    def cores(self) -> tuple[Core, ...]:
        """The cores, read-only arrays; core k has shape ``(rank[k], shape[k], rank[k + 1])``.

        If the ring is on a device, they are arrays of that device's library. Do not write to them.
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
        """NumPy dtype of the cores and of evaluated entries: float32 or float64."""
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
        """The device of the cores, as their library names it; "cpu" for NumPy arrays.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ringlet.TensorRing([np.ones((1, 2, 1))]).device
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

    def to(self, device: Any) -> Self:
        """Move the ring to another device or array library.

        Parameters
        ----------
        device : str or device
            A device of the library of the cores, e.g. ``"cpu"`` or ``"cuda"``. NumPy cores stay NumPy arrays for "cpu",
            and become torch tensors for any other device. ``"numpy"`` gives NumPy arrays, and so does "cpu" where the
            library has no such device, as CuPy.

        Examples
        --------
        >>> import array_api_strict as xp, ringlet
        >>> ring = ringlet.TensorRing([xp.ones((1, 2, 1), device=xp.Device("device1"))])
        >>> ring.to(xp.Device("device2")).device
        array_api_strict.Device('device2')
        >>> ring.to("numpy").cores[0].shape
        (1, 2, 1)
        """
        on_host = self._place is None or not self._place.names_host
        if isinstance(device, str) and (device == "numpy" or (device == "cpu" and on_host)):
            return self.at(None)
        return self.at(named_place(device, self._place))

    @property
    def place(self) -> Place | None:
        """The library and the device of the cores; None for NumPy arrays."""
        return self._place

    def at(self, place: Place | None) -> Self:
        """The same ring at the `place` of another ring; None gives NumPy arrays."""
        if place == self._place:
            return self
        cores = self._host if place is None else [place.give(core) for core in self._host]
        return type(self)(cores, names=self._names, units=self._units)

    @property
    def _host(self) -> tuple[Core, ...]:
        """The cores as NumPy's arrays: what algebra and rounding, in float64, are computed from."""
        if self._place is None:
            return self._cores
        if not hasattr(self, "_host_cores"):
            fetched = frozen_cores([self._place.fetch(core) for core in self._cores])
            object.__setattr__(self, "_host_cores", fetched)
        return self._host_cores

    def _like(self, cores: Iterable[ArrayLike]) -> Self:
        """A ring of these cores of NumPy, at the place of this one."""
        return self._made(cores, self._names, self._units)

    def _made(self, cores: Iterable[ArrayLike], names: Sequence[str] | None, units: str | None) -> Self:
        return type(self)(cores, names=names, units=units).at(self._place)

    def _even(self) -> Sequence[Core]:
        """Cores of about equal size, so that no product of some of them overflows or vanishes."""
        if not hasattr(self, "_even_cores"):
            object.__setattr__(self, "_even_cores", balanced_cores(self._host) or self._host)
        return self._even_cores


def _restore(kind: type[RingBase], cores: Sequence[Core], names: Sequence[str] | None, units: str | None) -> RingBase:
    return kind(cores, names=names, units=units)
