"""The hyper-parameters that AWRTRD and SAWRTRD share, and what follows from these alone."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ringlet.checks import check_number, check_number_or, check_one_of
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.robust import DEFAULT_FACTORS, LOSSES, Loss, WidthRule
from ringlet.sampling import SamplingRule
from ringlet.solvers.base import IterativeSolver, Problem, check_fits_machine, working_dtype
from ringlet.solvers.engine.fit_plan import FitPlan, FitWork, plan_fit
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.rank_choice import RankChoice
from ringlet.sources import Chunks

__all__ = ["RobustRing"]

_WIDEST = 1e6  # largest factor of a rule: such kernels are least squares, and their squares are finite


@dataclass(frozen=True, kw_only=True)
class RobustRing(IterativeSolver):
    """Base of AWRTRD and SAWRTRD; use one of these."""

    handles_missing: ClassVar[bool] = True
    robust: ClassVar[bool] = True
    finds_rank: ClassVar[bool] = True
    resumable: ClassVar[bool] = True
    patience: ClassVar[int] = 2
    distributes: ClassVar[bool] = True

    sweeps: int = 80
    loss: Literal["learned", "correntropy", "cauchy", "huber", "l2"] = "learned"
    sigma: Literal["iqr", "maxabs", "trusted"] | float = "iqr"
    sigma_factor: float | None = None
    sigma_min: float = 0.15
    ridge: Literal["auto"] | float = "auto"
    smooth: Literal["auto"] | float | Mapping[int, float] = "auto"
    scaling: Literal["global", "local", "none"] = "global"
    solve: Literal["auto", "exact"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("loss", self.loss, (*LOSSES, "learned"))
        check_one_of("scaling", self.scaling, ("global", "local", "none"))
        check_one_of("solve", self.solve, ("auto", "exact"))
        check_number_or(DEFAULT_FACTORS, "sigma", self.sigma, above=0, infinite=True)
        if self.sigma_factor is not None:
            check_number("sigma_factor", self.sigma_factor, above=0, at_most=_WIDEST)
        check_number("sigma_min", self.sigma_min, above=0, at_most=_WIDEST)
        check_number_or(("auto",), "ridge", self.ridge, at_least=0)
        if isinstance(self.smooth, Mapping):
            for mode, strength in self.smooth.items():
                check_number("smooth", mode, at_least=0, whole=True)
                check_number(f"smooth[{mode}]", strength, at_least=0)
            object.__setattr__(self, "smooth", dict(self.smooth))  # the caller may change his own
        else:
            check_number_or(("auto",), "smooth", self.smooth, at_least=0)
        if self.scaling == "none" and not (self.ridge in ("auto", 0) and self.smooth in ("auto", 0)):
            given = f"ridge={self.ridge!r}, smooth={self.smooth!r}"
            raise ArgumentError(f"{given} is not allowed with scaling='none', which has no penalties; leave them out")

    @abstractmethod
    def sampling_rule(self) -> SamplingRule:
        """How many columns of the unfolding a core update uses, and how they are drawn."""

    def by_passes(self) -> bool:
        """Unless rows are drawn one by one."""
        return not self.sampling_rule().by_rows

    @property
    def kernel_loss(self) -> Loss:
        """The loss whose kernel gives weights; with a judgement, until entries are judged."""
        return LOSSES["correntropy" if self.loss == "learned" else self.loss]

    def width_rule(self) -> WidthRule:
        """How the kernel width is chosen; plain least squares have an infinite one."""
        if self.loss == "l2":
            return WidthRule(None, loss=self.kernel_loss)
        if self.sigma in DEFAULT_FACTORS:
            rule = str(self.sigma)
            factor = self.sigma_factor or DEFAULT_FACTORS[rule]
            return WidthRule(rule, factor, self.sigma_min, loss=self.kernel_loss)
        return WidthRule(None, fixed=float(self.sigma), loss=self.kernel_loss)

    def penalties(self, order: int) -> Penalties:
        """The first penalties; those that are "auto" begin at zero, or by the rule."""
        ridge = None if self.ridge == "auto" else float(self.ridge)
        if isinstance(self.smooth, Mapping):
            smooth = {int(mode): float(strength) for mode, strength in self.smooth.items()}
        else:
            smooth = dict.fromkeys(range(order), 0.0 if self.smooth == "auto" else float(self.smooth))
        outside = [mode for mode in smooth if not 0 <= mode < order]
        if outside:
            raise ArgumentError(f"smooth names mode {outside[0]}, but the data have modes 0 to {order - 1}")
        return Penalties(ridge, tuple([smooth.get(mode, 0.0) for mode in range(order)]))

    def tunes(self, choice: RankChoice | None) -> bool:
        """Whether held-out entries choose something: the rank, if there is a `choice`, or the smoothness.

        Without scaling, and with single rows, there is no smoothness to choose.
        """
        smooths = self.scaling != "none" and not self.sampling_rule().by_rows
        return choice is not None or (smooths and self.smooth == "auto")

    @property
    def tunes_width(self) -> bool:
        """Whether held-out entries may change the kernel width."""
        return self.loss != "l2" and self.sigma in DEFAULT_FACTORS and self.sigma_factor is None

    def plan(
        self,
        shape: tuple[int, ...],
        rank: tuple[int, ...],
        dtype: np.dtype[Any],
        chunks: Chunks | None = None,
        *,
        beside: int = 0,
    ) -> FitPlan:
        """Operations, bytes read and memory of a sweep, reading of chunks included.

        `beside` counts bytes that the fit needs for other purposes, e.g. held-out entries.
        """
        return plan_fit(
            FitWork(
                tuple(shape),
                tuple(rank),
                data_itemsize=dtype.itemsize,
                itemsize=working_dtype(dtype, self.dtype).itemsize,
                threads=Threads(self.threads).count,
                memory=self.budget,
                sampling=self.sampling_rule(),
                chunks=chunks,
                exact=self.solve == "exact",
                partial=self.solve == "auto" and self.scaling != "none",
                beside=beside,
            )
        )

    def plan_of(self, problem: Problem, rank: tuple[int, ...], beside: int = 0) -> FitPlan:
        """The plan of a fit of this rank; refused if it needs more memory than the machine has."""
        source = problem.source
        plan = self.plan(source.shape, rank, source.dtype, source.chunks, beside=beside)
        check_fits_machine(plan, f"rank {rank} on shape {source.shape}", "give a smaller rank or fewer samples")
        return plan
