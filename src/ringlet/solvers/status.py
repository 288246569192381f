"""How a fit ended. The text of a status says what happened and what to do about it."""

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """How a fit ended; ``str(status)`` is advice."""

    CONVERGED = "The estimate stopped changing: the fit is done."
    DONE = "The method takes a fixed number of passes, and has made them: the fit is done."
    SWEEPS_USED = (
        "All sweeps were used while the estimate was still changing: the result is usable; give more sweeps, "
        "or a larger tol, if it should settle."
    )
    STALLED = (
        "No core could be improved any further: the data are fitted exactly, or nothing of them is trusted. "
        "If the fit is poor, try another seed, a wider kernel (sigma_factor, sigma_min) or loss='huber'."
    )
    STOPPED = "The callback asked to stop: the estimate is that of the last sweep."
    INTERRUPTED = (
        "The fit was interrupted: the estimate is the best so far. Pass a ring as init= to go on from there; with a "
        "checkpoint, the same call goes on."
    )

    def __str__(self) -> str:
        return self.value
