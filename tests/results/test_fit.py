"""Weights and restored entries on demand."""

import numpy as np
import pytest

from ringlet import AWRTRD, decompose
from ringlet.errors import IndexingError
from stored_tensors import RANK, damaged_tensor, stored

RNG = np.random.default_rng(0)
X = np.add.outer(np.add.outer(np.arange(8.0), np.arange(7.0)), np.arange(6.0))
X[1, 2, 3] = 500.0
MASK = np.ones(X.shape, bool)
MASK[4, 4, 4] = False
PLAIN = {"detail": "never", "keep": "always"}  # the data where the kernel trusts them, the ring elsewhere


@pytest.fixture(scope="module")
def kernel_fit():
    """A fit with a kernel, which trusts all entries but one."""
    return decompose(X, 3, mask=MASK, solver=AWRTRD(smooth=0.0, sweeps=60, loss="correntropy"))


def expected_weights(kernel_fit):
    residual = X - np.asarray(kernel_fit.ring)
    return np.where(MASK, np.exp(-(residual**2) / (2 * kernel_fit.sigma**2)), np.nan)


@pytest.mark.parametrize(
    "index",
    [
        ...,
        (),
        0,
        (1, 2, 3),
        (slice(1, 5), ..., 3),
        (slice(None, None, -2), -1),
        (..., np.array([3, 0, 3])),
        ([1, 2], slice(2, 4)),
        (4, 4, 4),
    ],
)
def test_weights_of_a_block_are_those_of_its_residuals(kernel_fit, index):
    np.testing.assert_allclose(kernel_fit.weights(index), expected_weights(kernel_fit)[index], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None), [1, 2]),
        (1, ..., np.array([3, 0, 3])),
        ([1, 2, 4], slice(None), 3),
        ([1, 2], ..., 3),
        (0, slice(None), np.arange(6) > 3),
        (0, [1, 2], slice(None)),
        (slice(None), [1, 2], 3),
        (0, 1, ..., [2, 3]),
        (0, [1, 2], 3),
    ],
)
def test_the_axes_lie_as_those_of_the_ring(kernel_fit, index):
    """An index array that stands apart from an integer comes first, as in NumPy."""
    weights, restored = expected_weights(kernel_fit), np.where(MASK, X, 0)
    restored[[1, 4], [2, 4], [3, 4]] = np.asarray(kernel_fit.ring)[[1, 4], [2, 4], [3, 4]]
    np.testing.assert_allclose(kernel_fit.weights(index), weights[index], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel_fit.restored(index, **PLAIN), restored[index], rtol=1e-14)
    assert kernel_fit.weights(index).shape == kernel_fit.ring[index].shape


def test_outliers_weigh_nothing_missing_is_nan(kernel_fit):
    assert kernel_fit.weights((1, 2, 3)) < 1e-6
    assert np.isnan(kernel_fit.weights((4, 4, 4)))
    assert np.nanmin(np.delete(kernel_fit.weights().ravel(), np.ravel_multi_index((1, 2, 3), X.shape))) > 0.5


@pytest.mark.parametrize("index", [..., (slice(1, 5), ..., 3), (1, 2, 3), (4, 4, 4), (2, 2, 2), ([1, 4], slice(2, 5))])
def test_restored_are_the_data_but_for_what_is_missing_or_wrong(kernel_fit, index):
    expected = X.copy()
    for place in ((1, 2, 3), (4, 4, 4)):
        expected[place] = np.asarray(kernel_fit.ring)[place]
    np.testing.assert_allclose(kernel_fit.restored(index, **PLAIN), expected[index], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_restored_have_the_dtype_and_the_digits_of_the_data(dtype):
    x = np.ones((6, 5, 4), dtype)
    if dtype == "i8":
        x += 2**60
        assert x[0, 0, 0] == 2**60 + 1
    x[1, 2, 3] = 0
    fit = decompose(x, 1, solver=AWRTRD(smooth=0.0, sweeps=20, loss="correntropy"))
    restored = fit.restored(**PLAIN)
    assert restored.dtype == x.dtype
    trusted = fit.weights() >= 0.5
    assert trusted.sum() >= x.size - 1
    np.testing.assert_array_equal(restored[trusted], x[trusted])


def test_no_indices_give_nothing(kernel_fit):
    assert kernel_fit.weights([]).shape == (0, 7, 6)


def test_least_squares_trusts_everything():
    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, loss="l2", sweeps=3))
    assert (fit.weights() == 1.0).all()


def test_out_of_range_indices_are_errors(kernel_fit):
    with pytest.raises(IndexError):
        kernel_fit.weights((8, 0, 0))


def test_the_share_of_outliers_is_told_from_blocks_of_chunks():
    damaged = damaged_tensor()
    fit = decompose(stored(damaged), RANK, solver=AWRTRD(smooth=0.0, sweeps=8))
    weights = fit.weights()
    assert fit.missing_share == pytest.approx(np.isnan(damaged).mean())
    wrong = fit.outliers() | (weights < 0.5)
    assert fit.outlier_share == pytest.approx(np.count_nonzero(wrong) / np.count_nonzero(~np.isnan(weights)), rel=0.05)


@pytest.mark.parametrize(
    "index",
    [(0, 0, 0, 0), 1.5, None, True, np.ones(7, bool), (..., ...)],
)
def test_wrong_weight_indices_are_refused(kernel_fit, index):
    with pytest.raises(IndexingError, match="index"):
        kernel_fit.weights(index)
