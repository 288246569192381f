"""`ringlet info`: what is in a .ring file, a checkpoint or a data file."""

from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

import click
import numpy as np

from ringlet.amounts import format_bytes
from ringlet.cli.fitting import input_content
from ringlet.cli.options import data_options, json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.ring_text import ring_text
from ringlet.cli.screen import percent, print_facts, print_json, terminal_width, times
from ringlet.restoration.inputs import Input, ReadOptions, open_input
from ringlet.ring import TensorRing
from ringlet.ring.transfer import loop_cost
from ringlet.sources import ArraySource, ChunkedSource, Source
from ringlet.sources.table_files import TableFileLabels
from ringlet.store.checkpoint import holds_checkpoint, in_use, read_checkpoint
from ringlet.store.ringfile import stored_precision
from ringlet.store.slots import Slot

__all__ = ["command"]

_LONGEST_NORM = 2e11  # operations: some seconds
_LARGEST_NORM = 1 << 30  # bytes
_MOST_LISTED = 12  # columns of a table


@click.command(name="info")
@click.argument("source", metavar="FILE", type=GivenPath())
@data_options
@json_option
def command(source: Path, data: ReadOptions, as_json: bool) -> None:
    """Describe FILE: a .ring file, a checkpoint, or any file, folder or store that can be fitted."""
    if source.suffix.lower() == ".ring":
        ring = TensorRing.load(source)
        if as_json:
            print_json({"path": str(source), **_ring_content(ring), **_precision_content(source)})
        else:
            print_facts([("file", str(source)), *_ring_facts(ring), *_precision_facts(source)])
        return
    if holds_checkpoint(source):
        running, slot = in_use(source), read_checkpoint(source)
        if as_json:
            print_json({"path": str(source), **_checkpoint_content(slot, running=running)})
        else:
            print_facts([("file", f"{source} (checkpoint)"), *_checkpoint_facts(slot, running=running)])
        return
    given = open_input(source, data)
    if as_json:
        print_json(_data_content(source, given))
    else:
        print_facts(_data_facts(source, given))


def _ring_facts(ring: TensorRing) -> list[tuple[str, str]]:
    units = [] if ring.units is None else [("units", ring.units)]
    norm = _affordable_norm(ring)
    dense = ring.size * ring.dtype.itemsize
    return [
        ("ring", ring_text(ring.shape, ring.rank, ring.names, terminal_width() - 12)),
        ("shape", times(ring.shape)),
        ("rank", ", ".join(map(str, ring.rank))),
        ("type", str(ring.dtype)),
        ("size", f"{format_bytes(ring.nbytes)}; {ring.compression:.3g} entries per stored number"),
        ("dense", f"{format_bytes(dense)} in {ring.dtype}"),
        ("norm", "not computed: the ranks make it too costly" if norm is None else f"{norm:.6g}"),
        *units,
        *_size_warning(ring),
    ]


def _size_warning(ring: TensorRing) -> list[tuple[str, str]]:
    """Where the ring is larger than data of its shape would be; the file does not say what dtype they had."""
    for dtype in (ring.dtype, np.dtype(np.uint16), np.dtype(np.uint8)):
        dense = ring.size * dtype.itemsize
        if ring.nbytes > dense:
            return [("warning", f"LARGER than {dtype} data of this shape ({format_bytes(dense)})")]
    return []


def _precision_facts(path: Path) -> list[tuple[str, str]]:
    stored = stored_precision(path)
    if stored is None:
        return []
    precision, error = stored
    size = format_bytes(path.stat().st_size)
    return [("stored", f"as {precision}, {size}; that costs a relative error of {error:.1e}")]


def _precision_content(path: Path) -> dict[str, Any]:
    precision, error = stored_precision(path) or (None, 0.0)
    return {"precision": precision, "precision_error": error, "file_bytes": path.stat().st_size}


