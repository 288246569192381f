"""The input of a command: a tensor from a file, which of its entries are known, and what it looks like."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan, prod
from pathlib import Path
from typing import Any

from ringlet.cli.options import DataOptions
from ringlet.sources import ArraySource, ChunkedSource, Source
from ringlet.sources.base import aligned_blocks, slabs
from ringlet.sources.conversion import with_mask, without_value
from ringlet.sources.files import Loaded, load
from ringlet.sources.kinds import Kind, kind_of, reading
from ringlet.sources.mask_files import load_mask
from ringlet.sources.media import opened_frames
from ringlet.store.frame_cache import cached_frames

__all__ = ["Input", "open_input"]

_IN_MEMORY = 1 << 30  # bytes of a video that is decoded into memory; larger ones go into a cache


@dataclass(frozen=True)
class _Look:
    """Number of missing entries, and the range of the others (None if there are none)."""

    missing: int
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Input:
    """A tensor from a file.

    Attributes
    ----------
    path : Path
    loaded : Loaded
    source : ArraySource or ChunkedSource
        The entries, and all that is said about the missing ones.
    """

    path: Path
    loaded: Loaded
    source: ArraySource | ChunkedSource

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return self.source.shape

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return prod(self.shape) * self.source.dtype.itemsize

    @cached_property
    def look(self) -> _Look:
        """What one pass over the entries finds, a block at a time."""
        missing, low, high = 0, inf, -inf
        for block in _blocks(self.source):
            values, observed = self.source.read(block)
            known = values if observed is None else values[observed]
            missing += values.size - known.size
            if known.size:
                low, high = min(low, known.min().item()), max(high, known.max().item())
        return _Look(missing, low, high) if low <= high else _Look(missing, None, None)

    @property
    def missing_share(self) -> float:
        """Share of the entries that is missing."""
        return self.look.missing / max(1, prod(self.shape))

    def describe(self) -> dict[str, Any]:
        """Give what JSON says of it."""
        return {
            "path": str(self.path),
            "shape": list(self.shape),
            "dtype": str(self.source.dtype),
            "bytes": self.nbytes,
        }


def open_input(path: Path, options: DataOptions) -> Input:
    """Open a tensor and combine all that is said about its missing entries."""
    loaded = _load(path, options)
    source = loaded.source
    if options.mask is not None:
        source = with_mask(source, load_mask(options.mask, source.shape))
    if options.missing is not None and not isnan(options.missing):
        source = without_value(source, options.missing)
    return Input(path, loaded, source)


def _load(path: Path, options: DataOptions) -> Loaded:
    """Open a tensor: large videos, and those for which a cache is asked for, through their cache."""
    if path.exists() and options.key is None:
        with reading(path):
            kind = kind_of(path)
            cached = kind in ("video", "frames") and (options.cache is not None or _is_large(path, kind))
        if cached:
            return cached_frames(path, kind, options.cache)
    return load(path, key=options.key)


def _is_large(path: Path, kind: Kind) -> bool:
    with opened_frames(path, kind) as moving:
        return moving.nbytes is not None and moving.nbytes > _IN_MEMORY


def _blocks(source: Source) -> list[tuple[slice, ...]]:
    if 0 in source.shape or not source.shape:
        return []
    return slabs(source.shape) if source.chunks is None else aligned_blocks(source.chunks)
