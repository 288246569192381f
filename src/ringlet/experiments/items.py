"""Data of the experiments: photos and videos from folders, or small built-in ones that need no download.

Photos are (height, width, 3). Videos are (width, height, 3, frames), the order in which the paper gives their sizes and
so also their ranks. All are float32 from 0 to 1.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError, MissingDependencyError
from ringlet.sources.files import load
from ringlet.sources.kinds import IMAGE_SUFFIXES, VIDEO_SUFFIXES
from ringlet.sources.media import frame_files, import_pillow

__all__ = ["Item", "builtin_photos", "builtin_videos", "chosen_items", "photos_in", "pictures", "videos_in"]

Kind = Literal["photo", "video"]
Tensor = NDArray[np.float32]

_FRAMES = 50
_PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")  # colour photos that scikit-image has without a download
_SHORT_SIDE = 240  # to which they are scaled
_GENERATED = 160, 120, 24  # width, height, frames


@dataclass(frozen=True)
class Item:
    """A photo or video, read on demand.

    Attributes
    ----------
    name : str
    kind : {"photo", "video"}
    path : str or None
        A file, or a folder of frames; None for built-in items.
    short_side : int
        Of height and width, in pixels; the settings of the methods depend on it.
    content : int
        Checksum of its files, which distinguishes it from another one of the same name; 0 for built-in items.
    """

    name: str
    kind: Kind
    path: str | None
    short_side: int
    content: int = 0

    def tensor(self) -> Tensor:
        """All entries, in a new array that may be changed."""
        if self.path is None:
            return _BUILT_IN[self.name]()
        return _photo(Path(self.path)) if self.kind == "photo" else _video(Path(self.path))


def photos_in(folder: Path) -> list[Item]:
    """Pictures of a folder, by name."""
    files = [path for path in _entries(folder) if path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES]
    if not files:
        raise ArgumentError(f"{folder} holds no photo; files that are read: {' '.join(IMAGE_SUFFIXES)}")
    return _distinct(
        Item(path.stem, "photo", str(path), min(_colour(path).shape[:2]), _checksum([path])) for path in files
    )


def videos_in(folder: Path) -> list[Item]:
    """Videos of a folder, by name: video files, and folders of frames."""
    found = []
    for path in _entries(folder):
        if path.is_file() and path.suffix.lower() in VIDEO_SUFFIXES:
            short_side = min(load(path, frames=1).array.shape[:2])
            found.append(Item(path.stem, "video", str(path), short_side, _checksum([path])))
        elif path.is_dir() and (frames := frame_files(path)[:_FRAMES]):
            short_side = min(_colour(frames[0]).shape[:2])
            found.append(Item(path.name, "video", str(path), short_side, _checksum(frames)))
    if not found:
        raise ArgumentError(
            f"{folder} holds no video; files that are read: {' '.join(VIDEO_SUFFIXES)}, and folders of frames "
            f"({' '.join(IMAGE_SUFFIXES)})"
        )
    return _distinct(found)


def builtin_photos() -> list[Item]:
    """Photos that ship with scikit-image, scaled down for speed."""
    _scikit_image_data()  # none of them can be read without it
    return [Item(name, "photo", None, _SHORT_SIDE) for name in _PHOTOS]


def builtin_videos() -> list[Item]:
    """Videos generated from formulas."""
    return [Item(name, "video", None, min(_GENERATED[:2])) for name in ("waves", "discs")]


def chosen_items(items: list[Item], names: Iterable[str]) -> list[Item]:
    """The requested items; unknown names are an error that lists all items."""
    by_name = {item.name: item for item in items}
    for name in names:
        if name not in by_name:
            raise ArgumentError(f"items={name!r} is not known; allowed are {', '.join(by_name)}")
    return [by_name[name] for name in by_name if name in names]


def pictures(tensor: NDArray[Any]) -> list[NDArray[Any]]:
    """The pictures (height, width, 3) of an item's tensor: one of a photo, all frames of a video; views."""
    if tensor.ndim == 3:
        return [tensor]
    return [tensor[..., frame].transpose(1, 0, 2) for frame in range(tensor.shape[-1])]


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ArgumentError(f"{folder} is not a folder")
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _distinct(items: Iterable[Item]) -> list[Item]:
    listed = list(items)
    for name, count in Counter(item.name for item in listed).items():
        if count > 1:
            paths = ", ".join(str(item.path) for item in listed if item.name == name)
            raise ArgumentError(f"{count} items are called {name!r}: {paths}; rename all but one")
    return listed


