"""Libraries of the rivals, imported when they are needed."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ringlet.errors import MissingDependencyError

__all__ = ["check_installed", "is_installed", "library"]

_PACKAGES = {
    "bm3d": "bm3d",
    "cv2": "opencv-python-headless",
    "pywt": "PyWavelets",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorly": "tensorly",
}


def library(module: str) -> Any:
    """Import a module of a rival's library, or raise an error that says how to install it.

    Examples
    --------
    >>> library("skimage.restoration").__name__
    'skimage.restoration'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = _PACKAGES[module.split(".")[0]]
        way = "pip install bm3d" if package == "bm3d" else 'pip install "ringlet[rivals]"'
        raise MissingDependencyError(f"this rival needs {package}: {way}") from error


def is_installed(module: str) -> bool:
    """Whether a module can be imported; nothing is imported to find out.

    Examples
    --------
    >>> is_installed("skimage")
    True
    """
    return find_spec(module) is not None


def check_installed(modules: Iterable[str]) -> None:
    """Raise an error for the first module that is not installed; call it before any work."""
    for module in modules:
        if not is_installed(module):
            library(module)
