"""What was given comes back: DataArrays, Datasets, DataFrames and torch tensors, with all that they say."""

import numpy as np
import pandas as pd
import pytest
import xarray

import ringlet
from ringlet.errors import ArgumentError, DataWarning

SHAPE = (8, 7, 6)


@pytest.fixture
def quick():
    """A rank and a solver that need little time."""
    return {"rank": 3, "solver": ringlet.AWRTRD(sweeps=15)}


@pytest.fixture
def wave():
    """A tensor, (8, 7, 6), with one wrong entry at (1, 2, 3) and a missing one at (4, 5, 0)."""
    x = np.fromfunction(lambda i, j, k: 100 + 9 * np.cos(i / 3 + j / 4) + k, SHAPE)
    x[1, 2, 3], x[4, 5, 0] = 900.0, np.nan
    return x


@pytest.fixture
def reading(wave):
    return xarray.DataArray(
        wave.astype(np.float32),
        {"time": pd.date_range("2024-01-01", periods=8), "place": list("abcdefg"), "height": ("level", np.arange(6.0))},
        ("time", "place", "level"),
        name="temperature",
        attrs={"units": "K", "sensor": "A"},
    )


@pytest.fixture
def long(wave):
    """The same as a long table in shuffled order, without the rows of the missing entry and one more."""
    keys = pd.MultiIndex.from_product([list("stuvwxyz"), range(7), range(6)], names=["sensor", "day", "hour"])
    table = pd.DataFrame({"reading": wave.ravel()}, keys).drop([("w", 5, 0), ("z", 6, 5)])
    table.attrs["site"] = "north"
    return table.sample(frac=1, random_state=0)


def test_a_dataarray_is_restored_as_one(reading, quick):
    fit = ringlet.decompose(reading, **quick)
    clean = fit.restored()
    np.testing.assert_array_equal(clean.values, fit.unlabelled.restored())
    xarray.testing.assert_identical(clean.copy(data=reading.values), reading)
    assert clean.dtype == np.float32
    assert abs(clean.values[1, 2, 3] - 111) < 5


def test_weights_have_coordinates_but_neither_units_nor_attributes(reading, quick):
    weights = ringlet.decompose(reading, **quick).weights()
    assert weights.attrs == {}
    assert weights.dims == reading.dims
    assert weights.sel(time="2024-01-02", place="c").values[3] < 0.01
    assert np.isnan(weights.sel(time="2024-01-05", place="f").values[0])
    xarray.testing.assert_identical(weights.coords.to_dataset(), reading.coords.to_dataset())


@pytest.mark.parametrize("index", [(1, slice(2, 5)), (..., 3), 2, (slice(None, None, 2), ..., -1), (1, 2, 3)])
def test_an_index_means_what_isel_means(reading, quick, index):
    fit = ringlet.decompose(reading, **quick)
    part, expected = fit.restored(index), fit.restored()[index]
    xarray.testing.assert_allclose(part, expected)
    assert part.attrs == expected.attrs
    assert part.name == expected.name
    assert part.coords.keys() == expected.coords.keys()


@pytest.mark.parametrize("index", [(slice(None), [3, 0]), [2], (..., np.arange(6) > 2), (1, [0, 3])])
def test_one_index_array_keeps_the_labels(reading, quick, index):
    fit = ringlet.decompose(reading, **quick)
    part, expected = fit.restored(index), fit.restored()[index]
    xarray.testing.assert_allclose(part, expected)
    assert part.coords.keys() == expected.coords.keys()


@pytest.mark.parametrize("index", [([0, 1], [0, 3]), (1, slice(None), [0, 3])])
def test_an_index_that_takes_no_box_gives_a_numpy_array(reading, quick, index):
    fit = ringlet.decompose(reading, **quick)
    part = fit.weights(index)
    assert type(part) is np.ndarray
    np.testing.assert_allclose(part, fit.weights().values[index])


