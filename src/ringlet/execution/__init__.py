"""Where a pass over the data runs."""

from ringlet.execution.dask_executor import LEAST_SECONDS, DaskExecutor, Placement, Traffic
from ringlet.execution.profile import Profile
from ringlet.execution.threads import Threads

__all__ = ["LEAST_SECONDS", "DaskExecutor", "Placement", "Profile", "Threads", "Traffic"]
