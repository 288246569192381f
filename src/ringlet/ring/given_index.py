"""An index as a user gives it, made ready for NumPy's rules: arrays of other libraries, and slices, are looked at."""

from operator import index as whole_number
from typing import Any

from ringlet.arrays import host_array
from ringlet.errors import IndexingError

__all__ = ["given_index"]


def given_index(index: Any) -> Any:
    """The same index, of which arrays of other libraries are NumPy's, and the bounds of slices whole numbers.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> given_index((0, xp.asarray([1, 2], device=xp.Device("device1"))))
    (0, array([1, 2]))
    """
    return tuple(map(_item, index)) if isinstance(index, tuple) else _item(index)


def _item(item: Any) -> Any:
    if not isinstance(item, slice):
        return host_array(item, "index")
    try:
        for bound in (item.start, item.stop, item.step):
            if bound is not None:
                whole_number(bound)
    except TypeError:
        raise IndexingError(f"index={item!r} is not allowed; a slice goes from one whole number to another") from None
    return item
