"""Where work runs on many machines: independent items over the workers of a Dask cluster, results in their order.

The data are sent to the workers once. After that a function is sent with the shared arguments and with each item, and
its results come back. Tasks of a lost worker are sent again, so a loss costs time but does not change the result. Only
the loss of the scheduler or of the last worker raises an error.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from ringlet.amounts import format_bytes
from ringlet.checks import check_number
from ringlet.errors import ArgumentError, ArgumentTypeError, ExecutionError
from ringlet.execution.cluster import check_cluster, connected, describe, import_distributed, named_failures, workers
from ringlet.execution.pickled import Parcel
from ringlet.execution.threads import Threads
from ringlet.sources import Source
from ringlet.sources.stores import bytes_in_memory

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LEAST_SECONDS", "DaskExecutor", "Placement", "Traffic"]

Item = TypeVar("Item")
Result = TypeVar("Result")

LEAST_SECONDS = 0.05  # of a batch of work: below that, sending it costs more than doing it here
_MOST_BYTES = 1 << 30  # of data in memory that are sent to workers; stores they open themselves
_LOOK_SECONDS = 2.0  # between two checks that there are workers
_GONE = ("cancelled", "lost")  # states of a task that will not end
_ATTEMPTS = 5  # to send an item after its worker was lost


@dataclass
class Traffic:
    """What an executor has sent and received, counted as pickled.

    Attributes
    ----------
    data : int
        Bytes of data, or of the descriptions of stores, sent to workers.
    out, back : int
        Bytes of work sent out, and of results that came back.
    tasks : int
        Tasks whose results came back.
    """

    data: int = 0
    out: int = 0
    back: int = 0
    tasks: int = 0


class DaskExecutor:
    """Runs the passes of a fit on a Dask cluster; Gram matrices and solves stay here.

    Parameters
    ----------
    client : distributed.Client
        Connected to a scheduler with workers. It sends data to workers directly, unless it was made with
        ``direct_to_workers=False`` because it cannot reach them.
    patience : number
        Seconds that a fit waits for new workers when all are gone.
    least_seconds : float
        Work that takes less, by estimate, is not sent in batches of its own: give more where the network is slow.
    most_bytes : int
        Largest data in memory that are sent to the workers.

    Attributes
    ----------
    traffic : Traffic
        What was sent and received so far.

    Notes
    -----
    Data in memory are sent to the workers once a fit; keep large ones in a store, e.g. zarr, that the workers can open
    under the same path. A cluster runs the code that it is sent: use it in trusted networks only.

    Examples
    --------
    >>> import ringlet
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://10.0.0.1:8786")  # doctest: +SKIP
    >>> fit = ringlet.decompose(x, 20, executor=ringlet.DaskExecutor(client))  # doctest: +SKIP
    """

    def __init__(
        self,
        client: "Client",
        patience: float = 60.0,
        *,
        least_seconds: float = LEAST_SECONDS,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        check_number("patience", patience, above=0)
        distributed = import_distributed()
        if not isinstance(client, distributed.Client):
            raise ArgumentTypeError(f"client={client!r} is no client; give a distributed.Client")
        if client.asynchronous:
            raise ArgumentError("client is asynchronous, which is unsupported; give a distributed.Client(address)")
        check_number("least_seconds", least_seconds, above=0)
        check_number("most_bytes", most_bytes, at_least=0, whole=True)
        self._client = client
        self._patience = patience
        self._least_seconds = least_seconds
        self._most_bytes = most_bytes
        self.traffic = Traffic()

    @classmethod
    @contextmanager
    def connect(cls, address: str) -> Iterator["DaskExecutor"]:
        """An executor on the cluster whose scheduler listens at an address, while the context is open."""
        with connected(address) as client:
            yield cls(client)

    @classmethod
    def active(cls) -> "DaskExecutor | None":
        """An executor on the cluster of the client that is active in this process, if one is."""
        client: Any = sys.modules.get("distributed.client")
        try:
            return cls(client.default_client()) if client is not None else None
        except ValueError:  # Dask was loaded, but there is no client, or it is asynchronous
            return None

    @contextmanager
    def place(self, source: Source) -> Iterator["Placement"]:
        """Make a source known to the workers, while the context is open."""
        size = bytes_in_memory(source)
        if size > self._most_bytes:
            raise ArgumentError(
                f"data of {format_bytes(size)} in memory are too large to be sent to workers (at most "
                f"{format_bytes(self._most_bytes)}); keep them in a store that the workers can open, e.g. zarr"
            )
        with named_failures(self._client):
            check_cluster(self._client)
        yield Placement(self._client, source, self.traffic, patience=self._patience, least_seconds=self._least_seconds)


class Placement:
    """A source that the workers of a cluster hold; functions can be mapped over parts of it."""

    def __init__(
        self, client: "Client", source: Source, traffic: Traffic, *, patience: float, least_seconds: float
    ) -> None:
        self.least_seconds = least_seconds
        self._client = client
        self._patience = patience
        self._source = Parcel(source)
        self._traffic = traffic
        self._placed: Any = None  # a future
        self._direct = client.direct_to_workers is not False

    @property
    def slots(self) -> int:
        """Number of tasks that the workers run at a time."""
        with named_failures(self._client):
            return max(1, sum(workers(self._client).values()))

    def map(
        self, function: Callable[[Source, Any, Item], Result], shared: object, items: Iterable[Item]
    ) -> Iterator[Result]:
        """``function(source, shared, item)`` for every item, on the workers; results in the order of the items."""
        call, parcels = Parcel((function, shared)), [Parcel(item) for item in items]
        self._traffic.out += call.size + sum(parcel.size for parcel in parcels)
        tasks: dict[int, Any] = {}
        try:
            for place in range(len(parcels)):
                with named_failures(self._client):
                    result = self._result(place, tasks, call, parcels)
                del tasks[place]
                self._traffic.back += result.size
                self._traffic.tasks += 1
                yield result.unpack()
        finally:
            if tasks and self._client.status == "running":
                self._client.cancel(list(tasks.values()))

    def _result(self, place: int, tasks: dict[int, Any], call: Parcel, parcels: Sequence[Parcel]) -> Parcel:
        """The result of one item, which is sent if it was not sent yet or was lost with a worker."""
        for attempt in count(1):
            try:
                unsent = [
                    later for later in range(place, len(parcels)) if later not in tasks or tasks[later].status in _GONE
                ]
                if unsent:
                    tasks.update(zip(unsent, self._submit(call, [parcels[later] for later in unsent]), strict=True))
                return self._wait_for(tasks[place])
            except (CancelledError, OSError) as error:  # a worker went, and with it what was sent to it
                self._await_workers()
                if attempt == _ATTEMPTS:
                    raise ExecutionError(
                        f"workers of {describe(self._client)} were lost {_ATTEMPTS} times with the same work "
                        f"({error or type(error).__name__}); see their logs, and start the fit again, from its "
                        "checkpoint if there is one"
                    ) from error
                self._placed = None
                tasks.pop(place, None)
                sleep(0.1 * attempt)
        raise AssertionError  # the loop does not end by itself

    def _submit(self, call: Parcel, parcels: list[Parcel]) -> list[Any]:
        if self._placed is None:
            self._traffic.data += self._source.size
            [self._placed] = self._send([self._source])
        common, *items = self._send([call, *parcels])
        count = len(items)
        tasks: list[Any] = self._client.map(_work, [self._placed] * count, [common] * count, items, pure=False)
        return tasks

    def _send(self, parcels: list[Parcel]) -> list[Any]:
        try:
            futures: list[Any] = self._client.scatter(parcels, direct=self._direct, hash=False, timeout=self._patience)
        except KeyError as error:  # of a worker that took them and died before the scheduler was told
            raise CancelledError(f"worker {error} is gone") from error
        return futures

    def _await_workers(self) -> None:
        """Return when somebody can work; an ExecutionError if the scheduler is gone, or nobody comes."""
        deadline = monotonic() + self._patience
        while not workers(self._client):
            if monotonic() > deadline:
                raise self._deserted()
            sleep(0.05)

    def _deserted(self) -> ExecutionError:
        return ExecutionError(
            f"{describe(self._client)} has had no workers for {self._patience:g} s; start some, and the fit again, "
            "from its checkpoint if there is one"
        )

    def _wait_for(self, task: Any) -> Parcel:
        """The result of a task, while there are workers."""
        last_seen = monotonic()
        while True:
            try:
                task.exception(timeout=_LOOK_SECONDS)  # waits; `gather` raises it, if there is one
                result: Parcel = self._client.gather(task, direct=self._direct)
                return result
            except TimeoutError:
                if task.status in _GONE:
                    raise CancelledError(f"{task.key} is {task.status}") from None
                if workers(self._client):
                    last_seen = monotonic()
                elif monotonic() - last_seen > self._patience:
                    raise self._deserted() from None


def _work(placed: Parcel, call: Parcel, item: Parcel) -> Parcel:
    """Run a task on its worker, with BLAS limited to one thread as everywhere."""
    try:
        source = placed.unpack()
    except Exception as error:
        raise ExecutionError(f"a worker cannot open the data: {type(error).__name__}: {error}") from error
    function, shared = call.unpack()
    try:
        with Threads(1):
            return Parcel(function(source, shared, item.unpack()))
    except (OSError, MemoryError) as error:
        raise ExecutionError(f"a worker could not do its part: {type(error).__name__}: {error}") from error