@pytest.mark.parametrize("index", [slice(6, None), (slice(6, 8), [3, 0]), 7, (-1, ..., 2), [7, 6]])
def test_appended_slices_are_labelled_as_they_were_given(reading, quick, index):
    fit = ringlet.decompose(reading[:6], **quick).extend(reading[6:], mode=0)
    part = fit.restored(index)
    expected = reading[index]
    assert part.dims == expected.dims
    xarray.testing.assert_identical(part.coords.to_dataset(), expected.coords.to_dataset())
    assert part.attrs == expected.attrs
    assert type(fit.extend(reading.values[:1], mode=0).restored(8)) is np.ndarray


def test_lazy_dataarrays_give_dataarrays(reading, quick):
    lazy = ringlet.decompose(reading.chunk({"time": 4}), **quick).restored()
    assert isinstance(lazy, xarray.DataArray)
    xarray.testing.assert_identical(lazy.copy(data=reading.values), reading)


def test_a_dataset_of_one_variable_comes_back_whole(reading, quick):
    reading = reading.assign_coords(level=np.arange(6))
    known = reading.notnull() & ((reading.place != "b") | (reading.level > 1))
    given = xarray.Dataset(
        {"bounds": ("time", np.arange(8)), "temperature": reading, "observed": known}, attrs={"title": "run 7"}
    )
    clean = ringlet.restore(given, keep=True, **quick)
    assert list(clean.data_vars) == list(given.data_vars)
    xarray.testing.assert_identical(clean.assign(temperature=given["temperature"]), given)
    np.testing.assert_array_equal(clean["temperature"], ringlet.restore(reading, mask=known, keep=True, **quick))
    weights = ringlet.decompose(given, **quick).weights()
    assert list(weights.data_vars) == ["temperature"]
    assert weights.attrs == {}


def test_variables_of_the_same_dimensions_are_one_tensor(wave, quick):
    dims = ("i", "j", "k")
    counts = np.nan_to_num(wave, nan=105).round().astype(np.int16)
    given = xarray.Dataset({"warm": (dims, wave, {"units": "K"}), "counts": (dims, counts, {"units": "K"})})
    fit = ringlet.decompose(given, **quick)
    assert fit.ring.names == ("variable", *dims)
    assert fit.ring.units == "K"
    clean = fit.restored()
    assert {name: array.dtype for name, array in clean.items()} == {"warm": np.float64, "counts": np.int16}
    assert clean["warm"].attrs == {"units": "K"}
    assert np.isfinite(clean["warm"].values).all()
    assert abs(int(clean["counts"][1, 2, 3]) - 111) < 9
    part = fit.weights((slice(None), 1))
    xarray.testing.assert_allclose(part, fit.weights().isel(i=1))
    assert type(fit.weights(0)) is np.ndarray
    xarray.testing.assert_identical(ringlet.restore(given, keep=True, **quick), clean)


def test_a_mask_beside_several_variables_is_that_of_all(wave, quick):
    known = np.random.default_rng(0).random(SHAPE) < 0.8
    given = xarray.Dataset(dict.fromkeys(("a", "b"), (("i", "j", "k"), wave)))
    fit = ringlet.decompose(given.assign(mask=(("i", "j", "k"), known)), **quick)
    assert np.isnan(fit.weights()["b"].values[~known]).all()


def test_different_units_in_one_tensor_are_a_warning(wave, quick):
    given = xarray.Dataset({unit: (("i", "j", "k"), wave, {"units": unit}) for unit in ("K", "Pa")})
    with pytest.warns(DataWarning, match="different units"):
        ringlet.decompose(given, **quick)


def test_variables_of_different_dimensions_are_refused_by_name(wave):
    given = xarray.Dataset({"a": (("i", "j", "k"), wave), "b": (("i", "j"), wave[..., 0])})
    with pytest.raises(ArgumentError, match=r"several arrays; give one of them: a \(8, 7, 6\), b \(8, 7\)"):
        ringlet.decompose(given)


