"""The families of the soak: what each asserts, how many cases it has, and how a batch of them is run.

A batch gives its outcomes by word, and what was violated.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import full_disks
from soak.code import digest
from soak.pool import Child, in_memory
from soak.samples import KINDS
from soak.suite_tests import run_tests

_TESTS = Path(__file__).parent.parent
_SHARED = ("soak/child.py", "soak/guard.py")
_DAMAGE = (*_SHARED, "soak/mutations.py")
_FILES = ("ringlet.sources.files", "ringlet.sources.trial_child")
# A fit of a fixed rank and its checkpoint. Not in it: automatic choices, and what a fit tells afterwards.
_FITS = (
    "ringlet.solvers.sawrtrd.run",
    "ringlet.solvers.sawrtrd.settings",
    "ringlet.solvers.driver",
    "ringlet.store.checkpoint",
)


@dataclass(frozen=True)
class Family:
    """Cases of one kind.

    Attributes
    ----------
    name : str
    promise : str
        R1 to R22, of docs/reliability.md.
    what : str
        One line for the table.
    total : int
        Cases of a whole soak.
    batch : int
        Cases that are run and recorded together.
    about : tuple of str
        Modules of the package that the promise depends on, with all that they import; a room is all its modules.
        Empty: what the cases import.
    own : tuple of str
        Files in ``tests/`` that make the cases.
    run : callable (first, count, child) -> (outcomes, violations), or None
        None: the cases run in the child process.
    group : int
        Cases that are run together or not at all.
    """

    name: str
    promise: str
    what: str
    total: int
    batch: int
    about: tuple[str, ...]
    own: tuple[str, ...]
    run: object = None
    group: int = 1

    def count(self, share):
        """Number of cases of a part of a soak: whole groups of them, at least one."""
        return min(self.total, self.group * max(1, round(self.total * share / self.group)))

    def code(self):
        """A digest of the code that the cases were run for."""
        return digest(self.about, self.own)

    def run_batch(self, first, count, child):
        """Outcomes by word, and a text for every violation."""
        return child.run_batch(self.name, first, count) if self.run is None else self.run(first, count)


def _killed(kind):
    """Fits that are killed or interrupted at random instants, and taken up again."""

    def run(first, count):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
            command = [sys.executable, str(_TESTS / "killing.py"), kind, folder, str(count), str(first)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            return Counter(violated=count), [f"{kind} from {first}: {done.stderr[-1000:]}"]
        slots = ["lock", "slot-0.safetensors", "slot-1.safetensors"]
        violations = [
            f"{kind} from {first}: {found}"
            for found in json.loads(done.stdout)
            if not found["same"] or found["saved"] < found["seen"] - 1 or found["left"] != slots
        ]
        return Counter({"same bits": count - len(violations), "violated": len(violations)}), violations

    return run


def _full_disk(first, count):
    """Every kind of output on a disk of 1 MB, nine sizes each."""
    if not full_disks.can_mount():
        return Counter(skipped=count), []
    outcomes, violations = Counter(), []
    sizes = len(full_disks.SIZES)
    for kind in full_disks.KINDS[first // sizes : (first + count) // sizes]:
        with tempfile.TemporaryDirectory() as folder:
            done = full_disks.fill_disk(folder, kind)
        if done.returncode or done.stderr:
            outcomes["violated"] += sizes
            violations.append(f"{kind}: {done.stderr[-1000:]}")
        else:
            failures = int(done.stdout.split()[-1])
            outcomes += Counter({"a named error": failures, "written": sizes - failures})
    return outcomes, violations


def _workers(first, count):
    """Workers of a cluster, killed while they are used."""
    command = [sys.executable, "-m", "soak.worker_kills", str(count), str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Counter(violated=count), [f"workers from {first}: {done.stderr[-1000:]}"]
    outcomes, violations = json.loads(done.stdout)
    return Counter(outcomes), violations


def _leaks(first, count):
    """In a process that does nothing else."""
    with Child() as child:
        return child.run_batch("leaks", first, count)


def _tests(name, promise, what, *paths, about=(), beside=(), which="not long"):
    """A family of tests of the suite, whose number the run tells.

    `beside` are files that they start, `which` is a choice by marks.
    """
    return Family(name, promise, what, 1, 1, about, (*paths, *beside), lambda *_: run_tests(*paths, which=which))


def _in_child(name, promise, what, total, batch, about, *own):
    return Family(name, promise, what, total, batch, about, own)


LONG = ("solvers", "results", "local", "cli", "bench", "experiments")  # where tests are marked as long
_SIZES = len(full_disks.SIZES)
FAMILIES = (
    _tests("bad inputs", "R1", "arguments that are refused by name, nothing written", "reliability/test_bad_inputs.py"),
    _tests("algebra", "R2", "properties of rings and of their Gram matrices", "ring"),
    _tests("references", "R3", "updates and methods against dense references and TensorLy", "baselines"),
    _tests("estimators", "R5", "scikit-learn's checks of estimators", "sklearn_estimators"),
    _tests("long", "R3", "tests of larger data than those of the suite", *LONG, about=("ringlet",), which="long"),
    _in_child(
        "tensor",
        "R6",
        "zero, constant, huge, tiny and odd tensors",
        1000,
        50,
        ("ringlet.api",),
        *_SHARED,
        "soak/tensor_cases.py",
    ),
    _in_child(
        "ring",
        "R7, R13",
        "damaged .ring files",
        20_000,
        1000,
        ("ringlet.store.ringfile",),
        *_DAMAGE,
        "soak/ring_cases.py",
        "soak/samples.py",
    ),
    _in_child(
        "checkpoint",
        "R7, R13",
        "damaged checkpoints",
        20_000,
        500,
        _FITS,
        *_DAMAGE,
        "soak/checkpoint_cases.py",
        "checkpointed_fits.py",
    ),
    _tests("forged", "R8", ".ring files made to deceive", "store/test_hostile_ringfiles.py"),
    *(
        _in_child(
            kind,
            "R9",
            f"damaged {kind} files",
            3000,
            250,
            _FILES,
            *_DAMAGE,
            "soak/file_cases.py",
            "soak/samples.py",
        )
        for kind in KINDS
    ),
    _tests("bombs", "R9", "bombs, links and lost chunks", "sources/test_bombs.py", "sources/test_links.py"),
    Family("kills", "R10", "fits killed at random instants", 300, 50, _FITS, ("killing.py",), _killed("moments")),
    _tests(
        "operations", "R11", "fits killed at file operations", "store/test_checkpoint_killed.py", beside=("killing.py",)
    ),
    Family(
        "full disks",
        "R12",
        "outputs on a full disk",
        _SIZES * len(full_disks.KINDS),
        _SIZES,
        ("ringlet.store.outputs",),
        ("full_disks.py",),
        _full_disk,
        _SIZES,
    ),
    _tests("faults", "R12", "file operations that fail", "store/test_atomic.py", "store/test_outputs.py"),
    Family(
        "workers",
        "R14",
        "workers killed at random instants",
        50,
        25,
        (*_FITS, "ringlet.execution"),
        ("cluster_fits.py", "soak/worker_kills.py"),
        _workers,
    ),
    _tests("plans", "R15", "plans, and memory against them", "solvers/engine/test_fit_plan.py"),
    Family(
        "interrupts",
        "R16",
        "fits interrupted at random instants",
        300,
        50,
        _FITS,
        ("killing.py",),
        _killed("interrupts"),
    ),
    _tests("process", "R16", "signals and exit codes of the command", "cli/test_process.py", about=("ringlet",)),
    _tests("threads", "R17", "the same bits on threads and clusters", "execution"),
    _tests("locks", "R18", "several processes on one checkpoint", "store/test_checkpoint.py"),
    Family(
        "leaks",
        "R20",
        "small fits one after the other",
        1000,
        1000,
        ("ringlet.api",),
        (*_SHARED, "soak/leak_cases.py"),
        _leaks,
    ),
)
