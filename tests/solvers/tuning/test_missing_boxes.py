"""Boxes like missing ones: their sizes, and where they are put."""

import numpy as np
import pytest

from ringlet.solvers.tuning.missing_boxes import box_around, boxes_like_missing


@pytest.mark.parametrize("place", [(4, 6, 1), (2, 5, 0), (8, 10, 2)])
def test_a_box_grows_to_the_edges_of_its_hole(place):
    missing = np.zeros((40, 80, 9), bool)
    missing[2:9, 5:11, :3] = True
    start, stop = box_around(missing, np.array(place))
    assert (start.tolist(), stop.tolist()) == ([2, 5, 0], [9, 11, 3])


def test_boxes_have_the_sizes_of_missing_ones_and_lie_where_something_is_known():
    missing = np.zeros((60, 50, 20), bool)
    missing[10:25, 5:20, 3:9] = True
    missing[40:55, 30:45, 12:18] = True
    found = boxes_like_missing(missing, 0.02, np.random.default_rng(0))
    assert not (found & missing).any()
    assert 0.02 < found.sum() / (~missing).sum() < 0.06
    lengths = [np.count_nonzero(found.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1))]
    assert lengths >= [15, 15, 6]


def test_there_are_none_where_whole_fibres_are_missing():
    missing = np.zeros((30, 30, 6), bool)
    missing[10:20, 5:15] = True  # all of the last mode
    assert not boxes_like_missing(missing, 0.1, np.random.default_rng(0)).any()
    assert not boxes_like_missing(np.zeros((5, 5), bool), 0.1, np.random.default_rng(0)).any()
    assert not boxes_like_missing(np.ones((5, 5), bool), 0.1, np.random.default_rng(0)).any()
