"""The entries of restored data, evaluated a part at a time in the dtype of the data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import DataWarning, warn
from ringlet.results.choices import Option, Refinement, as_choice, check_refinement
from ringlet.results.fit import Fit
from ringlet.ring import TensorRing
from ringlet.sources import Source
from ringlet.sources.base import aligned_blocks
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.labels import plain_index

__all__ = ["CleanEntries", "Cleaning", "clean_entries", "fill", "in_any_order", "parts", "ring_entries"]

CleanEntries: TypeAlias = Callable[[Any], NDArray[Any]]  # a block of the restored tensor, by its index

_PART_ENTRIES = 1 << 22  # evaluated at once: 32 MB of float64


@dataclass(frozen=True)
class Cleaning:
    """How restored data follow from a fit.

    Attributes
    ----------
    detail, keep : {"auto", "always", "never"} or bool
        As in `Fit.restored`.
    trust_known : bool
        Known entries stay as they are, whatever `keep` says.
    refine : None, "patches" or callable
        As in `Fit.restored`.
    """

    detail: Option = "auto"
    keep: Option = "auto"
    trust_known: bool = False
    refine: Refinement = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", as_choice("detail", self.detail))
        object.__setattr__(self, "keep", as_choice("keep", self.keep))
        check_refinement(self.refine)


def clean_entries(fit: Fit, source: Source, cleaning: Cleaning) -> CleanEntries:
    """A function that gives any block of the restored tensor.

    Parameters
    ----------
    fit : Fit
    source : Source
        The data. Into their dtype numbers are rounded and clipped.
    cleaning : Cleaning

    Examples
    --------
    >>> import ringlet
    >>> from ringlet.sources import as_source
    >>> x = np.fromfunction(lambda i, j, k: 90 + i + 2 * j + 9 * k, (30, 20, 3)).astype(np.uint8)
    >>> x[1, 2] = 255
    >>> clean_entries(ringlet.decompose(x, rank=3), as_source(x), Cleaning(keep="always"))((1, 2))
    array([ 95, 104, 113], dtype=uint8)
    """
    keep = "never" if cleaning.trust_known else cleaning.keep

    def restored(index: Any) -> NDArray[Any]:
        return np.asarray(fit.unlabelled.restored(index, cleaning.detail, keep, cleaning.refine))

    if not cleaning.trust_known:
        return restored
    if fit.missing_share == 0:
        warn("trust_known=True leaves all data as they are: none are missing; give mask= or missing=", DataWarning)

    def filled(index: Any) -> NDArray[Any]:
        block: Any = plain_index(index, fit.ring.ndim)  # slices only: files are written in parts
        values, observed = source.read(block)
        return values if observed is None else np.where(observed, values, restored(block))

    return filled


def ring_entries(ring: TensorRing, source: Source, *, keep_known: bool) -> CleanEntries:
    """A function that gives any block of a ring in the dtype of the data; known entries may stay as they are."""
    dtype = source.dtype
    if not keep_known:
        return lambda index: as_dtype(ring[index], dtype)

    def filled(index: Any) -> NDArray[Any]:
        block: Any = plain_index(index, ring.ndim)
        values, observed = source.read(block)
        return values if observed is None else np.where(observed, values, as_dtype(ring[block], dtype))

    return filled


@contextmanager
def in_any_order(fit: Fit, entries: CleanEntries, cleaning: Cleaning, near: Path) -> Iterator[CleanEntries]:
    """The same entries, which can be asked for in any order at little cost.

    Restored entries are computed in tiles. If there are several, all are computed first, into a temporary file.

    Parameters
    ----------
    fit : Fit
    entries : callable
    cleaning : Cleaning
    near : Path
        Folder of the temporary file.
    """
    keep = "never" if cleaning.trust_known else cleaning.keep
    tiled = cleaning.refine is not None or fit.needs_neighbours(cleaning.detail, keep)
    if not tiled or fit.tiles.count == 1:
        yield entries
        return
    with TemporaryFile(dir=near) as file:
        whole = np.memmap(file, entries((0,) * fit.ring.ndim).dtype, "w+", shape=fit.ring.shape)
        for block in aligned_blocks(fit.tiles.chunks, 1):
            whole[block] = entries(block)
        yield whole.__getitem__


def fill(target: NDArray[Any], entries: CleanEntries) -> None:
    """Write all restored entries into an array or a memory map."""
    for part in parts(target.shape, mode=0):
        target[part] = entries(part)
    if isinstance(target, np.memmap):
        target.flush()


def parts(shape: tuple[int, ...], mode: int) -> Iterator[slice]:
    """Consecutive parts of a mode, each with a bounded number of entries.

    Examples
    --------
    >>> list(parts((1 << 12, 1 << 12), mode=1))[:2]
    [slice(0, 1024, None), slice(1024, 2048, None)]
    """
    length = shape[mode]
    step = max(1, _PART_ENTRIES * length // prod(shape))
    for start in range(0, length, step):
        yield slice(start, start + step)
