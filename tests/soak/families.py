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
from soak.samples import KINDS

_TESTS = Path(__file__).parent.parent


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
    run : callable (first, count, child) -> (outcomes, violations), or None
        None: the cases run in the child process.
    """

    name: str
    promise: str
    what: str
    total: int
    batch: int
    run: object = None

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


def _suite(*paths):
    """Tests of the suite, as cases of the soak."""

    def run(_first, _count):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}"]
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


_DISKS = len(full_disks.KINDS) * len(full_disks.SIZES)

FAMILIES = (
    Family("bad inputs", "R1", "arguments that are refused by name, nothing written", 1, 1, _suite("reliability")),
    Family("algebra", "R2", "properties of rings and of their Gram matrices", 1, 1, _suite("ring")),
    Family("references", "R3", "updates and methods against dense references and TensorLy", 1, 1, _suite("baselines")),
    Family("estimators", "R5", "scikit-learn's checks of estimators", 1, 1, _suite("sklearn_estimators")),
    Family("tensor", "R6", "zero, constant, huge, tiny and odd tensors", 1000, 50),
    Family("ring", "R7, R13", "damaged .ring files", 20_000, 1000),
    Family("checkpoint", "R7, R13", "damaged checkpoints", 20_000, 500),
    Family("forged", "R8", ".ring files made to deceive", 1, 1, _suite("store/test_hostile_ringfiles.py")),
    *(Family(kind, "R9", f"damaged {kind} files", 3000, 250) for kind in KINDS),
    Family(
        "bombs", "R9", "bombs, links and lost chunks", 1, 1, _suite("sources/test_bombs.py", "sources/test_links.py")
    ),
    Family("kills", "R10", "fits killed at random instants", 300, 50, _killed("moments")),
    Family("operations", "R11", "fits killed at file operations", 1, 1, _suite("store/test_checkpoint_killed.py")),
    Family("full disks", "R12", "outputs on a full disk", _DISKS, len(full_disks.SIZES), _full_disk),
    Family("faults", "R12", "file operations that fail", 1, 1, _suite("store/test_atomic.py", "store/test_outputs.py")),
    Family("workers", "R14", "workers killed at random instants", 50, 10, _workers),
    Family("plans", "R15", "plans, and memory against them", 1, 1, _suite("solvers/engine/test_fit_plan.py")),
    Family("interrupts", "R16", "fits interrupted at random instants", 300, 50, _killed("interrupts")),
    Family("process", "R16", "signals and exit codes of the command", 1, 1, _suite("cli/test_process.py")),
    Family("threads", "R17", "the same bits on threads and clusters", 1, 1, _suite("execution")),
    Family("locks", "R18", "several processes on one checkpoint", 1, 1, _suite("store/test_checkpoint.py")),
    Family("leaks", "R20", "small fits one after the other", 1000, 200),
)
