"""Tensors with outages to fill in: those of a folder, or generated and packaged ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.quality.samples import samples_in
from ringlet.errors import ArgumentError

__all__ = ["MeasuredTensor", "builtin_tensors", "tensors_in", "thinned"]


@dataclass(frozen=True)
class MeasuredTensor:
    """A tensor whose truth is known where it was measured, read on demand.

    Attributes
    ----------
    name : str
    read : callable
        Gives the values as float32, NaN where there is no truth.
    fibre_mode : int
        Mode whose fibres are lost whole in outages of that kind.
    """

    name: str
    read: Callable[[], NDArray[np.float32]]
    fibre_mode: int = -1


def tensors_in(folder: Path, most_entries: int, fibre_modes: Mapping[str, int]) -> list[MeasuredTensor]:
    """The arrays (npy, npz, mat) in the folders of a folder, thinned to at most this number of entries.

    `fibre_modes` gives the mode of their fibres by name; others lose fibres of their last mode.
    """
    found = [sample for sample in samples_in(folder) if sample.kind == "tensor"]
    if not found:
        raise ArgumentError(f"--data {folder} has no folder with arrays (.npy .npz .mat)")

    def reader(index: int) -> Callable[[], NDArray[np.float32]]:
        def read() -> NDArray[np.float32]:
            truth = found[index].truth()
            if truth.known is not None:
                truth.values[~truth.known] = np.nan
            return thinned(truth.values, most_entries)

        return read

    names = [sample.stem for sample in found]
    for name in fibre_modes:
        if name not in names:
            raise ArgumentError(f"--fibre-mode {name}: --data has no such tensor; it has {', '.join(names)}")
    return [MeasuredTensor(name, reader(index), fibre_modes.get(name, -1)) for index, name in enumerate(names)]


def builtin_tensors() -> list[MeasuredTensor]:
    """Generated tensors: a smooth field that drifts over months, and daily counts of stations."""
    return [MeasuredTensor("field", _field), MeasuredTensor("counts", _counts)]


def thinned(array: NDArray[np.float32], most_entries: int) -> NDArray[np.float32]:
    """Every second slice of the longest mode, until the tensor is small enough.

    Examples
    --------
    >>> thinned(np.zeros((9, 40, 10), np.float32), 1000).shape
    (9, 10, 10)
    """
    while array.size > most_entries:
        longest = int(np.argmax(array.shape))
        array = array[tuple(slice(None, None, 2 if mode == longest else 1) for mode in range(array.ndim))]
    return np.ascontiguousarray(array)


def _field() -> NDArray[np.float32]:
    """Temperatures by month, latitude and longitude: a gradient, seasons, and waves that travel."""
    month, latitude, longitude = np.ogrid[:24, :16, :40]
    north = latitude / 15
    seasons = 8 * north * np.cos(2 * np.pi * (month - 1) / 12)
    waves = np.sin(2 * np.pi * (longitude / 40 - month / 24)) * np.cos(3 * north)
    noise = 0.1 * np.random.default_rng(0).standard_normal((24, 16, 40))
    return np.asarray(293 - 15 * north + seasons + 2 * waves + noise, np.float32)


def _counts() -> NDArray[np.float32]:
    """Counts by station, day and hour: two daily patterns, weekends, sizes of stations."""
    rng = np.random.default_rng(1)
    station, day, hour = np.ogrid[:20, :28, :18]
    mornings, evenings = (np.exp(-((hour - peak) ** 2) / 6) for peak in (3, 12))
    commuters = rng.uniform(0, 1, (20, 1, 1))
    weekend = (day % 7 >= 5).astype(float)
    pattern = (1 - 0.6 * weekend) * (commuters * mornings + (1 - commuters) * evenings) + 0.1
    expected = rng.uniform(50, 400, (20, 1, 1)) * pattern * rng.uniform(0.9, 1.1, (1, 28, 1)) + 0 * station
    return np.asarray(rng.poisson(expected), np.float32)
