"""Fits on a real Dask cluster of two processes: the bits of a fit on this machine, whatever happens to the workers."""

import os
import signal

import dask.array
import distributed
import numpy as np
import pytest

from cluster_fits import CHUNKS, RANK, SHAPE, bits, eager, stored, tensor, when
from ringlet import AWRTRD, SAWRTRD, DaskExecutor, decompose
from ringlet.baselines import TRALS


@pytest.mark.parametrize("solver", [AWRTRD(smooth=0.0, sweeps=1), SAWRTRD(smooth=0.0, samples=8000, sweeps=2, tol=0)])
@pytest.mark.parametrize(("dtype", "masked"), [("uint8", True), ("float32", False), ("float64", True)])
def test_workers_give_the_bits_of_one_machine(client, solver, dtype, masked):
    x = tensor(dtype)
    mask = np.random.default_rng(1).random(SHAPE) < 0.6 if masked else None
    executor = eager(client)
    spread = decompose(x, RANK, solver=solver, mask=mask, executor=executor)
    assert bits(spread) == bits(decompose(x, RANK, solver=solver, mask=mask))
    assert executor.traffic.tasks >= 16


@pytest.mark.usefixtures("searched_in_part")
def test_a_partial_line_search_gives_the_bits_of_one_machine(client):
    x, executor = tensor("uint8"), eager(client)
    mask = np.random.default_rng(1).random(SHAPE) < 0.6
    solver = SAWRTRD(smooth=0.0, samples=8000, sweeps=2, tol=0)
    assert max(core.searched_one_of for core in solver.plan(SHAPE, RANK, x.dtype).cores) > 1
    spread = decompose(x, RANK, solver=solver, mask=mask, executor=executor)
    assert bits(spread) == bits(decompose(x, RANK, solver=solver, mask=mask))
    assert executor.traffic.tasks >= 8


def test_small_problems_have_both_blocks_and_tiles():
    """Else the tests here would show less than they say."""
    cores = AWRTRD(smooth=0.0, sweeps=30).plan(SHAPE, RANK, np.dtype("u1")).cores
    assert {core.plan.tile_mode is None for core in cores} == {True, False}
    assert all(len(core.plan.pieces) > 2 for core in cores)


def test_nan_and_strided_data_give_the_same_bits(client):
    x = np.asfortranarray(tensor("float32"))
    x[x == 0] = np.nan
    solver = AWRTRD(smooth=0.0, sweeps=2, tol=0)
    spread = decompose(x, RANK, solver=solver, executor=eager(client))
    assert bits(spread) == bits(decompose(x, RANK, solver=solver))


def test_alternating_least_squares_run_on_workers_too(client):
    x, solver, executor = tensor("float32"), TRALS(sweeps=2, tol=0), eager(client)
    spread = decompose(x, RANK, solver=solver, executor=executor)
    assert bits(spread) == bits(decompose(x, RANK, solver=solver))
    assert executor.traffic.tasks > 20


@pytest.mark.parametrize("sweeps", [4, pytest.param(30, marks=pytest.mark.long)])
def test_automatic_fits_run_on_workers_too_up_to_the_last_sweeps_with_all_entries(client, tmp_path, sweeps):
    data = stored(tensor("uint8"), "zarr", tmp_path)
    # With fewer samples no work is sent. Fits that judge are in test_judged_stores.
    solver = SAWRTRD(sweeps=sweeps, samples=8000, smooth="auto", tol=1.0, loss="correntropy")
    executor = eager(client)
    fits = [decompose(data, 1, solver=solver, executor=where) for where in (executor, None)]
    assert bits(fits[0]) == bits(fits[1])
    assert executor.traffic.tasks > 20
    ends = [np.isnan(record.held_out) for record in fits[0].history[-3:]]
    assert ends == ([False] * 3 if sweeps == 4 else [False, True, True])


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "dask"])
def test_workers_open_stores_themselves(client, tmp_path, kind):
    data, executor = stored(tensor("uint8"), kind, tmp_path), eager(client)
    mask = np.random.default_rng(1).random(SHAPE) < 0.8
    solver = SAWRTRD(smooth=0.0, samples=8000, sweeps=1)
    spread = decompose(data, RANK, solver=solver, mask=mask, executor=executor)
    assert bits(spread) == bits(decompose(data, RANK, solver=solver, mask=mask))
    assert executor.traffic.tasks >= 16
    if kind in ("zarr", "hdf5"):
        assert executor.traffic.data < mask.nbytes + 10_000  # the mask, and where the store is


@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.usefixtures("small_pieces")
def test_dask_arrays_run_on_the_active_client_by_themselves(cluster, monkeypatch, persisted):
    used = []
    original = DaskExecutor.place
    monkeypatch.setattr(DaskExecutor, "place", lambda self, source: used.append(self) or original(self, source))
    x, solver = tensor("uint8"), SAWRTRD(smooth=0.0, samples=8000, sweeps=1)
    lazy = dask.array.from_array(x, chunks=CHUNKS)
    with distributed.Client(cluster) as client:
        spread = decompose(client.persist(lazy) if persisted else lazy, RANK, solver=solver)
        decompose(x, RANK, solver=solver)  # data in memory stay here
    alone = decompose(lazy, RANK, solver=solver)
    assert len({id(executor) for executor in used}) == 1
    assert used[0].traffic.tasks >= 16
    assert bits(spread) == bits(alone)


@pytest.mark.parametrize("instant", [2, 20])
def test_a_worker_killed_in_mid_sweep_changes_no_bit(client, instant):
    x, solver, executor = tensor("uint8"), AWRTRD(smooth=0.0, sweeps=3, tol=0), eager(client)
    expected = bits(decompose(x, RANK, solver=solver))
    victim = next(iter(client.run(os.getpid).values()))
    killer = when(lambda: executor.traffic.tasks >= instant, lambda: os.kill(victim, signal.SIGKILL))
    spread = decompose(x, RANK, solver=solver, executor=executor)
    killer.join()
    assert bits(spread) == expected
    assert victim not in client.run(os.getpid).values()
