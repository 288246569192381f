"""Fits on a real Dask cluster of two processes: the bits of a fit on this machine, whatever happens to the workers."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ringlet import AWRTRD, SAWRTRD, DaskExecutor, decompose
from ringlet.baselines import TRALS, TRSVD
from ringlet.errors import ArgumentError, ArgumentTypeError, ExecutionError
from ringlet.solvers import plan, shares
from ringlet.solvers.pieces import pieces_of
from ringlet.store.checkpoint import holds_checkpoint

dask = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

SHAPE, RANK = (40, 30, 3, 20), (5, 4, 3, 4)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Cut small tensors into as many blocks and tiles as large ones, and find all of them worth sending."""
    monkeypatch.setattr(plan, "_BLOCK_LEAST", 3000)
    monkeypatch.setattr(plan, "_BLOCK_MOST", 3000)
    monkeypatch.setattr(plan, "_OPERATOR_BYTES", 1 << 16)
    monkeypatch.setattr(shares, "_LEAST_SECONDS", 1e-9)
    monkeypatch.setattr(shares, "_SHARES_A_SLOT", 2)
    plan.plan_core.cache_clear()
    yield
    plan.plan_core.cache_clear()


def tensor(dtype, seed=0):
    """A smooth tensor with noise and outliers."""
    rng = np.random.default_rng(seed)
    grids = np.meshgrid(*(np.linspace(0, 3, length) for length in SHAPE), indexing="ij")
    x = 120 + 60 * np.sin(grids[0] + grids[1]) * np.cos(grids[2] - grids[3]) + 5 * rng.standard_normal(SHAPE)
    return np.where(rng.random(SHAPE) < 0.1, rng.choice([0.0, 255.0], SHAPE), x).astype(dtype)


def bits(fit):
    """Everything that a fit has computed."""
    records = [(record.change, record.loss, record.sigma, record.mean_weight) for record in fit.history]
    return [core.tobytes() for core in fit.ring.cores], records


def when(condition, action):
    """Do something as soon as a condition holds, from another thread."""

    def watch():
        while not condition():
            time.sleep(0.001)
        action()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize("solver", [AWRTRD(sweeps=1), SAWRTRD(samples=1000, sweeps=2, tol=0)])
@pytest.mark.parametrize(("dtype", "masked"), [("uint8", True), ("float32", False), ("float64", True)])
def test_workers_give_the_bits_of_one_machine(client, solver, dtype, masked):
    x = tensor(dtype)
    mask = np.random.default_rng(1).random(SHAPE) < 0.6 if masked else None
    executor = DaskExecutor(client)
    spread = decompose(x, RANK, solver=solver, mask=mask, executor=executor)
    assert bits(spread) == bits(decompose(x, RANK, solver=solver, mask=mask))
    assert executor.traffic.tasks >= 16


def test_small_problems_have_both_blocks_and_tiles():
    """Else the tests here would show less than they say."""
    cores = AWRTRD().plan(SHAPE, RANK, np.dtype("u1")).cores
    assert {core.plan.tile_mode is None for core in cores} == {True, False}
    assert all(len(pieces_of(core.plan)) > 2 for core in cores)


def test_nan_and_strided_data_give_the_same_bits(client):
    x = np.asfortranarray(tensor("float32"))
    x[x == 0] = np.nan
    solver = AWRTRD(sweeps=2, tol=0)
    spread = decompose(x, RANK, solver=solver, executor=DaskExecutor(client))
    assert bits(spread) == bits(decompose(x, RANK, solver=solver))


def test_alternating_least_squares_run_on_workers_too(client):
    x, solver, executor = tensor("float32"), TRALS(sweeps=2, tol=0), DaskExecutor(client)
    spread = decompose(x, RANK, solver=solver, executor=executor)
    assert bits(spread) == bits(decompose(x, RANK, solver=solver))
    assert executor.traffic.tasks > 20


CHUNKS = (20, 30, 3, 10)


