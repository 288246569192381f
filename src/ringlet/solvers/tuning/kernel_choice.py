"""Whether a kernel weighs the entries, or all that are believed count alike: tried, and decided by held-out entries."""

from dataclasses import replace
from math import inf

from ringlet.robust import WidthRule
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials
from ringlet.solvers.tuning.validator import Validator

__all__ = ["after_sweeps", "choose_kernel", "with_kernel"]


def with_kernel(algorithm: Algorithm, kernel: bool) -> Algorithm:
    """The same with the solver's kernel, or with least squares."""
    rule = algorithm.settings.width_rule() if kernel else WidthRule(None, fixed=inf)
    return replace(algorithm, width_rule=rule)


def choose_kernel(
    trials: Trials, now: Candidate, number: int, near: Validator | None, policy: TuningPolicy
) -> tuple[Trials, Candidate, bool]:
    """Sweep with both, and go on with the better one; whether that is the kernel.

    Entries that have been judged count alike unless a kernel is better, also by a validator for which only residuals
    `near` to zero count. Others are weighed by a kernel unless least squares are much better: what is rare need not be
    wrong.
    """
    both = [replace(trials, algorithm=with_kernel(trials.algorithm, kernel)) for kernel in (False, True)]
    by_squares, by_kernel = (after_sweeps(other, now, number, policy) for other in both)
    if near is not None:
        gain = near.compare(by_kernel.residuals, by_squares.residuals).gain
        kernel = gain > policy.kernel_gain_db and trials.compare(by_kernel, by_squares).gain > 0
    else:
        kernel = trials.compare(by_squares, by_kernel).gain < policy.least_squares_gain_db
    return both[kernel], by_kernel if kernel else by_squares, kernel


def after_sweeps(trials: Trials, now: Candidate, number: int, policy: TuningPolicy) -> Candidate:
    """Where a few sweeps lead, which show what a way to weigh entries can do."""
    candidate = replace(now, state=replace(now.state, narrowest=0.0))
    for sweep in range(policy.kernel_sweeps):
        candidate = trials.swept(candidate.state, number, Trial.KERNEL + sweep)
    return candidate
