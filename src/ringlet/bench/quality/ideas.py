"""The ideas of an automatic fit, each of which can be left out to see what it is worth."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from ringlet.errors import ArgumentError
from ringlet.request import FitRequest
from ringlet.solvers.tuning.policy import TuningPolicy

__all__ = ["IDEAS", "check_ideas", "request_without", "without"]

_SWITCHES = {field.name.replace("_", "-"): field.name for field in fields(TuningPolicy) if field.type is bool}
_SETTINGS: dict[str, dict[str, Any]] = {
    "judgement": {"loss": "correntropy"},  # a kernel weighs entries, as in the paper
    "ridge": {"ridge": 0.0},
    "smoothness": {"smooth": 0.0},
}

IDEAS = (*_SWITCHES, *_SETTINGS)


def check_ideas(names: Iterable[str]) -> None:
    """Refuse unknown names."""
    for name in names:
        if name not in IDEAS:
            raise ArgumentError(f"--without {name!r} is not known; allowed are {', '.join(IDEAS)}")


def without(idea: str) -> str:
    """Name in records of the fit that lacks an idea.

    Examples
    --------
    >>> without("ridge")
    'without-ridge'
    """
    return f"without-{idea}"


def request_without(idea: str, seed: int) -> FitRequest:
    """What `decompose(x, seed=seed)` asks for, less one idea.

    Examples
    --------
    >>> request_without("hole-guides", 0).policy.hole_guides
    False
    """
    policy = TuningPolicy(**({_SWITCHES[idea]: False} if idea in _SWITCHES else {}))
    return FitRequest(seed=seed, policy=policy, fields=_SETTINGS.get(idea, {}))
