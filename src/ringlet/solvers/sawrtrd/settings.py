"""AWRTRD and SAWRTRD: auto-weighted robust tensor ring decomposition, from all entries or from random subtensors.

He & Atia, "Scalable and Robust Tensor Ring Decomposition for Large-scale Data", UAI 2023.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ringlet.checks import check_number, check_one_of
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.robust import DEFAULT_FACTORS, LOSSES
from ringlet.solvers.base import IterativeSolver, working_dtype
from ringlet.solvers.engine.fit_plan import FitPlan, plan_fit
from ringlet.solvers.problem import Problem
from ringlet.solvers.sawrtrd.algorithm import RobustRun
from ringlet.solvers.tuning.coarse_start import coarse_start
from ringlet.solvers.tuning.controller import AutomaticRun, hold_out
from ringlet.solvers.tuning.holdout import judging_memory
from ringlet.solvers.tuning.tuned_parameters import Penalties
from ringlet.sources import Chunks

__all__ = ["AWRTRD", "SAWRTRD", "RobustRing"]


@dataclass(frozen=True, kw_only=True)
class RobustRing(IterativeSolver):
    """What AWRTRD and SAWRTRD have in common; use one of those."""

    handles_missing: ClassVar[bool] = True
    robust: ClassVar[bool] = True
    resumable: ClassVar[bool] = True
    patience: ClassVar[int] = 2
    distributes: ClassVar[bool] = True

    loss: Literal["correntropy", "cauchy", "huber", "l2"] = "correntropy"
    sigma: Literal["iqr", "maxabs", "trusted"] | float = "iqr"
    sigma_factor: float | None = None
    sigma_min: float = 0.15
    ridge: Literal["auto"] | float = "auto"
    smooth: Literal["auto"] | float | Mapping[int, float] = 0.0
    scaling: Literal["global", "local", "none"] = "global"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("loss", self.loss, LOSSES)
        check_one_of("scaling", self.scaling, ("global", "local", "none"))
        if isinstance(self.sigma, str):
            check_one_of("sigma", self.sigma, DEFAULT_FACTORS, " or a positive number in the data's units")
        else:
            check_number("sigma", self.sigma, above=0, infinite=True)
        if self.sigma_factor is not None:
            check_number("sigma_factor", self.sigma_factor, above=0)
        check_number("sigma_min", self.sigma_min, above=0)
        if isinstance(self.ridge, str):
            check_one_of("ridge", self.ridge, ("auto",), " or a number, at least 0")
        else:
            check_number("ridge", self.ridge, at_least=0)
        _check_smooth(self.smooth)
        if isinstance(self.smooth, Mapping):
            object.__setattr__(self, "smooth", dict(self.smooth))  # the caller's may change
        if self.scaling == "none" and (self.ridge not in ("auto", 0) or self.smooth != 0):
            given = f"ridge={self.ridge!r}, smooth={self.smooth!r}"
            raise ArgumentError(f"{given} is not allowed with scaling='none', which has no penalties; leave them out")

    @abstractmethod
    def columns(self) -> tuple[int | None, str]:
        """How many columns of the unfolding a core update uses (None: all), and how they are drawn."""

    def plan(
        self,
        shape: tuple[int, ...],
        rank: tuple[int, ...],
        dtype: np.dtype[Any],
        chunks: Chunks | None = None,
        *,
        judged: bool = False,
    ) -> FitPlan:
        """Operations, bytes read and memory of a sweep; of data in chunks, those of reading them, too.

        Fits that are `judged` by held-out entries need memory for these.
        """
        samples, sampling = self.columns()
        judged = judged or isinstance(self.smooth, str)
        return plan_fit(
            shape,
            rank,
            samples=samples,
            by_rows=sampling.endswith("rows"),
            chunks=chunks,
            uniform=sampling == "uniform-subtensor",
            data_itemsize=dtype.itemsize,
            itemsize=working_dtype(dtype, self.dtype).itemsize,
            threads=Threads(self.threads).count,
            memory=self.budget,
            beside=judging_memory(shape, stored=chunks is not None) if judged else 0,
        )

    def penalties(self, order: int) -> Penalties:
        """The penalties to begin with; what is "auto" begins at none, or by the rule."""
        ridge = None if isinstance(self.ridge, str) else float(self.ridge)
        if isinstance(self.smooth, str):
            smooth: dict[int, float] = {}
        elif isinstance(self.smooth, Mapping):
            smooth = {int(mode): float(strength) for mode, strength in self.smooth.items()}
        else:
            smooth = dict.fromkeys(range(order), float(self.smooth))
        outside = [mode for mode in smooth if not 0 <= mode < order]
        if outside:
            raise ArgumentError(f"smooth names mode {outside[0]}, but the data have modes 0 to {order - 1}")
        return Penalties(ridge, tuple(smooth.get(mode, 0.0) for mode in range(order)))

    @contextmanager
    def start(self, problem: Problem) -> Iterator[RobustRun | AutomaticRun]:
        """Begin a fit; the driver sweeps it."""
        samples, sampling = self.columns()
        automatic = problem.choice is not None or isinstance(self.smooth, str)
        if automatic and sampling.endswith("rows"):
            raise ArgumentError(f"sampling={sampling!r} needs a given rank and a given smooth, not 'auto'")
        whole, seen, judge = hold_out(problem, self.budget) if automatic else (problem, problem, None)
        with ExitStack() as stack:
            threads = stack.enter_context(Threads(self.threads))
            placement = stack.enter_context(seen.place())
            run = RobustRun(self, seen, threads, placement, samples=samples, sampling=sampling, steady=judge is None)
            stack.enter_context(closing(run))
            if judge is None:
                yield run
            else:
                automatic_run = AutomaticRun(
                    self,
                    whole,
                    run,
                    judge,
                    place=lambda: stack.enter_context(whole.place()),
                    start=lambda: coarse_start(self, seen, threads),
                )
                yield automatic_run
                automatic_run.warn_if_missed()


def _check_smooth(smooth: object) -> None:
    if isinstance(smooth, str):
        check_one_of("smooth", smooth, ("auto",), " or a number, at least 0, or {mode: number}")
    elif isinstance(smooth, Mapping):
        for mode, strength in smooth.items():
            check_number("smooth", mode, at_least=0, whole=True)
            check_number(f"smooth[{mode}]", strength, at_least=0)
    else:
        check_number("smooth", smooth, at_least=0)


@dataclass(frozen=True, kw_only=True)
class AWRTRD(RobustRing):
    """Auto-weighted robust tensor ring decomposition, all entries in every sweep.

    Parameters
    ----------
    sweeps : int
        At most so many rounds over all cores.
    tol : float
        Stop when the relative change of ``D = Z_N G_N Z_N^T`` stays below it for two sweeps; 0 runs all sweeps, unless
        no core moves any more. Where the rank or `smooth` is "auto", a fit that stops by itself ends with two sweeps
        that see the held-out entries, too.
    loss : {"correntropy", "cauchy", "huber", "l2"}
        "correntropy" is the paper's; "l2" is plain least squares.
    sigma : {"iqr", "maxabs", "trusted"} or float
        Kernel width: a rule that adapts it to the quartiles of the residuals, or of those that are trusted, which holds
        also where 40 % of the entries are wrong; or a fixed width in the data's units (infinite: least squares).
    sigma_factor : float, optional
        Factor of the rule; 2.5 for "iqr", 5 for "maxabs" (the same for symmetric residuals) and 2 for "trusted".
    sigma_min : float
        The rules never go below this fraction of the data's range; held-out entries, where the rank or `smooth` is
        "auto", may narrow the width to a quarter of what the rule says.
    ridge : "auto" or float
        Penalty on the cores, relative to the mean diagonal of the Gram matrix, or where data lie far from zero to the
        part of it that is owed to what varies. "auto" grows with the unknowns that each observed, trusted entry has to
        determine, and is zero where all entries are; 0 is the paper's method. Where the rank or `smooth` is "auto",
        too, it begins small and is adapted by held-out entries.
    smooth : "auto", float or {mode: float}
        Penalty on the differences of neighbouring slices of a core, relative as `ridge` is, for modes that are ordered:
        space, time, wavelength. A number holds for all modes. "auto" finds a strength for each mode by held-out
        entries, zero where the mode is not smooth; 0 is the paper's method.
    scaling : {"global", "local", "none"}
        Scale the gradient by the Gram matrix of all slices, of the sampled slices only, or not at all; the last has no
        `ridge` and no `smooth`, which are relative to that matrix.
    dtype : dtype, optional
        float32 or float64; by default float32 for data that it holds exactly (whole numbers of up to 16 bits, float32)
        and float64 for all other.
    memory : int or str, optional
        Budget for working memory beside Python and data in memory, e.g. ``"2GB"``; what is held of stored data counts.
        An automatic rank grows no further than it allows, and more threads need more of it.
    threads : int, optional
        By default all cores of the machine. The result does not depend on it, to the bit, unless `memory` limits
        an automatic rank.

    References
    ----------
    He & Atia, "Scalable and Robust Tensor Ring Decomposition for Large-scale Data", UAI 2023, section 4.2.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.add.outer(np.arange(8.0), np.arange(6.0))[:, :, None] + np.arange(4.0)
    >>> x[2, 3, 1] = 1000.0
    >>> fit = ringlet.decompose(x, rank=3, solver=AWRTRD(sweeps=60))
    >>> float(abs(fit.ring[2, 3, 1] - 6.0)) < 0.1
    True
    """

    def columns(self) -> tuple[None, str]:
        """All of them."""
        return None, "subtensor"


@dataclass(frozen=True, kw_only=True)
class SAWRTRD(RobustRing):
    """Scalable auto-weighted robust tensor ring decomposition: every core update sees a fresh random subtensor.

    Parameters
    ----------
    samples : int
        Columns of the unfolding used in a core update (the paper's J), spread over the other modes by water-filling.
    sampling : {"subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"}
        Random subtensors (the paper's RStS), which of data stored in chunks come from a few chunks; the same without
        regard to chunks; or single rows drawn uniformly or by leverage scores (the paper's ablation).
    sweeps, tol, loss, sigma, sigma_factor, sigma_min, ridge, smooth, scaling, dtype, memory, threads
        As in `AWRTRD`.

    References
    ----------
    He & Atia, "Scalable and Robust Tensor Ring Decomposition for Large-scale Data", UAI 2023, Algorithm 1.

    Examples
    --------
    >>> SAWRTRD(samples=30_000, sweeps=30, tol=1e-3).scaling
    'global'
    """

    samples: int = 30_000
    sampling: Literal["subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"] = "subtensor"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("samples", self.samples, at_least=1, whole=True)
        check_one_of("sampling", self.sampling, ("subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"))

    def columns(self) -> tuple[int, str]:
        """`samples`, drawn by `sampling`."""
        return self.samples, self.sampling
