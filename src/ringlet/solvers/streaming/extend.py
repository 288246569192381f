"""New slices for a fitted ring: solved with the other cores fixed, then the other cores are moved towards them.

The data of earlier slices are not needed, nor is their number of any consequence: what the other cores must leave as it
is enters through the Gram matrix of the condensed past.
"""

from dataclasses import dataclass, replace
from math import nan
from time import perf_counter

import numpy as np

from ringlet.execution import Threads
from ringlet.ring import TensorRing
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.driver import SweepRecord
from ringlet.solvers.sawrtrd.convergence import relative_change
from ringlet.solvers.streaming.extension_state import Continuation
from ringlet.solvers.streaming.new_slices import Slices
from ringlet.solvers.streaming.run import ExtensionRun

__all__ = ["Extension", "extend_ring"]


@dataclass(frozen=True)
class Extension:
    """A ring with slices appended, and how that went."""

    ring: TensorRing
    history: tuple[SweepRecord, ...]
    kernel: Kernel
    continuation: Continuation


def extend_ring(
    ring: TensorRing,
    kernel: Kernel,
    continuation: Continuation,
    slices: Slices,
    *,
    seed: int,
    refresh: int,
    forget: float,
) -> Extension:
    """Append slices to a ring.

    Parameters
    ----------
    ring : TensorRing
        In the data's units.
    kernel : Kernel
        Of the fit so far; it stays if the slices hold no data.
    continuation : Continuation
    slices : Slices
    seed : int
    refresh : int
        Rounds over the other cores.
    forget : float
        Share of the say of earlier slices that every new one takes away.
    """
    if not slices.survey.observed:
        return _predict(ring, kernel, continuation, slices)
    history: list[SweepRecord] = []
    with Threads(continuation.solver.threads) as threads:
        work = ExtensionRun(
            ring, kernel, continuation, slices, threads.run, seed=seed, forget=forget, refreshes=refresh > 0
        )
        for number in range(1, refresh + 2):
            start, before = perf_counter(), work.rows
            if number > 1:
                work.refresh()
            trust = work.settle()
            change = relative_change(work.rows, before)
            loss, sigma = trust.loss * continuation.size**2, trust.width * continuation.size
            history.append(SweepRecord(number, perf_counter() - start, change, loss, sigma, trust.mean_weight))
        past = work.past.with_slices(work.cores[slices.mode], work.trusted)
    kernel = Kernel(history[-1].sigma, LOSSES[continuation.solver.loss])
    return Extension(work.ring(), tuple(history), kernel, replace(continuation, past=past))


def _predict(ring: TensorRing, kernel: Kernel, continuation: Continuation, slices: Slices) -> Extension:
    """Slices of which nothing is known: the last one again. They have no say in what follows, nor do others fade."""
    mode, core = slices.mode, ring.cores[slices.mode]
    again = np.repeat(core[:, -1:], slices.count, axis=1)
    cores = [*ring.cores[:mode], np.concatenate([core, again], axis=1), *ring.cores[mode + 1 :]]
    record = SweepRecord(1, seconds=0.0, change=0.0, loss=nan, sigma=kernel.width, mean_weight=nan)
    past = continuation.past_along(mode, core / continuation.unit(ring))
    grown = TensorRing(cores, names=ring.names, units=ring.units)
    return Extension(grown, (record,), kernel, replace(continuation, past=past))
