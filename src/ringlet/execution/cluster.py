"""Connect to a Dask cluster, check that it can run a fit, and translate its failures into errors."""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from ringlet.errors import ArgumentError, ExecutionError, MissingDependencyError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["check_cluster", "connected", "describe", "import_distributed", "named_failures", "workers"]

_CONNECT_SECONDS = 5.0  # for an answer from the scheduler, and for the first worker to appear
_PACKAGES = ("ringlet", "numpy")  # other versions of these could give other bits


@contextmanager
def connected(address: str, *, seconds: float = _CONNECT_SECONDS) -> Iterator["Client"]:
    """A client of the scheduler at an address that answers within some seconds, as long as the context is open."""
    distributed = import_distributed()
    try:
        distributed.comm.get_address_host_port(address)  # a client that failed to connect takes long to close
    except ValueError as error:
        raise ArgumentError(f"scheduler={address!r} is no address: {error}; give e.g. tcp://10.0.0.1:8786") from error
    if address.startswith("tls:") and not _has_certificates():
        raise ArgumentError(
            f"scheduler={address!r} needs certificates; set them up in Dask's configuration (distributed.comm.tls), or "
            "connect a client with security= and give DaskExecutor(client)"
        )
    try:
        client = distributed.Client(address, timeout=seconds, set_as_default=False)
    except OSError as error:
        raise ExecutionError(
            f"no Dask scheduler answers at {address} within {seconds:g} s; is it running, and is that its address?"
        ) from error
    with client:
        yield client


def _has_certificates() -> bool:
    """Whether Dask's configuration has certificates for a client, or names a function that gives them."""
    import dask
    from distributed import Security

    given = Security().get_connection_args("client")["ssl_context"]
    return given is not None or dask.config.get("distributed.client.security-loader", None) is not None


def check_cluster(client: "Client", within: float = _CONNECT_SECONDS) -> None:
    """Raise an error if a cluster cannot run a fit, has no worker `within` some seconds, or might give other bits."""
    if client.status != "running":
        raise ExecutionError(f"the client of {describe(client)} is {client.status}; give one that is connected")
    deadline = monotonic() + within
    while not workers(client):
        if monotonic() > deadline:
            raise ExecutionError(f"{describe(client)} has no workers; start some, e.g. with: dask worker ADDRESS")
        sleep(0.05)
    versions = client.get_versions(packages=list(_PACKAGES))
    here = versions["client"]["packages"]
    for address, found in versions["workers"].items():
        for package in _PACKAGES:
            there = found["packages"].get(package)
            if there != here[package]:
                raise ExecutionError(
                    f"worker {address} has {package} {there or '(not installed)'} but here it is {here[package]}; "
                    "use the same versions everywhere, others could give other bits"
                )


def workers(client: "Client") -> dict[str, int]:
    """Threads of every worker, by address; an ExecutionError if the scheduler is gone."""
    if client.status != "running":
        raise _lost(client, f"the client is {client.status}")
    threads: dict[str, int] = client.nthreads()
    return threads


@contextmanager
def named_failures(client: "Client") -> Iterator[None]:
    """Turn exceptions of a failed cluster into an ExecutionError that says what to do."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError

    try:
        yield
    except KilledWorker as error:
        raise ExecutionError(
            f"the workers of {describe(client)} repeatedly fail at the same task, perhaps because they run out of "
            f"memory: {error}"
        ) from error
    except (CancelledError, ClosedClientError, OSError) as error:
        raise _lost(client, str(error) or type(error).__name__) from error


def describe(client: "Client") -> str:
    """Description of the cluster for messages."""
    return f"the Dask scheduler at {client.scheduler.address}" if client.scheduler is not None else "the Dask scheduler"


def import_distributed() -> Any:
    """The library, or an error that says how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise MissingDependencyError('clusters need Dask: pip install "ringlet[dask]"') from error
    return distributed


def _lost(client: "Client", reason: str) -> ExecutionError:
    return ExecutionError(
        f"{describe(client)} was lost ({reason}); start it and the fit again, from its checkpoint if there is one"
    )
