"""Fits that judge tile by tile: of stores, and of arrays too large to be judged at once."""

import json
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from ringlet import AWRTRD, SAWRTRD, DaskExecutor, plan
from ringlet.request import FitRequest
from ringlet.solvers.tuning.judging import judging_memory
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.tiled_judging import TileSizes, judge_tiles
from ringlet.sources import ChunkedSource, as_source
from ringlet.sources.chunked import regular_chunks
from tuning_fits import bits, error

SHAPE, CHUNKS = (48, 40, 32), (12, 20, 16)
TILED = TuningPolicy(judged_at_once=0)


def textured():
    """Smooth along all modes, with an edge that a small ring does not reach."""
    y, x, z = np.meshgrid(*(np.linspace(0, 1, n) for n in SHAPE), indexing="ij")
    ball = np.hypot(np.hypot(y - 0.5, x - 0.4), z - 0.5) < 0.25
    return 120 + 50 * np.sin(5 * y + 3 * x) * np.cos(4 * z) + 20 * np.cos(9 * x * z) + 25 * ball


TRUTH = textured()
RNG = np.random.default_rng(0)
X = (TRUTH + 2 * RNG.standard_normal(SHAPE)).clip(0, 255).round().astype(np.uint8)
WRONG = RNG.random(SHAPE) < 0.15
X[WRONG] = RNG.choice([0, 255], WRONG.sum()).astype(np.uint8)
STORE = ChunkedSource(X, regular_chunks(SHAPE, CHUNKS))


def fitted(source, policy=TILED, threads=1, loss="learned", samples=1200, **given):
    fields = {"threads": threads, "loss": loss}
    return FitRequest(rank=4, solver=SAWRTRD(samples=samples), policy=policy, fields=fields, **given).run(source)


def judged_twice(state):
    """Whether two sweeps have been made of what is believed: least squares have a kernel of infinite width."""
    judged_twice.sweeps = 0 if state.sweep == 1 else judged_twice.sweeps + (state.record.sigma == np.inf)
    return judged_twice.sweeps == 2


@pytest.fixture(scope="module")
def tiled():
    return fitted(STORE)


def test_a_judgement_by_tiles_leads_to_the_ring_of_a_judgement_of_all_and_a_better_one_than_a_kernel(tiled):
    others = fitted(STORE, TuningPolicy()), fitted(STORE, loss="correntropy")
    errors = [error(fit, TRUTH) for fit in (tiled, *others)]
    assert errors[0] < 1.02 * errors[1]
    assert errors[0] < errors[2]


@pytest.mark.long
def test_arrays_are_judged_by_tiles_too():
    whole, parts = (fitted(as_source(X), policy) for policy in (TuningPolicy(), TILED))
    assert error(parts, TRUTH) < 1.02 * error(whole, TRUTH)


def test_weights_and_outliers_of_a_store_are_those_of_the_judgement(tiled):
    weights = tiled.weights()
    assert np.mean(weights[~WRONG] > 0.5) > 0.99
    assert np.mean(weights[WRONG] < 0.5) > 0.98
    assert tiled.outlier_model.share == pytest.approx(0.15, abs=0.02)
    assert np.abs(tiled.restored() - TRUTH).mean() < 4


def test_threads_and_an_interruption_change_no_bit(tiled, tmp_path):
    judged_from = next(record.sweep for record in tiled.history if record.sigma == np.inf)
    stop = judged_from + 2
    assert stop < len(tiled.history)
    again = partial(fitted, STORE, threads=2, checkpoint=tmp_path / "run")
    again(callback=lambda state: state.sweep == stop)
    resumed = again()
    assert len(resumed.history) == len(tiled.history)
    assert bits(resumed) == bits(tiled)


def test_a_plan_counts_what_judging_takes():
    shape, chunks = (400, 400, 30, 30), (100, 100, 30, 3)
    for memory in (None, "400MB"):
        learned, kernel = (AWRTRD(loss=loss, memory=memory) for loss in ("learned", "correntropy"))
        needed = judging_memory(learned, TuningPolicy(), shape, stored=True)
        planned = [plan(shape, 3, solver=solver, chunks=chunks).memory for solver in (learned, kernel)]
        assert planned[0] - planned[1] == needed
        assert 130e6 < needed < 180e6


MEASURE = """
import json, sys
import numpy as np, ringlet
from ringlet.execution.memory import peak_memory, reset_peak_memory
from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks

path, memory = sys.argv[1:]
x = np.load(path, mmap_mode="r")
source = ChunkedSource(x, regular_chunks(x.shape, (60, 50, 40)))
solver = ringlet.SAWRTRD(samples=800, sweeps=40, memory=int(memory), threads=1)
ringlet.decompose(np.random.default_rng(0).random((20, 20, 20)), 2, solver=solver)  # loads the libraries
reset_peak_memory()
base = peak_memory()
fit = ringlet.decompose(source, 3, solver=solver)
judged = any(record.sigma == np.inf for record in fit.history)
print(json.dumps([judged, peak_memory() - base]))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a part of a process's life")
def test_judging_keeps_the_budget(tmp_path):
    """Judged at once, the entries would take more."""
    np.save(tmp_path / "x.npy", np.tile(X, (3, 3, 3)))
    memory = 300_000_000
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "x.npy"), str(memory)]
    judged, peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert judged
    assert 4 * 80 * 27 * X.size > memory > peak


@pytest.mark.long
def test_workers_judge_what_they_read_and_the_bits_are_the_same(client, tmp_path):
    """Smaller data would not be sent."""
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "x.zarr", data=np.tile(X, (2, 2, 2)), chunks=(24, 20, 16))
    ended = partial(fitted, as_source(array), samples=8000, callback=judged_twice)
    executor = DaskExecutor(client, least_seconds=1e-9)
    assert bits(ended(executor=executor)) == bits(ended())
    assert executor.traffic.tasks > 20


def test_a_worker_judges_as_the_machine_that_learned(client, tmp_path):
    zarr = pytest.importorskip("zarr")
    source = as_source(zarr.create_array(tmp_path / "x.zarr", data=X, chunks=CHUNKS))
    data_range, block = 255.0, (np.arange(5, 30), np.arange(40), np.arange(3, 20))
    cores = [core.astype(np.float32) for core in (fitted(STORE, loss="correntropy").ring * (1 / data_range)).cores]
    judgement = judge_tiles(source, data_range, cores, TileSizes())
    there = client.submit(type(judgement).weights, client.submit(pickle.loads, pickle.dumps(judgement)), block).result()
    here = judgement.weights(block)
    np.testing.assert_array_equal(there, here)
    assert 0 < np.mean(here < 0.5) < 0.5
