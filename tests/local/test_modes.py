"""Order and relation of modes are read off the data, not off their lengths."""

import tracemalloc

import numpy as np

from ringlet.local.modes import NeighbourModes, find_modes


def scene(seed=0):
    """Smooth along modes 0 and 1, three alike slices in mode 2."""
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((40, 50)).cumsum(0).cumsum(1)
    own = rng.standard_normal((40, 50, 3)) * plane.std() / 10
    return (plane[:, :, None] + own).astype(np.float32)


def test_smooth_modes_are_ordered_and_colours_related():
    x = scene()
    residuals = x - x.mean()
    assert find_modes([x], [residuals], [np.ones_like(x)]) == NeighbourModes((0, 1), (2,))


def test_a_shuffled_mode_is_not_ordered():
    x = scene()[np.random.default_rng(1).permutation(40)]
    found = find_modes([x], [x - x.mean()], [np.ones_like(x)])
    assert found.ordered == (1,)


def test_slices_are_related_also_where_signs_cancel():
    """Of three pairs one is positive and two are negative: their sum is zero."""
    rng = np.random.default_rng(5)
    common = rng.standard_normal((40, 50, 1)) * [1, 1, -0.5]
    own = rng.standard_normal((40, 50, 3)) * [0.5, 0.5, 1]
    x, alone = (common + own).astype(np.float32), own.astype(np.float32)
    full = np.ones_like(x)
    assert find_modes([x], [x], [full]).related == (2,)
    assert find_modes([x], [alone], [full]).related == ()


def test_noise_has_neither():
    x = np.random.default_rng(2).standard_normal((30, 30, 4)).astype(np.float32)
    assert find_modes([x], [x], [np.ones_like(x)]) == NeighbourModes((), ())


def test_long_modes_need_no_matrix_of_all_their_slices():
    hours = np.random.default_rng(3).standard_normal((20_000, 3)).cumsum(0).astype(np.float32)
    tracemalloc.start()
    found = find_modes([hours], [np.zeros_like(hours)], [np.ones_like(hours)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.ordered == (0,)
    assert peak < 20 * hours.nbytes
    mixed = hours[np.random.default_rng(4).permutation(len(hours))]
    assert find_modes([mixed], [np.zeros_like(mixed)], [np.ones_like(mixed)]).ordered == ()


def test_channels_are_related_where_only_every_other_column_is_known():
    rng = np.random.default_rng(0)
    shape = (512, 640, 4)
    residuals = (rng.standard_normal((512, 640, 1)) + 0.3 * rng.standard_normal(shape)).astype(np.float32)
    weights = np.zeros(shape, np.float32)
    weights[:, 1::2] = 1
    found = find_modes([residuals * weights], [residuals * weights], [weights], 0)
    assert found.related == (2,)
