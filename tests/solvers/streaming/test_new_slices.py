"""Slices to append: checked, copied, and filled where they hold no data."""

import numpy as np
import pytest
import xarray

from extended_rings import CORES, FRAME, RANK, SHAPE, TRUTH, close, fit_of
from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning

RNG = np.random.default_rng(0)


def test_missing_entries_by_nan_mask_or_masked_array_are_the_same():
    seen = RNG.random(TRUTH[..., 10:].shape) < 0.5
    gaps = np.where(seen, TRUTH[..., 10:], np.nan)
    fit = fit_of(CORES, 10)
    by_nan = fit.extend(gaps)
    by_mask = fit.extend(TRUTH[..., 10:], mask=seen)
    by_ma = fit.extend(np.ma.masked_array(TRUTH[..., 10:], ~seen))
    close(by_nan.ring, TRUTH, 1e-6)
    for other in (by_mask, by_ma):
        assert all(np.array_equal(a, b) for a, b in zip(by_nan.ring.cores, other.ring.cores, strict=True))
    np.testing.assert_array_equal(np.isnan(by_nan.weights((..., slice(10, None)))), ~seen)


def test_slices_without_data_are_filled_from_their_neighbours():
    slices = TRUTH[..., 9:].copy()
    slices[..., 1] = np.nan
    with pytest.warns(DataWarning, match="1 of the new slices hold no observed entry"):
        fit = fit_of(CORES, 9).extend(slices, refresh=0)
    core = fit.ring.cores[-1]
    np.testing.assert_allclose(core[:, 10], (core[:, 9] + core[:, 11]) / 2, atol=1e-12)
    close(np.asarray(fit.ring)[..., [9, 11]], TRUTH[..., [9, 11]], 1e-9)


@pytest.mark.parametrize("count", [1, 3])
def test_a_stream_survives_frames_without_any_data(count):
    fit = fit_of(CORES, 9)
    with pytest.warns(DataWarning, match="none of the new slices holds an observed entry; they repeat the last slice"):
        grown = fit.extend(np.full((9, 8, 3, count), np.nan))
    for old, new in zip(fit.ring.cores[:3], grown.ring.cores[:3], strict=True):
        assert np.array_equal(old, new)
    expected = np.concatenate([TRUTH[..., :9], *[TRUTH[..., 8:9]] * count], axis=-1)
    close(grown.ring, expected, 1e-9)
    assert grown.sigma == fit.sigma
    assert [(record.sweep, record.change) for record in grown.history] == [(1, 0.0)]
    assert np.isnan(grown.weights((..., slice(9, None)))).all()
    close(grown.extend(TRUTH[..., 9:]).ring, np.concatenate([expected, TRUTH[..., 9:]], axis=-1), 1e-9)


def test_masked_frames_and_frames_of_whole_numbers_can_be_without_data():
    fit = decompose(np.round(50 * TRUTH[..., :11]).astype("i2"), RANK, solver=AWRTRD(smooth=0.0, sweeps=3))
    frame = np.round(50 * FRAME).astype("i2")
    with pytest.warns(DataWarning, match="none of the new slices"):
        assert fit.extend(frame, mask=np.zeros(frame.shape, bool)).ring.shape == SHAPE


def test_a_buffer_may_be_used_again():
    buffer, mask = TRUTH[..., 11:].copy(), np.ones((9, 8, 3, 1), bool)
    fit = fit_of(CORES, 11).extend(buffer, mask=mask)
    weights = fit.weights((..., -1))
    buffer[...], mask[...] = 1e6, False
    np.testing.assert_array_equal(fit.weights((..., -1)), weights)


@pytest.fixture(scope="module")
def fit_of_eleven():
    return fit_of(CORES, 11)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"new_slices": FRAME[..., 0]}, ArgumentError, r"\(9, 8, 3\) does not fit.*expand_dims\(new_slices, 3\)"),
        ({"new_slices": FRAME[:, :7]}, ArgumentError, r"new_slices: shape \(9, 7, 3, 1\).*needs \(9, 8, 3, any\)"),
        ({"new_slices": FRAME[..., :0]}, ArgumentError, "new_slices: .*holds no entries"),
        ({"new_slices": FRAME * np.inf}, ArgumentError, "new_slices: .*infinite"),
        ({"new_slices": FRAME.astype(complex)}, ArgumentTypeError, "new_slices: .*complex"),
        ({"mask": np.ones((9, 8, 3), bool)}, ArgumentError, r"mask has shape \(9, 8, 3\)"),
        ({"mode": 4}, ArgumentError, "mode=4 is not allowed; the ring has 4 modes, so give -4 to 3"),
        ({"mode": 1.0}, ArgumentTypeError, "mode=1.0 is not a whole number"),
        ({"mode": 0}, ArgumentError, r"needs \(any, 8, 3, 11\)"),
        ({"refresh": -1}, ArgumentError, "refresh=-1"),
        ({"refresh": 1.5}, ArgumentTypeError, "refresh=1.5"),
        ({"forget": 1.0}, ArgumentError, "forget=1.0 is not allowed; it must be below 1"),
        ({"forget": -0.1}, ArgumentError, "forget=-0.1"),
        ({"seed": "x"}, ArgumentTypeError, "seed='x'"),
    ],
)
def test_wrong_arguments_are_refused_by_name(fit_of_eleven, arguments, error, words):
    with pytest.raises(error, match=words):
        fit_of_eleven.extend(**({"new_slices": FRAME} | arguments))


def test_slices_whose_modes_are_turned_are_refused():
    x = np.add.outer(np.add.outer(np.arange(5.0), 3 * np.arange(5.0)), np.arange(6.0))
    data = xarray.DataArray(x, dims=("y", "x", "t"))
    fit = decompose(data[..., :5], 2, solver=AWRTRD(smooth=0.0, sweeps=2))
    with pytest.raises(ArgumentError, match=r"new_slices: the array has the modes \(x, y, t\), but the ring has"):
        fit.extend(data[..., 5:].transpose("x", "y", "t"))
    assert fit.extend(data[..., 5:]).ring.names == ("y", "x", "t")


def test_results_of_new_slices_have_their_labels():
    hours = np.arange(TRUTH.shape[-1]) * 6
    data = xarray.DataArray(TRUTH, {"t": hours}, ("y", "x", "c", "t"), attrs={"units": "K"})
    fit = decompose(data[..., :10], RANK, sweeps=2).extend(data[..., 10:])
    new = (..., slice(10, None))
    for found in (fit.restored(new), fit.weights(new), fit.outliers(new), fit.residuals((0, ..., slice(11, None)))):
        assert isinstance(found, xarray.DataArray)
        assert found.t.values.tolist() == hours[10:].tolist()[-found.sizes["t"] :]
    assert fit.restored(new).attrs == {"units": "K"}
