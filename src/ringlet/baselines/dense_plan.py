"""Memory and operations of methods that hold dense arrays, computed before they start."""

from dataclasses import dataclass

from ringlet.amounts import format_bytes
from ringlet.errors import BudgetError

__all__ = ["DensePlan", "checked"]

_ADVICE = "or take a method that samples, such as ringlet.SAWRTRD()"


@dataclass(frozen=True)
class DensePlan:
    """Cost of a method whose memory is a few dense arrays.

    Attributes
    ----------
    method : str
        Name of the method.
    shape : tuple of int
        Of the data.
    operations : int
        Floating-point operations of a sweep.
    memory : int
        Peak working memory in bytes, beside the data.
    notes : tuple of str
        Notes for the user.

    Examples
    --------
    >>> print(DensePlan("TRSVD", (30, 20, 10), 4_000_000, 96_000))
    TRSVD on shape (30, 20, 10): 0.004 Gflop a sweep, 96 kB of memory
    """

    method: str
    shape: tuple[int, ...]
    operations: int
    memory: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        cost = f"{self.operations / 1e9:.3g} Gflop a sweep, {format_bytes(self.memory)} of memory"
        return "\n".join([f"{self.method} on shape {self.shape}: {cost}", *self.notes])


def checked(plan: DensePlan, budget: int | None, advice: str = _ADVICE) -> DensePlan:
    """The plan, if it fits the budget in bytes (None: no limit); the advice follows "give it more, ".

    Raises
    ------
    BudgetError
        If it does not; the message says how much is needed.
    """
    if budget is not None and plan.memory > budget:
        raise BudgetError(
            f"{plan.method} on shape {plan.shape} needs {format_bytes(plan.memory)} of memory, more than "
            f"memory={format_bytes(budget)}; give it more, {advice}"
        )
    return plan
