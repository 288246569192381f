"""Ringlet: robust tensor rings for big, incomplete, outlier-ridden tensors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringlet import errors
from ringlet.api import complete, decompose, plan
from ringlet.ring import TensorRing
from ringlet.solvers.robust_ring import AWRTRD, SAWRTRD
from ringlet.solvers.status import Status

if TYPE_CHECKING:
    from ringlet import baselines

__version__ = "0.1.0"

__all__ = ["AWRTRD", "SAWRTRD", "Status", "TensorRing", "baselines", "complete", "decompose", "errors", "plan"]


def __getattr__(name: str) -> Any:
    """`ringlet.baselines` is imported when first used: few programs need it, and all pay for starting up."""
    if name == "baselines":
        return import_module("ringlet.baselines")
    raise AttributeError(f"module 'ringlet' has no attribute {name!r}")
