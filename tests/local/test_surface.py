"""The surface through trusted entries: that of least energy, wherever the array lies, along any axis."""

import numpy as np
import pytest

from ringlet.local.gap_kinds import kinds_of
from ringlet.local.modes import NeighbourModes
from ringlet.local.outlier_model import outliers_of_values
from ringlet.local.surface import Surface, learn_surface
from ringlet.local.window import Entries, Window

TENSION = 0.03


def window_of(values, observed, ring=None, ordered=(0, 1), related=()):
    ring = np.zeros_like(values) if ring is None else ring
    entries = Entries(np.where(observed, values, 0), observed, ring)
    return Window.of(entries, 0.0, 1.0, outliers_of_values(values.ravel()), NeighbourModes(ordered, related))


def least_energy(values, observed, weights):
    """Dense least squares: all second differences of a place added up, and slopes."""

    def along(matrix, mode):
        sides = [np.eye(length) for length in values.shape]
        sides[mode] = matrix
        total = np.eye(1)
        for side in sides:
            total = np.kron(total, side)
        return total

    size = values.size
    bending, slopes = np.zeros((size, size)), []
    for mode, weight in enumerate(weights):
        length = values.shape[mode]
        second = np.zeros((length, length))
        second[1:-1] = np.diff(np.eye(length), 2, axis=0)
        bending += weight * along(second, mode)
        slopes.append(np.sqrt(TENSION * weight) * along(np.diff(np.eye(length), axis=0), mode))
    rows = np.concatenate([bending, *slopes])
    gaps = ~observed.ravel()
    known = np.where(observed, values, 0).ravel()
    found = known.copy()
    found[gaps] = np.linalg.lstsq(rows[:, gaps], -rows @ known, rcond=None)[0]
    return found.reshape(values.shape)


def field(rows=16, columns=18, seed=0):
    y, x = np.mgrid[:rows, :columns]
    smooth = np.sin(x / 4) * np.cos(y / 5)
    return (smooth + 0.02 * np.random.default_rng(seed).standard_normal(smooth.shape)).astype(np.float32)


def test_the_surface_has_the_least_energy():
    values = field()
    observed = np.ones(values.shape, bool)
    observed[4:8, 5:9] = False
    observed[10, :3] = False
    observed[-2:, -3:] = False
    found = Surface((0.15, 0.1), 200).through(window_of(values, observed), observed)
    expected = least_energy(values.astype(float), observed, (0.15, 0.1))
    np.testing.assert_allclose(found, expected, atol=2e-3)
    np.testing.assert_array_equal(found[observed], values[observed])


def test_the_ring_does_not_change_a_surface_but_in_the_middle_of_large_gaps():
    values = field()
    observed = np.random.default_rng(1).random(values.shape) < 0.6
    ring = 0.3 * np.ones_like(values)
    surface = Surface((0.125, 0.125), 100)
    without = surface.through(window_of(values, observed), observed)
    beside = surface.through(window_of(values, observed, ring), observed) + ring
    np.testing.assert_allclose(beside, without, atol=5e-3)


def test_every_slice_has_its_own_surface_and_axes_may_be_swapped():
    values = np.stack([field(seed=1), field(seed=2)], axis=-1)
    observed = np.random.default_rng(2).random(values.shape) < 0.7
    surface = Surface((0.125, 0.125), 16)
    window = window_of(values, observed, ordered=(0, 1), related=(2,))
    known = window.layout.arranged(observed)
    whole = window.layout.restored(surface.through(window, known))
    for colour in range(2):
        alone = window_of(values[..., colour], observed[..., colour])
        np.testing.assert_allclose(whole[..., colour], surface.through(alone, observed[..., colour]), atol=1e-6)
    turned = window_of(values[..., 0].T, observed[..., 0].T)
    layout = turned.layout
    found = layout.restored(surface.through(turned, layout.arranged(observed[..., 0].T)))
    np.testing.assert_allclose(found.T, whole[..., 0], atol=1e-5)


@pytest.mark.parametrize(("side", "more"), [(1, False), (12, True)])
def test_wide_gaps_take_more_steps(side, more):
    values = field(60, 70)
    observed = np.ones(values.shape, bool)
    observed[20 : 20 + side, 30 : 30 + side] = False
    surface = learn_surface([window_of(values, observed)], [observed])
    assert (surface.steps > 20) == more
    assert sum(surface.weights) == pytest.approx(0.25)


def test_smooth_modes_count_more():
    values = np.cumsum(np.random.default_rng(3).standard_normal((50, 60)), axis=0).astype(np.float32)
    observed = np.ones(values.shape, bool)
    observed[::7] = False
    window = window_of(values, observed)
    found = learn_surface([window], [window.layout.arranged(observed)])
    weights = dict(zip(window.layout.order, found.weights, strict=True))
    assert weights[0] > 2 * weights[1]
    assert learn_surface([window_of(values, observed, ordered=())], [observed]) is None


def test_kinds_tell_how_much_is_known_around_and_in_other_slices():
    modes = NeighbourModes((1, 2), (0,))
    known = np.ones((3, 30, 30), bool)
    known[:, 10:20, 10:20] = False  # a block of pixels
    known[0, 25, 25] = False  # a single entry
    kinds = kinds_of(known, modes)
    block, single = kinds[0, 15, 15], kinds[0, 25, 25]
    assert block != single
    assert kinds[0, 5, 5] == single  # the entry itself does not count
    grid = np.zeros((3, 30, 30), bool)
    grid[:, ::2, ::2] = True
    assert len(set(kinds_of(grid, modes)[0, 10:12, 10:12].ravel())) > 1  # between the pixels, and on one