def _ring_content(ring: TensorRing) -> dict[str, Any]:
    return {
        "kind": "ring",
        "shape": ring.shape,
        "rank": ring.rank,
        "dtype": str(ring.dtype),
        "bytes": ring.nbytes,
        "compression": ring.compression,
        "names": ring.names,
        "units": ring.units,
        "norm": _affordable_norm(ring),
    }


def _affordable_norm(ring: TensorRing) -> float | None:
    """Give the norm, or None where a small file would ask for much work: files may be hostile."""
    operations, memory = loop_cost(ring.cores)
    return ring.norm() if operations <= _LONGEST_NORM and memory <= _LARGEST_NORM else None


def _checkpoint_facts(slot: Slot, *, running: bool) -> list[tuple[str, str]]:
    last = slot.saved.history[-1]
    more = f" and more than {slot.sweeps} --sweeps, which are used up" if last.sweep >= slot.sweeps else ""
    status = slot.saved.ended or f"It can be continued: give the same command with --resume{more}."
    return [
        ("fit", "\n".join(f"{name}: {value}" for name, value in slot.fit.items() if value is not None)),
        ("saved", f"after sweep {last.sweep}, change {last.change:.1e}"),
        ("status", "A fit that is running is using it." if running else str(status)),
    ]


def _checkpoint_content(slot: Slot, *, running: bool) -> dict[str, Any]:
    ended = slot.saved.ended
    return {
        "kind": "checkpoint",
        "fit": slot.fit,
        "running": running,
        "sweeps": slot.sweeps,
        "status": None if ended is None else ended.name,
        "history": [asdict(record) for record in slot.saved.history],
    }


def _data_facts(path: Path, given: Input) -> list[tuple[str, str]]:
    found, source = given.statistics, given.source
    shape = times(given.shape)
    if source.names is not None:
        shape += f"  ({', '.join(source.names)})"
    facts = [
        ("file", f"{path} ({given.kind})"),
        ("shape", shape),
        ("type", str(source.dtype)),
        ("size", format_bytes(given.nbytes)),
        *_chunk_facts(source),
        *_packing_facts(source),
        *_table_facts(source),
        *([] if source.units is None else [("units", source.units)]),
        ("range", "nothing is known" if found.minimum is None else f"{found.minimum:g} to {found.maximum:g}"),
        ("missing", percent(given.missing_share)),
    ]
    if given.key is not None:
        facts.insert(1, ("key", given.key))
    if given.frame_rate is not None:
        facts.append(("frames", f"{float(given.frame_rate):.5g} per second"))
    return facts


def _table_facts(source: Source) -> list[tuple[str, str]]:
    """Columns of a table that are data, and those that are not."""
    labels = source.labels if isinstance(source, ArraySource) else None
    if not isinstance(labels, TableFileLabels):
        return []
    others = list(labels.others.columns)
    data = [name for name in labels.columns if name not in others]
    told = [("columns", data), ("labels", others)]
    return [(fact, _listed(names)) for fact, names in told if names]


def _listed(names: list[Any]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(map(str, names[:_MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def _packing_facts(source: Source) -> list[tuple[str, str]]:
    if not isinstance(source, ChunkedSource) or not source.packing:
        return []
    return [("packed", ", ".join(f"{name} {value}" for name, value in source.packing.items()))]


def _chunk_facts(source: Source) -> list[tuple[str, str]]:
    if source.chunks is None:
        return []
    count = prod(len(lengths) for lengths in source.chunks)
    return [("chunks", f"{count:,} of {times(max(lengths) for lengths in source.chunks)}")]


def _data_content(path: Path, given: Input) -> dict[str, Any]:
    return {
        **input_content(path, given),
        "missing_share": given.missing_share,
        "kind": given.kind,
        "names": given.source.names,
        "units": given.source.units,
        "key": given.key,
        "chunks": None if given.source.chunks is None else [max(lengths) for lengths in given.source.chunks],
        "packing": dict(given.source.packing) if isinstance(given.source, ChunkedSource) else {},
        "minimum": given.statistics.minimum,
        "maximum": given.statistics.maximum,
        "frame_rate": None if given.frame_rate is None else float(given.frame_rate),
    }
