"""Plans of whole fits: all that a fit holds is counted, a memory budget is kept, impossible ones are refused."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import zarr

import ringlet
from ringlet import AWRTRD, SAWRTRD, decompose, plan
from ringlet.amounts import parse_bytes
from ringlet.errors import ArgumentError, BudgetError
from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks
from stored_tensors import CHUNKS, RANK, SHAPE, Counting, damaged_tensor, stored

LARGE, LARGE_CHUNKS = (320, 250, 40, 50), (40, 50, 20, 25)


MEASURE = """
import json, sys
import numpy as np, zarr, ringlet
from ringlet.execution.memory import peak_memory, reset_peak_memory

path, smooth, budget = sys.argv[1:]
solver = ringlet.SAWRTRD(sweeps=1, samples=3000, memory=int(budget), threads=1, smooth=json.loads(smooth))
array = zarr.open_array(path, mode="r")
small = zarr.array(array[:40, :50, :20, :25], chunks=(20, 25, 20, 25))
ringlet.decompose(small, 3, solver=solver)  # what libraries need is there when it is measured
array[:1, :1, :1, :1]
reset_peak_memory()
base = peak_memory()
ringlet.decompose(array, 3, solver=solver)
print(json.dumps(peak_memory() - base))
"""


TRACE = """
import tracemalloc
import numpy as np, ringlet

x = np.random.default_rng(0).integers(0, 255, {shape}, np.uint8)
ringlet.decompose(x[:5, :5, :5], 2)  # loads the libraries
tracemalloc.start()
ringlet.decompose(x, {rank}, solver={solver})
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """160 MB, made a slab at a time."""
    path = tmp_path_factory.mktemp("budget") / "x.zarr"
    array = zarr.create_array(path, shape=LARGE, chunks=LARGE_CHUNKS, dtype="u1", compressors=None)
    rng = np.random.default_rng(0)
    for start in range(0, LARGE[0], LARGE_CHUNKS[0]):
        array[start : start + LARGE_CHUNKS[0]] = rng.integers(0, 255, (LARGE_CHUNKS[0], *LARGE[1:]), np.uint8)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a part of a process's life")
@pytest.mark.parametrize(("smooth", "budget"), [(0.0, 25_000_000), ("auto", 32_000_000)])
def test_the_peak_stays_within_a_fifth_of_the_budget(store, smooth, budget):
    command = [sys.executable, "-c", MEASURE, str(store), json.dumps(smooth), str(budget)]
    peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert np.prod(LARGE) >= 5 * budget
    assert peak < 1.2 * budget


@pytest.mark.parametrize(
    ("shape", "rank", "solver"),
    [
        ((25, 25, 25, 25), 20, ringlet.SAWRTRD(smooth=0.0, samples=300, sweeps=1, threads=1)),  # mostly Gram matrices
        (
            (25, 25, 25, 25),
            20,
            ringlet.SAWRTRD(smooth=0.0, samples=300, sweeps=3, threads=1),
        ),  # and not those of two sweeps
        ((25, 25, 25, 25), 20, ringlet.SAWRTRD(samples=300, sweeps=4, threads=1, smooth="auto")),  # nor of trials
        ((20, 20, 20, 20, 20), 12, ringlet.SAWRTRD(smooth=0.0, samples=500, sweeps=1, threads=1)),
        (
            (160, 100, 60),
            3,
            ringlet.AWRTRD(sweeps=1, threads=1, memory="20MB", smooth="auto"),
        ),  # mostly held-out entries
    ],
)
def test_the_plan_counts_all_that_a_fit_holds(shape, rank, solver):
    """Measured in a process of its own: counting the lines that run takes memory, too."""
    program = f"from ringlet import AWRTRD, SAWRTRD{TRACE.format(shape=shape, rank=rank, solver=solver)}"
    peak = int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
    assert peak < 1.2 * ringlet.plan(shape, rank, solver=solver, dtype=np.uint8).memory