def test_a_table_comes_back_as_the_table():
    quick = {"rank": 1, "solver": ringlet.AWRTRD(sweeps=30)}
    values = 50 + 20 * np.outer(np.sin(np.arange(20) / 5) + 2, np.cos(np.arange(4) / 3) + 2)
    table = pd.DataFrame(values.copy(), pd.date_range("2024-01-01", periods=20, name="day"), list("abcd"))
    table["a"] = table["a"].astype("float32")
    table["c"] = table["c"].round().astype("Int64")
    table["d"] = table["d"].round().astype("Float64")
    table.loc[table.index[3], ["b", "c", "d"]] = [np.nan, pd.NA, pd.NA]
    table.attrs["site"] = "north"
    before = table.copy(deep=True)
    clean = ringlet.restore(table, keep=True, **quick)
    pd.testing.assert_frame_equal(table, before)
    assert list(clean.dtypes) == list(table.dtypes)
    assert clean.index.equals(table.index)
    assert list(clean.columns) == list("abcd")
    assert clean.attrs == {"site": "north"}
    assert not clean.isna().any(axis=None)
    np.testing.assert_allclose(clean.iloc[3].to_numpy(float), values[3], rtol=0.02)
    weights = ringlet.decompose(table, **quick).weights()
    assert isinstance(weights, pd.DataFrame)
    assert weights.isna().sum().sum() == 3


def test_a_long_table_is_a_tensor_of_its_keys_and_comes_back_in_its_order(long, wave, quick):
    fit = ringlet.decompose(long, **quick)
    assert fit.ring.shape == SHAPE
    assert fit.ring.names == ("sensor", "day", "hour")
    assert fit.missing_share == pytest.approx(2 / wave.size)
    clean = fit.restored()
    assert clean.index.equals(long.index)
    assert clean.attrs == {"site": "north"}
    assert abs(clean.loc[("t", 2, 3), "reading"] - 111) < 5
    others = long.index != ("t", 2, 3)
    np.testing.assert_allclose(clean["reading"][others], long["reading"][others], atol=1)
    assert fit.weights().loc[("t", 2, 3), "reading"] < 0.01
    pd.testing.assert_frame_equal(ringlet.restore(long, keep=True, **quick), clean)


def test_a_series_with_several_keys_comes_back_as_one(long, quick):
    series = long.iloc[:, 0]
    fit = ringlet.decompose(series, **quick)
    pd.testing.assert_series_equal(fit.restored(), ringlet.decompose(long.iloc[:, :1], **quick).restored().iloc[:, 0])
    assert fit.outliers().index.equals(long.index)
    unnamed = ringlet.restore(series.rename(None), mask=series.notna(), **quick)
    assert unnamed.name is None
    assert unnamed.index.equals(long.index)


@pytest.mark.parametrize(("name", "column"), [("reading", "reading"), (None, "value")])
def test_a_series_goes_to_a_table(tmp_path, long, quick, name, column):
    series = long.iloc[:, 0].rename(name)
    ringlet.restore(series, tmp_path / "clean.csv", **quick)
    clean = pd.read_csv(tmp_path / "clean.csv").set_index(list(long.index.names))
    assert list(clean.columns) == [column]
    np.testing.assert_allclose(clean[column], ringlet.restore(series, **quick))


def test_a_series_with_one_key_is_refused_by_name():
    with pytest.raises(ringlet.errors.ArgumentError, match=r"data is a Series with one key per row.*ringlet\.fold\("):
        ringlet.restore(pd.Series(np.arange(9.0)))


def test_parts_of_a_table_are_tables():
    given = pd.DataFrame(np.add.outer(np.arange(30.0), np.arange(4)), columns=list("abcd")).astype({"b": "float32"})
    fit = ringlet.decompose(given, rank=2)
    part = fit.restored((slice(3, 9, 2), ["abcd".index("d"), 1]))
    pd.testing.assert_frame_equal(part, fit.restored().iloc[3:9:2, [3, 1]])
    assert list(fit.outliers(slice(5, 5)).columns) == list("abcd")
    assert type(fit.weights(3)) is np.ndarray


def test_several_columns_of_a_long_table_are_one_more_mode(long, quick):
    two = long.assign(twice=2 * long["reading"])
    fit = ringlet.decompose(two, **quick)
    assert fit.ring.names == ("sensor", "day", "hour", "variable")
    assert fit.ring.shape == (*SHAPE, 2)
    assert list(fit.restored().columns) == ["reading", "twice"]


def test_whole_numbers_of_a_long_table_stay_exact():
    keys = pd.MultiIndex.from_product([range(6), range(5)])
    large = 2**60 + np.arange(30)
    clean = ringlet.restore(pd.DataFrame({"n": large}, keys).iloc[:-1], keep=True, rank=1)
    assert clean["n"].dtype == np.int64
    np.testing.assert_array_equal(clean["n"], large[:-1])


