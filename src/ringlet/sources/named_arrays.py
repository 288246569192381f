"""Choose the tensor and its mask among several named arrays, by their names."""

from collections.abc import Mapping
from itertools import islice

from ringlet.errors import ArgumentError

__all__ = ["choose_array", "choose_mask", "mask_beside", "tensor_names"]

_MOST_LISTED = 20  # names in a message
_MASK_NAMES = ("observed", "mask")


def choose_array(
    whole: object, shapes: Mapping[str, tuple[int, ...]], key: str | None, advice: str = "choose one by path::name"
) -> str:
    """Choose one of several arrays: the requested one, the only one, or the one named `tensor`.

    Examples
    --------
    >>> choose_array("x.h5", {"run/counts": (3, 4), "run/observed": (3, 4), "run/time": (4,)}, None)
    'run/counts'
    """
    if key is not None:
        if key not in shapes:
            raise ArgumentError(f"{whole} has no array {key!r}; it holds: {_listed(shapes)}")
        return key
    candidates = tensor_names(shapes) or list(shapes)
    if len(candidates) == 1:
        return candidates[0]
    if "tensor" in candidates:
        return "tensor"
    raise ArgumentError(f"{whole} holds several arrays; {advice}: {_listed(shapes)}")


def tensor_names(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Names of the arrays that could be the tensor: no masks, and no vectors, such as coordinates, unless all are.

    An array of one row or one column is a vector, too: MATLAB has no others.

    Examples
    --------
    >>> tensor_names({"counts": (3, 4), "observed": (3, 4), "time": (4,), "place": (1, 3)})
    ['counts']
    """
    names = [name for name in shapes if not _is_mask(name)]
    return [name for name in names if sum(length > 1 for length in shapes[name]) > 1] or names


def choose_mask(
    whole: object, shapes: Mapping[str, tuple[int, ...]], key: str | None, advice: str = "choose one by path::name"
) -> str:
    """Choose the mask among several arrays: the requested one, the one with a mask's name, or the only one.

    Examples
    --------
    >>> choose_mask("x.h5", {"run/counts": (3, 4), "run/observed": (3, 4)}, None)
    'run/observed'
    """
    masks = sorted(filter(_is_mask, shapes), key=lambda name: (name.count("/"), _MASK_NAMES.index(_last(name))))
    if key is None and masks:
        if "/" in masks[0] and len(masks) > 1:
            raise ArgumentError(f"{whole} holds several masks; {advice}: {_listed(shapes)}")
        return masks[0]
    return choose_array(whole, shapes, key, advice)


def mask_beside(shapes: Mapping[str, tuple[int, ...]], key: str) -> str | None:
    """Name of the mask of this array in the same group, if there is one.

    Examples
    --------
    >>> mask_beside({"a/x": (3, 4), "a/mask": (3, 4), "observed": (9, 9)}, "a/x")
    'a/mask'
    """
    if _is_mask(key):
        return None
    group = key.removesuffix(_last(key))
    return next((group + name for name in _MASK_NAMES if group + name in shapes), None)


def _is_mask(name: str) -> bool:
    return _last(name) in _MASK_NAMES


def _last(name: str) -> str:
    """A name without those of its groups."""
    return name.rpartition("/")[2]


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    told = [f"{name} {shape}" for name, shape in islice(shapes.items(), _MOST_LISTED)]
    more = len(shapes) - len(told)
    return ", ".join(told) + (f" and {more:,} more" if more else "")
