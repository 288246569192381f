"""Pictures of a tensor for a page: a photo, some frames of a video, or some slices of any other tensor."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.report.pictures import MAP_COLOURS, show_missing
from ringlet.report.planes import over_picture, picture_modes

__all__ = ["Tones", "View", "views_of"]

_MOST = 5  # views of a tensor
_LONGEST = 2400  # entries along a side of a view; of a longer one the middle is shown
_COLOURS = 3
_TAILS = 1, 99  # percentiles that become black and white


@dataclass(frozen=True)
class View:
    """A block of the tensor that is seen as a picture.

    Attributes
    ----------
    word, name : str
        What views are called, such as "Frame", and which one it is; the name is empty where there is only one.
    block : tuple of slices
        One for every mode. All but those of the picture, and maybe a mode of colours, have one entry.
    in_colour : bool
    modes : (int, int)
        Of height and width.
    """

    word: str
    name: str
    block: tuple[slice, ...]
    in_colour: bool
    modes: tuple[int, int] = (0, 1)

    def plane(self, values: NDArray[Any]) -> NDArray[Any]:
        """Entries of the block as (height, width), or (height, width, 3) in colour."""
        pixels = over_picture(values, self.modes)
        return pixels if self.in_colour else pixels[..., 0]


def views_of(shape: tuple[int, ...], *, moving: bool, names: Sequence[str] | None = None) -> list[View]:
    """At most five views, spread evenly over the modes beyond the picture.

    Parameters
    ----------
    shape : tuple of int
        Pictures are the first two modes, or those that are named so. A third mode of three entries is one of colours.
    moving : bool
        Whether the last mode is time, as in a video.
    names : sequence of str, optional
        Of the modes.

    Examples
    --------
    >>> [view.name for view in views_of((40, 60, 3, 9), moving=True)]
    ['Frame 1', 'Frame 3', 'Frame 5', 'Frame 7', 'Frame 9']
    >>> [view.name for view in views_of((40, 60, 3), moving=False)]
    ['']
    >>> [view.name for view in views_of((3, 30, 48), moving=False, names=("time", "lat", "lon"))]
    ['Time 1', 'Time 2', 'Time 3']
    """
    modes = picture_modes(names)
    others = [mode for mode in range(len(shape)) if mode not in modes]
    in_colour = modes == (0, 1) and _has_colours(shape, moving=moving)
    others = others[1:] if in_colour else others
    word = _slice_word(names, others, moving=moving)
    lengths = [shape[mode] for mode in others]
    found = []
    for place in _spread(prod(lengths)):
        index = [int(one) for one in np.unravel_index(place, lengths)] if others else []
        block = [_middle(length) if mode in modes else slice(0, length) for mode, length in enumerate(shape)]
        for mode, one in zip(others, index, strict=True):
            block[mode] = slice(one, one + 1)
        name = ", ".join(str(one + 1) for one in index)
        found.append(View(word, f"{word} {name}" if prod(lengths) > 1 else "", tuple(block), in_colour, modes))
    return found


def _slice_word(names: Sequence[str] | None, others: Sequence[int], *, moving: bool) -> str:
    """What views are called: by the name of the only mode beyond the picture, if it has one.

    Examples
    --------
    >>> _slice_word(("timeStep", "lat", "lon"), [0], moving=False), _slice_word(None, [2], moving=True)
    ('TimeStep', 'Frame')
    """
    if names is not None and len(others) == 1:
        name = names[others[0]]
        return name[:1].upper() + name[1:]
    return "Frame" if moving else "Slice"


def _has_colours(shape: tuple[int, ...], *, moving: bool) -> bool:
    return len(shape) > 2 and shape[2] == _COLOURS and not (moving and len(shape) == 3)


@dataclass(frozen=True)
class Tones:
    """How values become pixels: those of eight bits stay, others go from black to white.

    Attributes
    ----------
    low, high : float
        Values that are black and white.
    """

    low: float
    high: float

    @classmethod
    def of(cls, planes: list[NDArray[Any]]) -> "Tones":
        """Suited to all of some pictures; a percent at either end is cut off, except of eight bits."""
        if all(plane.dtype == np.uint8 for plane in planes):
            return cls(0.0, 255.0)
        values = np.concatenate([plane[np.isfinite(plane)].astype(np.float64) for plane in planes])
        if not values.size:
            return cls(0.0, 1.0)
        low, high = map(float, np.percentile(values, _TAILS))
        return cls(low, high if high > low else low + max(1.0, float(np.spacing(abs(low)))))

    def pixels(self, plane: NDArray[Any], observed: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
        """Pixels of a picture; missing entries are grey in colour pictures, and of the map's colour in others."""
        levels = 255 * (np.nan_to_num(plane.astype(np.float64)) - self.low) / (self.high - self.low)
        pixels = np.clip(levels, 0, 255).round().astype(np.uint8)
        if observed is None:
            return pixels
        if plane.ndim == 3:
            return show_missing(pixels, observed)
        coloured = np.repeat(pixels[..., None], _COLOURS, axis=2)
        coloured[~observed] = MAP_COLOURS["missing"]
        return coloured


def _middle(length: int) -> slice:
    start = max(0, (length - _LONGEST) // 2)
    return slice(start, min(length, start + _LONGEST))


def _spread(count: int) -> list[int]:
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, _MOST))})
