"""Automatic fits: settings are chosen by the error at held-out entries."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.tuning.coarse_start import coarse_start
from ringlet.solvers.tuning.holdout import holdout_memory
from ringlet.solvers.tuning.judging import can_judge, judge_for, judging_memory, without_stuck_entries
from ringlet.solvers.tuning.path import PathRun
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.validator import hold_out

__all__ = ["start_automatic"]


@contextmanager
def start_automatic(solver: RobustRing, problem: Problem, policy: TuningPolicy) -> Iterator[PathRun]:
    """Begin a fit in which held-out entries decide; the driver sweeps it."""
    rule = solver.sampling_rule()
    if rule.by_rows:
        raise ArgumentError(f"sampling={rule.method!r} needs a given rank and a given smooth, not 'auto'")
    problem = without_stuck_entries(solver, policy, problem)
    held = hold_out(problem, policy, solver.budget)
    shape, stored = problem.source.shape, problem.source.chunks is not None
    beside = holdout_memory(shape, stored=stored)
    if can_judge(solver, policy, problem):
        beside += judging_memory(solver, policy, shape, stored=stored)
    with ExitStack() as stack:
        threads = stack.enter_context(Threads(solver.threads))
        device = stack.enter_context(problem.open_device())
        resources = Resources(threads.run, stack.enter_context(held.seen.place()), device=device)
        algorithm = Algorithm.of(solver, held.seen, resources, tuned=True, beside=beside)
        run = PathRun(
            held,
            algorithm,
            policy,
            judge=judge_for(solver, policy, held, algorithm.scale.data_range),
            place=lambda of: stack.enter_context(of.place()),
            coarse_start=partial(coarse_start, policy, solver, held.seen, threads),
        )
        stack.enter_context(closing(run))
        yield run
        run.warn_if_missed()
