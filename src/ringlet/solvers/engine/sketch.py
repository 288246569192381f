"""What one core update looks at, and the pilot by which it is judged."""

from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core
from ringlet.sampling import Purpose, draw_entries, stream
from ringlet.solvers.engine.prefetch import hold
from ringlet.solvers.sawrtrd.pilot import draw_pilot, pilot_entries
from ringlet.sources import Source

__all__ = ["Sketch", "pilot_of"]

Floats: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Sketch:
    """What one core update looks at: a source, the indices used of it, and the cores at those indices."""

    source: Source
    mode: int
    index: tuple[NDArray[np.intp], ...]
    cores: list[Core]
    row_weights: Floats | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Indices used of every mode."""
        return tuple(len(indices) for indices in self.index)

    @property
    def columns(self) -> int:
        """Entries of one slice, J."""
        return prod(self.sizes) // self.sizes[self.mode]


def pilot_of(sketch: Sketch, seed: int, sweep: int, mode: int, *, stored: bool) -> Sketch:
    """A small random part of a sketch, for the update of core `mode`; that of all of a store comes from few chunks."""
    if stored:
        chosen = draw_entries(sketch.source, pilot_entries(sketch.sizes), seed, Purpose.PILOT, sweep, mode)
        index = tuple(np.arange(len(part)) for part in chosen)
        source: Source = hold(sketch.source, chosen, tuple(range(len(chosen))))
    else:
        chosen = draw_pilot(sketch.sizes, stream(seed, Purpose.PILOT, sweep, mode))
        index = tuple(indices[part] for indices, part in zip(sketch.index, chosen, strict=True))
        source = sketch.source
    cores = [core[:, part, :] for core, part in zip(sketch.cores, chosen, strict=True)]
    return Sketch(source, sketch.mode, index, cores)