@pytest.fixture(scope="module")
def damaged():
    return damaged_tensor()


def bits(fit):
    return [core.tobytes() for core in fit.ring.cores]


def test_the_budget_never_changes_the_bits(damaged):
    high = _smallest(SAWRTRD(smooth=0.0, sweeps=30, samples=400, memory=1))
    low = high // 2
    while high - low > 1:  # the message names a rounded number
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if _is_possible(SAWRTRD(smooth=0.0, sweeps=30, samples=400, memory=middle))
            else (middle, high)
        )
    lean = SAWRTRD(smooth=0.0, samples=400, sweeps=3, memory=high)
    assert not lean.plan(SHAPE, RANK, np.dtype("f4"), stored(damaged).chunks).reads_ahead
    expected = bits(decompose(stored(damaged), RANK, solver=SAWRTRD(smooth=0.0, samples=400, sweeps=3)))
    assert bits(decompose(stored(damaged), RANK, solver=lean)) == expected


def _is_possible(solver):
    try:
        return plan(SHAPE, RANK, solver=solver, dtype="f4", chunks=CHUNKS) is not None
    except BudgetError:
        return False


def _smallest(solver):
    with pytest.raises(BudgetError, match="the smallest possible budget is") as caught:
        plan(SHAPE, RANK, solver=solver, dtype="f4", chunks=CHUNKS)
    return parse_bytes(str(caught.value).split("budget is ")[1].split(";")[0])


@pytest.mark.parametrize("threads", range(1, 9))
@pytest.mark.parametrize("kind", [SAWRTRD, AWRTRD])
def test_impossible_budgets_are_refused_with_the_smallest_possible_one(kind, threads):
    smallest = _smallest(kind(memory="1kB", threads=threads))
    assert _is_possible(kind(memory=smallest, threads=threads))
    assert not _is_possible(kind(memory=int(0.98 * smallest), threads=threads))


def test_an_impossible_budget_is_refused_before_anything_is_read(damaged):
    counting = Counting(damaged)
    with pytest.raises(BudgetError, match="smallest possible budget"):
        decompose(
            ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS)),
            RANK,
            solver=AWRTRD(smooth=0.0, sweeps=30, memory="1kB"),
        )
    assert not counting.reads


@pytest.mark.parametrize("chunks", [(8, 6, 3), (8, 6, 3, 0), (8, 6, 3, 2.5)])
def test_chunks_of_a_plan_are_checked(chunks):
    with pytest.raises((ArgumentError, TypeError), match="chunks"):
        plan(SHAPE, RANK, chunks=chunks)


@pytest.mark.parametrize("chunks", [None, CHUNKS])
@pytest.mark.parametrize("tuned", [{"solver": AWRTRD(sweeps=30, smooth="auto")}, {"rank": "auto"}])
def test_entries_that_are_held_out_and_judged_are_counted(tuned, chunks):
    rank = plan(SHAPE, "auto", solver=AWRTRD(smooth=0.0, sweeps=30)).rank
    fixed = plan(SHAPE, rank, solver=AWRTRD(smooth=0.0, sweeps=30, threads=1), chunks=chunks)
    solver = replace(tuned.get("solver", AWRTRD(smooth=0.0, sweeps=30)), threads=1)
    found = plan(SHAPE, tuned.get("rank", rank), solver=solver, chunks=chunks)
    held_out = (16 if chunks else 17) * np.prod(SHAPE)  # a mask of data in memory; a model, its residuals
    assert found.rank == fixed.rank
    assert found.memory == fixed.memory + held_out + 80 * np.prod(SHAPE)  # while all entries are judged


def test_a_very_wide_ring_of_a_full_hd_video_fits_in_four_gigabytes():
    video = (1080, 1920, 3, 50)
    found = plan(video, (200, 200, 3, 20), solver=SAWRTRD(smooth=0.0, threads=2), dtype="uint8")
    assert found.memory + 2 * np.prod(video) < 4e9  # with the video and its mask
