"""Where arrays lie: a library and a device of it, the ways there and back, and what the device can do.

The library and the device come from the data, never from a setting. No library is imported before an array of it, or
its device, is given.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError

__all__ = ["Place", "host_array", "is_foreign", "like_given", "named_place", "namespace", "place_of"]

_DTYPES = (
    *("float32", "float64", "float16", "bool", "uint8", "int8"),
    *("int16", "int32", "int64", "uint16", "uint32", "uint64"),
)
_HALF = "bfloat16"  # which NumPy lacks; float32 holds its numbers


@dataclass(frozen=True)
class Place:
    """A library of arrays and one of its devices.

    Attributes
    ----------
    xp : module
        The library's namespace, as the array API standard has it.
    device : object
        As the library names it.

    Examples
    --------
    >>> import array_api_strict
    >>> place = place_of(array_api_strict.ones(3))
    >>> place.library, place.on_host
    ('array_api_strict', True)
    >>> place.fetch(place.put(np.arange(3.0)) * 2)
    array([0., 2., 4.])
    """

    xp: Any
    device: Any

    @property
    def library(self) -> str:
        """Name of the library, e.g. "torch"."""
        parts = [part for part in self.xp.__name__.split(".") if part != "array_api_compat"]
        return str(parts[0])

    @property
    def on_host(self) -> bool:
        """Whether the device is the processor itself, whose memory NumPy sees."""
        kind = getattr(self.device, "type", None) or getattr(self.device, "platform", None)  # of torch, of JAX
        return str(kind or self.device).lower() in ("cpu", "array_api_strict.device('cpu_device')")

    @property
    def names_host(self) -> bool:
        """Whether the library has a device called "cpu", as CuPy has not."""
        return self.library in ("torch", "jax")

    @property
    def solves(self) -> bool:
        """Whether equations are solved there: a device of its own that has float64."""
        return not self.on_host and self.has(np.dtype(np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the name of the library: modules cannot be."""
        return _place_again, (self.xp.__name__, str(self.device) if self.library == "jax" else self.device)

    def __str__(self) -> str:
        return f"{self.device} of {self.library}"

    def put(self, array: NDArray[Any], *, copy: bool = False) -> Any:
        """A NumPy array as one of this library on this device; on the host it may share memory, unless copied."""
        if not isinstance(array, np.ndarray):  # it is there
            return array
        values = np.array(array, order="C") if copy or not array.flags.writeable else np.ascontiguousarray(array)
        return self.xp.asarray(values, device=self.device)

    def give(self, values: NDArray[Any], dtype: Any = None) -> Any:
        """Results of the host as an array of this place that shares no memory, by default of their own dtype.

        Float64 becomes float32 where the device lacks it.
        """
        wide = values.dtype == np.float64 and not self.has(values.dtype)
        given = self.put(values.astype(np.float32) if wide else values, copy=True)
        return given if dtype is None else self.xp.astype(given, dtype)

    def fetch(self, array: Any) -> NDArray[Any]:
        """An array of this place as a NumPy array; on the host it may share memory."""
        if self.xp is np:
            return np.asarray(array)
        if self.library == "torch":
            plain = array.detach().cpu()
            return np.asarray((plain.float() if plain.dtype == self.xp.bfloat16 else plain).numpy())
        if self.library == "cupy":
            return np.asarray(array.get())
        if self.library == "jax":
            host = np.asarray(array)
            return host.astype(np.float32) if host.dtype.name == _HALF else host
        return np.asarray(array.to_device(self.xp.__array_namespace_info__().default_device()))

    def has(self, dtype: np.dtype[Any]) -> bool:
        """Whether the device knows a dtype."""
        return self.xp is np or dtype.name in self.xp.__array_namespace_info__().dtypes(device=self.device)

    def dtype(self, dtype: np.dtype[Any]) -> Any:
        """A dtype of NumPy as the library has it."""
        return getattr(self.xp, dtype.name)

    def numpy_dtype(self, array: Any, name: str = "data") -> np.dtype[Any]:
        """The dtype of an array as NumPy has it; float32 of bfloat16. Errors refer to the array as `name`."""
        for known in _DTYPES:
            if getattr(self.xp, known, None) == array.dtype:
                return np.dtype(known)
        if str(array.dtype).endswith(_HALF):
            return np.dtype(np.float32)
        if "complex" in str(array.dtype):
            raise ArgumentTypeError(
                f"{name} has complex dtype {array.dtype}, which is unsupported; decompose the real and imaginary parts"
            )
        raise ArgumentTypeError(f"{name} has dtype {array.dtype}, which NumPy lacks; give {name}.float()")

    def check_precision(self, dtype: np.dtype[Any], data: np.dtype[Any]) -> None:
        """Refuse to work in a precision that the device lacks."""
        if not self.has(dtype):
            raise ArgumentTypeError(
                f"data of dtype {data} are fitted in {dtype}, which device {self} lacks; give the data as float32, or "
                "dtype='float32' to the solver, e.g. solver=ringlet.AWRTRD(dtype='float32')"
            )


