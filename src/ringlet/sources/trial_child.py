"""What the process does in which HDF5 files are tried; see `ringlet.sources.trial`."""

import faulthandler
import json
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from ringlet.errors import RingletError
from ringlet.sources.limits import ReadRules
from ringlet.sources.named_arrays import choose_array, choose_mask, mask_beside
from ringlet.sources.trial import READY

__all__ = ["serve"]

_ROOM = 1 << 30  # bytes that a trial may take, beside what the process has


def serve() -> None:
    """Answer requests, one line each, until there are no more.

    The answer is a text that says why the file must not be read; it is empty if the file can be, or if its reader will
    say by itself what is wrong. A trial that takes too long ends the process by SIGALRM, on Windows with exit code 1.
    """
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr
    _limit_memory()
    answers.write(READY.decode())
    answers.flush()
    for line in sys.stdin:
        request = json.loads(line)
        _end_after(request["seconds"])
        answer = _tried(Path(request["path"]), request["kind"], request["key"], ReadRules(**request["rules"]))
        _end_after(0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _end_after(seconds: float) -> None:
    """End this process after some seconds, whatever it does then; 0: not at all."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the default action of SIGALRM needs no interpreter
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def _tried(path: Path, kind: str, key: str | None, rules: ReadRules) -> str:
    try:
        if kind == "netcdf":
            _read_netcdf(path, rules)
        else:
            _read_hdf5(path, key, rules)
    except (RingletError, ImportError, FileNotFoundError, PermissionError):
        return ""
    except Exception as error:
        return f"cannot be read: {error or type(error).__name__}"
    return ""


def _read_hdf5(path: Path, key: str | None, rules: ReadRules) -> None:
    import h5py

    from ringlet.sources.hdf5_files import dataset_shapes, hdf5_source

    with h5py.File(path, "r") as file:
        shapes, _ = dataset_shapes(file, rules)
        for name in _chosen(shapes, key and key.strip("/")):
            hdf5_source(file[name], rules)


def _chosen(shapes: dict[str, tuple[int, ...]], key: str | None) -> set[str]:
    """The arrays that may be read: the tensor, its mask, or the mask that is asked for."""
    found: set[str] = set()
    with suppress(RingletError):
        name = choose_array("", shapes, key)
        found |= {name, mask_beside(shapes, name) or name}
    with suppress(RingletError):
        found.add(choose_mask("", shapes, key))
    return found


def _read_netcdf(path: Path, rules: ReadRules) -> None:
    from ringlet.sources.netcdf_files import open_lazily

    open_lazily(path, "netcdf", rules).close()


def _limit_memory() -> None:
    """Refuse this process more memory than a trial needs, where the system can."""
    try:
        import resource

        import h5py  # noqa: F401 - counted before

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    most: Any = pages * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
