"""A memory budget is kept: the peak of a process that fits a store many times larger than its budget."""

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import zarr

import ringlet

SHAPE, CHUNKS = (400, 250, 40, 50), (40, 50, 20, 25)

MEASURE = """
import json, sys
import numpy as np, zarr, ringlet
from ringlet.execution.memory import peak_memory, reset_peak_memory

path, smooth, budget = sys.argv[1:]
solver = ringlet.SAWRTRD(sweeps=1, samples=3000, memory=int(budget), threads=1, smooth=json.loads(smooth))
ringlet.decompose(np.random.default_rng(0).random((20, 20, 20)), 2, solver=solver)  # loads the libraries
array = zarr.open_array(path, mode="r")
array[:1, :1, :1, :1]
reset_peak_memory()
base = peak_memory()
ringlet.decompose(array, 3, solver=solver)
print(json.dumps(peak_memory() - base))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """200 MB, made a slab at a time."""
    path = tmp_path_factory.mktemp("budget") / "x.zarr"
    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="u1", compressors=None)
    rng = np.random.default_rng(0)
    for start in range(0, SHAPE[0], CHUNKS[0]):
        array[start : start + CHUNKS[0]] = rng.integers(0, 255, (CHUNKS[0], *SHAPE[1:]), np.uint8)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a part of a process's life")
@pytest.mark.parametrize(("smooth", "budget"), [(0.0, 25_000_000), ("auto", 40_000_000)])
def test_the_peak_stays_within_a_fifth_of_the_budget(store, smooth, budget):
    command = [sys.executable, "-c", MEASURE, str(store), json.dumps(smooth), str(budget)]
    peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert np.prod(SHAPE) >= 5 * budget
    assert peak < 1.2 * budget


@pytest.mark.parametrize(
    ("shape", "rank", "solver"),
    [
        ((25, 25, 25, 25), 20, ringlet.SAWRTRD(samples=300, sweeps=1, threads=1)),  # mostly Gram matrices
        ((20, 20, 20, 20, 20), 12, ringlet.SAWRTRD(samples=500, sweeps=1, threads=1)),
        (
            (160, 100, 60),
            3,
            ringlet.AWRTRD(sweeps=1, threads=1, memory="20MB", smooth="auto"),
        ),  # mostly held-out entries
    ],
)
def test_the_plan_counts_all_that_a_fit_holds(shape, rank, solver):
    x = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
    planned = ringlet.plan(shape, rank, solver=solver, dtype=x.dtype).memory
    ringlet.decompose(x[:5, :5, :5], 2, solver=replace(solver, memory=None))  # loads the libraries
    tracemalloc.start()
    ringlet.decompose(x, rank, solver=solver)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * planned
