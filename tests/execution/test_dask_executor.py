"""Clusters that fail, or cannot do the work: errors that say which, and nothing that is lost for good."""

import logging
import subprocess
import sys

import dask.array
import numpy as np
import pytest
import zarr

from cluster_fits import RANK, bits, tensor, when
from ringlet import AWRTRD, SAWRTRD, DaskExecutor, decompose
from ringlet.baselines import TRSVD
from ringlet.errors import ArgumentError, ArgumentTypeError, ExecutionError
from ringlet.store.checkpoint import holds_checkpoint

distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")

pytestmark = pytest.mark.usefixtures("small_pieces")


CLUSTER = """
import logging, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def doomed(tmp_path):
    """A cluster in a process of its own, to be killed."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()
        process.kill()


def test_a_lost_scheduler_is_a_named_error_and_the_fit_goes_on_from_its_checkpoint(doomed, quick_path):
    process, address = doomed
    x, solver, folder = tensor("uint8"), AWRTRD(sweeps=60, tol=0), quick_path / "run.ckpt"
    with distributed.Client(address, set_as_default=False, timeout=20) as client:
        executor = DaskExecutor(client)
        killer = when(lambda: holds_checkpoint(folder), process.kill)
        with pytest.raises(ExecutionError, match=r"scheduler at tcp://.* was lost .*; start it and the fit again"):
            decompose(x, RANK, solver=solver, executor=executor, checkpoint=folder)
        killer.join()
    sweeps = []
    here = decompose(x, RANK, solver=solver, checkpoint=folder, callback=lambda state: sweeps.append(state.sweep))
    assert 1 < sweeps[0] <= 60
    assert bits(here) == bits(decompose(x, RANK, solver=solver))


def test_a_closed_client_is_refused(cluster):
    client = distributed.Client(cluster, set_as_default=False)
    executor = DaskExecutor(client)
    client.close()
    with pytest.raises(ExecutionError, match="is closed"):
        decompose(tensor("uint8"), RANK, executor=executor)


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr("ringlet.execution.cluster._CONNECT_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(ExecutionError, match="has no workers; start some"),
    ):
        decompose(tensor("uint8"), RANK, executor=DaskExecutor(client))


def test_workers_with_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(distributed.versions, "_version_cached", lambda _: "99.0")  # here, not on the workers
    with pytest.raises(ExecutionError, match=r"worker tcp://.* has ringlet .* but here it is 99\.0"):
        decompose(tensor("uint8"), RANK, executor=DaskExecutor(client))


def test_large_arrays_in_memory_are_refused(client, monkeypatch):
    monkeypatch.setattr("ringlet.execution.dask_executor._LARGEST_ARRAY", 1000)
    with pytest.raises(ArgumentError, match=r"kB in memory are too large to be sent .*zarr"):
        decompose(tensor("uint8"), RANK, executor=DaskExecutor(client))


def test_large_arrays_of_automatic_fits_are_refused(client, monkeypatch):
    """Also where they are so large that held-out entries are hidden as they are read."""
    monkeypatch.setattr("ringlet.execution.dask_executor._LARGEST_ARRAY", 1000)
    monkeypatch.setattr("ringlet.solvers.tuning.holdout._MASK_ENTRIES", 1000)
    with pytest.raises(ArgumentError, match=r"kB in memory are too large to be sent .*zarr"):
        decompose(tensor("uint8"), executor=DaskExecutor(client))


@pytest.mark.parametrize("rank", [RANK, "auto"])
@pytest.mark.parametrize("as_mask", [False, True])
def test_stores_in_memory_count_as_memory(client, monkeypatch, rank, as_mask):
    monkeypatch.setattr("ringlet.execution.dask_executor._LARGEST_ARRAY", 1000)
    x = tensor("uint8")
    content = np.random.default_rng(0).random(x.shape) < 0.5 if as_mask else x
    store = zarr.create_array(zarr.storage.MemoryStore(), shape=x.shape, chunks=(20, 20, 3, 5), dtype=content.dtype)
    store[...] = content
    data, mask = (dask.array.from_array(x, chunks=20), store) if as_mask else (store, None)
    with pytest.raises(ArgumentError, match=r"kB in memory are too large to be sent .*zarr"):
        decompose(data, rank, mask=mask, executor=DaskExecutor(client))


def test_wrong_executors_and_solvers_are_refused(client):
    x, executor = tensor("float32"), DaskExecutor(client)
    with pytest.raises(ArgumentTypeError, match="executor=123 is no executor; give"):
        decompose(x, RANK, executor=123)
    with pytest.raises(ArgumentTypeError, match="client='tcp://x:1' is no client"):
        DaskExecutor("tcp://x:1")
    with pytest.raises(ArgumentError, match="executor is not allowed with TRSVD"):
        decompose(x, RANK, solver=TRSVD(), executor=executor)
    with pytest.raises(ArgumentError, match="sampling='uniform-rows' cannot use an executor"):
        decompose(x, RANK, solver=SAWRTRD(sampling="uniform-rows"), executor=executor)


def test_data_that_workers_cannot_open_are_a_named_error(client, tmp_path):
    data = tmp_path / "x.h5"
    with h5py.File(data, "w") as file:
        file.create_dataset("x", data=tensor("uint8"), chunks=(20, 30, 3, 10))
    with pytest.raises(ExecutionError, match="a worker cannot open the data: FileNotFoundError"):
        decompose(data, RANK, solver=AWRTRD(sweeps=1), executor=Hiding(client, data))


class Hiding(DaskExecutor):
    """Takes the file away before workers see it; this process has it open."""

    def __init__(self, client, path):
        super().__init__(client)
        self._path = path

    def place(self, source):
        self._path.unlink(missing_ok=True)
        return super().place(source)
