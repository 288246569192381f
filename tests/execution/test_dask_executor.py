"""Clusters that fail, or cannot do the work: errors that say which, and nothing that is lost for good."""

import logging
import subprocess
import sys

import dask.array
import numpy as np
import pytest
import zarr

from cluster_fits import RANK, bits, eager, stored, tensor, when
from ringlet import AWRTRD, SAWRTRD, DaskExecutor, decompose
from ringlet.baselines import TRSVD
from ringlet.errors import ArgumentError, ArgumentTypeError, ExecutionError
from ringlet.execution.cluster import check_cluster
from ringlet.solvers.tuning.holdout import HiddenSource, HoldoutMask, hide
from ringlet.sources import as_source, survey
from ringlet.store.checkpoint import holds_checkpoint

distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")

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
    x, solver, folder = tensor("uint8"), AWRTRD(smooth=0.0, sweeps=12, tol=0), quick_path / "run.ckpt"
    with distributed.Client(address, set_as_default=False, timeout=5) as client:
        executor = eager(client)
        killer = when(lambda: holds_checkpoint(folder), process.kill)
        with pytest.raises(ExecutionError, match=r"scheduler at tcp://.* was lost .*; start it and the fit again"):
            decompose(x, RANK, solver=solver, executor=executor, checkpoint=folder)
        killer.join()
    sweeps = []
    here = decompose(x, RANK, solver=solver, checkpoint=folder, callback=lambda state: sweeps.append(state.sweep))
    assert 1 < sweeps[0] <= 12
    assert bits(here) == bits(decompose(x, RANK, solver=solver))


def test_a_closed_client_is_refused(cluster):
    client = distributed.Client(cluster, set_as_default=False)
    executor = DaskExecutor(client)
    client.close()
    with pytest.raises(ExecutionError, match="is closed"):
        decompose(tensor("uint8"), RANK, executor=executor)


def test_a_cluster_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(ExecutionError, match="has no workers; start some"),
    ):
        check_cluster(client, within=0.2)


class OtherVersions(distributed.Client):
    """A client of a process in which another version of the library is installed."""

    def get_versions(self, *given, **named):
        versions = super().get_versions(*given, **named)
        versions["client"]["packages"]["ringlet"] = "99.0"
        return versions


def test_workers_with_another_version_are_refused(cluster):
    with (
        OtherVersions(cluster, set_as_default=False) as client,
        pytest.raises(ExecutionError, match=r"worker tcp://.* has ringlet .* but here it is 99\.0"),
    ):
        decompose(tensor("uint8"), RANK, executor=DaskExecutor(client))


@pytest.mark.parametrize("rank", [RANK, "auto"])
def test_large_arrays_in_memory_are_refused(client, rank):
    with pytest.raises(ArgumentError, match=r"of 1\.61 MB in memory are too large to be sent .*at most 1 kB.*zarr"):
        decompose(tensor("uint8"), rank, executor=DaskExecutor(client, most_bytes=1000))


def test_large_arrays_are_refused_however_they_are_wrapped(client):
    """Of large arrays held-out entries are hidden as they are read; none of this one is in memory before."""
    source = as_source(np.zeros((1100, 1000, 1000), np.uint8))
    hidden = hide(source, HoldoutMask.of(source.shape, 0.05, seed=0))
    assert isinstance(hidden, HiddenSource)
    for data in (source, hidden):
        with pytest.raises(ArgumentError, match=r"data of 1\.1.* in memory are too large"), eager(client).place(data):
            pass


