"""Ringlet: robust tensor rings for big, incomplete, outlier-ridden tensors."""

from ringlet import baselines, errors
from ringlet.api import complete, decompose, plan
from ringlet.ring import TensorRing
from ringlet.solvers.robust_ring import AWRTRD, SAWRTRD
from ringlet.solvers.status import Status

__version__ = "0.1.0"

__all__ = ["AWRTRD", "SAWRTRD", "Status", "TensorRing", "baselines", "complete", "decompose", "errors", "plan"]
