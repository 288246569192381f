"""Where a pass over the data runs."""

from ringlet.execution.dask_executor import DaskExecutor, Placement, Traffic
from ringlet.execution.profile import Profile
from ringlet.execution.threads import Threads

__all__ = ["DaskExecutor", "Placement", "Profile", "Threads", "Traffic"]
