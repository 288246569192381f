"""Pictures that ship with scikit-image and scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.rivals.libraries import library
from ringlet.sources.media import import_pillow

__all__ = ["GREY", "SCIKIT_IMAGE", "SCIKIT_LEARN", "Reader", "scaled"]

Reader = Callable[[], NDArray[np.uint8]]


def _scikit_image(name: str) -> Reader:
    return lambda: np.asarray(getattr(library("skimage.data"), name)())


def _scikit_learn(name: str) -> Reader:
    return lambda: np.asarray(library("sklearn.datasets").load_sample_image(f"{name}.jpg"))


SCIKIT_IMAGE: dict[str, Reader] = {
    **{name: _scikit_image(name) for name in ("astronaut", "chelsea", "coffee", "rocket")},
    "motorcycle": lambda: np.asarray(library("skimage.data").stereo_motorcycle()[0]),
}
SCIKIT_LEARN: dict[str, Reader] = {name: _scikit_learn(name) for name in ("china", "flower")}
GREY: dict[str, Reader] = {
    name: _scikit_image(name) for name in ("camera", "coins", "moon", "brick", "grass", "gravel")
}


def scaled(picture: NDArray[np.uint8], short_side: int) -> NDArray[Any]:
    """The picture with this number of pixels along its shorter side."""
    image = import_pillow().fromarray(picture)
    factor = short_side / min(image.size)
    return np.asarray(image.resize(tuple(round(factor * side) for side in image.size)))
