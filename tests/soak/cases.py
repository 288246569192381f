"""The cases of the soak that run in a child process: each takes its number and a folder, and tells what became of it.

A case gives a word for what happened, or raises `ViolationError`.
"""

import gc
import os
import shutil
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from checkpointed_fits import SLOTS, begun, bits, fit
from ringlet import AWRTRD, SAWRTRD, TensorRing, decompose
from ringlet.errors import FormatError, RingletError
from ringlet.results.records import Status
from ringlet.sources.files import load
from soak.mutations import mutated
from soak.samples import KINDS, write_samples

_FORBIDDEN = ("pickle.find_class", "socket.connect", "os.system", "os.exec", "os.rename", "os.remove", "shutil.rmtree")
_WARM = 100  # fits, before anything is measured
_SOUND_EVERY = 50  # cases of files: one is of a file without damage
_seen = []  # forbidden things that happened while one was on guard
_guarding = []


class ViolationError(Exception):
    """A promise that was not kept."""


def _hear(event, arguments):
    if _guarding and (event in _FORBIDDEN or (event == "open" and _writes(arguments))):
        _seen.append(f"{event} {arguments!r}"[:200])


def _writes(arguments):
    path, mode = arguments[:2]
    if isinstance(path, int) or path == os.devnull:  # a pipe to the process in which files are tried
        return False
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")


sys.addaudithook(_hear)


@contextmanager
def _on_guard():
    """Nothing is unpickled, written, run or sent meanwhile."""
    _seen.clear()
    _guarding.append(True)
    try:
        yield
    finally:
        _guarding.clear()
    if _seen:
        raise ViolationError(f"while reading: {_seen[0]}")


def _generator(family, number):
    return np.random.default_rng([sum(family.encode()), number])


def ring_file(number, folder):
    """A damaged .ring file is refused, or is the ring that it was."""
    rng = _generator("ring", number)
    paths = _prepared("ring", folder)
    path = paths[number % len(paths)]
    whole = path.read_bytes()
    damaged = folder / "x.ring"
    damaged.write_bytes(mutated(whole, rng))
    try:
        with _on_guard():
            ring = TensorRing.load(damaged)
    except FormatError as error:
        if str(damaged) not in str(error):
            raise ViolationError(f"the file is not named: {error}") from error
        return "refused"
    first = TensorRing.load(path)
    if any(one.tobytes() != other.tobytes() for one, other in zip(ring.cores, first.cores, strict=True)):
        raise ViolationError("damage was not noticed")
    return "unharmed"


def checkpoint(number, folder):
    """A checkpoint with one damaged slot goes on to the same bits; with two it is refused."""
    rng = _generator("checkpoint", number)
    source, place = folder / "checkpoint", folder / "damaged"
    if not source.exists():
        begun(source)
    if "checkpoint" not in _expected:
        _expected["checkpoint"] = bits(fit())
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    slots = list(SLOTS) if rng.random() < 0.25 else [SLOTS[rng.integers(2)]]
    for slot in slots:
        (place / slot).write_bytes(mutated((source / slot).read_bytes(), rng))
    try:
        done = fit(place)
    except FormatError as error:
        if len(slots) == 1:
            raise ViolationError(f"one slot was whole: {error}") from error
        return "refused"
    if bits(done) != _expected["checkpoint"]:
        raise ViolationError("other bits than without interruption")
    return "same bits"


