"""Ringlet: robust tensor rings for large tensors with missing and wrong entries."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ringlet import baselines, errors
    from ringlet.api import complete, decompose, decompose_many, plan
    from ringlet.execution import DaskExecutor
    from ringlet.restoration.restore import restore
    from ringlet.results.fit import Estimate, Fit
    from ringlet.results.many_rings import ManyRings
    from ringlet.results.records import Status, SweepRecord
    from ringlet.ring import TensorRing
    from ringlet.solvers.base import Plan, Solver
    from ringlet.solvers.rank_choice import background, budget, target
    from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD
    from ringlet.sources.tables import from_dataframe
    from ringlet.tensorize.folding import fold, unfold
    from ringlet.tensorize.layout import windows

__version__ = "0.1.0"

__all__ = [
    "AWRTRD",
    "SAWRTRD",
    "DaskExecutor",
    "Estimate",
    "Fit",
    "ManyRings",
    "Plan",
    "Solver",
    "Status",
    "SweepRecord",
    "TensorRing",
    "background",
    "baselines",
    "budget",
    "complete",
    "decompose",
    "decompose_many",
    "errors",
    "fold",
    "from_dataframe",
    "plan",
    "restore",
    "target",
    "unfold",
    "windows",
]

# Where each name lives. It is imported when first used, so that a program which only might need Ringlet starts at once.
_HOMES = {
    "AWRTRD": "ringlet.solvers.sawrtrd.settings",
    "DaskExecutor": "ringlet.execution",
    "Estimate": "ringlet.results.fit",
    "Fit": "ringlet.results.fit",
    "ManyRings": "ringlet.results.many_rings",
    "Plan": "ringlet.solvers.base",
    "SAWRTRD": "ringlet.solvers.sawrtrd.settings",
    "Solver": "ringlet.solvers.base",
    "Status": "ringlet.results.records",
    "SweepRecord": "ringlet.results.records",
    "TensorRing": "ringlet.ring",
    "baselines": "ringlet.baselines",
    "background": "ringlet.solvers.rank_choice",
    "budget": "ringlet.solvers.rank_choice",
    "complete": "ringlet.api",
    "decompose": "ringlet.api",
    "decompose_many": "ringlet.api",
    "errors": "ringlet.errors",
    "fold": "ringlet.tensorize.folding",
    "from_dataframe": "ringlet.sources.tables",
    "plan": "ringlet.api",
    "restore": "ringlet.restoration.restore",
    "target": "ringlet.solvers.rank_choice",
    "unfold": "ringlet.tensorize.folding",
    "windows": "ringlet.tensorize.layout",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ringlet' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    value = module if module.__name__ == f"ringlet.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