def test_a_table_may_have_a_mask_of_its_own_rows(long, wave, quick):
    known = long > 50
    known.iloc[:5] = False
    fit = ringlet.decompose(long, mask=known, **quick)
    assert fit.missing_share == pytest.approx(7 / wave.size)
    assert fit.weights().isna().iloc[:5].all(axis=None)
    with pytest.raises(ArgumentError, match="mask has other rows"):
        ringlet.decompose(long, mask=known.sort_index(), **quick)


def test_from_dataframe_gives_the_tensor_with_its_coordinates(long, wave):
    for table in (long, long.reset_index()):
        array = ringlet.from_dataframe(table, modes=["sensor", "day", "hour"], value="reading")
        assert array.dims == ("sensor", "day", "hour")
        assert array.name == "reading"
        assert list(array["sensor"].values) == list("stuvwxyz")
        expected = wave.copy()
        expected[7, 6, 5] = np.nan
        np.testing.assert_array_equal(array, expected)
    turned = ringlet.from_dataframe(long, modes=("hour", "sensor", "day"), value="reading")
    np.testing.assert_array_equal(turned, expected.transpose(2, 0, 1))


def test_from_dataframe_keeps_whole_numbers_where_nothing_is_missing():
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "n": pd.array([1, 2, 3, 4], "Int64")})
    assert ringlet.from_dataframe(table, ["a", "b"], "n").dtype == np.int64
    assert ringlet.from_dataframe(table[:3], ["a", "b"], "n").dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "uint8", "int32"])
def test_a_torch_tensor_comes_back_as_one(dtype, quick):
    torch = pytest.importorskip("torch")
    smooth = np.fromfunction(lambda i, j, k: 60 + 30 * np.cos(i / 3 + j / 4) + 5 * k, SHAPE)
    x = torch.from_numpy(smooth.copy()).to(getattr(torch, dtype))
    x[1, 2, 3] = 250
    given = x.clone().requires_grad_() if x.is_floating_point() else x.clone()
    clean = ringlet.restore(given, **quick)
    assert isinstance(clean, torch.Tensor)
    assert clean.dtype == x.dtype
    assert not clean.requires_grad
    assert abs(float(clean[1, 2, 3]) - smooth[1, 2, 3]) < 10
    assert torch.equal(given.detach(), x)
    fit = ringlet.decompose(given, **quick)
    assert fit.weights((1, 2, 3)) < 0.5
    assert fit.weights().shape == SHAPE


def test_labelled_files_give_labelled_objects(tmp_path, reading, long, quick):
    reading.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    clean = ringlet.restore(tmp_path / "x.nc", keep=True, **quick)
    assert isinstance(clean, xarray.Dataset)
    np.testing.assert_array_equal(clean["temperature"], ringlet.restore(reading, keep=True, **quick))
    long.reset_index().to_csv(tmp_path / "x.csv", index=False)
    table = ringlet.restore(tmp_path / "x.csv", key="sensor,day,hour", keep=True, **quick)
    expected = ringlet.restore(long, keep=True, **quick).reset_index()
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


def test_labelled_objects_go_to_files_with_their_labels(tmp_path, reading, long, quick):
    fit = ringlet.restore(reading.to_dataset(), tmp_path / "clean.nc", keep=True, **quick)
    assert isinstance(fit.weights(), xarray.Dataset)
    with xarray.open_dataset(tmp_path / "clean.nc") as clean:
        xarray.testing.assert_identical(clean["temperature"].load(), fit.restored(keep=True)["temperature"])
    fit = ringlet.restore(long, tmp_path / "clean.parquet", keep=True, **quick)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "clean.parquet"), fit.restored(keep=True))
    ringlet.restore(long, tmp_path / "clean.csv", keep=True, **quick)
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "clean.csv"), fit.restored(keep=True).reset_index(), check_dtype=False
    )
    ringlet.restore(long, tmp_path / "clean.npy", keep=True, **quick)
    assert np.load(tmp_path / "clean.npy").shape == SHAPE
