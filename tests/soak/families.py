"""The families of the soak: what each asserts, how many cases it has, and how a batch of them is run.

A batch gives its outcomes by word, and what was violated.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import full_disks
from ringlet import AWRTRD, decompose
from soak.code import digest
from soak.samples import KINDS

_TESTS = Path(__file__).parent.parent
_CASES = ("soak/cases.py", "soak/mutations.py", "soak/samples.py")
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
        Empty: the whole package.
    own : tuple of str
        Files in ``tests/`` that make the cases.
    run : callable (first, count, child) -> (outcomes, violations), or None
        None: the cases run in the child process.
    """

    name: str
    promise: str
    what: str
    total: int
    batch: int
    about: tuple[str, ...]
    own: tuple[str, ...]
    run: object = None

    def code(self):
        """A digest of the code that the cases were run for."""
        return digest(self.about, self.own)

    def run_batch(self, first, count, child):
        """Outcomes by word, and a text for every violation."""
        if self.run is not None:
            return self.run(first, count)
        outcomes, violations = Counter(), []
        for number in range(first, first + count):
            word, told = child.run(self.name, number)
            outcomes[word] += 1
            if word == "violated":
                violations.append(f"{self.name} {number}: {told}")
        return outcomes, violations


def in_memory():
    """A folder whose files are never written to a disk, where there is one."""
    return Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - folders in it are safe


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
    """Workers of a cluster of three processes, killed at random instants of a fit; the bits are those without it."""
    import logging

    import distributed

    from cluster_fits import RANK, bits, eager, tensor

    x, solver = tensor("float32"), AWRTRD(smooth=0.0, sweeps=6, tol=0)
    expected = bits(decompose(x, RANK, solver=solver))
    outcomes, violations = Counter(), []
    chance = random.Random(first)  # noqa: S311 - no secret
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        while outcomes.total() < count:
            client.wait_for_workers(3)
            process = chance.choice(list(client.run(os.getpid).values()))
            after = chance.random() * 1.5
            timer = threading.Timer(after, _kill, [process])
            timer.start()
            try:
                same = bits(decompose(x, RANK, solver=solver, executor=eager(client))) == expected
            except Exception as error:  # whatever it is, the fit has been lost with the worker
                same = False
                violations.append(f"workers from {first}, {after:.2f} s: {error!r}")
            if not timer.is_alive() or not same:  # otherwise the fit was faster
                outcomes["same bits" if same else "violated"] += 1
            timer.cancel()
            timer.join()
    return outcomes, violations


def _kill(process):
    try:
        os.kill(process, 9)
    except ProcessLookupError:
        return


def _suite(*paths, which="not long"):
    """Tests of the suite, as cases of the soak; `which` is a choice by marks, as pytest takes it."""

    def run(_first, _count):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-m",
                which,
                f"--junit-xml={report}",
            ]
            subprocess.run(
                [*command, *(str(_TESTS / path) for path in paths)], capture_output=True, check=False, cwd=_TESTS.parent
            )
            suite = ElementTree.parse(report).getroot()[0]  # noqa: S314 - pytest has just written it
        bad = [
            case.get("name") for case in suite.iter("testcase") if {part.tag for part in case} & {"failure", "error"}
        ]
        skipped = int(suite.get("skipped"))
        passed = int(suite.get("tests")) - len(bad) - skipped
        return Counter({"passed": passed, "skipped": skipped, "violated": len(bad)}), [f"test {name}" for name in bad]

    return run


LONG = ("solvers", "results", "local", "cli", "bench", "experiments")  # where tests are marked as long
_DISKS = len(full_disks.KINDS) * len(full_disks.SIZES)


def _tests(name, promise, what, *paths):
    """A family of tests of the suite, whose number the run tells."""
    return Family(name, promise, what, 1, 1, (), paths, _suite(*paths))


FAMILIES = (
    _tests("bad inputs", "R1", "arguments that are refused by name, nothing written", "reliability"),
    _tests("algebra", "R2", "properties of rings and of their Gram matrices", "ring"),
    _tests("references", "R3", "updates and methods against dense references and TensorLy", "baselines"),
    _tests("estimators", "R5", "scikit-learn's checks of estimators", "sklearn_estimators"),
    Family("tensor", "R6", "zero, constant, huge, tiny and odd tensors", 1000, 50, ("ringlet.api",), _CASES),
    Family("ring", "R7, R13", "damaged .ring files", 20_000, 1000, ("ringlet.store.ringfile",), _CASES),
    Family("checkpoint", "R7, R13", "damaged checkpoints", 20_000, 500, _FITS, (*_CASES, "checkpointed_fits.py")),
    _tests("forged", "R8", ".ring files made to deceive", "store/test_hostile_ringfiles.py"),
    *(Family(kind, "R9", f"damaged {kind} files", 3000, 250, ("ringlet.sources",), _CASES) for kind in KINDS),
    _tests("bombs", "R9", "bombs, links and lost chunks", "sources/test_bombs.py", "sources/test_links.py"),
    Family("kills", "R10", "fits killed at random instants", 300, 50, _FITS, ("killing.py",), _killed("moments")),
    _tests("operations", "R11", "fits killed at file operations", "store/test_checkpoint_killed.py"),
    Family(
        "full disks",
        "R12",
        "outputs on a full disk",
        _DISKS,
        len(full_disks.SIZES),
        ("ringlet.store.outputs",),
        ("full_disks.py",),
        _full_disk,
    ),
    _tests("faults", "R12", "file operations that fail", "store/test_atomic.py", "store/test_outputs.py"),
    Family(
        "workers",
        "R14",
        "workers killed at random instants",
        50,
        10,
        (*_FITS, "ringlet.execution"),
        ("cluster_fits.py", "soak/families.py"),
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
    _tests("process", "R16", "signals and exit codes of the command", "cli/test_process.py"),
    _tests("threads", "R17", "the same bits on threads and clusters", "execution"),
    _tests("locks", "R18", "several processes on one checkpoint", "store/test_checkpoint.py"),
    Family("long", "R3", "tests of larger data than those of the suite", 1, 1, (), LONG, _suite(*LONG, which="long")),
    Family("leaks", "R20", "small fits one after the other", 1000, 200, ("ringlet.api",), _CASES),
)
