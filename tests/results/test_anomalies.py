"""Residuals, z-scores and outliers of a fit: the documented way to find what is wrong in the data."""

import numpy as np
import pytest

from ringlet import AWRTRD, SAWRTRD, TensorRing, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, IndexingError

zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def ring_fit():
    """A fit of the true rank."""
    return decompose(X, rank=3)


def car_parks(seed=0):
    """Counts like those of car parks: sites of very different size and noise, a daily pattern, some missing."""
    rng = np.random.default_rng(seed)
    capacity = np.exp(rng.uniform(5.0, 8.0, 24))
    hour = np.arange(18)
    day = 0.6 + 0.3 * np.sin(np.arange(50) * 2 * np.pi / 7) ** 2
    shape = np.exp(-((hour - rng.uniform(6, 11, (24, 1))) ** 2) / 30)
    level = capacity[:, None, None] * day[:, None] * shape[:, None, :]
    truth = level + 0.1 * np.sqrt(capacity)[:, None, None] * rng.standard_normal(level.shape)
    x, planted = np.rint(np.clip(truth, 0, None)) + 300, rng.random(truth.shape) < 0.05
    x[planted] += 200 * rng.choice([-1, 1], planted.sum())
    known = rng.random(truth.shape) > 0.15
    return x.astype(np.uint16), known, planted & known


def noisy_ring(shape=(30, 25, 20), rank=3, noise=0.02, share=0.05, seed=0):
    """A ring with noise, and errors of ten standard deviations."""
    rng = np.random.default_rng(seed)
    truth = np.asarray(TensorRing([rng.standard_normal((rank, n, rank)) for n in shape]))
    sigma = noise * truth.std()
    x, planted = truth + sigma * rng.standard_normal(shape), rng.random(shape) < share
    x[planted] += 10 * sigma * rng.choice([-1, 1], planted.sum())
    missing = rng.random(shape) < 0.2
    x[missing] = np.nan
    return x, planted & ~missing, sigma


X, PLANTED, SIGMA = noisy_ring()


def precision_and_recall(found, planted):
    return planted[found].mean(), found[planted].mean()


def test_moderate_errors_in_counts_are_found():
    x, known, planted = car_parks()
    precision, recall = precision_and_recall(decompose(x, mask=known).outliers(), planted)
    assert precision >= 0.85
    assert recall >= 0.95


def test_errors_of_ten_standard_deviations_are_found(ring_fit):
    """The weights trust all of them: the kernel is as wide as the misfit that an unfinished ring may have."""
    precision, recall = precision_and_recall(ring_fit.outliers(), PLANTED)
    assert precision >= 0.85
    assert recall >= 0.95


def test_the_share_of_false_discoveries_is_about_that_asked_for():
    x, planted, _ = noisy_ring((40, 36, 30), seed=4)
    fit = decompose(x, rank=3)
    for fdr in (0.05, 0.1, 0.2):
        found = fit.outliers(fdr=fdr)
        assert fdr / 2 < 1 - planted[found].mean() < 2 * fdr, fdr


def test_clean_data_with_noise_hold_hardly_any_outliers():
    x, _, _ = noisy_ring(share=0.0, seed=5)
    assert decompose(x, rank=3).outliers().mean() < 1e-3


def test_equal_errors_in_data_that_a_ring_describes_exactly_are_the_only_outliers():
    """All other errors are of rounding: their sizes say nothing of the slices."""
    rng = np.random.default_rng(3)
    truth = np.asarray(TensorRing([rng.standard_normal((3, n, 3)) for n in (20, 18, 15)]))
    planted = rng.random(truth.shape) < 0.05
    fit = decompose(truth + 30 * planted)
    np.testing.assert_array_equal(fit.outliers(), planted)
    np.testing.assert_allclose(fit.restored(), truth, atol=1e-3)


def test_residuals_are_data_minus_ring_and_nan_where_nothing_is_known(ring_fit):
    np.testing.assert_allclose(ring_fit.residuals(), X - np.asarray(ring_fit.ring), rtol=1e-12)


def test_zscores_have_about_unit_spread(ring_fit):
    z = ring_fit.zscores()
    assert np.array_equal(np.isnan(z), np.isnan(X))
    assert 0.8 < 1.4826 * np.nanmedian(np.abs(z)) < 1.2


def test_missing_entries_are_no_outliers(ring_fit):
    found = ring_fit.outliers()
    assert found.dtype == bool
    assert not found[np.isnan(X)].any()


MASK = np.random.default_rng(3).random(X.shape) < 0.1


