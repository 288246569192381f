"""zarr, HDF5, dask and xarray arrays as sources: same entries as NumPy's, every chunk once, small pickles, names."""

import pickle
from collections import Counter

import dask.array
import h5py
import numpy as np
import pytest
import xarray
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, FormatError, MissingFileError, RingletError
from ringlet.sources import ArraySource, ChunkedSource, as_source, survey
from ringlet.sources.base import aligned_blocks
from ringlet.sources.chunked import regular_chunks

SHAPE, CHUNKS = (11, 7, 3, 9), (4, 3, 3, 2)


def tensor(dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    x = (200 * rng.random(SHAPE)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(SHAPE) < 0.1] = np.nan
    return x


def as_zarr(x, folder, **options):
    array = zarr.create_array(folder / "x.zarr", shape=x.shape, chunks=CHUNKS, dtype=x.dtype, **options)
    array[...] = x
    return array


def as_hdf5(x, folder, **options):
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("group/x", data=x, **options)
    return h5py.File(folder / "x.h5")["group/x"]


STORES = {
    "zarr": as_zarr,
    "zarr path": lambda x, folder: [as_zarr(x, folder), folder / "x.zarr"][1],
    "zarr v2": lambda x, folder: as_zarr(x, folder, zarr_format=2),
    "zarr shards": lambda x, folder: as_zarr(x, folder, shards=(8, 6, 3, 4)),
    "hdf5": lambda x, folder: as_hdf5(x, folder, chunks=CHUNKS, compression="gzip"),
    "hdf5 contiguous": as_hdf5,
    "hdf5 path": lambda x, folder: [as_hdf5(x, folder, chunks=CHUNKS), f"{folder}/x.h5::group/x"][1],
    "dask": lambda x, _: dask.array.from_array(x, chunks=((5, 4, 2), 3, 3, 2)),
    "xarray of dask": lambda x, _: xarray.DataArray(dask.array.from_array(x, chunks=CHUNKS), dims=list("abcd")),
    "xarray of numpy": lambda x, _: xarray.DataArray(x, dims=list("abcd")),
}


@st.composite
def blocks(draw):
    chosen = []
    for length in SHAPE:
        if draw(st.booleans()):
            start = draw(st.integers(0, length - 1))
            chosen.append(slice(start, draw(st.integers(start + 1, length))))
        else:
            kept = draw(st.lists(st.integers(0, length - 1), min_size=1, unique=True))
            chosen.append(np.array(sorted(kept)))
    return tuple(chosen)


@pytest.fixture(params=STORES)
def stored(request, tmp_path):
    x = tensor()
    return x, as_source(STORES[request.param](x, tmp_path))


@given(block=blocks(), order=st.permutations(range(4)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_block_of_any_store_is_what_numpy_gives(stored, block, order):
    x, source = stored
    where = np.ix_(*(np.arange(length)[chosen] for chosen, length in zip(block, SHAPE, strict=True)))
    values, observed = source.read(block, tuple(order))
    np.testing.assert_array_equal(values, x[where].transpose(order))
    known = ~np.isnan(x[where]).transpose(order)
    np.testing.assert_array_equal(np.ones(known.shape, bool) if observed is None else observed, known)


def test_stores_survive_pickling_and_open_themselves_again(stored):
    x, source = stored
    again = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    whole = tuple(slice(0, length) for length in SHAPE)
    np.testing.assert_array_equal(again.read(whole)[0], x)


@pytest.mark.parametrize("make", [as_zarr, as_hdf5])
def test_pickles_of_stored_arrays_do_not_hold_the_entries(tmp_path, make, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.ones((20, 15, 9, 10))
    source = as_source(make(x, tmp_path.relative_to(tmp_path)))  # opened by a relative path
    small = pickle.dumps(source)
    assert len(small) < 5000
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # as a worker might be
    assert pickle.loads(small).read((slice(0, 2),) * 4)[0].shape == (2, 2, 2, 2)  # noqa: S301 - our own


class Counting:
    """An array that remembers what was read of it, as chunk numbers."""

    def __init__(self, array):
        self.array, self.dtype, self.touched = array, array.dtype, Counter()

    def __getitem__(self, block):
        assert all(isinstance(chosen, slice) for chosen in block)  # never an index list
        spans = [range(s.start // c, (s.stop - 1) // c + 1) for s, c in zip(block, CHUNKS, strict=True)]
        self.touched.update(_cells(spans))
        return self.array[block]


def _cells(spans):
    return [(a, b, c, d) for a in spans[0] for b in spans[1] for c in spans[2] for d in spans[3]]


@given(block=blocks())
@settings(max_examples=100, deadline=None)
def test_a_block_reads_its_chunks_once_and_no_others(block):
    x = tensor()
    counting = Counting(x)
    chunks = as_source(dask.array.from_array(x, chunks=CHUNKS)).chunks
    ChunkedSource(counting, chunks).read(block)
    needed = [np.unique(np.arange(n)[b] // c) for n, b, c in zip(SHAPE, block, CHUNKS, strict=True)]
    assert counting.touched == Counter(_cells(needed))


@given(st.integers(1, 3000))
def test_aligned_blocks_cover_every_chunk_once(entries):
    chunks = ((4, 4, 3), (3, 3, 1), (3,), (2, 2, 2, 2, 1))
    seen = np.zeros(SHAPE, int)
    for block in aligned_blocks(chunks, entries):
        seen[block] += 1
        edges = [{0, *np.cumsum(lengths).tolist()} for lengths in chunks]
        assert all({s.start, s.stop} <= edge for s, edge in zip(block, edges, strict=True))
        assert seen[block].size <= max(entries, 4 * 3 * 3 * 2)
    assert (seen == 1).all()


def test_the_survey_of_a_store_is_that_of_the_array(stored):
    x, source = stored
    found, expected = survey(source), survey(ArraySource(x))
    assert (found.minimum, found.maximum) == (expected.minimum, expected.maximum)
    for counts, same in zip(found.counts, expected.counts, strict=True):
        np.testing.assert_array_equal(counts, same)


def test_names_and_units_travel_from_xarray_into_the_ring_and_back():
    x = np.add.outer(np.arange(6.0), np.arange(5.0))
    data = xarray.DataArray(x, dims=("time", "place"), coords={"time": np.arange(6) + 2000}, attrs={"units": "K"})
    ring = decompose(data, rank=2).ring
    assert (ring.names, ring.units) == (("time", "place"), "K")
    back = ring.to_xarray(like=data)
    assert (back.dims, back.attrs["units"]) == (("time", "place"), "K")
    np.testing.assert_array_equal(back["time"], data["time"])
    np.testing.assert_allclose(back, np.asarray(ring))
    assert ring.to_xarray().dims == ("time", "place")
    with pytest.raises(ArgumentError, match="shape"):
        ring.to_xarray(like=data[:3])
    square = decompose(data[:5], rank=2).ring
    with pytest.raises(ArgumentError, match=r"like has the modes \(place, time\), but the ring has \(time, place\)"):
        square.to_xarray(like=data[:5].T)
    with pytest.raises(ArgumentError, match=r"the other ring has the modes \(place, time\)"):
        square.distance(square.transpose())


def test_a_unit_that_netcdf_wrote_as_bytes_is_understood(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["t"] = np.ones((3, 4))
        file["t"].attrs["units"] = np.bytes_("K")
    assert as_source(tmp_path / "x.h5").units == "K"


def test_names_are_those_of_zarr_dimensions_and_hdf5_labels(tmp_path):
    names = ("height", "width", "colour", "frame")
    assert as_source(as_zarr(tensor(), tmp_path, dimension_names=names)).names == names
    dataset = as_hdf5(tensor(), tmp_path)
    assert as_source(dataset).names is None
    dataset.file.close()
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        for dimension, name in zip(file["group/x"].dims, names, strict=True):
            dimension.label = name
    assert as_source(tmp_path / "x.h5").names == names


def test_a_lazy_variable_of_xarray_is_not_loaded_whole(tmp_path):
    x = tensor()
    data = xarray.DataArray(x, dims=list("abcd"), name="x", coords={"b": np.arange(7)})
    data.to_dataset().to_zarr(tmp_path / "x.zarr", encoding={"x": {"chunks": CHUNKS}}, consolidated=False)
    with xarray.open_zarr(tmp_path / "x.zarr", chunks=None, consolidated=False) as dataset:
        source = as_source(dataset["x"])
        assert (type(source), source.chunks[0]) == (ChunkedSource, (4, 4, 3))
        values, _ = source.read((slice(0, 5), np.array([1, 6]), slice(0, 3), slice(2, 3)))
        np.testing.assert_array_equal(values, x[:5, [1, 6], :, 2:3])
        assert not dataset["x"].variable._in_memory
    assert as_source(tmp_path / "x.zarr").names == tuple("abcd")  # the coordinate beside it is no tensor


# What is missing.


@pytest.mark.parametrize(
    ("dtype", "options", "missing"),
    [
        ("uint8", {}, ()),  # zarr fills with 0 by itself, and 0 is a good entry
        ("uint8", {"fill_value": 0}, ()),
        ("int16", {"fill_value": -1}, (-1,)),
        ("int16", {"attributes": {"_FillValue": 0}}, (0,)),
        ("float32", {"fill_value": np.nan}, ()),
        ("float32", {"fill_value": -999.0}, (-999.0,)),
        ("float64", {"attributes": {"missing_value": 1e20}}, (1e20,)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*chunks are not in the store")
def test_fill_values_of_zarr_mean_missing_unless_they_are_zarrs_own_zero(tmp_path, dtype, options, missing):
    x = np.zeros(SHAPE, dtype)
    x[1, 2, 0, 3:] = 7
    for value in missing:
        x[0, 0, 0, 0] = value
    source = as_source(as_zarr(x, tmp_path, **options))
    assert source.missing == missing
    expected = np.logical_and.reduce([np.ones(SHAPE, bool), *(x != value for value in missing)])
    _, observed = source.read(tuple(slice(0, length) for length in SHAPE))
    np.testing.assert_array_equal(np.ones(SHAPE, bool) if observed is None else observed, expected)


def test_fill_values_of_hdf5_mean_missing_unless_they_are_zero(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("plain", data=np.zeros((3, 4), "i2"))
        file.create_dataset("filled", data=np.zeros((3, 4), "i2"), fillvalue=-9)
        told = file.create_dataset("told", data=np.zeros((3, 4), "f4"))
        told.attrs["_FillValue"] = np.array([0.0], "f4")
    found = {name: as_source(f"{tmp_path}/x.h5::{name}").missing for name in ("plain", "filled", "told")}
    assert found == {"plain": (), "filled": (-9,), "told": (0.0,)}


def test_fill_values_that_xarray_wrote_to_zarr_are_understood(tmp_path):
    data = xarray.DataArray(np.ones((4, 5)), dims=("a", "b"), name="x")
    data.to_dataset().to_zarr(
        tmp_path / "x.zarr", encoding={"x": {"_FillValue": 5.5}}, zarr_format=3, consolidated=False
    )
    assert as_source(tmp_path / "x.zarr").missing == (5.5,)


@pytest.mark.parametrize("kind", ["numpy", "zarr", "dask"])
def test_masks_may_be_stores_and_combine_with_nan(tmp_path, kind):
    x, known = tensor(), np.random.default_rng(1).random(SHAPE) < 0.6
    mask = known
    if kind == "zarr":
        mask = zarr.create_array(tmp_path / "m.zarr", shape=SHAPE, chunks=(5, 7, 1, 4), dtype=bool)
        mask[...] = known
    elif kind == "dask":
        mask = dask.array.from_array(known, chunks=3)
    for data in (x, as_zarr(x, tmp_path)):
        _, observed = as_source(data, mask).read((slice(0, 5), np.array([0, 3, 6]), slice(0, 3), slice(1, 9)))
        expected = (known & ~np.isnan(x))[:5][:, [0, 3, 6]][:, :, :, 1:9]
        np.testing.assert_array_equal(observed, expected)


def test_a_mask_beside_the_tensor_in_a_group_counts(tmp_path):
    x, known = tensor("uint8"), np.random.default_rng(1).random(SHAPE) < 0.6
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    for name, content in {"tensor": x, "observed": known.astype("u1"), "time": np.arange(9)}.items():
        group.create_array(name, shape=content.shape, dtype=content.dtype)[...] = content
    whole = tuple(slice(0, length) for length in SHAPE)
    np.testing.assert_array_equal(as_source(tmp_path / "g.zarr").read(whole)[1], known)


# What is refused.


def test_paths_that_lead_nowhere_or_to_something_else_are_refused_by_name(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.zarr does not exist"):
        as_source(tmp_path / "none.zarr")
    with pytest.raises(MissingFileError, match=r"none\.h5 does not exist"):
        as_source(f"{tmp_path}/none.h5::x")
    (tmp_path / "text.zarr").write_text("hello")
    with pytest.raises(FormatError, match=r"text\.zarr: of an unknown kind"):
        as_source(tmp_path / "text.zarr")
    (tmp_path / "broken.zarr").mkdir()
    (tmp_path / "broken.zarr" / "zarr.json").write_text("{")
    with pytest.raises(FormatError, match=r"broken\.zarr: cannot be read"):
        as_source(tmp_path / "broken.zarr")
    (tmp_path / "cut.h5").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    with pytest.raises(FormatError, match=r"cut\.h5: cannot be read"):
        as_source(tmp_path / "cut.h5")


@pytest.mark.filterwarnings("ignore:.*chunks are not in the store")
def test_several_arrays_need_a_choice(tmp_path):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    with pytest.raises(FormatError, match=r"g\.zarr: there is no array in it"):
        as_source(tmp_path / "g.zarr")
    for name in ("a", "below/b"):
        group.create_array(name, shape=(4, 5), dtype="f4")
    for given_data in (tmp_path / "g.zarr", group):
        with pytest.raises(ArgumentError, match=r"several arrays.*a \(4, 5\), below/b \(4, 5\)"):
            as_source(given_data)
    assert as_source(f"{tmp_path}/g.zarr::below/b").shape == (4, 5)
    with pytest.raises(ArgumentError, match=r"has no array 'c'; it holds: a"):
        as_source(f"{tmp_path}/g.zarr::c")


def test_a_file_or_a_dataset_with_one_tensor_stands_for_it(tmp_path):
    x = tensor()
    assert as_source(as_hdf5(x, tmp_path).file).shape == SHAPE
    data = xarray.Dataset({"x": (tuple("abcd"), x), "a": np.arange(11)})
    assert as_source(data).names == tuple("abcd")
    with pytest.raises(ArgumentError, match=r"data holds several arrays; give one of them: x .*, y"):
        as_source(data.assign(y=data["x"].isel(d=0)))
    with pytest.raises(ArgumentError, match="data is a Dataset without any array"):
        as_source(xarray.Dataset())


@pytest.mark.filterwarnings("ignore:.*chunks are not in the store")
def test_dtypes_and_shapes_that_cannot_be_fitted_are_refused(tmp_path):
    for number, (dtype, shape, error) in enumerate(
        [("complex64", (3, 4), ArgumentTypeError), ("bool", (3, 4), ArgumentTypeError), ("f4", (5,), ArgumentError)]
    ):
        array = zarr.create_array(tmp_path / f"{number}.zarr", shape=shape, dtype=dtype)
        with pytest.raises(error, match="data has"):
            as_source(array)
    unknown = dask.array.from_array(np.arange(12.0).reshape(3, 4), chunks=2)
    with pytest.raises(ArgumentError, match="compute_chunk_sizes"):
        as_source(unknown[unknown[:, 0] > 1])


def test_a_store_as_mask_must_fit(tmp_path):
    data = as_zarr(tensor(), tmp_path)
    wrong = zarr.create_array(tmp_path / "m.zarr", shape=(11, 7), dtype=bool)
    with pytest.raises(ArgumentError, match=r"mask has shape \(11, 7\)"):
        as_source(data, wrong)
    numbers = zarr.create_array(tmp_path / "n.zarr", shape=SHAPE, dtype="u1")
    numbers[...] = 3
    with pytest.raises(ArgumentTypeError, match="mask has dtype uint8"):
        as_source(data, numbers)
    with pytest.raises(RingletError, match="zeros and ones"):  # by path numbers are taken, but only 0 and 1
        survey(as_source(data, tmp_path / "n.zarr"))


def test_a_fit_of_a_store_is_that_of_the_array(tmp_path):
    x = tensor()
    given_array = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=3, loss="l2"))
    data = as_zarr(x, tmp_path)
    block = (2, slice(1, 5), ...)
    for given_data in (data, dask.array.from_zarr(data)):
        fit = decompose(given_data, 3, solver=AWRTRD(smooth=0.0, sweeps=3, loss="l2"))
        np.testing.assert_allclose(np.asarray(fit.ring), np.asarray(given_array.ring), rtol=1e-3, atol=1e-2)
        np.testing.assert_array_equal(np.isnan(fit.weights(block)), np.isnan(x[block]))


@pytest.mark.parametrize("rows", [[0, 2, 1], [0, 0, 2], [3, 1], [5, 4, 3]])
def test_lists_in_any_order_give_the_entries_they_name(rows):
    x = np.arange(24).reshape(6, 4)
    source = ChunkedSource(x, regular_chunks(x.shape, (3, 2)))
    values, _ = source.read((np.array(rows), slice(0, 4)))
    np.testing.assert_array_equal(values, x[rows])


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_masks_of_dask_arrays_mean_missing(dtype):
    x = np.arange(60).reshape(5, 4, 3).astype(dtype)
    masked = dask.array.ma.masked_greater(dask.array.from_array(x, chunks=(2, 2, 3)), 40)
    for data in (masked, xarray.DataArray(masked, dims=("a", "b", "c"))):
        values, observed = as_source(data).read((slice(0, 5), slice(0, 4), slice(0, 3)))
        np.testing.assert_array_equal(observed, x <= 40)
        np.testing.assert_array_equal(values[observed], x[x <= 40])
