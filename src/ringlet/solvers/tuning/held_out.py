"""A problem without the entries that decide about its fit."""

from dataclasses import dataclass, replace
from math import prod

from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.tuning.holdout import HoldoutMask, hide
from ringlet.solvers.tuning.hole_guides import guide_holes
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.validator import Validator

__all__ = ["HeldOut", "hold_out"]


@dataclass(frozen=True)
class HeldOut:
    """A problem, and the same without a few entries.

    Attributes
    ----------
    whole : Problem
        With all entries, and with guides in large holes.
    seen : Problem
        Without those that are held out.
    validator : Validator
        Knows them.
    mask : HoldoutMask
        Says which they are.
    """

    whole: Problem
    seen: Problem
    validator: Validator
    mask: HoldoutMask


def hold_out(problem: Problem, policy: TuningPolicy, budget: int | None = None) -> HeldOut:
    """Choose entries to hold out, and guide the ring in large holes; `budget` limits the memory of that."""
    whole, observed = problem.source, problem.survey.observed
    validator, mask = Validator.of(whole, observed, problem.seed, together=policy.holds_out_together)
    seen = hide(whole, mask)
    if policy.hole_guides and observed < prod(whole.shape):
        whole = guide_holes(whole, seen, problem.seed, budget)
        seen = hide(whole, mask)
    survey = first_look(seen, problem.executor)
    return HeldOut(replace(problem, source=whole), replace(problem, source=seen, survey=survey), validator, mask)
