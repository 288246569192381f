"""A fit from the command line: run it, and print a summary."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isnan
from pathlib import Path
from time import perf_counter
from typing import Any

from ringlet.api import Rank, decompose
from ringlet.cli.options import CheckpointOptions
from ringlet.cli.screen import percent, print_facts, print_json, times
from ringlet.execution import DaskExecutor
from ringlet.restoration.inputs import Input
from ringlet.results.fit import Fit
from ringlet.results.records import Callback, Status
from ringlet.results.summary import size_fact
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.sources.kinds import split_key
from ringlet.store.atomic import output_target

__all__ = ["Finished", "fit_input", "input_content", "show"]

_INTERRUPTED = 130
_WELL_EXPLAINED = 0.7  # of the variance: a ring that explains less is of little use


@dataclass(frozen=True, eq=False)
class Finished:
    """A fit of an input that has ended, one way or another.

    `outliers` is the share of them, None for plain least squares, and `validation_db` that of the fit. Both are found
    before anything is written, maybe onto the input.
    """

    given: Input
    solver: RobustRing
    fit: Fit
    seconds: float
    kept: CheckpointOptions
    outliers: float | None
    validation_db: float

    @property
    def exit_code(self) -> int:
        """0, or 130 after Ctrl-C."""
        return _INTERRUPTED if self.fit.status is Status.INTERRUPTED else 0

    @property
    def advice(self) -> str:
        """How the fit ended, and what to do about it."""
        if self.fit.status is Status.INTERRUPTED:
            told = f"Interrupted after {len(self.fit.history)} sweeps: the files hold the best ring so far."
            if self.kept.checkpoint is not None:
                told += " To continue, give the same command with --resume --force."
            return told
        return str(self.fit.status)


def fit_input(
    given: Input,
    rank: Rank,
    solver: RobustRing,
    *,
    kept: CheckpointOptions,
    seed: int,
    progress: bool,
    executor: DaskExecutor | None = None,
    callback: Callback | None = None,
) -> Finished:
    """Fit a ring to an input; the ring gets the names that the file has for its modes."""
    start = perf_counter()
    fit = decompose(
        given.source,
        rank,
        solver=solver,
        seed=seed,
        progress=progress,
        checkpoint=kept.checkpoint,
        every=1 if kept.every is None else kept.every,
        executor=executor,
        callback=callback,
        time=kept.time,
    )
    seconds = perf_counter() - start
    outliers = None if solver.loss == "l2" else fit.outlier_share
    return Finished(given, solver, fit, seconds, kept, outliers, fit.validation_db)


def show(finished: Finished, source: Path, written: Sequence[Path], *, as_json: bool, quiet: bool) -> None:
    """Tell how the fit of the file `source` went and which files were written."""
    if as_json:
        print_json(_content(finished, source, written))
    elif not quiet:
        print_facts(_facts(finished, source, written))


def input_content(path: Path, given: Input) -> dict[str, Any]:
    """Facts about an input, for JSON."""
    return {
        "path": str(path),
        "shape": list(given.shape),
        "dtype": str(given.source.dtype),
        "bytes": given.nbytes,
    }


def _facts(finished: Finished, source: Path, written: Sequence[Path]) -> list[tuple[str, str]]:
    given, fit = finished.given, finished.fit
    ring = fit.ring
    rank = ", ".join(map(str, ring.rank))
    facts = [
        (
            "input",
            f"{source}\n{times(given.shape)}, {given.source.dtype}, {percent(fit.missing_share)} missing",
        ),
        ("ring", f"rank {rank}; {size_fact(ring.nbytes, given.nbytes)[1]}"),
        ("fit", f"{type(finished.solver).__name__}, {len(fit.history)} sweeps, {finished.seconds:.1f} s"),
        ("status", finished.advice),
    ]
    if fit.path:
        facts.append(("choice", _choice_text(fit)))
    read = output_target(split_key(source, None)[0])
    told = [f"{path} (in place of the input)" if output_target(path) == read else str(path) for path in written]
    facts += [("written", "\n".join(told)), ("error", _error_text(finished))]
    if finished.outliers is not None:
        facts.append(("outliers", f"about {percent(finished.outliers)} of the known entries are judged wrong"))
    return facts


def _choice_text(fit: Fit) -> str:
    """What was chosen, how much of the data it explains, and whether that is little."""
    told = "the ring" if len(fit.path) == 1 else f"the best of {len(fit.path)} rings"
    if isnan(fit.explained_share):
        return told
    told += f" explains {percent(fit.explained_share)} of the variance of entries that were not used"
    if fit.explained_share >= _WELL_EXPLAINED:
        return told
    return f"{told}: the data do not look low-rank, and a local method may serve you better"


def _error_text(finished: Finished) -> str:
    """The estimated error at entries that were not used, in the data's units and in dB."""
    fit = finished.fit
    if not isfinite(fit.validation):
        return "not estimated: no entries were held out"
    units = "" if fit.ring.units is None else f" {fit.ring.units}"
    told = f"about {fit.validation:.3g}{units} at entries that were not used"
    return told if isnan(finished.validation_db) else f"{told} ({finished.validation_db:.1f} dB)"


def _content(finished: Finished, source: Path, written: Sequence[Path]) -> dict[str, Any]:
    fit, ring = finished.fit, finished.fit.ring
    return {
        "input": {**input_content(source, finished.given), "missing_share": fit.missing_share},
        "ring": {"rank": ring.rank, "bytes": ring.nbytes, "compression": ring.compression},
        "solver": type(finished.solver).__name__,
        "status": fit.status.name,
        "advice": finished.advice,
        "sweeps": len(fit.history),
        "seconds": finished.seconds,
        "history": [asdict(record) for record in fit.history],
        "outputs": [str(path) for path in written],
        "larger_than_data": ring.nbytes > finished.given.nbytes,
        "explained_share": fit.explained_share,
        "validation": fit.validation,
        "validation_db": finished.validation_db,
        "outlier_share": finished.outliers,
    }
