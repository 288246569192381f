"""What NumPy does about overflow, underflow and division by zero inside Ringlet, whatever the caller has set."""

import numpy as np

__all__ = ["usual_float_errors"]


def usual_float_errors() -> np.errstate:
    """A context, or a decorator, in which NumPy treats errors of floating point as it does by default.

    Weights of gross errors underflow to zero on purpose. Under the caller's ``np.errstate(all="raise")`` that would end
    a fit. Threads of a pool have NumPy's defaults anyway.

    Examples
    --------
    >>> with np.errstate(all="raise"), usual_float_errors():
    ...     float(np.exp(np.float64(-1e6)))
    0.0
    """
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
