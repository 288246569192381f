"""Medians of blocks, which modes are smooth, and slices between the centres of blocks."""

from itertools import product
from typing import ClassVar

import numpy as np
import pytest

from ringlet.solvers.tuning.block_medians import block_medians, interpolated, medians, smooth_modes
from ringlet.sources import ArraySource, as_source
from tuning_fits import hills, spoiled_hills


@pytest.mark.parametrize("factors", [(4, 4, 1), (2, 3, 2), (1, 5, 1)])
def test_medians_are_those_of_the_observed_entries(factors):
    rng = np.random.default_rng(0)
    x, observed = rng.standard_normal((13, 9, 4)), rng.random((13, 9, 4)) < 0.2
    found = block_medians(as_source(x, observed), factors, np.dtype("f8"))
    assert found.shape == tuple(-(-length // factor) for length, factor in zip(x.shape, factors, strict=True))
    for place in product(*map(range, found.shape)):
        block = tuple(slice(i * factor, (i + 1) * factor) for i, factor in zip(place, factors, strict=True))
        entries = x[block][observed[block]]
        expected = np.median(entries) if entries.size else np.nan
        np.testing.assert_allclose(found[place], expected, rtol=1e-12)


class Recording(ArraySource):
    """Notes how many entries are read at a time."""

    read_sizes: ClassVar[list[int]] = []

    def read(self, block, order=None):
        values, observed = super().read(block, order)
        self.read_sizes.append(values.size)
        return values, observed


def test_medians_of_large_data_are_made_a_slab_at_a_time():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1201, 40, 100)).astype(np.float32)  # more than two slabs of 2^21 entries
    x[rng.random(x.shape) < 0.1] = np.nan
    found = block_medians(Recording(x), (4, 3, 1), np.dtype("f4"))
    assert len(Recording.read_sizes) == 3
    np.testing.assert_array_equal(found, medians(x, (4, 3, 1)))


def test_only_ordered_modes_count_as_smooth():
    truth = hills((144, 132, 30))
    rows, columns = (np.random.default_rng(5).permutation(length) for length in truth.shape[:2])
    for data, smooth in ((truth, [0, 1]), (truth[rows], [1]), (truth[rows][:, columns], [])):
        x, observed = spoiled_hills(data)
        assert smooth_modes(as_source(x, observed), (0, 1, 2), seed=0) == smooth


def test_slices_on_a_line_stay_on_it():
    line = np.arange(24.0)[None, :, None] * [[[1.0, -2.0]]]
    centres = line.reshape(1, 6, 4, 2).mean(axis=2)
    fine = interpolated(centres, 1, np.arange(24), 4)
    np.testing.assert_allclose(fine[:, 2:-2], line[:, 2:-2])
    np.testing.assert_array_equal(fine[:, [0, -1]], centres[:, [0, -1]])
    assert interpolated(centres, 1, np.arange(23), 4).shape == (1, 23, 2)  # the last block is smaller
