"""New slices for a fitted ring: solved with the other cores fixed, then the other cores are moved towards them.

The data of earlier slices are not needed, and their number does not matter. How a change of the other cores changes
them follows from the Gram matrix of the condensed past.
"""

from dataclasses import dataclass, replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np

from ringlet.execution import Threads
from ringlet.results.fit import ExtendOptions, Fit
from ringlet.results.records import LARGEST_LOSS, Status, SweepRecord
from ringlet.ring import TensorRing
from ringlet.ring.gram import relative_change
from ringlet.robust import Kernel
from ringlet.solvers.streaming.extension_state import ExtensionState
from ringlet.solvers.streaming.new_slices import Slices, checked_slices
from ringlet.solvers.streaming.run import ExtensionRun
from ringlet.sources.appended import AppendedSource
from ringlet.sources.conversion import without_labels
from ringlet.sources.labels import AppendedLabels

__all__ = ["RingExtender"]


@dataclass(frozen=True)
class RingExtender:
    """Appends slices to the ring of a fit; what `Fit.extend` calls."""

    state: ExtensionState

    def extend(self, fit: Fit, new_slices: Any, mask: Any, options: ExtendOptions) -> Fit:
        """The fit with the longer ring; slices without any observed entry repeat the last one."""
        home = fit.ring.place
        ring = fit.ring.to("numpy")
        fit = replace(fit, ring=ring)
        slices = checked_slices(ring, new_slices, options.mode, mask)
        if slices.survey.observed:
            ring, history, state = self._extended(fit, slices, options)
        else:
            ring, history, state = self._repeated(fit, slices)
        kernel = Kernel(history[-1].sigma, state.solver.kernel_loss)
        first = fit.ring.shape[slices.mode]
        source, labels = without_labels(slices.source)
        return Fit(
            ring.at(home),
            Status.DONE,
            history,
            AppendedSource(source, slices.mode, first),
            kernel,
            RingExtender(state),
            _labels=None if labels is None else AppendedLabels(labels, slices.mode, first, slices.count),
            _learned=fit._learned,
            _threads=fit._threads,
            _memory=fit._memory,
        )

    def _extended(
        self, fit: Fit, slices: Slices, options: ExtendOptions
    ) -> tuple[TensorRing, tuple[SweepRecord, ...], ExtensionState]:
        state, history = self.state, []
        with Threads(state.solver.threads) as threads:
            work = ExtensionRun(fit.ring, fit.kernel, state, slices, options, threads.run)
            for number in range(1, options.refresh + 2):
                start, before = perf_counter(), work.rows
                if number > 1:
                    work.refresh()
                pilot = work.settle()
                change = relative_change(work.rows, before)
                loss = min(pilot.loss * state.data_range * state.data_range, LARGEST_LOSS)
                sigma = pilot.kernel.width * state.data_range
                history.append(SweepRecord(number, perf_counter() - start, change, loss, sigma, pilot.mean_weight))
            past = work.past.with_slices(work.cores[slices.mode], work.trusted)
            return work.ring(), tuple(history), replace(state, past=past)

    def _repeated(self, fit: Fit, slices: Slices) -> tuple[TensorRing, tuple[SweepRecord, ...], ExtensionState]:
        """Slices without any observed entry: copies of the last one, which do not count later."""
        ring, mode = fit.ring, slices.mode
        core = ring.cores[mode]
        again = np.repeat(core[:, -1:], slices.count, axis=1)
        cores = [*ring.cores[:mode], np.concatenate([core, again], axis=1), *ring.cores[mode + 1 :]]
        record = SweepRecord(1, seconds=0.0, change=0.0, loss=nan, sigma=fit.sigma, mean_weight=nan)
        past = self.state.past_along(mode, core / self.state.core_unit(ring))
        grown = TensorRing(cores, names=ring.names, units=ring.units)
        return grown, (record,), replace(self.state, past=past)
