"""What a sweep on a cluster would send, receive and gain, predicted before anything runs."""

from dataclasses import dataclass
from math import ceil, prod

from ringlet.amounts import format_bytes
from ringlet.checks import check_number
from ringlet.execution import LEAST_SECONDS
from ringlet.solvers.engine.cluster_regions import region_tasks
from ringlet.solvers.engine.fit_plan import CoreCost, FitPlan
from ringlet.solvers.engine.worker_batches import ENTRY_SECONDS, batch_count

__all__ = ["Distribution", "distribute"]

_BANDWIDTH = 1e9  # bytes a second between driver and workers: a network of 10 Gbit/s
_TASK_SECONDS = 0.02  # of client and scheduler for a task, measured on a LocalCluster


@dataclass(frozen=True)
class Distribution:
    """One sweep on workers of one thread each.

    Attributes
    ----------
    workers : int
    tasks : int
        Tasks of a sweep.
    bytes_out, bytes_back : int
        What the driver sends and receives in a sweep. Data in memory are sent once, before the first sweep.
    seconds, seconds_alone : float
        Estimated times of a sweep on the workers, and in one thread here.
    """

    workers: int
    tasks: int
    bytes_out: int
    bytes_back: int
    seconds: float
    seconds_alone: float

    @property
    def speedup(self) -> float:
        """Speed-up over one thread here."""
        return self.seconds_alone / self.seconds

    def __str__(self) -> str:
        if not self.tasks:
            return f"{self.workers} would not help: the fit is too small to be shared"
        return (
            f"{self.workers}, of one thread each: {self.tasks} tasks, {format_bytes(self.bytes_out)} out and "
            f"{format_bytes(self.bytes_back)} back a sweep; about {self.speedup:.1f} times as fast as one thread here, "
            f"if {format_bytes(int(_BANDWIDTH))} travel in a second"
        )


def distribute(plan: FitPlan, workers: int, least_seconds: float = LEAST_SECONDS) -> Distribution:
    """Predict a sweep of a plan on this number of workers, with batches of at least `least_seconds` of work.

    The pieces of the passes over the data are shared; sampling, the Gram matrix and the solve stay with the driver, and
    every task costs client and scheduler a little.

    Examples
    --------
    >>> import ringlet
    >>> cost = ringlet.plan((1920, 1080, 3, 50), (80, 80, 3, 20), solver=ringlet.SAWRTRD(samples=30_000))
    >>> spread = distribute(cost, workers=4)
    >>> 1 < spread.speedup < 4, spread.bytes_back < spread.bytes_out < 3e8
    (True, True)
    """
    check_number("workers", workers, at_least=1, whole=True)
    numbers = zip(plan.rank, plan.shape, (*plan.rank[1:], plan.rank[0]), strict=True)
    itemsize = plan.ring_bytes // sum(a * length * b for a, length, b in numbers)
    tasks = out = back = 0
    seconds = alone = 0.0
    for core in plan.cores:
        here = core.solve.seconds
        alone += here + core.passes * core.plan.seconds + _reads(core) * core.plan.entries * ENTRY_SECONDS
        searches = core.passes > 2  # the line search computes weights again: tasks keep nothing
        part = 1 / core.searched_one_of
        products, reads = (2 + 2 * part, 2) if searches else (core.passes, 1)
        travel = _of_regions if 1 < prod(core.grid) >= workers else _of_batches
        batches, sent, received = travel(core, plan.rank, itemsize, workers, reads, least_seconds)
        reading = core.plan.entries * ENTRY_SECONDS
        first = 2 * core.plan.seconds + reading
        second = (products - 2) * core.plan.seconds + (reads - 1) * part * reading
        if batches == 1:  # not worth sending
            seconds += here + first + second
            continue
        again = batches
        if core.searched_one_of > 1:
            again = batch_count(core.plan, len(core.plan.pieces), workers, least_seconds, core.searched_one_of)
        sent_tasks = batches + (reads - 1) * (again if again > 1 else 0)
        tasks, out, back = tasks + sent_tasks, out + sent, back + received
        seconds += here + first * ceil(batches / workers) / batches + second * ceil(again / workers) / again
        seconds += (sent + received) / _BANDWIDTH + sent_tasks * _TASK_SECONDS
    return Distribution(workers, tasks, out, back, seconds, alone)


def _of_batches(
    core: CoreCost, rank: tuple[int, ...], itemsize: int, workers: int, passes: int, least_seconds: float
) -> tuple[int, int, int]:
    """Batches of a pass, bytes sent and bytes received: the other cores once a pass, rows with every batch."""
    numbers = _numbers(core, rank)
    pieces = len(core.plan.pieces)
    batches = batch_count(core.plan, pieces, workers, least_seconds)
    rows = numbers.pop(core.plan.mode) * itemsize
    copies, parts = (1, 1) if core.plan.tile_mode is None else (batches, pieces)  # every tile has rows of all slices
    common = sum(numbers) * itemsize + 8 * sum(core.plan.sizes)
    return batches, passes * common + (2 * passes - 1) * copies * rows, parts * rows


def _of_regions(
    core: CoreCost, rank: tuple[int, ...], itemsize: int, workers: int, passes: int, _least_seconds: float
) -> tuple[int, int, int]:
    """The same where workers take regions, each with its slices of all cores."""
    regions = prod(core.grid)
    sent = [size * itemsize * regions // count for size, count in zip(_numbers(core, rank), core.grid, strict=True)]
    rows = sent[core.plan.mode]
    return region_tasks(regions, workers), passes * sum(sent) + (passes - 1) * rows, rows


def _reads(core: CoreCost) -> float:
    """How often an update reads the data, on one machine."""
    return 1 + 1 / core.searched_one_of if core.passes > 3 or core.searched_one_of > 1 else 1


def _numbers(core: CoreCost, rank: tuple[int, ...]) -> list[int]:
    """Numbers in the used slices of every core."""
    return [rank[k] * length * rank[(k + 1) % len(rank)] for k, length in enumerate(core.plan.sizes)]