def namespace(array: Any) -> Any:
    """The array API namespace of an array: NumPy itself for its own.

    Examples
    --------
    >>> namespace(np.zeros(2)).__name__
    'numpy'
    """
    return np if isinstance(array, np.ndarray) else _compat("arrays").array_namespace(array)


def is_foreign(given: Any) -> bool:
    """Whether an object is an array of another library than NumPy.

    Examples
    --------
    >>> is_foreign(np.zeros(2)), is_foreign([0.0])
    (False, False)
    """
    if isinstance(given, np.ndarray | np.generic):
        return False
    torch: Any = sys.modules.get("torch")
    return hasattr(type(given), "__array_namespace__") or (torch is not None and isinstance(given, torch.Tensor))


def place_of(given: Any, name: str = "data") -> Place | None:
    """The place of an array of another library than NumPy; None of anything else. Errors refer to it as `name`."""
    if not is_foreign(given):
        return None
    compat = _compat(name)
    if _is_traced(given):
        raise ArgumentTypeError(f"{name} is traced by JAX; fits run outside of jax.jit, grad and vmap")
    return Place(compat.array_namespace(given), compat.device(given))


def host_array(given: Any, name: str = "data") -> Any:
    """An array of another library than NumPy as one of NumPy; anything else as it is. Errors refer to it as `name`.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> host_array(xp.ones(2, device=xp.Device("device1"))), host_array([1])
    (array([1., 1.]), [1])
    """
    place = place_of(given, name)
    return given if place is None else place.fetch(given)


def like_given(values: NDArray[Any], given: Any) -> Any:
    """A NumPy array as one of the library, the device and the dtype of an array; a masked array stays one of NumPy.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> like_given(np.ones(2), xp.ones(3, dtype=xp.float32)).dtype
    array_api_strict.float32
    """
    place = place_of(given)
    return values if place is None or isinstance(values, np.ma.MaskedArray) else place.give(values, given.dtype)


def named_place(device: Any, like: Place | None = None) -> Place:
    """A device by its name: of the library of `like`, by default of torch.

    Examples
    --------
    >>> named_place("nowhere", Place(np, "cpu"))
    Traceback (most recent call last):
    ringlet.errors.ArgumentError: device='nowhere' is no device of numpy
    """
    if like is None:
        try:
            import torch
        except ImportError:
            raise MissingDependencyError(
                f"device={device!r} needs PyTorch and array-api-compat: pip install torch and 'ringlet[arrays]'"
            ) from None
        found = place_of(torch.empty(0), "device")
        assert found is not None  # noqa: S101 - a tensor has a place
        like = found
    try:
        return Place(like.xp, _device_of(like, device))
    except (RuntimeError, ValueError, TypeError, AttributeError, AssertionError) as error:
        why = "" if like.xp is np else f": {str(error).splitlines()[0]}"
        raise ArgumentError(f"device={device!r} is no device of {like.library}{why}") from None


def _device_of(like: Place, device: Any) -> Any:
    """A device as the library names it, tried with an empty array."""
    if like.library == "jax" and isinstance(device, str):
        import jax

        device = jax.devices(device)[0]
    found = _compat("device").device(like.xp.empty(0, device=device))
    if getattr(found, "type", None) == "meta":
        raise ValueError("it holds no entries")
    return found


def _place_again(module: str, device: Any) -> Place:
    """A place that was pickled, where its library is installed and has that device."""
    found = device
    if module.endswith("jax.numpy"):
        import jax

        found = next(one for one in jax.devices(device.partition(":")[0]) if str(one) == device)
    return Place(import_module(module), found)


def _is_traced(given: Any) -> bool:
    """Whether JAX only follows what is done to an array, without entries."""
    jax: Any = sys.modules.get("jax")
    return jax is not None and isinstance(given, jax.core.Tracer)


def _compat(name: str) -> Any:
    try:
        import array_api_compat
    except ImportError:
        raise MissingDependencyError(
            f"{name} of other libraries than NumPy need array-api-compat: pip install 'ringlet[arrays]'"
        ) from None
    return array_api_compat
