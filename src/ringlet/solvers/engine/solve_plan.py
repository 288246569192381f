"""How a core update will solve with its Gram matrix, and its cost. Like all plans, this depends on sizes only."""

from dataclasses import dataclass

from ringlet.solvers.engine.core_plan import GEMM_RATE
from ringlet.solvers.engine.kronecker_solve import scratch_numbers

__all__ = ["PLANNED_STEPS", "SolvePlan"]

PLANNED_STEPS = 4  # of conjugate gradients: usual numbers are 2 to 6
_LEAST_SIZE = 1024  # unknowns per row below which a factorisation is fast and small
_DOUBLE = 2  # an operation in float64 is this many times slower
_BANDS = 4  # of frequencies, each with a factorisation of its own, has a mode that is smooth: usual numbers are 3 to 7
_SMALL_PRODUCTS = 1.5  # an operation of conjugate gradients is this many times slower than one of large products


@dataclass(frozen=True)
class SolvePlan:
    """The solve of one core update.

    Attributes
    ----------
    exact : bool
        The Gram matrix is formed and factored; otherwise conjugate gradients work without forming it.
    exact_smooth : bool
        The same where the mode has a smoothness.
    operations : int
        Of forming the matrix and solving with it; of conjugate gradients, for the usual number of steps.
    seconds : float
        Estimated time on one core; operations in float64 and in small products are slower.
    memory : int
        Bytes, beside the right-hand sides and the solution.
    """

    exact: bool
    exact_smooth: bool
    operations: int
    seconds: float
    memory: int

    @classmethod
    def of(
        cls, core: tuple[int, int, int], terms: int, itemsize: int, threads: int, *, exact: bool = False
    ) -> "SolvePlan":
        """Choose the faster way, or the `exact` one.

        Parameters
        ----------
        core : tuple of int
            Slices, which are the right-hand sides, and the bonds a and b: each has a b unknowns.
        terms : int
            Kronecker products in the sum that is the Gram matrix.
        itemsize : int
            Bytes of a number in the core.
        threads : int

        Examples
        --------
        >>> SolvePlan.of((1920, 80, 80), 9, itemsize=4, threads=2).exact
        False
        >>> SolvePlan.of((1356, 20, 20), 9, itemsize=4, threads=2).exact
        True
        """
        rows, a, b = core
        size = a * b
        factoring, solving = size**3 // 3 + 2 * terms * size**2, 2 * rows * size**2
        stepping = PLANNED_STEPS * 2 * rows * terms * size * (a + b)
        factored, stepped = (_DOUBLE * factoring + solving) / GEMM_RATE, _SMALL_PRODUCTS * stepping / GEMM_RATE
        dense = size**2 * (8 + itemsize // 2)  # G, factored in place, and its factor in the working precision
        scratch = threads * itemsize * scratch_numbers((a, b), terms)
        always = exact or size < _LEAST_SIZE
        banded = factored + (_BANDS - 1) * _DOUBLE * factoring / GEMM_RATE
        if always or stepped >= banded:
            return cls(True, True, factoring + solving, factored, dense)
        if stepped >= factored:
            return cls(True, False, factoring + solving, factored, max(dense, scratch))
        return cls(False, False, stepping, stepped, scratch)
