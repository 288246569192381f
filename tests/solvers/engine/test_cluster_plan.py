"""What a sweep on a cluster will send and receive, predicted."""

import numpy as np
import pytest
import zarr

import ringlet
from cluster_fits import CHUNKS, RANK, SHAPE, bits, eager, stored, tensor
from ringlet import AWRTRD, SAWRTRD, decompose
from ringlet.baselines import TRALS
from ringlet.solvers.engine.cluster_plan import distribute


@pytest.mark.parametrize("kind", ["array", "zarr"])
@pytest.mark.parametrize(
    "solver", [AWRTRD(smooth=0.0, sweeps=1), SAWRTRD(smooth=0.0, samples=8000, sweeps=1), TRALS(sweeps=1)]
)
def test_traffic_is_as_predicted(client, tmp_path, kind, solver):
    """Sampled slices of cores go out, rows of the gradient come back; pickling adds little."""
    x, executor = tensor("uint8"), eager(client)
    decompose(x if kind == "array" else stored(x, kind, tmp_path), RANK, solver=solver, executor=executor)
    chunks = None if kind == "array" else CHUNKS
    assert_predicted(executor.traffic, ringlet.plan(SHAPE, RANK, solver=solver, chunks=chunks))
    if kind == "array":
        assert x.nbytes < executor.traffic.data < x.nbytes + 3000  # once


def test_traffic_of_regions_is_as_predicted_and_gives_the_same_bits(client, tmp_path):
    shape, chunks, solver = (256, 256, 140), (64, 64, 70), AWRTRD(smooth=0.0, sweeps=1)
    x = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
    data, executor = zarr.create_array(tmp_path / "x.zarr", data=x, chunks=chunks, compressors=None), eager(client)
    plan = ringlet.plan(shape, 3, solver=solver, chunks=chunks)
    assert all(np.prod(core.grid) >= 2 for core in plan.cores)  # more than the 2^23 entries of a region
    spread = decompose(data, 3, solver=solver, executor=executor)
    assert_predicted(executor.traffic, plan)
    assert bits(spread) == bits(decompose(data, 3, solver=solver))


def assert_predicted(traffic, plan):
    spread = distribute(plan, workers=2, least_seconds=1e-9)
    assert traffic.tasks == spread.tasks > 8
    assert 0 <= traffic.out - spread.bytes_out < 3000 * spread.tasks
    assert 0 <= traffic.back - spread.bytes_back < 3000 * spread.tasks
