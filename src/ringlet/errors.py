"""Every error and warning of Ringlet. Imports no other package of Ringlet."""

import sys
import warnings

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BudgetError",
    "CheckpointError",
    "CheckpointWarning",
    "DataWarning",
    "ExecutionError",
    "FormatError",
    "IndexingError",
    "MissingDependencyError",
    "MissingFileError",
    "OutputError",
    "OutputExistsError",
    "PrecisionError",
    "RingletError",
    "warn",
]

_LONGEST = 980  # characters of a message
_OURS = ("ringlet", "contextlib", "numpy")  # the latter two enter our context managers: np.errstate decorates fits


class RingletError(Exception):
    """Base of all errors that Ringlet raises on purpose.

    What a message quotes may be of any length, such as a name from a file; the middle of long messages is left out.

    Examples
    --------
    >>> len(str(RingletError("x" * 100_000))) < 1000
    True
    """

    def __str__(self) -> str:
        whole = super().__str__()
        return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST // 2]} ... {whole[-_LONGEST // 2 :]}"


class ArgumentError(RingletError, ValueError):
    """An argument has a value that is not allowed; the message says which are."""


class ArgumentTypeError(RingletError, TypeError):
    """An argument has a type or dtype that is not supported."""


class IndexingError(RingletError, IndexError):
    """An index does not fit the tensor; the message names the mode, the index and the size."""


class FormatError(RingletError, ValueError):
    """A file is unreadable, truncated, malformed or of an unknown kind."""


class BudgetError(RingletError, MemoryError):
    """The work does not fit the memory budget; the message says how much is needed."""


class PrecisionError(RingletError, ValueError):
    """A file of lower precision would lose more than is allowed; the message says how much."""


class ExecutionError(RingletError, RuntimeError):
    """Work could not be done where it was sent: a cluster is gone, has no workers, or has other versions."""


class OutputExistsError(RingletError, FileExistsError):
    """An output path exists and overwriting was not requested."""


class OutputError(RingletError, OSError):
    """An output file could not be written; the message names it and the reason."""


class CheckpointError(OutputError):
    """A checkpoint could not be written, or another process is using it; its previous content is intact."""


class MissingFileError(RingletError, FileNotFoundError):
    """A file to be read does not exist."""


class MissingDependencyError(RingletError, ImportError):
    """An optional library is needed; the message names the extra that installs it."""


class DataWarning(UserWarning):
    """The data can be used, but part of the result will be a guess."""


class CheckpointWarning(UserWarning):
    """Half of a checkpoint is damaged; the other half is used."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line outside of Ringlet from which it was called.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("half of the data are missing", DataWarning)
    >>> str(caught[0].message)
    'half of the data are missing'
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
