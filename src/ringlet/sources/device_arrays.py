"""Arrays of other libraries as sources: their entries stay on their device, and parts of them are read on demand."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays import Place, place_of
from ringlet.errors import ArgumentTypeError
from ringlet.sources.base import Block, Chunks, slabs
from ringlet.sources.labels import Labels, PlainIndex, Quantity
from ringlet.sources.memory import ArraySource

__all__ = ["DeviceSource", "PlaceLabels", "device_source"]


@dataclass(frozen=True)
class PlaceLabels:
    """Type and place of an array."""

    modes: int
    dtype: Any
    place: Place

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:  # noqa: ARG002
        """The values as an array of the same library on the same device, entries in the same dtype."""
        return self.place.give(np.asarray(values), self.dtype if quantity == "entries" else None)


@dataclass(frozen=True, eq=False)
class DeviceSource:
    """An array on a device as a source.

    Attributes
    ----------
    array : array of a library other than NumPy
        NaN means missing.
    place : Place
        Where it lies.
    mask : bool array of the same place, or None
        True = observed.
    labels : Labels or None
        To give back the same kind.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> source = device_source(xp.asarray([[1.0, 2.0], [3.0, xp.nan]], device=xp.Device("device1")))
    >>> values, observed = source.gather((slice(1, 2), slice(0, 2)))
    >>> values.device
    array_api_strict.Device('device1')
    >>> source.read((slice(1, 2), slice(0, 2)))[1]
    array([[ True, False]])
    """

    array: Any
    place: Place
    mask: Any = None
    labels: Labels | None = None
    names: tuple[str, ...] | None = None
    units: str | None = None
    chunks: Chunks | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return tuple(self.array.shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries, as NumPy has it."""
        return self.place.numpy_dtype(self.array)

    def gather(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        """Values of a block, and which of them are observed (None: all), on the device."""
        values = self._part(self.array, block, order)
        observed = None if self.mask is None else self._part(self.mask, block, order)
        if self._has_nan:
            numbers = ~self.place.xp.isnan(values)
            observed = numbers if observed is None else observed & numbers
        return values, observed

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all), as NumPy arrays."""
        values, observed = self.gather(block, order)
        flags = None if observed is None else self.place.fetch(observed)
        return self.place.fetch(values), None if flags is None or flags.all() else flags

    def summary(self, block: tuple[slice, ...]) -> tuple[float, float, list[NDArray[np.int64]]]:
        """Least and largest observed entry of a block, and the observed entries of every slice of every mode.

        Infinity and minus infinity if there are none.
        """
        xp, place = self.place.xp, self.place
        gathered, observed = self.gather(block)
        wide = np.dtype(np.float64 if place.has(np.dtype(np.float64)) else np.float32)
        values = xp.astype(gathered, place.dtype(wide))
        if observed is None:
            counts = [np.full(length, prod(values.shape) // length) for length in values.shape]
            return float(xp.min(values)), float(xp.max(values)), counts
        ones, counts = xp.astype(observed, xp.int32), []
        for mode in range(len(block)):
            others = tuple(other for other in range(len(block)) if other != mode)
            counts.append(place.fetch(xp.sum(ones, axis=others, dtype=xp.int32)).astype(np.int64))
        endless = xp.full_like(values, inf)
        low, high = xp.min(xp.where(observed, values, endless)), xp.max(xp.where(observed, values, -endless))
        return float(low), float(high), counts

    def on_host(self) -> ArraySource:
        """A copy for NumPy; the same memory where NumPy sees that of the device."""
        mask = None if self.mask is None else self.place.fetch(self.mask)
        return ArraySource(self.place.fetch(self.array), mask, labels=self.labels)

    @cached_property
    def _has_nan(self) -> bool:
        xp = self.place.xp
        if self.dtype.kind != "f":
            return False
        return any(bool(xp.any(xp.isnan(self.array[block]))) for block in slabs(self.shape))

    def _part(self, array: Any, block: Block, order: tuple[int, ...] | None) -> Any:
        """Outer indexing, the modes that lose most entries first."""
        xp = self.place.xp
        spans = [chosen if isinstance(chosen, slice) else slice(None) for chosen in block]
        part = array[tuple(spans)]
        lists = [mode for mode, chosen in enumerate(block) if not isinstance(chosen, slice)]
        for mode in sorted(lists, key=lambda mode: len(block[mode]) / self.shape[mode]):  # type: ignore[arg-type]
            part = xp.take(part, self.place.put(np.asarray(block[mode], np.int32)), axis=mode)
        return part if order is None else xp.permute_dims(part, order)


def device_source(given: Any, name: str = "data") -> DeviceSource | None:
    """A source for an array of another library than NumPy; None for anything else. Errors refer to it as `name`.

    The entries are not copied. Gradients of torch tensors are left out.
    """
    place = place_of(given, name)
    if place is None:
        return None
    array = _plain_tensor(given, place.xp, name) if place.library == "torch" else given
    labels = PlaceLabels(array.ndim, array.dtype, place)
    source = DeviceSource(array, place, labels=labels)
    place.numpy_dtype(array, name)  # refused, if NumPy lacks it
    return source


def _plain_tensor(given: Any, torch: Any, name: str) -> Any:
    """A dense tensor without a gradient."""
    if given.is_nested:
        raise ArgumentTypeError(
            f"{name} is a nested torch tensor; give {name}.to_padded_tensor(float('nan')), in which what fills it up "
            "is missing"
        )
    if given.layout != torch.strided:
        raise ArgumentTypeError(
            f"{name} is a torch tensor of layout {given.layout}; entries that are not stored could be zeros or "
            f"missing: give {name}.to_dense(), and mask= if they are missing"
        )
    if given.is_quantized:
        raise ArgumentTypeError(f"{name} is a quantized torch tensor; give {name}.dequantize()")
    plain = given.detach().resolve_conj().resolve_neg()
    if plain.is_meta or not _has_storage(plain):
        raise ArgumentTypeError(
            f"{name} is a torch tensor without entries; fits run outside of torch.vmap and torch.compile, and not on "
            "the device 'meta'"
        )
    return plain


def _has_storage(tensor: Any) -> bool:
    """Whether a tensor lies somewhere: PyTorch has others, which only follow what is done to them."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True
