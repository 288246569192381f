"""A photo of which half is hidden and a fifth of the rest ruined, restored by Ringlet and by plain least squares."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.cli.demonstration.fitting import uninterrupted
from ringlet.cli.screen import percent
from ringlet.errors import MissingDependencyError
from ringlet.report.history import plot_history
from ringlet.report.metrics import psnr, ssim
from ringlet.report.outliers import outlier_map
from ringlet.report.pictures import Panel, draw_comparison, draw_outliers, show_missing
from ringlet.results.fit import Fit
from ringlet.ring import TensorRing
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.sources.dtypes import as_dtype
from ringlet.store.atomic import atomic_output
from ringlet.store.outputs import write_array

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["HIDDEN", "PHOTOS", "RUINED", "PhotoRow", "RestoredPhoto", "load_photo", "restore_photo", "write_photo"]

Pixels = NDArray[np.uint8]

PHOTOS = ("chelsea", "coffee", "astronaut", "rocket")  # colour photos that scikit-image has without a download
HIDDEN, RUINED = 0.5, 0.2
_RANK = (9, 15, 3)  # of least squares; three colours cannot carry more than 9 in the first bond


@dataclass(frozen=True, eq=False)
class PhotoRow:
    """A picture, how good it is, the seconds it took, and the bytes it is stored in; 0: none of its own."""

    name: str
    pixels: Pixels
    psnr: float
    ssim: float
    seconds: float
    stored: int


@dataclass(frozen=True, eq=False)
class RestoredPhoto:
    """A photo, what was left of it, and what was made of that: damaged, least squares, the ring, restored."""

    truth: Pixels
    observed: NDArray[np.bool_]
    rows: tuple[PhotoRow, PhotoRow, PhotoRow, PhotoRow]
    fit: Fit


def load_photo(name: str) -> Pixels:
    """A photo of scikit-image."""
    try:
        from skimage import data
    except ImportError as error:
        raise MissingDependencyError('the demo needs scikit-image: pip install "ringlet[demo]"') from error
    photo: Pixels = getattr(data, name)()
    return photo


def restore_photo(truth: Pixels, seed: int) -> RestoredPhoto:
    """Damage a photo and restore it."""
    damaged, observed = _damage(truth, seed)
    start = perf_counter()
    solver = SAWRTRD(loss="l2", smooth=0.0, sweeps=30)
    squares = uninterrupted(decompose(damaged, _RANK, solver=solver, mask=observed, seed=seed, progress=True))
    squares_ended = perf_counter()
    fit = uninterrupted(decompose(damaged, mask=observed, seed=seed, progress=True))
    fit_ended = perf_counter()
    clean: Pixels = np.asarray(fit.restored())
    ended = perf_counter()

    def row(name: str, pixels: Pixels, seconds: float, stored: int) -> PhotoRow:
        return PhotoRow(name, pixels, psnr(pixels, truth, 255), ssim(pixels, truth, 255), seconds, stored)

    rows = (
        row("damaged", damaged, 0.0, truth.nbytes),
        row("least squares", _pixels(squares.ring), squares_ended - start, squares.ring.nbytes),
        row("the ring", _pixels(fit.ring), fit_ended - squares_ended, fit.ring.nbytes),
        row("restored", clean, ended - squares_ended, 0),
    )
    return RestoredPhoto(truth, observed, rows, fit)


def _damage(truth: Pixels, seed: int) -> tuple[Pixels, NDArray[np.bool_]]:
    """Hide entries (0), ruin others with salt and pepper (255 and 0); also say which are not hidden."""
    rng = np.random.default_rng(seed)
    observed = rng.random(truth.shape) >= HIDDEN
    ruined = rng.random(truth.shape) < RUINED
    salt_or_pepper = np.where(rng.random(truth.shape) < 0.5, np.uint8(0), np.uint8(255))
    return np.where(observed, np.where(ruined, salt_or_pepper, truth), np.uint8(0)), observed


def _pixels(ring: TensorRing) -> Pixels:
    return as_dtype(np.asarray(ring), np.uint8)


def write_photo(made: RestoredPhoto, paths: Mapping[str, Path]) -> None:
    """Write the pictures, and the ring."""
    damaged, squares, _, restored = made.rows
    write_array(paths["damaged.png"], damaged.pixels, force=True)
    write_array(paths["restored.png"], restored.pixels, force=True)
    _save(draw_outliers(outlier_map(made.fit)), paths["outliers.png"])
    panels = (
        Panel(made.truth, "Photo", "what it should be"),
        Panel(
            show_missing(damaged.pixels, made.observed),
            "Damaged",
            f"{percent(HIDDEN)} missing (grey), {percent(RUINED)} of the rest ruined",
        ),
        Panel(squares.pixels, "Least squares", f"{squares.psnr:.1f} dB PSNR, rank {', '.join(map(str, _RANK))}"),
        Panel(restored.pixels, "Restored by Ringlet", f"{restored.psnr:.1f} dB PSNR"),
    )
    _save(draw_comparison(panels), paths["comparison.png"])
    with atomic_output(paths["history.png"]) as temporary:
        plot_history(made.fit.history, temporary, tol=SAWRTRD().tol, units="grey levels")
    TensorRing(made.fit.ring.cores, names=("height", "width", "colour")).save(paths["model.ring"], force=True)


def _save(picture: "Image", path: Path) -> None:
    with atomic_output(path) as temporary:
        picture.save(temporary)
