"""Chunks that a store does not hold: read as its fill value, or taken as missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, warn
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.limits import ReadRules

__all__ = ["with_absent"]


def with_absent(
    source: ChunkedSource, present: NDArray[np.bool_] | None, sizes: Sequence[int], fill: Any, rules: ReadRules
) -> ChunkedSource:
    """The source with the chunks that its store lacks.

    Parameters
    ----------
    source : ChunkedSource
    present : bool array or None
        One value a chunk; None where nobody knows.
    sizes : sequence of int
        Of a chunk along every mode.
    fill : number
        What the store gives for entries of absent chunks.
    rules : ReadRules
        Whether they are missing. If not, there is a warning, for nothing else tells them from data; none of masks,
        where zero means missing.
    """
    if present is None:
        if rules.absent == "missing":
            raise ArgumentError("absent='missing' is not allowed here: which chunks the store holds is not known")
        return source
    count = present.size - int(np.count_nonzero(present))
    if not count or source.dtype.kind not in "iuf":
        return source
    if rules.absent == "missing":
        known = ChunkedSource(_Presence(present, tuple(sizes)), source.chunks)
        return replace(source, masks=(*source.masks, known))
    if not np.isnan(fill) and fill not in source.missing:
        warn(
            f"{count:,} of {present.size:,} chunks are not in the store and are read as {fill}; if they were lost, or "
            "never written, absent='missing' takes them as missing",
            DataWarning,
        )
    return source


@dataclass(frozen=True, eq=False)
class _Presence:
    """Booleans that say which entries lie in a chunk that is stored.

    Attributes
    ----------
    present : bool array
        One value a chunk.
    sizes : sequence of int
        Of a chunk along every mode.

    Examples
    --------
    >>> _Presence(np.array([[True, False]]), (2, 3))[0:2, 1:5].tolist()
    [[True, True, False, False], [True, True, False, False]]
    """

    present: NDArray[np.bool_]
    sizes: Sequence[int]
    dtype: ClassVar[np.dtype[Any]] = np.dtype(bool)

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[np.bool_]:
        places = [np.arange(part.start, part.stop) // size for part, size in zip(block, self.sizes, strict=True)]
        part: NDArray[np.bool_] = self.present[np.ix_(*places)]
        return part
