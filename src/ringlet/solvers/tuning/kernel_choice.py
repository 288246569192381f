"""Whether a kernel weighs the entries, or all that are believed count alike: tried, and decided by held-out entries."""

from dataclasses import replace
from math import inf

from ringlet.robust import WidthRule
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials

__all__ = ["choose_kernel", "with_kernel"]


def with_kernel(algorithm: Algorithm, kernel: bool) -> Algorithm:
    """The same with the solver's kernel, or with least squares."""
    rule = algorithm.settings.width_rule() if kernel else WidthRule(None, fixed=inf)
    return replace(algorithm, width_rule=rule)


def choose_kernel(
    trials: Trials, now: Candidate, number: int, judged: bool, policy: TuningPolicy
) -> tuple[Trials, Candidate, bool]:
    """Sweep with both, and go on with the better one; whether that is the kernel.

    Entries that have been `judged` count alike unless a kernel is better. Others are weighed by a kernel unless least
    squares are much better: what is rare need not be wrong.
    """
    found = []
    for kernel in (False, True):
        other = replace(trials, algorithm=with_kernel(trials.algorithm, kernel))
        candidate = replace(now, state=replace(now.state, narrowest=0.0))
        for sweep in range(policy.kernel_sweeps):
            candidate = other.swept(candidate.state, number, Trial.KERNEL + sweep)
        found.append((other, candidate))
    (_, by_squares), (_, by_kernel) = found
    if judged:
        kernel = trials.compare(by_kernel, by_squares).gain > policy.kernel_gain_db
    else:
        kernel = trials.compare(by_squares, by_kernel).gain < policy.least_squares_gain_db
    return (*found[kernel], kernel)
