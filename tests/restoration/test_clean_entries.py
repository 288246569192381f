"""Restored entries of data that take several tiles: each is computed once, whatever order a file is written in."""

from types import SimpleNamespace

import numpy as np
import pytest

from ringlet.restoration.clean_entries import Cleaning, in_any_order
from ringlet.results.tiles import tiling

X = np.arange(60 * 50 * 3).reshape(60, 50, 3)


def needed(detail, keep):
    """As a fit whose kernel judges says it."""
    return (detail, keep) != ("never", "never")


class Counted:
    """Entries that know how often they were asked for."""

    def __init__(self):
        self.asked = np.zeros(X.shape, int)

    def __call__(self, index):
        self.asked[index] += 1
        return X[index]


@pytest.fixture
def large():
    """A fit, as far as writing knows it, whose data take several tiles."""
    tiles = tiling(tuple(slice(0, length) for length in X.shape), (2, 2, 0), (), 2000, (1, 1, 1))
    assert tiles.count > 4
    return SimpleNamespace(tiles=tiles, ring=SimpleNamespace(shape=X.shape, ndim=X.ndim), needs_neighbours=needed)


def test_tiles_are_computed_once_and_read_in_any_order(tmp_path, large):
    entries = Counted()
    with in_any_order(large, entries, Cleaning(), tmp_path) as ready:
        for frame in range(3):
            np.testing.assert_array_equal(ready((..., frame)), X[..., frame])
        np.testing.assert_array_equal(ready((slice(5, 9),)), X[5:9])
    assert entries.asked.ravel()[1:].max() == entries.asked.min() == 1  # the first entry tells the dtype
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cleaning", [Cleaning("never", "never"), Cleaning("never", "auto", trust_known=True)])
def test_the_ring_alone_needs_no_file(tmp_path, large, cleaning):
    entries = Counted()
    with in_any_order(large, entries, cleaning, tmp_path) as ready:
        assert ready is entries
