"""`ringlet demo`: fill a sensor log, restore a photo, and show how well that went."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ringlet.amounts import format_bytes
from ringlet.cli.demonstration.page import write_page
from ringlet.cli.demonstration.photo import (
    HIDDEN,
    PHOTOS,
    RUINED,
    RestoredPhoto,
    load_photo,
    restore_photo,
    write_photo,
)
from ringlet.cli.demonstration.sensors import SensorLog, draw_week, fill_log, fill_scores
from ringlet.cli.options import force_option, json_option, seed_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import percent, print_json, print_table, times
from ringlet.errors import OutputError
from ringlet.report.style import import_matplotlib
from ringlet.store.atomic import check_outputs

__all__ = ["command"]

_PAGE = "index.html"
_FILES = {
    "sensors.png": "a week of the sensor log",
    "comparison.png": "the photo, damaged and restored",
    "damaged.png": "the damaged photo",
    "restored.png": "the restored photo",
    "outliers.png": "which pixels were judged wrong",
    "history.png": "the course of the fit",
    "model.ring": "the ring of the photo",
}


@click.command(name="demo")
@click.option(
    "--out",
    type=GivenPath(file_okay=False),
    default=Path("ringlet-demo"),
    show_default=True,
    help="Folder for the page, the pictures and the ring.",
)
@click.option(
    "--photo", type=click.Choice(PHOTOS), default=PHOTOS[0], show_default=True, help="Photo of scikit-image to restore."
)
@seed_option
@force_option
@json_option
def command(out: Path, photo: str, seed: int, force: bool, as_json: bool) -> None:
    """Fill a sensor log and restore a photo, both with missing and wrong entries.

    The log is compared with interpolation, the photo with a ring fitted by least squares. This takes less than a
    minute.
    """
    truth = load_photo(photo)
    import_matplotlib()  # before the work, not after it; with it comes Pillow
    paths = _prepared(out, force=force)
    sensors = fill_log(seed)
    restored = restore_photo(truth, seed)
    draw_week(sensors, paths["sensors.png"])
    write_photo(restored, paths)
    sections = (
        ("A sensor log", _log_damage(sensors), _log_results(sensors), paths["sensors.png"]),
        (f"A photo: {photo}", _photo_damage(), _photo_results(restored), paths["comparison.png"]),
    )
    write_page(paths[_PAGE], sections, _FILES)
    if as_json:
        print_json(_content(photo, sensors, restored, paths))
    else:
        _show(photo, sensors, restored, out)


def _prepared(out: Path, *, force: bool) -> dict[str, Path]:
    """Make the directory, and refuse files that exist."""
    paths = {name: out / name for name in (_PAGE, *_FILES)}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the directory {out}: {error.strerror or error}") from error
    check_outputs(paths.values(), force=force)
    return paths


def _log_damage(made: SensorLog) -> str:
    wrong = made.wrong.sum() / (~made.missing).sum()
    return f"{percent(made.missing.mean())} of the counts missing, {percent(wrong)} of the rest wrong"


def _log_results(made: SensorLog) -> list[str]:
    scores = [f"error of {name} at missing counts: {error:.1f}" for name, error in fill_scores(made).items()]
    return [*scores, f"{percent(_found(made))} of the wrong counts were found"]


def _found(made: SensorLog) -> float:
    return float(made.fit.outliers()[made.wrong].mean())


def _photo_damage() -> str:
    return f"{percent(HIDDEN)} of the entries hidden, {percent(RUINED)} of the rest ruined"


def _photo_results(made: RestoredPhoto) -> list[str]:
    return [f"{row.name}: {row.psnr:.1f} dB PSNR" for row in made.rows]


def _show(photo: str, sensors: SensorLog, restored: RestoredPhoto, out: Path) -> None:
    click.echo(f"sensor log, {times(sensors.log.shape)}: {_log_damage(sensors)}")
    print_table(
        ("", "error at missing counts"), [(name, f"{error:.1f}") for name, error in fill_scores(sensors).items()]
    )
    click.echo(f"{percent(_found(sensors))} of the wrong counts were found, in {sensors.seconds:.1f} s.\n")
    click.echo(f"{photo}, {times(restored.truth.shape)}: {_photo_damage()}")
    print_table(
        ("", "PSNR dB", "SSIM", "seconds", "stored"),
        [
            (
                row.name,
                f"{row.psnr:.1f}",
                f"{row.ssim:.2f}",
                f"{row.seconds:.1f}" if row.seconds else "",
                format_bytes(row.stored) if row.stored else "",
            )
            for row in restored.rows
        ],
    )
    click.echo(
        f"{percent(restored.fit.outlier_share)} of the known entries were judged outliers.\n"
        f"Open {out / _PAGE} to see both; the pictures and the ring are beside it.\n"
        "\n"
        "Try next:\n"
        f"  ringlet info {out / 'model.ring'}\n"
        f"  ringlet restore {out / 'damaged.png'} --missing 0 -o clean.png"
    )


def _content(photo: str, sensors: SensorLog, made: RestoredPhoto, paths: Mapping[str, Path]) -> dict[str, Any]:
    return {
        "sensors": {
            "shape": sensors.log.shape,
            "rank": sensors.fit.ring.rank,
            "errors": fill_scores(sensors),
            "found_share": _found(sensors),
            "seconds": sensors.seconds,
        },
        "photo": photo,
        "shape": made.truth.shape,
        "rank": made.fit.ring.rank,
        "status": made.fit.status.name,
        "outlier_share": made.fit.outlier_share,
        "results": {
            row.name: {"psnr": row.psnr, "ssim": row.ssim, "seconds": row.seconds, "stored_bytes": row.stored}
            for row in made.rows
        },
        "outputs": [str(path) for path in paths.values()],
    }