def stored(x, kind, folder):
    """The tensor as users keep large ones."""
    if kind == "zarr":
        return zarr.create_array(folder / "x.zarr", data=x, chunks=CHUNKS)
    if kind == "hdf5":
        with h5py.File(folder / "x.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=CHUNKS)
        return folder / "x.h5"
    return dask.from_array(x, chunks=CHUNKS)


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "dask"])
def test_workers_open_stores_themselves(client, tmp_path, kind):
    data, executor = stored(tensor("uint8"), kind, tmp_path), DaskExecutor(client)
    mask = np.random.default_rng(1).random(SHAPE) < 0.8
    solver = SAWRTRD(samples=1000, sweeps=1)
    spread = decompose(data, RANK, solver=solver, mask=mask, executor=executor)
    assert bits(spread) == bits(decompose(data, RANK, solver=solver, mask=mask))
    assert executor.traffic.tasks >= 16
    if kind in ("zarr", "hdf5"):
        assert executor.traffic.data < mask.nbytes + 10_000  # the mask, and where the store is


def test_data_that_workers_cannot_open_are_a_named_error(client, tmp_path):
    data = stored(tensor("uint8"), "hdf5", tmp_path)

    with pytest.raises(ExecutionError, match="a worker cannot open the data: FileNotFoundError"):
        decompose(data, RANK, solver=AWRTRD(sweeps=1), executor=Hiding(client, data))


class Hiding(DaskExecutor):
    """Takes the file away before workers see it; this process has it open."""

    def __init__(self, client, path):
        super().__init__(client)
        self._path = path

    def place(self, source):
        self._path.unlink()
        return super().place(source)


@pytest.mark.parametrize("persisted", [False, True])
def test_dask_arrays_run_on_the_active_client_by_themselves(cluster, monkeypatch, persisted):
    used = []
    original = DaskExecutor.place
    monkeypatch.setattr(DaskExecutor, "place", lambda self, source: used.append(self) or original(self, source))
    x, solver = tensor("uint8"), SAWRTRD(samples=1000, sweeps=1)
    lazy = dask.from_array(x, chunks=CHUNKS)
    with distributed.Client(cluster) as client:
        spread = decompose(client.persist(lazy) if persisted else lazy, RANK, solver=solver)
        decompose(x, RANK, solver=solver)  # data in memory stay here
    alone = decompose(lazy, RANK, solver=solver)
    assert [executor.traffic.tasks >= 16 for executor in used] == [True]
    assert bits(spread) == bits(alone)


def test_traffic_is_sampled_cores_out_and_rows_back(client):
    executor = DaskExecutor(client)
    decompose(tensor("uint8"), RANK, solver=SAWRTRD(samples=2500, sweeps=1), executor=executor)
    assert np.prod(SHAPE) < executor.traffic.data < 1.1 * np.prod(SHAPE)  # the data go out once
    core_bytes = [4 * RANK[k] * SHAPE[k] * RANK[(k + 1) % 4] for k in range(4)]
    assert sum(core_bytes) < executor.traffic.back < 20 * sum(core_bytes)


@pytest.mark.parametrize("instant", [2, 20])
def test_a_worker_killed_in_mid_sweep_changes_no_bit(client, instant):
    x, solver, executor = tensor("uint8"), AWRTRD(sweeps=3, tol=0), DaskExecutor(client)
    expected = bits(decompose(x, RANK, solver=solver))
    victim = next(iter(client.run(os.getpid).values()))
    killer = when(lambda: executor.traffic.tasks >= instant, lambda: os.kill(victim, signal.SIGKILL))
    spread = decompose(x, RANK, solver=solver, executor=executor)
    killer.join()
    assert bits(spread) == expected
    assert victim not in client.run(os.getpid).values()


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
    with pytest.raises(ArgumentError, match=r"72 kB in memory are too large to be sent .*zarr"):
        decompose(tensor("uint8"), RANK, executor=DaskExecutor(client))


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
