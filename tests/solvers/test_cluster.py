"""Fits on a real Dask cluster of two processes: the bits of a fit on this machine, whatever happens to the workers."""

import os
import signal

import numpy as np
import pytest

import ringlet
from cluster_fits import RANK, SHAPE, bits, tensor, when
from ringlet import AWRTRD, SAWRTRD, DaskExecutor, decompose
from ringlet.baselines import TRALS
from ringlet.errors import ArgumentError
from ringlet.solvers.engine.block_work import pieces_of
from ringlet.solvers.engine.cluster_plan import distribute
from ringlet.sources import as_source, survey

dask = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

pytestmark = pytest.mark.usefixtures("small_pieces")


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


def test_automatic_fits_run_on_workers_too_up_to_the_last_sweeps_with_all_entries(client, tmp_path):
    data = stored(tensor("uint8"), "zarr", tmp_path)
    fits = [
        decompose(data, 1, solver=SAWRTRD(samples=500, smooth="auto", tol=1.0), executor=executor)
        for executor in (DaskExecutor(client), None)
    ]
    assert bits(fits[0]) == bits(fits[1])
    assert [np.isnan(record.held_out) for record in fits[0].history[-3:]] == [False, True, True]


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


def test_the_first_look_at_a_store_is_spread_and_finds_the_same(client, tmp_path, monkeypatch):
    monkeypatch.setattr("ringlet.sources.base._SLAB_ENTRIES", 20_000)
    monkeypatch.setattr("ringlet.sources.surveys._BLOCKS_A_SHARE", 1)
    x, executor = tensor("float32"), DaskExecutor(client)
    x[7], x[3, 3, 1, 3], x[39, 29, 2, 19] = np.nan, -40, 999
    source = as_source(stored(x, "zarr", tmp_path))
    with executor.place(source) as placement:
        found = survey(source, placement.map)
    assert executor.traffic.tasks == 4
    assert (found.minimum, found.maximum, found.empty) == (-40, 999, ((7,), (), (), ()))
    observed = ~np.isnan(x)
    for mode, counts in enumerate(found.counts):
        np.testing.assert_array_equal(counts, observed.sum(axis=tuple({0, 1, 2, 3} - {mode})))
    x[20, 5, 1, 11] = np.inf
    data = stored(x, "hdf5", tmp_path)
    with pytest.raises(ArgumentError, match=r"data is infinite at index \(20, 5, 1, 11\)"):
        decompose(data, RANK, executor=executor)


def test_regions_of_a_store_give_the_same_bits(client, tmp_path, monkeypatch):
    monkeypatch.setattr("ringlet.solvers.engine.regions.REGION_ENTRIES", 20_000)  # four regions
    monkeypatch.setattr("ringlet.solvers.engine.cluster_regions._TASKS_A_SLOT", 1)  # in two tasks
    data, executor, solver = stored(tensor("uint8"), "zarr", tmp_path), DaskExecutor(client), AWRTRD(sweeps=2, tol=0)
    spread = decompose(data, RANK, solver=solver, executor=executor)
    assert bits(spread) == bits(decompose(data, RANK, solver=solver))
    assert executor.traffic.tasks == 2 * 4 * 2 * 2  # tasks, modes, passes, sweeps


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
    assert len({id(executor) for executor in used}) == 1
    assert used[0].traffic.tasks >= 16
    assert bits(spread) == bits(alone)


@pytest.mark.parametrize("kind", ["array", "zarr"])
@pytest.mark.parametrize("solver", [AWRTRD(sweeps=1), SAWRTRD(samples=1000, sweeps=1), TRALS(sweeps=1)])
def test_traffic_is_as_predicted(client, tmp_path, monkeypatch, kind, solver):
    """Sampled slices of cores go out, rows of the gradient come back; pickling adds little."""
    for module in ("regions", "fit_plan"):
        monkeypatch.setattr(f"ringlet.solvers.engine.{module}.REGION_ENTRIES", 20_000)
    x, executor = tensor("uint8"), DaskExecutor(client)
    decompose(x if kind == "array" else stored(x, kind, tmp_path), RANK, solver=solver, executor=executor)
    chunks = None if kind == "array" else CHUNKS
    spread = distribute(ringlet.plan(SHAPE, RANK, solver=solver, chunks=chunks), workers=2)
    assert executor.traffic.tasks == spread.tasks
    assert 0 <= executor.traffic.out - spread.bytes_out < 3000 * spread.tasks
    assert 0 <= executor.traffic.back - spread.bytes_back < 3000 * spread.tasks
    if kind == "array":
        assert x.nbytes < executor.traffic.data < x.nbytes + 3000  # once


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
