"""Chunks that a store lost, or never had: told, and missing if the caller says so."""

import warnings

import h5py
import numpy as np
import pytest
import zarr

from ringlet.errors import ArgumentError, DataWarning
from ringlet.sources import as_source
from ringlet.sources.files import load
from ringlet.store.chunked_outputs import NewArray, write_store

X = np.arange(1.0, 61.0).reshape(6, 10)
LOST = (slice(0, 3), slice(5, 10))


@pytest.fixture(params=["v3", "v2", "shards", "h5"])
def store(request, tmp_path):
    """A store of four chunks, or shards, of which the second is lost."""
    if request.param == "h5":
        with h5py.File(tmp_path / "x.h5", "w") as file:
            dataset = file.create_dataset("x", X.shape, "f8", chunks=(3, 5))
            for part in ((slice(0, 3), slice(0, 5)), (slice(3, 6), slice(0, 5)), (slice(3, 6), slice(5, 10))):
                dataset[part] = X[part]
        return tmp_path / "x.h5"
    options = {"v3": {}, "v2": {"zarr_format": 2}, "shards": {"shards": (3, 5)}}[request.param]
    chunks = (1, 5) if request.param == "shards" else (3, 5)
    zarr.create_array(tmp_path / "x.zarr", data=X, chunks=chunks, **options)
    (tmp_path / "x.zarr" / ("0.1" if request.param == "v2" else "c/0/1")).unlink()
    return tmp_path / "x.zarr"


def test_lost_chunks_are_counted_in_a_warning(store):
    with pytest.warns(DataWarning, match=r"1 of 4 chunks are not in the store and are read as 0\.0"):
        assert not load(store).array[LOST].any()


def test_lost_chunks_are_missing_where_the_caller_says_so(store):
    source = load(store, absent="missing").source
    values, observed = source.read((slice(0, 6), slice(0, 10)))
    expected = np.ones(X.shape, bool)
    expected[LOST] = False
    np.testing.assert_array_equal(observed, expected)
    np.testing.assert_array_equal(values[expected], X[expected])
    _, some = source.read((np.array([0, 4]), np.array([1, 6, 9])))
    np.testing.assert_array_equal(some, expected[np.ix_([0, 4], [1, 6, 9])])


def test_arrays_that_the_caller_opened_are_counted_too(tmp_path):
    array = zarr.create_array(tmp_path / "x.zarr", shape=(6, 10), chunks=(3, 5), dtype="f4")
    array[:3] = 1
    with pytest.warns(DataWarning, match="2 of 4 chunks"):
        as_source(array)


def test_fill_values_that_mean_missing_need_no_warning(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", shape=(6, 10), chunks=(3, 5), dtype="f4", fill_value=np.nan)
    zarr.create_array(tmp_path / "b.zarr", shape=(6, 10), chunks=(3, 5), dtype="i4", fill_value=-1)
    attributes = {"_FillValue": 0}
    zarr.create_array(tmp_path / "c.zarr", shape=(6, 10), chunks=(3, 5), dtype="i4", attributes=attributes)
    for name in ("a.zarr", "b.zarr", "c.zarr"):
        assert not load(tmp_path / name).source.read((slice(0, 6), slice(0, 10)))[1].any()


def test_stores_that_ringlet_writes_hold_every_chunk_even_of_zeros(tmp_path):
    zeros = np.zeros((6, 10))
    for name in ("x.zarr", "x.h5"):
        write_store(tmp_path / name, zeros.__getitem__, NewArray(zeros.shape, zeros.dtype))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not load(tmp_path / name).array.any()


def test_other_words_than_fill_and_missing_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="absent='lost' is not allowed; give one of 'fill', 'missing'"):
        load(tmp_path / "x.zarr", absent="lost")
