"""How a core update will solve with its Gram matrix, and its cost. Like all plans, this depends on sizes only."""

from dataclasses import dataclass

from ringlet.solvers.engine.core_plan import GEMM_RATE
from ringlet.solvers.engine.kronecker_solve import scratch_numbers

__all__ = ["PLANNED_STEPS", "SolvePlan"]

PLANNED_STEPS = 4  # of conjugate gradients: usual numbers are 2 to 6
_LEAST_SIZE = 1024  # unknowns per row below which a factorisation is fast and small
_DOUBLE = 2  # an operation in float64 is so many times slower
_SMALL_PRODUCTS = 1.5  # an operation of conjugate gradients is so many times slower than one of large products


@dataclass(frozen=True)
class SolvePlan:
    """The solve of one core update.

    Attributes
    ----------
    exact : bool
        The Gram matrix is formed and factored; otherwise conjugate gradients work without forming it.
    operations : int
        Of forming the matrix and solving with it; of conjugate gradients, for the usual number of steps.
    seconds : float
        Estimated time on one core; operations in float64 and in small products are slower.
    memory : int
        Bytes, beside the right-hand sides and the solution.
    """

    exact: bool
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
        if exact or size < _LEAST_SIZE or stepped >= factored:
            memory = size**2 * (8 + itemsize // 2)  # G, factored in place, and its factor in the working precision
            return cls(True, factoring + solving, factored, memory)
        return cls(False, stepping, stepped, threads * itemsize * scratch_numbers((a, b), terms))
