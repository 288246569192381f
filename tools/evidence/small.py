"""Records of small scripts in `benchmarks`: folding, other codecs, still cameras."""

from pathlib import Path

from evidence.markdown import days, decimal, table
from ringlet.experiments.journal import read_records

__all__ = ["codecs", "folding", "still_camera"]

_FOLDER = Path(__file__).parents[2] / "benchmarks"


def folding() -> str:
    """Whole photos and overlapping patches."""
    records = read_records(_FOLDER / "folding.jsonl")
    forms = list(dict.fromkeys(one["form"] for one in records))
    found = {(one["photo"], one["wrong"], one["form"]): one for one in records}
    rows = []
    for photo, wrong in dict.fromkeys((one["photo"], one["wrong"]) for one in records):
        words = "a fifth wrong" if wrong else "none wrong"
        cells = [found[photo, wrong, form] for form in forms]
        rows.append((f"{photo}, {words}", *(f"{one['psnr']:.1f} dB, {one['seconds']:.1f} s" for one in cells)))
    return f"{table(('photo', *forms), rows)}\n\n{days(one.get('day') for one in records)}"


def codecs() -> str:
    """Bytes of rings and of other codecs at the same quality."""
    records = read_records(_FOLDER / "codecs.jsonl")
    rows = [
        (
            one["data"],
            _kilobytes(one["bytes"]),
            f"{tuple(one['rank'])}, {one['psnr']:.1f} dB",
            _kilobytes(one["ring"]),
            _kilobytes(one["int8"]),
            f"{one['codec']} {_kilobytes(one['codec_bytes'])} at {decimal(one['codec_psnr'])} dB",
        )
        for one in records
    ]
    heads = ("clean data", "size", "ring, PSNR", "as float32", "as int8", "other codec")
    return f"{table(heads, rows)}\n\n{days(one.get('day') for one in records)}"


def still_camera() -> str:
    """How well the moving foreground is found."""
    records = read_records(_FOLDER / "still-camera.jsonl")
    first = records[0]
    rows = [(one["method"], decimal(one["intersection_over_union"], 3), decimal(one["seconds"])) for one in records]
    shape = " x ".join(map(str, first["shape"]))
    told = (
        f"`{first['video']}`, {shape}. The threshold is {first['threshold']:.0f} levels; {first['foreground']:.2%} of "
    )
    told += f"the pixels are foreground. {days(one.get('day') for one in records)}"
    return f"{told}\n\n{table(('background', 'intersection over union', 'processor seconds'), rows)}"


def _kilobytes(size: int | None) -> str:
    if size is None:
        return "–"
    return f"{size / 1e3:.0f} kB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
