"""Recovered pictures, found by the records of the trials that saved them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ringlet.experiments.catalogue import EXPERIMENTS
from ringlet.experiments.items import Item
from ringlet.experiments.journal import Record
from ringlet.experiments.methods import METHODS
from ringlet.experiments.noise import NOISES
from ringlet.experiments.summary import latest
from ringlet.experiments.trial import Trial
from ringlet.sources.files import load

__all__ = ["Gallery", "Picture", "find_galleries", "two_of"]


@dataclass(frozen=True)
class Picture:
    """A picture file with a caption."""

    label: str
    note: str
    path: Path

    def pixels(self) -> NDArray[Any]:
        """The picture, (height, width, 3)."""
        return load(self.path).array


@dataclass(frozen=True)
class Gallery:
    """The original item, the damaged one, and the result of every method in the first run."""

    name: str
    noise: str
    pictures: tuple[Picture, ...]


def find_galleries(records: Iterable[Record], experiment: str, out: Path) -> list[Gallery]:
    """One gallery for every item of which pictures were kept; in the ablation, for every sample size of it."""
    by_name: dict[str, list[Record]] = {}
    for record in latest(records):
        if record["experiment"] == experiment and record["status"] == "ok" and record["run"] == 1:
            size = f", J = {record['settings']['samples']:,}" if experiment == "ablation" else ""
            by_name.setdefault(record["item"] + size, []).append(record)
    galleries = (_gallery(name, found, out) for name, found in by_name.items())
    return [gallery for gallery in galleries if gallery is not None]


def two_of(galleries: list[Gallery], experiment: str) -> list[Gallery]:
    """As the paper shows them: the second item with either noise, or the first where there is only one.

    Of the ablation, which the paper does not show, the first and the last: the least and the largest sample size.
    """
    if experiment == "ablation":
        return galleries[:1] + galleries[1:][-1:]
    chosen = []
    for noise in dict.fromkeys(gallery.noise for gallery in galleries):
        alike = [gallery for gallery in galleries if gallery.noise == noise]
        chosen.append(alike[min(1, len(alike) - 1)])
    return chosen


def _gallery(name: str, records: list[Record], out: Path) -> Gallery | None:
    noise = records[0]["noise"]
    order = EXPERIMENTS[records[0]["experiment"]].methods
    paths = _paths(records[0], out)
    pictures = [
        Picture("Original", name, paths["original"]),
        Picture("Damaged", NOISES[noise], paths["damaged"]),
        *(
            Picture(METHODS[one["method"]].label, f"{one['psnr']:.1f} dB", _paths(one, out)["recovered"])
            for one in sorted(records, key=lambda one: order.index(one["method"]))
        ),
    ]
    there = tuple(picture for picture in pictures if picture.path.exists())
    return Gallery(name, noise, there) if there else None


def _paths(record: Record, out: Path) -> dict[str, Path]:
    """Where the trial of a record kept its pictures."""
    names = ("experiment", "method", "run", "noise", "observed", "settings", "clip")
    item = Item(record["item"], EXPERIMENTS[record["experiment"]].kind, None, 0, record.get("content", 0))
    return Trial(item=item, **{name: record[name] for name in names}).pictures(out)
