"""Where a pass over the data runs."""

from ringlet.execution.threads import Threads

__all__ = ["Threads"]
