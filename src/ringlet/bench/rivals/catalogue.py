"""All rivals by name, and the kinds of data that each is for."""

from dataclasses import dataclass

from ringlet.bench.rivals.bm3d_rounds import bm3d_rounds
from ringlet.bench.rivals.drop_ends import drop_ends_linear, drop_ends_modes
from ringlet.bench.rivals.gaps import Rival
from ringlet.bench.rivals.gaussian_median import gaussian_median, gaussian_nlm, gaussian_only
from ringlet.bench.rivals.inpainting import biharmonic, opencv_inpaint
from ringlet.bench.rivals.iterative_imputer import iterative_imputer
from ringlet.bench.rivals.libraries import check_installed, is_installed
from ringlet.bench.rivals.linear_modes import linear_modes
from ringlet.bench.rivals.masked_cp import masked_cp
from ringlet.bench.rivals.over_time import median_over_time, robust_pca
from ringlet.bench.rivals.pca import pca

__all__ = ["SIMPLE", "SLOW", "Entry", "check_libraries"]


@dataclass(frozen=True)
class Entry:
    """A rival.

    Attributes
    ----------
    run : callable
        ``(values, observed) -> estimate``.
    kinds : tuple of {"photo", "video", "tensor"}
        Data that people use it for.
    needs : tuple of str
        Modules that must be installed.
    """

    run: Rival
    kinds: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether all modules are there that it needs."""
        return all(map(is_installed, self.needs))


SIMPLE = {
    "drop-ends-linear": Entry(drop_ends_linear, ("photo", "video")),
    "gaussian": Entry(gaussian_only, ("photo", "video")),
    "gaussian-median": Entry(gaussian_median, ("photo", "video")),
    "gaussian-nlm": Entry(gaussian_nlm, ("photo", "video"), ("skimage", "pywt")),
    "cv2-inpaint": Entry(opencv_inpaint, ("photo", "video"), ("cv2",)),
    "biharmonic": Entry(biharmonic, ("photo", "video"), ("skimage",)),
    "median-over-time": Entry(median_over_time, ("video",)),
    "robust-pca": Entry(robust_pca, ("video",)),
    "linear-modes": Entry(linear_modes, ("tensor",)),
    "drop-ends-modes": Entry(drop_ends_modes, ("tensor",)),
    "iterative-imputer": Entry(iterative_imputer, ("tensor",), ("sklearn",)),
    "pca": Entry(pca, ("tensor",)),
    "masked-cp": Entry(masked_cp, ("tensor",), ("tensorly",)),
}
SLOW = {
    "bm3d": Entry(bm3d_rounds, ("photo",), ("bm3d",)),
}


def check_libraries() -> None:
    """Raise an error for a library that is not installed; call it before any work. BM3D may be missing."""
    check_installed(module for entry in SIMPLE.values() for module in entry.needs)
