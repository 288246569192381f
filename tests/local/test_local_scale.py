"""The scale of right errors: against plain sums in float64, and what single gross errors do to it."""

from itertools import product

import numpy as np
import pytest

from ringlet.local.layout import Layout
from ringlet.local.local_scale import LocalScale, SliceScales
from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import window_concentration


def window(length):
    """Weights of the window around every place, as a matrix: (1, 2, 1) / 4 with taps 1, 2 and 4 entries apart."""
    distance = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return np.linalg.multi_dot([0.5 * (distance == 0) + 0.25 * (distance == step) for step in (4, 2, 1)])


def plain_variance(squares, weights, ordered, whole, place):
    """The local variance at one place: all windows as matrices, the entry itself left out."""
    squares, weights = squares.astype(np.float64), weights.astype(np.float64)
    slices = tuple(mode for mode in range(squares.ndim) if mode not in ordered)

    def around(values):
        for mode in ordered:
            values = np.moveaxis(np.tensordot(window(values.shape[mode]), values, (1, mode)), 0, mode)
        return values

    alone = squares.copy(), weights.copy()
    for array in alone:
        array[place] = 0
    top, bottom = (float(around(array)[place]) for array in alone)
    top, bottom = top + 0.2 * whole, bottom + 0.2
    more = max(0.0, 28 * window_concentration(len(ordered), 3) - 0.2)
    if slices and more:
        there = tuple(0 if mode in slices else at for mode, at in enumerate(place))
        number = int(np.prod([squares.shape[mode] for mode in slices]))
        pooled = [
            (around(array.sum(slices, keepdims=True))[there] - around(array)[place]) / (number - 1)
            for array in (squares, weights)
        ]
        top += more * (pooled[0] + 0.2 * whole) / (pooled[1] + 0.2)
        bottom += more
    return top / bottom


@pytest.mark.parametrize(("shape", "ordered"), [((13, 17), (0, 1)), ((4, 19), (1,)), ((3, 2, 11), (2,))])
def test_variances_are_those_of_plain_sums(shape, ordered):
    rng = np.random.default_rng(0)
    errors, weights = rng.standard_normal(shape).astype(np.float32), rng.random(shape).astype(np.float32)
    calm = weights * rng.random(shape).astype(np.float32)
    layout = Layout.of(shape, NeighbourModes(ordered, ()))
    assert layout.order == tuple(range(len(shape)))
    scale = LocalScale.of(errors, weights, calm, layout, 0.7, SliceScales())
    for tile in layout.tiles(7, entries=60, shortest=4):
        found = scale.variance(tile)
        for offset in product(*(range(length) for length in found.shape)):
            place = tuple(part.start + step for part, step in zip(tile.inner, offset, strict=True))
            expected = plain_variance(calm * errors**2, weights, ordered, 0.7, place)
            assert found[offset] == pytest.approx(expected, rel=2e-4)


def test_without_an_order_scales_of_slices_are_all_there_is():
    layout = Layout.of((3, 4), NeighbourModes((), ()))
    scales = SliceScales((np.array([[1], [2], [3]], np.float32),))
    ones = np.ones((3, 4), np.float32)
    (tile,) = layout.tiles(0)
    variance = LocalScale.of(ones, ones, ones, layout, 0.5, scales).variance(tile)
    np.testing.assert_allclose(variance, np.repeat([[0.5], [2.0], [4.5]], 4, axis=1))


def test_the_scale_of_a_gross_error_is_that_of_its_neighbours():
    rng = np.random.default_rng(1)
    errors = rng.standard_normal((40, 50)).astype(np.float32)
    errors[20, 30] = 1e4
    ones = np.ones_like(errors)
    layout = Layout.of(errors.shape, NeighbourModes((0, 1), ()))
    (tile,) = layout.tiles(7)
    variance = LocalScale.of(errors, ones, ones, layout, 1.0, SliceScales()).variance(tile)
    assert variance[20, 30] < 2
    assert variance[20, 31] > 1e4  # which is why errors that are doubted count little


def test_slices_have_the_scales_that_their_errors_were_made_with():
    rng = np.random.default_rng(2)
    made = [np.array([0.2, 1.0, 5.0]), rng.uniform(0.5, 2, 40)]
    errors = rng.standard_normal((3, 40, 300)) * made[0][:, None, None] * made[1][:, None]
    errors[rng.random(errors.shape) < 0.05] = 1e3
    found = SliceScales.of(errors.astype(np.float32), np.ones(errors.shape, np.float32), (0, 1)).scales
    for one, truth in zip(found, made, strict=True):
        ratios = one.ravel() / truth
        assert np.ptp(np.log(ratios)) < 0.5


def test_modes_that_a_block_does_not_hold_whole_have_no_scales():
    scales = SliceScales((np.full((3, 1), 2, np.float32), np.full((1, 5), 7, np.float32)))
    assert scales.over((3, 5)).ravel()[0] == 14
    assert scales.over((3, 4)).shape == (3, 1)
    assert scales.over((2, 4)).ravel().tolist() == [1]


@pytest.mark.parametrize("errors", [np.zeros((3, 4), np.float32), np.full((3, 4), np.float32(1e-30))])
def test_scales_of_errors_of_nothing_are_finite(errors):
    assert np.all(np.isfinite(SliceScales.of(errors, np.ones_like(errors), (0,)).over(errors.shape)))
    assert SliceScales.of(errors, np.zeros_like(errors), (0,)).scales == ()


def test_errors_of_rounding_give_slices_no_scales():
    errors = np.full((3, 400), 1e-27, np.float32)
    errors[0, :150] = 1.0  # gross errors, most of them in one slice
    assert SliceScales.of(errors, np.ones_like(errors), (0,)).scales == ()


def test_slices_of_a_mosaic_have_the_scales_of_whole_ones():
    """Every pixel is known in one colour only, as behind the filter of a camera."""
    shape = (1024, 1024, 3)
    errors = np.random.default_rng(0).standard_normal(shape, np.float32) * np.array([1, 2, 5], np.float32)
    known = np.zeros(shape, np.float32)
    known[::2, ::2, 0] = known[1::2, ::2, 1] = known[::2, 1::2, 1] = known[1::2, 1::2, 2] = 1
    (mosaic,), (whole,) = (SliceScales.of(errors, weights, (2,)).scales for weights in (known, np.ones_like(known)))
    np.testing.assert_allclose(mosaic / mosaic[..., :1], whole / whole[..., :1], rtol=0.05)