def _checksum(files: Iterable[Path]) -> int:
    return reduce(lambda sofar, file: crc32(file.read_bytes(), sofar), files, 0)


def _colour(path: Path) -> NDArray[Any]:
    """A picture in its own dtype with three channels: grey three times."""
    pixels = load(path).array
    return np.repeat(pixels[..., None], 3, axis=2) if pixels.ndim == 2 else pixels


def _photo(path: Path) -> Tensor:
    return _unit_range(_colour(path))


def _video(path: Path) -> Tensor:
    if path.is_file():
        return _unit_range(load(path, frames=_FRAMES).array.transpose(1, 0, 2, 3))
    files = frame_files(path)[:_FRAMES]
    tensor: Tensor | None = None
    for number, file in enumerate(files):
        frame = _unit_range(_colour(file).transpose(1, 0, 2))
        if tensor is None:
            tensor = np.empty((*frame.shape, len(files)), np.float32)
        if frame.shape != tensor.shape[:3]:
            raise FormatError(f"{file}: has another size than the frames before it")
        tensor[..., number] = frame
    assert tensor is not None  # noqa: S101 - a folder without frames is no item
    return tensor


def _unit_range(values: NDArray[Any]) -> Tensor:
    """From 0 to 1, in C order."""
    out = np.empty(values.shape, np.float32)
    np.divide(values, np.float32(np.iinfo(values.dtype).max), out=out, casting="same_kind")
    return out


# Items without files.


def _scikit_image_data() -> ModuleType:
    try:
        import skimage.data
    except ImportError as error:
        raise MissingDependencyError(
            'the built-in photos need scikit-image: pip install "ringlet[demo]"; or give a folder with --images'
        ) from error
    data: ModuleType = skimage.data
    return data


def _scikit_image_photo(name: str) -> Tensor:
    picture = import_pillow().fromarray(getattr(_scikit_image_data(), name)())
    factor = _SHORT_SIDE / min(picture.size)
    return _unit_range(np.asarray(picture.resize(tuple(round(factor * side) for side in picture.size))))


def _grid() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Coordinates from 0 to 1 of width and height, the colour's number, time from 0 to 1; ready to broadcast."""
    width, height, frames = _GENERATED
    sides = (np.linspace(0, 1, length, dtype=np.float32) for length in (width, height, 3, frames))
    x, y, colour, time = np.ix_(*sides)
    return x, y, 2 * colour, time


def _waves() -> Tensor:
    """Slow waves that travel over a fixed fine pattern."""
    x, y, colour, time = _grid()
    slow = np.sin(7 * x + 3 * np.sin(4 * y) + 2 * np.pi * time + colour) + np.cos(9 * y - 5 * x * y - 4 * time)
    fine = np.sin(60 * x + 9 * colour) * np.sin(50 * y)
    return _unit_stretched(slow + 0.3 * fine)


def _discs() -> Tensor:
    """Soft discs of three colours that cross a striped background."""
    x, y, colour, time = _grid()
    scene = 0.35 + 0.15 * np.sin(25 * (x + y)) * np.cos(12 * y - colour) + 0 * time
    for number, radius in enumerate((0.18, 0.12, 0.22)):
        centre_x, centre_y = 0.2 + 0.6 * np.abs(time - 0.35 * number), 0.3 + 0.2 * number + 0.1 * np.sin(6 * time)
        inside = 1 / (1 + np.exp(60 * (np.hypot(x - centre_x, 0.75 * (y - centre_y)) - radius)))
        paint = 0.5 + 0.45 * np.cos(2.1 * (colour - number))
        scene = scene * (1 - inside) + paint * inside
    return _unit_stretched(scene)


def _unit_stretched(values: NDArray[Any]) -> Tensor:
    low, high = values.min(), values.max()
    return np.ascontiguousarray((values - low) / (high - low), np.float32)


_BUILT_IN: dict[str, Callable[[], Tensor]] = {
    **{name: lambda name=name: _scikit_image_photo(name) for name in _PHOTOS},  # type: ignore[misc]
    "waves": _waves,
    "discs": _discs,
}
