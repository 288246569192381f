"""Where a pass over the data runs."""

from ringlet.execution.profile import Profile
from ringlet.execution.threads import Threads

__all__ = ["Profile", "Threads"]
