"""AWRTRD and SAWRTRD: auto-weighted robust tensor ring decomposition, from all entries or from random subtensors.

He & Atia, "Scalable and Robust Tensor Ring Decomposition for Large-scale Data", UAI 2023.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

from ringlet.checks import check_number, check_one_of
from ringlet.sampling import SamplingRule
from ringlet.solvers.base import Problem
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.run import RingRun, start_run

__all__ = ["AWRTRD", "PRINTED", "SAWRTRD"]

# The hyper-parameters that the paper prints, or that its citation for the kernel width does (sigma_factor, sigma_min).
PRINTED: dict[str, Any] = {
    "loss": "correntropy",
    "sigma": "iqr",
    "sigma_factor": 2.0,
    "sigma_min": 0.15,
    "ridge": 0.0,
    "smooth": 0.0,
    "scaling": "global",
}


@dataclass(frozen=True, kw_only=True)
class AWRTRD(RobustRing):
    """Auto-weighted robust tensor ring decomposition, all entries in every sweep.

    The defaults are those of `ringlet.decompose`. The printed method, and nothing else, is ``AWRTRD.paper()``.

    Parameters
    ----------
    sweeps : int
        Maximum number of sweeps. A sweep updates every core once.
    tol : float
        Stop when the relative change of ``D = Z_N G_N Z_N^T`` is below this in two sweeps in a row. 0 runs all sweeps,
        unless no core moves any more. If the rank or `smooth` is "auto", the validation error decides when to stop, and
        only whether `tol` is 0 matters; then two more sweeps use the held-out entries, too.
    loss : {"learned", "correntropy", "cauchy", "huber", "l2"}
        How outliers lose their weight. "learned" compares entries with the ring and with their neighbours between
        sweeps, and fits the trusted ones by least squares. It needs an "auto" rank or `smooth`, at least 1500 observed
        entries, no given `sigma`, and room for it in `memory`; otherwise "correntropy" is used, which is the paper's.
        "l2" is plain least squares.
    sigma : {"iqr", "maxabs", "trusted"} or float
        Kernel width: a rule that adapts it to the quartiles of the residuals, or a fixed width in the data's units
        (infinite: least squares). "trusted" uses the residuals of trusted entries only, and works with up to 40 % wrong
        entries. Every width begins wide and becomes narrower slowly, so that the first sweeps reject nothing.
    sigma_factor : float, optional
        Factor of the rule; 2.5 for "iqr", 5 for "maxabs" (the same for symmetric residuals) and 2 for "trusted".
    sigma_min : float
        Smallest width of the rules, as a fraction of the data's range. If the rank or `smooth` is "auto", held-out
        entries may reduce the width to a quarter of what the rule gives.
    ridge : "auto" or float
        Penalty on the size of the cores, relative to the mean diagonal of the Gram matrix; for data far from zero,
        relative to the part of it that describes their variation. "auto" is larger if more unknowns must be determined
        from each trusted entry, and zero if all entries are observed and trusted. If the rank or `smooth` is "auto",
        it begins small and is adapted by held-out entries.
    smooth : "auto", float or {mode: float}
        Penalty on the differences of neighbouring slices of a core, relative as `ridge` is, for modes with an order:
        space, time, wavelength. A number applies to all modes. "auto" chooses a strength for each mode by held-out
        entries; it is zero if the mode is not smooth. With 0, a fit of a given rank holds no entries out.
    scaling : {"global", "local", "none"}
        Scale the gradient by the Gram matrix of all slices, of the sampled slices only, or not at all. "none" has no
        `ridge` and no `smooth`, which are relative to that matrix.
    solve : {"auto", "exact"}
        How the linear system of a core between two wide bonds is solved. "auto" makes a few steps of conjugate
        gradients, without forming the Gram matrix. "exact" always factors that matrix, as the paper does. With "auto"
        the step length of an update of eight million entries or more is found from a part of its slices.
    dtype : dtype, optional
        float32 or float64. By default float32 for data that it holds exactly (whole numbers of up to 16 bits, float32)
        and float64 for all others.
    memory : int or str, optional
        Limit of the working memory beside Python and data in memory, e.g. ``"2GB"``; parts of stores that are read
        count. It also limits an automatic rank.
    threads : int, optional
        By default all cores of the machine. The result has the same bits for any number, unless `memory` limits an
        automatic rank.

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

    @classmethod
    def paper(cls, *, sweeps: int = 30, tol: float = 1e-3) -> "AWRTRD":
        """The printed method and nothing else: correntropy, no ridge, no smoothness, exact solves.

        The Gram matrix is shifted by lambda = 1e-10 ||G||_F. The fit stops when D changes by less than `tol`.

        Examples
        --------
        >>> AWRTRD.paper().ridge, AWRTRD.paper().smooth, AWRTRD.paper().loss
        (0.0, 0.0, 'correntropy')
        """
        return cls(**PRINTED, solve="exact", sweeps=sweeps, tol=tol)

    def sampling_rule(self) -> SamplingRule:
        """All columns."""
        return SamplingRule()

    def start(self, problem: Problem) -> AbstractContextManager[RingRun]:
        """Begin a fit; the driver sweeps it."""
        return start_run(self, problem)


@dataclass(frozen=True, kw_only=True)
class SAWRTRD(RobustRing):
    """Scalable auto-weighted robust tensor ring decomposition: every core update sees a fresh random subtensor.

    The defaults are those of `ringlet.decompose`. Algorithm 1 as printed, and nothing else, is ``SAWRTRD.paper()``.

    Parameters
    ----------
    samples : int
        Columns of the unfolding used in a core update (the paper's J). Their indices are the product of index sets of
        the other modes: short modes are used whole, long ones get equal numbers of indices.
    sampling : {"subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"}
        "subtensor": random subtensors (the paper's RStS), taken from a few chunks if the data are stored in chunks.
        "uniform-subtensor": the same, without regard to chunks. The others draw single rows, uniformly or by leverage
        scores (the paper's ablation).
    sweeps, tol, loss, sigma, sigma_factor, sigma_min, ridge, smooth, scaling, solve, dtype, memory, threads
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

    @classmethod
    def paper(cls, samples: int = 30_000, *, sweeps: int = 30, tol: float = 1e-3) -> "SAWRTRD":
        """Algorithm 1 as printed and nothing else: correntropy, no ridge, no smoothness, J = `samples` columns.

        The Gram matrix is shifted by lambda = 1e-10 ||G||_F and factored. The fit stops when D changes by less than
        `tol`.

        Examples
        --------
        >>> SAWRTRD.paper(samples=40_000).samples
        40000
        """
        return cls(**PRINTED, solve="exact", samples=samples, sweeps=sweeps, tol=tol)

    def sampling_rule(self) -> SamplingRule:
        """`samples` columns, drawn by `sampling`."""
        return SamplingRule(self.samples, self.sampling)

    def start(self, problem: Problem) -> AbstractContextManager[RingRun]:
        """Begin a fit; the driver sweeps it."""
        return start_run(self, problem)
