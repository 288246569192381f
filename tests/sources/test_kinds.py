"""Kinds of objects that could be data: each becomes a source, or is refused by name with the way out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray

import ringlet
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, MissingFileError
from ringlet.sources import as_source
from ringlet.sources.labels import is_whole, plain_index


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_sparse_matrices_of_scipy_are_refused_with_the_way_out(make):
    with pytest.raises(ArgumentTypeError, match=r"data is a sparse \w+; .*zeros or missing: give toarray\(\) of it"):
        ringlet.decompose(make(np.eye(5)))
    with pytest.raises(ArgumentTypeError, match="mask is a sparse"):
        ringlet.decompose(np.eye(5), mask=make(np.eye(5)))


def test_arrays_of_sparse_are_refused_with_the_way_out():
    sparse = pytest.importorskip("sparse")
    for data in (sparse.COO(np.eye(5)), xarray.DataArray(sparse.COO(np.eye(5)))):
        with pytest.raises(ArgumentTypeError, match=r"sparse COO; .*give todense\(\) of it"):
            ringlet.decompose(data)


def test_sparse_and_unknown_torch_tensors_are_refused_with_the_way_out():
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentTypeError, match=r"layout torch\.sparse_coo; .*data\.to_dense\(\)"):
        ringlet.decompose(torch.eye(5).to_sparse())
    with pytest.raises(ArgumentTypeError, match=r"dtype torch\.float8_e4m3fn, which NumPy lacks; give data\.float\(\)"):
        ringlet.decompose(torch.eye(5).to(torch.float8_e4m3fn))


def test_complex_torch_tensors_are_refused_with_the_way_out():
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentTypeError, match=r"complex dtype .* decompose the real and imaginary parts"):
        ringlet.decompose(torch.ones((4, 5), dtype=torch.complex64))


def test_a_torch_mask_is_a_mask():
    torch = pytest.importorskip("torch")
    source = as_source(np.eye(4), torch.eye(4, dtype=torch.bool))
    np.testing.assert_array_equal(source.mask, np.eye(4, dtype=bool))


def test_columns_that_are_no_numbers_are_named():
    table = pd.DataFrame({"n": [1, 2], "who": ["x", "y"], "when": pd.to_datetime(["2024-01-01"] * 2), "on": [True] * 2})
    with pytest.raises(ArgumentTypeError, match=r"'who' \(\w+\), 'when' \(datetime64.*\), 'on' \(bool\); allowed are"):
        ringlet.decompose(table)


@pytest.mark.parametrize(
    "given", [None, {"a": 1}, {1, 2}, b"x.npy", object(), (one for one in "ab")], ids=lambda given: type(given).__name__
)
def test_what_is_no_array_at_all_is_named_by_its_type(given):
    with pytest.raises(ArgumentTypeError, match=f"data is of type {type(given).__name__}; give an array"):
        ringlet.decompose(given)


@pytest.mark.parametrize("address", ["s3://bucket/cube.zarr", "https://example.org/x.npy"])
def test_addresses_are_refused_with_the_way_out(address):
    with pytest.raises(MissingFileError, match=r"does not exist; addresses are not read: open it"):
        ringlet.restore(address)


def test_many_columns_that_are_no_numbers_are_not_all_listed():
    table = pd.DataFrame({f"c{place}": ["x", "y"] for place in range(300)})
    with pytest.raises(ArgumentTypeError, match=r"'c4' .* and 295 more; allowed are"):
        ringlet.decompose(table)


def _grid(**more):
    sensor, hour = np.meshgrid(np.arange(6), np.arange(5), indexing="ij")
    reading = np.sin(sensor) + np.cos(hour)
    return pd.DataFrame({"sensor": sensor.ravel(), "hour": hour.ravel(), "reading": reading.ravel(), **more})


def test_a_long_table_of_numbers_is_told_from_rows_and_columns():
    with pytest.warns(DataWarning, match=r"give data.set_index\(\['sensor', 'hour'\]\)"):
        as_source(_grid())
    with pytest.warns(DataWarning, match="'sensor', 'hour' together"):
        as_source(_grid(count=np.arange(30) % 7))


def _labelled():
    """One column names the rows."""
    return _grid(label=np.arange(30))[["label", "sensor", "hour", "reading"]]


def _counts():
    return pd.DataFrame(np.random.default_rng(0).poisson(2, (500, 6)))


@pytest.mark.parametrize(
    "table",
    [_labelled(), _counts(), _grid().set_index(["sensor", "hour"]), _grid()[["reading"]].assign(two=1.0), _grid()[:3]],
)
def test_other_tables_give_no_warning(table):
    as_source(table)


def test_na_of_nullable_columns_is_missing():
    table = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": pd.array([0.5, 1.5, None], "Float64")})
    values, observed = as_source(table).read((slice(0, 3), slice(0, 2)))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(observed, [[True, True], [False, True], [True, False]])
    np.testing.assert_array_equal(values[observed], [1, 0.5, 1.5, 3])


def test_nullable_integers_stay_integers():
    table = pd.DataFrame({"a": pd.array([2**60 + 1, None], "Int64"), "b": pd.array([3, 4], "Int64")})
    source = as_source(table)
    assert source.dtype == np.int64
    assert source.array[0, 0] == 2**60 + 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame({"v": [1.0, 2.0]}, pd.MultiIndex.from_tuples([(0, 1), (0, 1)])), r"key \(0, 1\).*level=\[0, 1\]"),
        (pd.DataFrame({"v": [1.0, 2.0]}, pd.MultiIndex.from_tuples([(0, 1), (0, None)])), "rows without a key"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), "two columns 'a'"),
        (pd.DataFrame({"a": []}), "no entries"),
        (pd.DataFrame({"v": np.ones(5000)}, pd.MultiIndex.from_arrays([range(5000)] * 2)), "5000 x 5000"),
    ],
)
def test_tables_that_are_no_tensor_are_refused(table, said):
    with pytest.raises(ArgumentError, match=said):
        ringlet.decompose(table)


def test_the_advice_on_rows_of_the_same_key_works_on_the_table_that_was_given():
    df = pd.DataFrame({"day": [1, 1, 2], "hour": [0, 0, 5], "reading": [1.0, 3.0, 4.0]})
    with pytest.raises(ArgumentError, match=r"key \(1, 0\).*df\.groupby\(\['day', 'hour'\]\)\.mean\(\)"):
        ringlet.from_dataframe(df, modes=["day", "hour"], value="reading")
    combined = df.groupby(["day", "hour"]).mean()
    assert ringlet.from_dataframe(combined, modes=["day", "hour"], value="reading").sel(day=1, hour=0) == 2


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"df": np.eye(2)}, ArgumentTypeError, "df is of type ndarray"),
        ({"modes": ["a"]}, ArgumentError, "at least two"),
        ({"modes": ["a", "a"]}, ArgumentError, "different names"),
        ({"modes": "ab"}, ArgumentError, "modes='ab'"),
        ({"modes": ["a", "z"]}, ArgumentError, "no column 'z'; it has: a, b, v, w"),
        ({"value": "y"}, ArgumentError, "no column 'y'"),
        ({"value": "w"}, ArgumentTypeError, "'w'"),
    ],
)
def test_wrong_arguments_of_from_dataframe_are_named(wrong, error, said):
    table = pd.DataFrame({"a": [0, 1], "b": [0, 1], "v": [1.0, 2.0], "w": ["x", "y"]})
    with pytest.raises(error, match=said):
        ringlet.from_dataframe(**({"df": table, "modes": ["a", "b"], "value": "v"} | wrong))


def test_an_index_is_plain_if_it_takes_a_box():
    assert plain_index((..., 0), 3) == (slice(None), slice(None), 0)
    assert plain_index((slice(1, 2), 0), 3) == (slice(1, 2), 0, slice(None))
    assert plain_index((np.int64(1), 0), 2) == (1, 0)
    assert plain_index((True, 0), 2) is None
    assert plain_index(([0, 1], [0, 1]), 2) is None
    assert plain_index((0, slice(None), [0, 1]), 3) is None
    assert plain_index(np.array([[1]]), 2) is None
    assert plain_index((slice(None), [True, False, True]), 2)[1].tolist() == [0, 2]
    assert plain_index([], 2)[0].dtype == np.intp
    assert is_whole(plain_index((slice(None), ...), 3))
    assert not is_whole(plain_index(0, 3))
