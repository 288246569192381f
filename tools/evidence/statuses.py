"""The statuses of a fit, with the advice that each gives."""

from evidence.markdown import table
from ringlet import Status

__all__ = ["statuses"]


def statuses() -> str:
    """One row for every status, in the order of the code."""
    return table(("`fit.status.name`", "`str(fit.status)`"), [(f"`{one.name}`", str(one)) for one in Status])
