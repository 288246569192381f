"""How much code does a fit run? Counts the functions and files of Ringlet that a reader would have to follow.

    PYTHONPATH=src python benchmarks/walk.py
    PYTHONPATH=src python benchmarks/walk.py --list        # also the functions, by file

A profile hook, in all threads, watches (a) one SAWRTRD sweep of a given rank, (b) a whole fit of a given rank, and
(c) a whole automatic fit, of a random 24 x 20 x 3 array. Each has run once before, so that no import is counted.

"functions" are those that a `def` defines; lambdas, generator expressions and comprehensions are "inner": they belong
to the function they stand in (from Python 3.12 on, comprehensions are no calls and are not seen). Bodies of modules and
classes do not count, nor does code that dataclasses generate.
"depth" is the greatest number of Ringlet's calls, inner ones too, that are under way at once in a thread. A sweep's
depth counts from its own call on. Beside the numbers stand the targets; nothing here fails.
"""

import argparse
import inspect
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import numpy as np

import ringlet

ROOT = Path(str(ringlet.__file__)).parent
DATA = np.random.default_rng(0).random((24, 20, 3))
Hook: TypeAlias = Callable[[FrameType, str, Any], None]


@dataclass
class Walk:
    """The code of Ringlet that has run, and how deep its calls went."""

    codes: set[CodeType] = field(default_factory=set)
    depth: int = 0

    def named(self) -> set[CodeType]:
        """Functions that a `def` defines."""
        return {code for code in self.codes if not code.co_name.startswith("<")}

    def files(self) -> dict[str, list[str]]:
        """Names of all functions by file."""
        found = defaultdict(list)
        for code in sorted(self.codes, key=lambda code: code.co_firstlineno):
            found[str(Path(code.co_filename).relative_to(ROOT))].append(code.co_qualname)
        return dict(sorted(found.items()))


def is_ours(code: CodeType) -> bool:
    """A function of the package; bodies of modules and classes are not optimised."""
    return code.co_filename.startswith(f"{ROOT}{os.sep}") and bool(code.co_flags & inspect.CO_OPTIMIZED)


def our_frames(frame: FrameType | None) -> list[FrameType]:
    """Calls of Ringlet's functions that are under way, the innermost first."""
    found = []
    while frame is not None:
        if is_ours(frame.f_code):
            found.append(frame)
        frame = frame.f_back
    return found


@contextmanager
def profiled(hook: Hook) -> Iterator[None]:
    """The hook in this thread and in those that start meanwhile."""
    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk_fit(fit: Callable[[], object]) -> Walk:
    """Watch a whole fit."""
    fit()
    walk = Walk()

    def hook(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and is_ours(frame.f_code):
            walk.codes.add(frame.f_code)
            walk.depth = max(walk.depth, len(our_frames(frame)))

    with profiled(hook):
        fit()
    return walk


class SweepWatch:
    """Watches the third sweep of a fit.

    The calls that are under way in both the first and the second callback are those around the loop over sweeps, the
    innermost of them the loop itself. Among the calls that the loop makes between the second and the third callback,
    the sweep is the one in which most functions run; the others are bookkeeping.
    """

    def __init__(self) -> None:
        self._callbacks = 0
        self._first: list[FrameType] = []
        self._loop: FrameType | None = None
        self._calls: list[Walk] = []

    def callback(self, _: object) -> None:
        """For the fit."""
        self._callbacks += 1
        frames = our_frames(inspect.currentframe())
        if self._callbacks == 1:
            self._first = frames
        elif self._callbacks == 2:
            self._loop = next(frame for frame in frames if frame in self._first)
        else:
            self._loop = None

    def hook(self, frame: FrameType, event: str, _: Any) -> None:
        """For the profile."""
        if self._loop is None or event != "call" or not is_ours(frame.f_code):
            return
        frames = our_frames(frame)
        inside = frames.index(self._loop) if self._loop in frames else len(frames)  # the latter in other threads
        if inside == 1 and frames[1:2] == [self._loop]:
            self._calls.append(Walk())
        if not self._calls:  # the callback's way back to the loop
            return
        walk = self._calls[-1]
        walk.codes.add(frame.f_code)
        walk.depth = max(walk.depth, inside)

    def sweep(self) -> Walk:
        """What was seen."""
        return max(self._calls, key=lambda walk: len(walk.codes))


def walk_sweep(fit: Callable[[Callable[[object], object]], object]) -> Walk:
    """Watch one sweep of a fit that makes three and takes a callback."""
    fit(lambda _: None)
    watch = SweepWatch()
    with profiled(watch.hook):
        fit(watch.callback)
    return watch.sweep()


def main() -> None:
    """Walk three times and print."""
    parser = argparse.ArgumentParser(description="How much code does a fit run?")
    parser.add_argument("--list", action="store_true", help="print the functions by file, too")
    given = parser.parse_args()
    solver = ringlet.SAWRTRD(smooth=0.0, samples=100, sweeps=3, tol=0.0)
    walks = {
        "sweep of SAWRTRD, rank 3": walk_sweep(lambda seen: ringlet.decompose(DATA, 3, solver=solver, callback=seen)),
        "fit by SAWRTRD, rank 3": walk_fit(lambda: ringlet.decompose(DATA, 3, solver=solver)),
        "automatic fit": walk_fit(lambda: ringlet.decompose(DATA)),
    }
    targets = {
        "sweep of SAWRTRD, rank 3": "70 functions in 14 files",
        "automatic fit": "200 functions in 35 files, depth 18",
    }
    row = "{:<26}{:>10}{:>8}{:>7}{:>7}  {}"
    print(row.format("", "functions", "inner", "files", "depth", "at most").rstrip())
    for name, walk in walks.items():
        named = len(walk.named())
        counts = (named, len(walk.codes) - named, len(walk.files()), walk.depth)
        print(row.format(name, *counts, targets.get(name, "")).rstrip())
    for name, walk in walks.items() if given.list else ():
        print(f"\n{name}")
        for file, functions in walk.files().items():
            print(f"  {file}: {', '.join(functions)}")


if __name__ == "__main__":
    main()
