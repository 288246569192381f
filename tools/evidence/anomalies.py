"""Which entries are called wrong: the record of `benchmarks/anomalies.py`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from evidence.markdown import days, decimal, table
from ringlet.experiments.journal import read_records

__all__ = ["draws", "halves", "oracle", "photos", "tensors"]

_RECORD = Path(__file__).parents[2] / "benchmarks" / "anomalies.jsonl"
_HALVES = {"tuned": "tuned", "other": "kept aside"}
Records = list[dict[str, Any]]


def _part(name: str) -> Records:
    return [one for one in read_records(_RECORD) if one["part"] == name]


def _distinct(records: Records, *keys: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(one[key] for key in keys) for one in records))


def _those(records: Records, **wanted: object) -> Records:
    return [one for one in records if all(one[key] == value for key, value in wanted.items())]


def _mean(records: Iterable[dict[str, Any]], key: str) -> float:
    return float(np.mean([one[key] for one in records]))


def _precision(records: Records) -> str:
    """Mean of those fits that find anything."""
    some = [one for one in records if one["found"]]
    return decimal(_mean(some, "precision") if some else None, 2)


def tensors() -> str:
    """Precision and recall, by tensor and damage."""
    records = _part("tensors")
    damages = [damage for (damage,) in _distinct(records, "damage")]

    def cell(tensor: str, damage: str) -> str:
        these = _those(records, tensor=tensor, damage=damage)
        return f"{_precision(these)} / {decimal(_mean(these, 'recall'), 2)}" if these else "–"

    rows = [(name, *(cell(name, damage) for damage in damages)) for (name,) in _distinct(records, "tensor")]
    return f"{table(('precision / recall', *damages), rows)}\n\n{days(one.get('day') for one in records)}"


def halves() -> str:
    """Means over both halves of the cases."""
    records, rows = _part("tensors"), []
    for half, name in _HALVES.items():
        for damage in [damage for (damage,) in _distinct(records, "damage")]:
            these = _those(records, half=half, damage=damage)
            if these:
                cells = _precision(these), decimal(_mean(these, "recall"), 2)
                rows.append((name, damage, str(len(_distinct(these, "tensor"))), *cells))
    return table(("half", "damage", "tensors", "precision", "recall"), rows)


def oracle() -> str:
    """The greatest recall beside the one that is measured, by tensor and size."""
    records, measured = _part("oracle"), _part("tensors")
    sizes = [size for (size,) in _distinct(records, "damage")]
    rows = []
    for (name,) in _distinct(records, "tensor"):
        cells = []
        for size in sizes:
            both = (_those(part, tensor=name, damage=size) for part in (records, measured))
            cells.append(" / ".join(decimal(_mean(part, "recall"), 2) for part in both))
        rows.append((name, *cells))
    return f"{table(('oracle / measured', *sizes), rows)}\n\n{days(one.get('day') for one in records)}"


def photos() -> str:
    """Right entries that are doubted and wrong ones that are, in photos."""
    records = _part("photos")
    shares = [share for (share,) in _distinct(records, "observed")]

    def row(name: str, of: Callable[[float, str], float]) -> tuple[str, ...]:
        return (name, *(f"{100 * of(share, key):.{2 - (key == 'caught')}f} %" for share in shares for key in _KEYS))

    rows = [
        row(name, lambda share, key, name=name: _mean(_those(records, photo=name, observed=share), key))  # type: ignore[misc]
        for (name,) in _distinct(records, "photo")
    ]
    rows.append(row("mean", lambda share, key: _mean(_those(records, observed=share), key)))
    heads = [f"{_observed(share)}: {_KEYS[key]}" for share in shares for key in _KEYS]
    return f"{table(('photo', *heads), rows)}\n\n{days(one.get('day') for one in records)}"


_KEYS = {"doubted": "right entries doubted", "caught": "wrong ones doubted"}


def draws() -> str:
    """Spread of PSNR over the draws of damage."""
    records, rows = _part("draws"), []
    for name, share in _distinct(records, "photo", "observed"):
        these = _those(records, photo=name, observed=share)
        cells = []
        for key in ("ring", "restored"):
            scores = [one[key] for one in these]
            cells.append(f"{min(scores):.1f} to {max(scores):.1f}")
        rows.append((name, _observed(share), *cells))
    heads = ("photo", "observed", "ring, dB", "restored, dB")
    return f"{table(heads, rows)}\n\n{days(one.get('day') for one in records)}"


def _observed(share: float) -> str:
    return "complete" if share == 1 else f"{share:.0%} observed".replace("%", " %")
