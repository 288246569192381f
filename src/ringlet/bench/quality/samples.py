"""Data to be damaged: pictures of libraries and generated videos, or the content of a folder of folders."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.quality.pictures import GREY, SCIKIT_IMAGE, SCIKIT_LEARN, Reader, scaled
from ringlet.bench.rivals.libraries import is_installed
from ringlet.errors import ArgumentError
from ringlet.experiments.items import Item, builtin_photos, builtin_videos, photos_in, videos_in
from ringlet.sources.files import load
from ringlet.sources.kinds import IMAGE_SUFFIXES, VIDEO_SUFFIXES

__all__ = ["SHORT_SIDE", "Sample", "Truth", "builtin_samples", "generated_videos", "picture_truth", "samples_in"]

Kind = Literal["photo", "video", "tensor"]

SHORT_SIDE = 240  # pixels to which built-in pictures are scaled

_ARRAY_SUFFIXES = (".npy", ".npz", ".mat")
_LARGEST = 25_000_000  # entries of a video; the first frames that fit are taken


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth that a method should recover.

    Attributes
    ----------
    values : array of float32
        In the data's own units; photos and videos from 0 to 1.
    known : array of bool, or None
        Where there is a truth; None: everywhere. Other entries are missing in every case and never scored.
    low, high : float
        Range of the known values.
    itemsize : int
        Bytes of an entry in the file.
    """

    values: NDArray[np.float32]
    known: NDArray[np.bool_] | None
    low: float
    high: float
    itemsize: int


@dataclass(frozen=True)
class Sample:
    """A tensor to be damaged, read on demand.

    Attributes
    ----------
    group : str
        Its folder; results are summed up by group.
    stem : str
    kind : {"photo", "video", "tensor"}
    path : str or None
        None for built-in ones.
    short_side : int
        Of photos and videos, in pixels; the paper's settings depend on it. 0 for others.
    read : callable, optional
        Gives the truth, of samples that are neither a file as a whole nor a built-in photo.
    """

    group: str
    stem: str
    kind: Kind
    path: str | None
    short_side: int = 0
    read: Callable[[], Truth] | None = None

    @property
    def name(self) -> str:
        """Name on the command line and in records."""
        return f"{self.group}/{self.stem}"

    @property
    def item(self) -> Item | None:
        """The photo or video as the paper's experiments know it."""
        return None if self.kind == "tensor" else Item(self.stem, self.kind, self.path, self.short_side)

    def truth(self) -> Truth:
        """All entries, in a new array that may be changed."""
        if self.read is not None:
            return self.read()
        if self.item is None:
            return _tensor_truth(Path(str(self.path)))
        values = self.item.tensor()
        if self.kind == "video":
            frames = max(1, _LARGEST // prod(values.shape[:3]))
            values = np.ascontiguousarray(values[..., :frames])
        return Truth(values, None, 0.0, 1.0, itemsize=1)


def builtin_samples(short_side: int = SHORT_SIDE) -> list[Sample]:
    """Pictures of scikit-image and scikit-learn, scaled down, and generated videos; grey pictures have order 2."""
    builtin_photos()  # says what to install
    groups: list[tuple[str, Kind, dict[str, Reader]]] = [("skimage", "photo", SCIKIT_IMAGE), ("grey", "tensor", GREY)]
    if is_installed("sklearn"):
        groups.append(("sklearn", "photo", SCIKIT_LEARN))
    size = "" if short_side == SHORT_SIDE else f"@{short_side}"
    found = [
        Sample(group, name + size, kind, None, short_side * (kind == "photo"), partial(picture_truth, read, short_side))
        for group, kind, pictures in groups
        for name, read in pictures.items()
    ]
    return found + generated_videos()


def generated_videos() -> list[Sample]:
    """Videos whose motion is known by a formula."""
    return [Sample("generated", item.name, "video", None, item.short_side) for item in builtin_videos()]


def picture_truth(read: Reader, short_side: int | None = None) -> Truth:
    """A picture from 0 to 1, in its own size if none is given."""
    pixels = read() if short_side is None else scaled(read(), short_side)
    return Truth(np.divide(pixels, np.float32(255), dtype=np.float32), None, 0.0, 1.0, itemsize=1)


def samples_in(folder: Path) -> list[Sample]:
    """All that the folders of a folder hold: photos, videos (also as folders of frames), and arrays."""
    if not folder.is_dir():
        raise ArgumentError(f"--data {folder} is not a folder")
    found = [one for group in sorted(path for path in folder.iterdir() if path.is_dir()) for one in _group(group)]
    if not found:
        raise ArgumentError(
            f"--data {folder} holds no folder with data; put files into folders such as photos, videos and tensors "
            f"({' '.join((*IMAGE_SUFFIXES, *VIDEO_SUFFIXES, *_ARRAY_SUFFIXES))})"
        )
    return found


def _group(folder: Path) -> list[Sample]:
    inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    items: list[Item] = []
    if any(path.suffix.lower() in IMAGE_SUFFIXES for path in inside):
        items += photos_in(folder)
    if any(path.is_dir() or path.suffix.lower() in VIDEO_SUFFIXES for path in inside):
        items += videos_in(folder)
    found = [Sample(folder.name, item.name, item.kind, item.path, item.short_side) for item in items]
    arrays = [path for path in inside if path.suffix.lower() in _ARRAY_SUFFIXES]
    return found + [Sample(folder.name, path.stem, "tensor", str(path)) for path in arrays]


def _tensor_truth(path: Path) -> Truth:
    source = load(path).source
    entries, observed = source.read(tuple(slice(0, length) for length in source.shape))
    values = np.array(entries, np.float32, order="C")
    known = np.isfinite(values)
    if observed is not None:
        known &= observed
    if not known.any():
        raise ArgumentError(f"{path} has no known entry")
    low, high = float(values[known].min()), float(values[known].max())
    return Truth(values, None if known.all() else known, low, high, source.dtype.itemsize)
