"""Fits with a checkpoint that are killed with SIGKILL again and again; run as a program, it prints what became of them.

    python killing.py moments FOLDER KILLS SEED        at random instants
    python killing.py interrupts FOLDER SIGNALS SEED   the same by Ctrl-C, after which the fit ends by itself
    python killing.py operations FOLDER                before every single file operation, and after the last

What is on the disk after an operation is what is there before the next.

A fresh child is forked for every kill. Afterwards the fit is taken up again and must end as one never interrupted.
"""

import dataclasses
import hashlib
import json
import mmap
import os
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from file_operations import watch
from ringlet import SAWRTRD, decompose

RNG = np.random.default_rng(5)
DATA = np.where(RNG.random((8, 7, 6)) < 0.2, np.nan, RNG.standard_normal((8, 7, 6)))
SWEEPS = mmap.mmap(-1, 8)  # shared with children: how many sweeps the one that runs has done


def note(state):
    SWEEPS[:8] = state.sweep.to_bytes(8, "little")


def fit(folder, sweeps, callback=None):
    """A digest of everything a fit tells but its times."""
    solver = SAWRTRD(smooth=0.0, samples=20, sweeps=sweeps, tol=0, threads=1)
    done = decompose(DATA, 2, solver=solver, seed=3, checkpoint=folder, callback=callback)
    history = [dataclasses.replace(record, seconds=0.0) for record in done.history]
    told = repr((history, done.status, done.sigma)).encode() + b"".join(core.tobytes() for core in done.ring.cores)
    return hashlib.sha256(told).hexdigest()


def ended(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def killed(work, wait):
    """Fork a child that does `work`; `wait` may kill it. Whether it was killed."""
    SWEEPS[:8] = bytes(8)
    child = os.fork()
    if child == 0:
        code = 0
        try:
            work()
        except KeyboardInterrupt:
            code = 130
        except BaseException as error:  # a child that fails must not go on as its parent
            sys.stderr.write(f"{error!r}\n")
            code = 1
        finally:
            os._exit(code)
    wait(child)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) not in (0, 130):
        raise RuntimeError("a child failed by itself")
    return os.WIFSIGNALED(status)


def outcome(folder, sweeps, expected):
    """What a kill has left, and whether the fit that is taken up again ends as it should."""
    seen, taken_up = int.from_bytes(SWEEPS[:8], "little"), []
    digest = fit(folder, sweeps, lambda state: taken_up.append(state.sweep))
    saved = taken_up[0] - 1 if taken_up else sweeps
    left = sorted(path.name for path in folder.iterdir())
    shutil.rmtree(folder)
    return {"same": digest == expected, "seen": seen, "saved": saved, "left": left}


def at_moments(folder, kills, seed=0, how=signal.SIGKILL, sweeps=6):
    """Each kill, or interrupt, comes some random time after a random sweep."""
    expected, rng = fit(None, sweeps), np.random.default_rng(seed)
    start = time.perf_counter()
    fit(folder / "timed", sweeps)
    sweep_time = (time.perf_counter() - start) / sweeps
    number = 0
    while kills:
        number += 1

        sent = []
        after, moment = rng.integers(sweeps), 2 * sweep_time * rng.random()

        def kill(child, after=after, moment=moment, sent=sent):
            while int.from_bytes(SWEEPS[:8], "little") < after and not ended(child):
                time.sleep(1e-4)
            time.sleep(moment)
            if not ended(child):
                sent.append(os.kill(child, how))

        target = folder / str(number)
        was_killed = killed(lambda target=target: fit(target, sweeps, note), kill)
        if was_killed or (sent and how == signal.SIGINT):  # it may have ended before
            kills -= 1
            yield outcome(target, sweeps, expected)


def at_operations(folder, sweeps=3):
    expected = fit(None, sweeps)
    fit(folder / "first", sweeps)  # what is imported only once is not to be counted
    number, name = 0, ""
    while name != "end":
        number += 1
        told, pipe = os.pipe()

        def work(number=number, pipe=pipe):
            def stop(count, operation):
                if count == number:
                    os.write(pipe, operation.encode())
                    os.kill(os.getpid(), signal.SIGKILL)

            watch(stop)
            fit(folder / str(number), sweeps, note)
            stop(number, "end")

        killed(work, lambda child: None)
        os.close(pipe)
        name = os.read(told, 100).decode()
        os.close(told)
        yield {"operation": name, **outcome(folder / str(number), sweeps, expected)}


if __name__ == "__main__":
    warnings.simplefilter("error")  # no slot is ever found damaged
    kind, place, *more = sys.argv[1:]
    if kind == "operations":
        outcomes = at_operations(Path(place))
    else:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        how = signal.SIGINT if kind == "interrupts" else signal.SIGKILL
        outcomes = at_moments(Path(place), *map(int, more), how=how)
    sys.stdout.write(json.dumps(list(outcomes)))
