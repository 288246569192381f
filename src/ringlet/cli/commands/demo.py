"""`ringlet demo`: damage a photo, restore it, and show how well that went."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import format_bytes
from ringlet.api import decompose
from ringlet.cli.options import force_option, json_option, seed_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import percent, print_json, print_table, times
from ringlet.errors import MissingDependencyError, OutputError
from ringlet.report.history import plot_history
from ringlet.report.metrics import psnr, ssim
from ringlet.report.outliers import outlier_map
from ringlet.report.pictures import Panel, draw_comparison, draw_outliers, show_missing
from ringlet.report.style import import_matplotlib
from ringlet.results.fit import Fit
from ringlet.results.records import Status
from ringlet.ring import TensorRing
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.sources.dtypes import as_dtype
from ringlet.store.atomic import atomic_output, check_outputs
from ringlet.store.outputs import write_array

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["command"]

Pixels = NDArray[np.uint8]

_PHOTOS = (
    "chelsea",
    "coffee",
    "astronaut",
    "rocket",
)  # colour photos that scikit-image has without a download
_HIDDEN, _RUINED = 0.5, 0.2
_RANK = (9, 15, 3)  # three colours cannot carry more than 9 in the first bond
_FILES = ("damaged.png", "restored.png", "outliers.png", "comparison.png", "history.png", "model.ring")


@dataclass(frozen=True, eq=False)
class _Row:
    """A picture, and how good it is."""

    name: str
    pixels: Pixels
    psnr: float
    ssim: float
    seconds: float
    stored: int


@click.command(name="demo")
@click.option(
    "--out",
    type=GivenPath(file_okay=False),
    default=Path("ringlet-demo"),
    show_default=True,
    help="Directory for the pictures and the ring.",
)
@click.option("--photo", type=click.Choice(_PHOTOS), default=_PHOTOS[0], show_default=True, help="Which photo.")
@seed_option
@force_option
@json_option
def command(out: Path, photo: str, seed: int, force: bool, as_json: bool) -> None:
    """Take a photo, hide half of its entries, ruin a fifth of the rest, and restore it.

    Least squares gets the same rank and sweeps for comparison. Takes less than a minute.
    """
    truth = _photo(photo)
    import_matplotlib()  # before the work, not after it; with it comes Pillow
    paths = _prepared(out, force=force)
    damaged, observed = _damage(truth, seed)
    squares, squares_seconds = _fit(damaged, observed, "l2", seed)
    robust, robust_seconds = _fit(damaged, observed, "correntropy", seed)

    def row(name: str, pixels: Pixels, seconds: float, stored: int) -> _Row:
        return _Row(name, pixels, psnr(pixels, truth, 255), ssim(pixels, truth, 255), seconds, stored)

    rows = (
        row("damaged", damaged, 0.0, truth.nbytes),
        row("least squares", _pixels(squares.ring), squares_seconds, squares.ring.nbytes),
        row("SAWRTRD", _pixels(robust.ring), robust_seconds, robust.ring.nbytes),
    )
    _write(paths, rows, truth, observed, robust)
    if as_json:
        print_json(_content(photo, truth, rows, robust, paths))
    else:
        _show(photo, truth, rows, robust, out)


def _prepared(out: Path, *, force: bool) -> dict[str, Path]:
    """Make the directory, and refuse files that exist."""
    paths = {name: out / name for name in _FILES}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the directory {out}: {error.strerror or error}") from error
    check_outputs(paths.values(), force=force)
    return paths


def _photo(name: str) -> Pixels:
    try:
        from skimage import data
    except ImportError as error:
        raise MissingDependencyError('the demo needs scikit-image: pip install "ringlet[demo]"') from error
    photo: Pixels = getattr(data, name)()
    return photo


def _damage(truth: Pixels, seed: int) -> tuple[Pixels, NDArray[np.bool_]]:
    """Hide entries (0), ruin others with salt and pepper (255 and 0); also say which are not hidden."""
    rng = np.random.default_rng(seed)
    observed = rng.random(truth.shape) >= _HIDDEN
    ruined = rng.random(truth.shape) < _RUINED
    salt_or_pepper = np.where(rng.random(truth.shape) < 0.5, np.uint8(0), np.uint8(255))
    return np.where(observed, np.where(ruined, salt_or_pepper, truth), np.uint8(0)), observed


def _fit(
    damaged: Pixels, observed: NDArray[np.bool_], loss: Literal["correntropy", "l2"], seed: int
) -> tuple[Fit, float]:
    start = perf_counter()
    fit = decompose(
        damaged, _RANK, solver=SAWRTRD(loss=loss, smooth=0.0, sweeps=30), mask=observed, seed=seed, progress=True
    )
    if fit.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return fit, perf_counter() - start


def _pixels(ring: TensorRing) -> Pixels:
    return as_dtype(np.asarray(ring), np.uint8)


def _write(
    paths: dict[str, Path],
    rows: tuple[_Row, _Row, _Row],
    truth: Pixels,
    observed: NDArray[np.bool_],
    fit: Fit,
) -> None:
    damaged, squares, robust = rows
    rank = ", ".join(map(str, fit.ring.rank))
    write_array(paths["damaged.png"], damaged.pixels, force=True)
    write_array(paths["restored.png"], robust.pixels, force=True)
    _save(draw_outliers(outlier_map(fit)), paths["outliers.png"])
    panels = (
        Panel(truth, "Photo", "what it should be"),
        Panel(
            show_missing(damaged.pixels, observed),
            "Damaged",
            f"{percent(_HIDDEN)} missing (grey), {percent(_RUINED)} of the rest ruined",
        ),
        Panel(squares.pixels, "Least squares", f"{squares.psnr:.1f} dB PSNR, rank {rank}"),
        Panel(robust.pixels, "Restored by Ringlet", f"{robust.psnr:.1f} dB PSNR, rank {rank}"),
    )
    _save(draw_comparison(panels), paths["comparison.png"])
    with atomic_output(paths["history.png"]) as temporary:
        plot_history(fit.history, temporary, tol=SAWRTRD().tol, units="grey levels")
    TensorRing(fit.ring.cores, names=("height", "width", "colour")).save(paths["model.ring"], force=True)


def _save(picture: "Image", path: Path) -> None:
    with atomic_output(path) as temporary:
        picture.save(temporary)


def _show(photo: str, truth: Pixels, rows: tuple[_Row, ...], fit: Fit, out: Path) -> None:
    damage = f"{percent(_HIDDEN)} of the entries hidden, {percent(_RUINED)} of the rest ruined"
    click.echo(f"{photo}, {times(truth.shape)}: {damage}")
    print_table(
        ("", "PSNR dB", "SSIM", "seconds", "stored"),
        [
            (
                row.name,
                f"{row.psnr:.1f}",
                f"{row.ssim:.2f}",
                f"{row.seconds:.1f}" if row.seconds else "",
                format_bytes(row.stored),
            )
            for row in rows
        ],
    )
    click.echo(
        f"{percent(fit.outlier_share)} of the known entries were judged outliers.\n"
        f"Look at {out / 'comparison.png'}; the other pictures and the ring are beside it.\n"
        "\n"
        "Try next:\n"
        f"  ringlet info {out / 'model.ring'}\n"
        f"  ringlet restore {out / 'damaged.png'} --missing 0 -o clean.png"
    )


def _content(photo: str, truth: Pixels, rows: tuple[_Row, ...], fit: Fit, paths: dict[str, Path]) -> dict[str, Any]:
    return {
        "photo": photo,
        "shape": truth.shape,
        "rank": fit.ring.rank,
        "status": fit.status.name,
        "outlier_share": fit.outlier_share,
        "results": {
            row.name: {
                "psnr": row.psnr,
                "ssim": row.ssim,
                "seconds": row.seconds,
                "stored_bytes": row.stored,
            }
            for row in rows
        },
        "outputs": [str(path) for path in paths.values()],
    }
