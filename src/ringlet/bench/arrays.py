"""Sweeps on arrays of another library beside the same sweeps in NumPy: how long, and how far apart the rings are."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.arrays import Place, named_place
from ringlet.bench.cases import CASES, Case
from ringlet.execution import Profile
from ringlet.ring import TensorRing
from ringlet.ring.gram import COMPARED_SLICES
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.engine import pilot_entries
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.sawrtrd.run import start_run
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.sources import as_source, survey

__all__ = ["ARRAY_CASES", "ArrayResult", "measure_arrays", "traffic"]

ARRAY_CASES = ("photo", "cube", "toy")


@dataclass(frozen=True)
class ArrayResult:
    """A case on a device and in NumPy.

    Attributes
    ----------
    case : str
    device : str
    numpy, there : float
        Seconds of a sweep, medians, the first one left out.
    difference : float
        ``||ring - ring of NumPy|| / ||ring of NumPy||`` after equal sweeps.
    operations : int
        Floating-point operations of the matrix products of a sweep.
    entries : int
        Entries of the data that a sweep looks at.
    host : float
        Seconds of a NumPy sweep that stay on the host: Gram matrices and solves, unless the device has float64.
    traffic : int
        Bytes that travel between host and device in a sweep: cores there and back, or, if equations are solved on the
        host, sampled cores and directions there, and gradients back; residuals of pilots, and what the stop rule
        compares.
    """

    case: str
    device: str
    numpy: float
    there: float
    difference: float
    operations: int
    entries: int
    host: float
    traffic: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the ratio."""
        return asdict(self) | {"numpy_over_there": self.numpy / self.there}


def measure_arrays(names: Sequence[str] = ARRAY_CASES, sweeps: int = 5, device: str = "cpu") -> list[ArrayResult]:
    """Fit cases in NumPy and as torch tensors on a device, one after the other.

    Parameters
    ----------
    names : sequence of str
        Of `CASES`.
    sweeps : int
        To take the median of.
    device : str
        As torch names it.
    """
    place = named_place(device)
    return [_measure(CASES[name], sweeps, place) for name in names]


def _measure(case: Case, sweeps: int, place: Place) -> ArrayResult:
    data, mask = case.data()
    solver = SAWRTRD(samples=case.samples, loss="correntropy", smooth=0.0, sweeps=sweeps + 1, tol=0)
    given = place.put(data), None if mask is None else place.put(mask)
    here = decompose(data, case.rank, solver=solver, mask=mask)
    there = decompose(given[0], case.rank, solver=solver, mask=given[1])
    plan = solver.plan(case.shape, case.rank, data.dtype)
    numpy, elsewhere = (median([record.seconds for record in fit.history[1:]]) for fit in (here, there))
    return ArrayResult(
        case.name,
        str(place),
        numpy,
        elsewhere,
        _difference(there.ring, here.ring),
        plan.operations,
        sum(cost.plan.entries for cost in plan.cores),
        0.0 if place.solves else _host_seconds(case, data, mask),
        traffic(plan, here.ring.dtype.itemsize, solves=place.solves),
    )


def _host_seconds(case: Case, data: NDArray[Any], mask: NDArray[np.bool_] | None) -> float:
    """Of Gram matrices and solves, in the third of three sweeps."""
    source, profile = as_source(data, mask), Profile()
    with start_run(SAWRTRD(samples=case.samples), Problem(source, survey(source), case.rank, seed=0), profile) as run:
        for number in (1, 2, 3):
            profile.seconds.clear()
            run.sweep(number)
    return profile.seconds.get("Gram", 0.0) + profile.seconds.get("solve", 0.0)


def traffic(plan: FitPlan, itemsize: int, *, solves: bool) -> int:
    """Bytes that travel in a sweep; `solves`: equations are solved on the device."""
    total = 8 * min(plan.shape[-1], COMPARED_SLICES) ** 2 if solves else 0
    ends = (*plan.rank[1:], plan.rank[0])
    for cost in plan.cores:
        sizes, mode = cost.plan.sizes, cost.plan.mode
        numbers = [before * size * after for before, size, after in zip(plan.rank, sizes, ends, strict=True)]
        rows = numbers[mode]
        total += itemsize * (pilot_entries(sizes) + 2 * (rows if solves else sum(numbers) + rows))
    return total


def _difference(found: TensorRing, expected: TensorRing) -> float:
    """Relative distance at random entries: that of the cores would be lost in rounding errors."""
    rng = np.random.default_rng(0)
    places = np.stack([rng.integers(0, length, 100_000) for length in expected.shape], axis=1)
    values, wanted = (ring.to("numpy").entries(places).astype(np.float64) for ring in (found, expected))
    return float(np.linalg.norm(values - wanted) / np.linalg.norm(wanted))