def data_file(kind):
    """A case of damage to a file of data: it is refused by name, or read."""

    def case(number, folder):
        rng = _generator(kind, number)
        paths = _prepared(kind, folder)
        is_sound = number % _SOUND_EVERY == 1  # the limits must not be what refuses files
        chosen = paths[(number // _SOUND_EVERY if is_sound else number) % len(paths)]
        damaged = chosen if is_sound else _damaged(chosen, folder, rng)
        try:
            with _on_guard():
                source = load(damaged, max_size="100MB").source
                source.read(tuple(slice(0, length) for length in source.shape))
        except RingletError as error:
            if damaged.name not in str(error):
                raise ViolationError(f"the file is not named: {error}") from error
            if is_sound:
                raise ViolationError(f"a sound file was refused: {error}") from error
            return "refused"
        return "read"

    return case


def _damaged(path, folder, rng):
    """A copy with damage in one file; of a store also a lost or a strange one."""
    target = folder / f"x{path.suffix}"
    if path.is_file():
        target.write_bytes(mutated(path.read_bytes(), rng))
        return target
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(path, target)
    files = sorted(file for file in target.rglob("*") if file.is_file())
    # Half of the damage is to what describes the store.
    described = [file for file in files if file.name in ("zarr.json", ".zarray", ".zattrs")]
    among = described if described and rng.random() < 0.5 else files
    victim = among[rng.integers(len(among))]
    if rng.random() < 0.05:
        victim.unlink()
    else:
        victim.write_bytes(mutated(victim.read_bytes(), rng))
    return target


_expected = {}
_fits = []  # small ones, of this process
_samples = {}


def _prepared(kind, folder):
    if kind not in _samples:
        _samples[kind] = write_samples(kind, folder / f"samples-{kind}")
    return _samples[kind]


def tensor(number, folder):
    """A zero, constant, huge, tiny or odd tensor: finite rings, or an error that is named."""
    rng = _generator("tensor", number)
    x = odd_tensor(rng)
    kept = x.copy()
    solver = _solver(rng)
    rank = int(rng.integers(1, 4)) if solver is not None else "auto"
    try:
        done = decompose(x, rank, solver=solver, seed=number, **({} if solver else {"sweeps": 12}))
    except RingletError:
        return "refused"
    if not np.array_equal(x, kept, equal_nan=True):
        raise ViolationError("the data were changed")
    if not all(np.isfinite(core).all() for core in done.ring.cores) or not isinstance(done.status, Status):
        raise ViolationError(f"not finite: {x.shape} {x.dtype} {solver}")
    numbers = [value for record in done.history for value in (record.loss, record.mean_weight)]
    if not np.isfinite(numbers).all():
        raise ViolationError(f"not finite in the history: {x.shape} {x.dtype} {solver} {done.history[-1]}")
    for view in (done.restored, done.uncertainty):
        if not np.isfinite(view()).all():
            raise ViolationError(f"not finite: {view.__name__} of {x.shape} {x.dtype} {solver}")
    return "finite"


def odd_tensor(rng):
    """A tensor at the edge of what can be fitted."""
    shape = tuple(int(length) for length in rng.integers(1, 8, rng.integers(2, 6)))
    dtype = rng.choice(["f4", "f8", "u1", "i2", "i8"])
    kind = rng.choice(["zero", "constant", "huge", "tiny", "one entry", "sparse", "spread"])
    noise = rng.standard_normal(shape)
    if kind == "zero":
        x = np.zeros(shape)
    elif kind == "constant":
        x = np.full(shape, rng.choice([1.0, -3.0, 1e-200, 1e200, 100.0]))
    elif kind == "huge":
        x = noise * (1e300 if dtype == "f8" else 1e37)
    elif kind == "tiny":
        x = noise * (1e-300 if dtype == "f8" else 1e-38)
    elif kind == "one entry":
        x = np.zeros(shape)
        x.flat[rng.integers(x.size)] = rng.choice([1.0, 1e30, -1e-30])
    elif kind == "sparse":
        x = np.where(rng.random(shape) < 0.9, 0.0, noise)
    else:
        x = noise * 10.0 ** rng.integers(-12, 12, shape)
    if dtype[0] in "ui":
        limits = np.iinfo(dtype)
        return np.clip(np.nan_to_num(x), limits.min / 2, limits.max / 2).astype(dtype)
    x = np.clip(x, np.finfo(dtype).min, np.finfo(dtype).max).astype(dtype)
    if rng.random() < 0.4:
        x[rng.random(shape) < 0.3] = np.nan
    return x


def leak(number, folder):
    """One small fit after the other: after some in this process, memory, open files and threads stay as they are."""
    x = np.random.default_rng(number).random((12, 10, 8))
    solvers = (AWRTRD(smooth=0.0, sweeps=3), SAWRTRD(smooth=0.0, samples=30, sweeps=3), AWRTRD(sweeps=3))
    decompose(x, 2, solver=solvers[number % len(solvers)], seed=number)
    _fits.append(number)
    if len(_fits) == _WARM:  # what the first fits load stays
        _expected["held"] = _held()
    elif len(_fits) > _WARM and len(_fits) % 10 == 0:
        before, after = _expected["held"], _held()
        if after["kB"] > before["kB"] + 10_000 or any(after[name] > before[name] for name in ("files", "threads")):
            raise ViolationError(f"after {len(_fits)} fits {after}, before {before}")
    return "nothing held"


def _held():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return {"kB": pages * os.sysconf("SC_PAGE_SIZE") // 1024, "files": files, "threads": threading.active_count()}


def _solver(rng):
    """One of the solvers; None for an automatic fit."""
    settings = {"sweeps": 5, "tol": 0.0, "loss": rng.choice(["correntropy", "cauchy", "huber", "l2"])}
    makers = (
        lambda: AWRTRD(smooth=0.0, **settings),
        lambda: SAWRTRD(smooth=0.0, samples=int(rng.integers(1, 40)), **settings),
        lambda: AWRTRD(**settings),
        lambda: AWRTRD.paper(sweeps=5),
        lambda: AWRTRD(smooth=0.0, scaling="none", ridge=0.0, **settings),
        lambda: None,
    )
    return makers[rng.integers(len(makers))]()


CASES = {"ring": ring_file, "checkpoint": checkpoint, "tensor": tensor, "leaks": leak} | {
    kind: data_file(kind) for kind in KINDS
}


def run_case(family, number, folder):
    """What became of a case; warnings are no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[family](number, folder)
