"""Regions of a store, each taken by a worker: the bits of a pass on this machine."""

import numpy as np
import pytest

from cluster_fits import RANK, SHAPE, eager, stored, tensor
from oracles import random_cores
from ringlet.execution import Threads
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.cluster_regions import ClusterRegions, region_tasks
from ringlet.solvers.engine.regions import RegionPass, Regions
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import as_source


@pytest.mark.parametrize("mode", range(4))
def test_regions_on_workers_give_the_bits_of_regions_here(client, tmp_path, mode):
    executor, source = eager(client), as_source(stored(tensor("uint8"), "zarr", tmp_path))
    regions = Regions(source, ahead=False, entries=40_000)
    assert len(regions.blocks) == 8
    cores = random_cores(SHAPE, RANK, dtype=np.float32)
    kernel, direction = Kernel(0.5, LOSSES["correntropy"]), cores[mode].transpose(1, 0, 2).reshape(SHAPE[mode], -1)

    def over(number, parts):
        held = regions.held(number)
        return StreamedPass(Sketch(held, mode, tuple(map(np.arange, held.shape)), parts), 255.0, Resources())

    here = RegionPass(regions.blocks, cores, mode, over)
    sketch = Sketch(source, mode, tuple(map(np.arange, SHAPE)), cores)
    found = []
    with Threads(1), executor.place(source) as placement:  # as fits do, BLAS has one thread
        for data in (here, ClusterRegions(regions.blocks, sketch, 255.0, placement)):
            gradient, weights = data.gradient(kernel)
            found.append((gradient.tobytes(), data.curvature(direction, weights)))
    regions.close()
    assert found[0] == found[1]
    assert executor.traffic.tasks == 2 * region_tasks(len(regions.blocks), 2)
