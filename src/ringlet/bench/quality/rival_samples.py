"""Data of the comparison with rivals: photos of libraries, generated videos, and parts of a folder's data."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.quality.pictures import SCIKIT_IMAGE, SCIKIT_LEARN
from ringlet.bench.quality.samples import Sample, Truth, generated_videos, picture_truth, samples_in

__all__ = ["rival_samples"]

_CROP = 400, 600  # pixels of photos
_FRAMES = 16
_LARGE = 2_000_000  # entries; of larger tensors the middle is taken,
_SIDE = 100  # and of every mode as many


def rival_samples(data: Path | None) -> list[Sample]:
    """Seven photos and two generated videos; with a folder also parts of its photos, videos and tensors."""
    return [*_photos(), *generated_videos(), *(map(_part, samples_in(data)) if data is not None else ())]


def _photos() -> list[Sample]:
    """Photos that ship with scikit-image and scikit-learn, in their own size."""
    readers = SCIKIT_IMAGE | SCIKIT_LEARN
    return [Sample("full", name, "photo", None, read=partial(picture_truth, read)) for name, read in readers.items()]


def _part(sample: Sample) -> Sample:
    """The middle of a photo; every second row and column of a video's first frames; the middle of a large tensor."""

    def truth() -> Truth:
        whole = sample.truth()
        shape = whole.values.shape
        index: tuple[slice, ...]
        if sample.kind == "photo":
            index = (*map(_middle, shape[:2], _CROP), slice(None))
        elif sample.kind == "video":
            index = (slice(None, None, 2), slice(None, None, 2), slice(None), slice(_FRAMES))
        else:
            index = tuple(_middle(length, _SIDE if whole.values.size > _LARGE else length) for length in shape)
        return _taken(whole, index, keep_range=sample.kind != "tensor")

    return replace(sample, group=f"{sample.group}-part", read=truth)


def _middle(length: int, wanted: int) -> slice:
    start = max(0, (length - wanted) // 2)
    return slice(start, start + wanted)


def _taken(whole: Truth, index: tuple[slice, ...], *, keep_range: bool) -> Truth:
    """Part of a truth; tensors get the range of their part."""
    values: NDArray[np.float32] = np.ascontiguousarray(whole.values[index])
    known = None if whole.known is None else np.ascontiguousarray(whole.known[index])
    if keep_range:
        return replace(whole, values=values, known=known)
    inside = values if known is None else values[known]
    return replace(whole, values=values, known=known, low=float(inside.min()), high=float(inside.max()))