@pytest.mark.parametrize("rank", [RANK, "auto"])
@pytest.mark.parametrize("as_mask", [False, True])
def test_stores_in_memory_count_as_memory(client, rank, as_mask):
    x = tensor("uint8")
    content = np.random.default_rng(0).random(x.shape) < 0.5 if as_mask else x
    store = zarr.create_array(zarr.storage.MemoryStore(), shape=x.shape, chunks=(20, 20, 3, 5), dtype=content.dtype)
    store[...] = content
    data, mask = (dask.array.from_array(x, chunks=20), store) if as_mask else (store, None)
    with pytest.raises(ArgumentError, match=r"kB in memory are too large to be sent .*zarr"):
        decompose(data, rank, mask=mask, executor=DaskExecutor(client, most_bytes=1000))


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"least_seconds": 0}, ArgumentError, "least_seconds=0 is not allowed; it must be above 0"),
        ({"least_seconds": "short"}, ArgumentTypeError, "least_seconds='short' is not a number"),
        ({"most_bytes": -1}, ArgumentError, "most_bytes=-1 is not allowed; it must be at least 0"),
        ({"most_bytes": 1.5}, ArgumentTypeError, "most_bytes=1.5 is not a whole number"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(client, given, error, said):
    with pytest.raises(error, match=said):
        DaskExecutor(client, **given)


def test_work_that_is_too_small_is_not_sent(client):
    executor = DaskExecutor(client, least_seconds=60.0)
    spread = decompose(tensor("uint8"), RANK, solver=AWRTRD(smooth=0.0, sweeps=1), executor=executor)
    assert executor.traffic.tasks == 0
    assert bits(spread) == bits(decompose(tensor("uint8"), RANK, solver=AWRTRD(smooth=0.0, sweeps=1)))


def test_wrong_executors_and_solvers_are_refused(client):
    x, executor = tensor("float32"), DaskExecutor(client)
    with pytest.raises(ArgumentTypeError, match="executor=123 is no executor; give"):
        decompose(x, RANK, executor=123)
    with pytest.raises(ArgumentTypeError, match="client='tcp://x:1' is no client"):
        DaskExecutor("tcp://x:1")
    with pytest.raises(ArgumentError, match="executor is not allowed with TRSVD"):
        decompose(x, RANK, solver=TRSVD(), executor=executor)
    with pytest.raises(ArgumentError, match="sampling='uniform-rows' cannot use an executor"):
        decompose(x, RANK, solver=SAWRTRD(smooth=0.0, sweeps=30, sampling="uniform-rows"), executor=executor)


def test_data_that_workers_cannot_open_are_a_named_error(client, tmp_path):
    data = tmp_path / "x.h5"
    with h5py.File(data, "w") as file:
        file.create_dataset("x", data=tensor("uint8"), chunks=(20, 30, 3, 10))
    with pytest.raises(ExecutionError, match="a worker cannot open the data: FileNotFoundError"):
        decompose(data, RANK, solver=AWRTRD(smooth=0.0, sweeps=1), executor=Hiding(client, data))


class Hiding(DaskExecutor):
    """Takes the file away before workers see it; this process has it open."""

    def __init__(self, client, path):
        super().__init__(client, least_seconds=1e-9)
        self._path = path

    def place(self, source):
        self._path.unlink(missing_ok=True)
        return super().place(source)


def test_the_first_look_at_a_store_is_spread_and_finds_the_same(client, tmp_path):
    x, executor = tensor("float32"), eager(client)
    x[7], x[3, 3, 1, 3], x[79, 69, 2, 47] = np.nan, -40, 999
    source = as_source(zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(20, 35, 3, 12)))
    with executor.place(source) as placement:
        found = survey(source, placement.map, block_entries=1)
    assert executor.traffic.tasks == 2  # of 16 blocks of one chunk each
    assert (found.minimum, found.maximum, found.empty) == (-40, 999, ((7,), (), (), ()))
    observed = ~np.isnan(x)
    for mode, counts in enumerate(found.counts):
        np.testing.assert_array_equal(counts, observed.sum(axis=tuple({0, 1, 2, 3} - {mode})))
    x[20, 5, 1, 11] = np.inf
    data = stored(x, "hdf5", tmp_path)
    with pytest.raises(ArgumentError, match=r"data is infinite at index \(20, 5, 1, 11\)"):
        decompose(data, RANK, executor=executor)