@pytest.mark.parametrize(
    "index",
    [
        3,
        (1, 2, 3),
        (slice(None, None, -2), ..., -1),
        ([4, 0, 4], slice(2, 9)),
        ([1, 2], [3, 4]),
        ([1, 2], slice(None), [3, 4]),
        np.ix_([1, 5], [0, 2], [7, 3]),
        MASK,
        (slice(None), MASK[0]),
        np.array([[1, 2], [3, 4]]),
    ],
    ids=str,
)
def test_any_index_of_numpy_gives_the_part_of_the_whole(ring_fit, index):
    np.testing.assert_allclose(ring_fit.residuals(index), ring_fit.residuals()[index], atol=1e-12)
    np.testing.assert_allclose(ring_fit.zscores(index), ring_fit.zscores()[index], atol=1e-9)
    np.testing.assert_array_equal(ring_fit.outliers(index), ring_fit.outliers()[index])
    np.testing.assert_allclose(ring_fit.weights(index), ring_fit.weights()[index], atol=1e-12)


def test_bad_indices_and_rates_are_named(ring_fit):
    with pytest.raises(IndexingError):
        ring_fit.residuals(([0, 99], [0, 0]))
    with pytest.raises(IndexingError, match="newaxis"):
        ring_fit.residuals((None, 0))
    with pytest.raises(ArgumentError, match=r"fdr=1\.0"):
        ring_fit.outliers(fdr=1.0)
    with pytest.raises(ArgumentTypeError, match="fdr='a'"):
        ring_fit.outliers(fdr="a")


def test_the_same_fit_judges_every_time_alike(ring_fit):
    again = decompose(X, rank=3)
    np.testing.assert_array_equal(ring_fit.outliers(2), again.outliers()[2])


def test_stores_are_judged_as_arrays_are(tmp_path):
    stored = zarr.create_array(store=tmp_path / "x.zarr", shape=X.shape, chunks=(16, 13, 20), dtype=X.dtype)
    stored[:] = X
    fit = decompose(stored, rank=3, solver=AWRTRD())
    precision, recall = precision_and_recall(fit.outliers(), PLANTED)
    assert precision >= 0.85
    assert recall >= 0.95
    np.testing.assert_array_equal(fit.outliers(([3, 29], [4, 0])), fit.outliers()[[3, 29], [4, 0]])


@pytest.mark.parametrize("chunks", [None, (40, 33, 50)])
def test_large_data_are_judged_from_a_sample(tmp_path, chunks):
    """More entries than the sample may have, in memory and in a store."""
    x, planted, _ = noisy_ring((80, 80, 90), seed=6)
    data = x
    if chunks is not None:
        data = zarr.create_array(store=tmp_path / "x.zarr", shape=x.shape, chunks=chunks, dtype=x.dtype)
        data[:] = x
    fit = decompose(data, rank=3, solver=AWRTRD(sweeps=10, smooth=0.0))
    part = (slice(10, 30), slice(None), slice(20, 60))
    precision, recall = precision_and_recall(fit.outliers(part), planted[part])
    assert precision >= 0.85
    assert recall >= 0.95


def test_appended_slices_are_judged():
    fit = decompose(X[..., :16], rank=3).extend(X[..., 16:])
    found = fit.outliers((..., slice(16, None)))
    precision, recall = precision_and_recall(found, PLANTED[..., 16:])
    assert precision >= 0.85
    assert recall >= 0.95
    with pytest.raises(IndexingError, match="not held"):
        fit.outliers()


@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"solver": SAWRTRD(samples=50)}], ids=str)
def test_one_spike_among_zeros_is_judged_without_a_warning(options):
    x = np.zeros((12, 11, 6))
    x[1, 2, 3] = 1e6
    fit = decompose(x, **options)
    assert np.isfinite(fit.zscores()).all()
    assert np.isfinite(fit.uncertainty()).all()
    assert "Fit(shape 12" in repr(fit)


def test_only_the_entries_that_differ_are_outliers_among_zeros():
    """The ring is not exactly zero beside them, by far less than means anything."""
    ones = np.random.default_rng(6).random((20, 15, 12)) < 0.02
    np.testing.assert_array_equal(decompose(ones.astype(float)).outliers(), ones)


def test_the_rows_of_a_narrow_table_are_right():
    rng = np.random.default_rng(0)
    table = np.rint(20 + rng.normal(0, 0.3, (1500, 1)).cumsum(0) + rng.normal(0, 1.2, (1500, 2))).astype(int)
    fit = decompose(table)
    np.testing.assert_array_equal(fit.restored(keep="always"), table)
    assert fit.outlier_share < 1e-3


@pytest.mark.parametrize("shape", [(5, 6, 7), (20, 15, 12)])
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_constant_data_hold_no_outliers(level, shape):
    fit = decompose(np.full(shape, level))
    assert fit.outlier_share == 0
    assert not fit.outliers().any()
