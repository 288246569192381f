"""Which methods are compared, under which names, with which hyper-parameters: those of the paper."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from ringlet import baselines
from ringlet.errors import ArgumentError
from ringlet.experiments.items import Item
from ringlet.solvers.base import Solver
from ringlet.solvers.sawrtrd.settings import AWRTRD, PRINTED, SAWRTRD

__all__ = [
    "ABLATION",
    "COMPLETIONS",
    "DECOMPOSITIONS",
    "METHODS",
    "SAMPLES",
    "Method",
    "chosen_methods",
    "settings_for",
]

SAMPLES = 30_000  # the paper's J
_TOL = 1e-3
_RANKS = {"photo": (20, 20, 3), "video": (80, 80, 3, 20)}
_FULL_SIZE = {"photo": 512, "video": 480}  # pixels of the short side from which on the paper's settings are used
_PAPER = PRINTED | {"solve": "exact", "sweeps": 30}  # of `AWRTRD.paper()` and `SAWRTRD.paper()`
_COLOURS = 3  # a bond that is as wide as there are colours never shrinks


@dataclass(frozen=True)
class Method:
    """A solver under the name that the paper gives it.

    Attributes
    ----------
    name : str
        Name on the command line and in records.
    label : str
        Name in figures.
    kind : type of Solver
    options : dict
        What differs from the solver's own defaults.
    """

    name: str
    label: str
    kind: type[Solver]
    options: dict[str, Any] = field(default_factory=dict)

    def takes(self, option: str) -> bool:
        """Whether the solver has this hyper-parameter."""
        return any(option == one.name for one in fields(self.kind))

    def solver(self, settings: dict[str, Any], **more: Any) -> Solver:
        """The solver with these settings, as `settings_for` gives them."""
        given = {name: settings[name] for name in settings if self.takes(name)}
        return self.kind(**(self.options | given | more))


METHODS = {
    method.name: method
    for method in (
        Method("TRSVD", "TRSVD", baselines.TRSVD, {"start_mode": "auto"}),
        Method("TRALS", "TRALS", baselines.TRALS),
        Method("TRSVD-R", "TRSVD-R", baselines.RandomizedTRSVD, {"start_mode": "auto"}),
        Method("rTRALS", "rTRALS", baselines.RandomizedTRALS),
        Method("TRALS-S", "TRALS-S", baselines.SampledTRALS),
        Method("l1-SNN", "ℓ1-SNN", baselines.L1SNN),
        Method("l1-TNN", "ℓ1-TNN", baselines.L1TNN),
        Method("l1-TRNN", "ℓ1-TRNN", baselines.L1TRNN),
        Method("lp-TRC", "ℓp,ε-TRC", baselines.LpTRC),
        Method("TNTV", "TNTV", baselines.TNTV),
        Method("AWRTRD", "AWRTRD", AWRTRD, _PAPER),
        Method("SAWRTRD", "SAWRTRD", SAWRTRD, _PAPER),
        Method("gradient-descent", "gradient descent", SAWRTRD, _PAPER | {"scaling": "none"}),
        Method("local-scaling", "local scaled term", SAWRTRD, _PAPER | {"scaling": "local"}),
        Method("uniform-rows", "uniform row sampling", SAWRTRD, _PAPER | {"sampling": "uniform-rows"}),
        Method("leverage-rows", "leverage score sampling", SAWRTRD, _PAPER | {"sampling": "leverage-rows"}),
    )
}
DECOMPOSITIONS = ("TRSVD", "TRALS", "TRSVD-R", "rTRALS", "TRALS-S", "AWRTRD", "SAWRTRD")
COMPLETIONS = ("l1-SNN", "l1-TNN", "l1-TRNN", "lp-TRC", "TNTV", "AWRTRD", "SAWRTRD")
ABLATION = ("SAWRTRD", "gradient-descent", "local-scaling", "uniform-rows", "leverage-rows")


def chosen_methods(allowed: Iterable[str], names: Iterable[str]) -> list[str]:
    """The requested methods, in any case of letters; unknown names are an error that lists all."""
    by_lower = {name.lower(): name for name in allowed}
    for name in names:
        if name.lower() not in by_lower:
            raise ArgumentError(f"methods={name!r} is not known here; allowed are {', '.join(by_lower.values())}")
    asked = {name.lower() for name in names}
    return [name for lower, name in by_lower.items() if lower in asked]


def settings_for(method: Method, item: Item, *, samples: int = SAMPLES, sweeps: int | None = 30) -> dict[str, Any]:
    """The paper's hyper-parameters for a method on an item; only those that the method has.

    Items smaller than the paper's get smaller ones: bonds shrink with the short side, samples with its square, so that
    the sampled share of the columns and the amount of data per parameter of the ring stay the same. Settings are
    part of a record: those of AWRTRD, SAWRTRD and its variants name all that the paper prints.

    Parameters
    ----------
    method : Method
    item : Item
    samples : int
        J at full size.
    sweeps : int or None
        Maximum number, with a tolerance of 1e-3 as in the paper; None: the method's own values.

    Examples
    --------
    >>> photo = Item("x", "photo", None, short_side=256)
    >>> settings_for(METHODS["SAWRTRD"], photo)  # doctest: +NORMALIZE_WHITESPACE
    {'rank': [10, 10, 3], 'samples': 7500, 'sweeps': 30, 'tol': 0.001, 'loss': 'correntropy', 'sigma': 'iqr',
     'sigma_factor': 2.0, 'sigma_min': 0.15, 'ridge': 0.0, 'smooth': 0.0, 'scaling': 'global'}
    """
    scale = min(1.0, item.short_side / _FULL_SIZE[item.kind])
    settings: dict[str, Any] = {}
    if method.kind.fits_ring:
        settings["rank"] = [max(min(bond, _COLOURS), round(scale * bond)) for bond in _RANKS[item.kind]]
    if method.takes("samples"):
        settings["samples"] = max(1, round(scale**2 * samples))
    if method.takes("sweeps") and sweeps is not None:
        settings |= {"sweeps": sweeps, "tol": _TOL}
    return settings | {name: value for name, value in method.options.items() if name in PRINTED}
