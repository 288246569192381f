"""Masks beside tensors, in every kind of group: they count, or are told to be wrong; what is closed is told by name."""

import pickle

import dask.array
import h5py
import numpy as np
import pytest
import xarray
import zarr

from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, FormatError
from ringlet.sources import as_source

SHAPE = (6, 5, 4)
WHOLE = tuple(slice(0, length) for length in SHAPE)
X = np.random.default_rng(0).integers(1, 200, SHAPE).astype("u1")
KNOWN = np.random.default_rng(1).random(SHAPE) < 0.6


def zarr_group(folder, arrays):
    group = zarr.open_group(folder / "x.zarr", mode="w")
    for name, content in arrays.items():
        group.create_array(name, shape=content.shape, dtype=content.dtype)[...] = content
    return zarr.open_group(folder / "x.zarr", mode="r")


def hdf5_file(folder, arrays):
    with h5py.File(folder / "x.h5", "w") as file:
        for name, content in arrays.items():
            file[name] = content
    return h5py.File(folder / "x.h5")


GROUPS = {"zarr": zarr_group, "hdf5": hdf5_file}
FORMS = {
    "path": lambda group: group.filename if isinstance(group, h5py.File) else group.store.root,
    "object": lambda group: group,
}


def observed(data, mask=None):
    found = as_source(data, mask).read(WHOLE)[1]
    return np.ones(SHAPE, bool) if found is None else found


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("where", ["", "run1/", "run1/day/"])
@pytest.mark.parametrize(("name", "dtype"), [("observed", "u1"), ("mask", "?")])
def test_a_mask_beside_the_tensor_counts_however_deep_they_lie(tmp_path, make, form, where, name, dtype):
    arrays = {f"{where}tensor": X, f"{where}{name}": KNOWN.astype(dtype), f"{where}time": np.arange(4)}
    np.testing.assert_array_equal(observed(form(make(tmp_path, arrays))), KNOWN)


@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_a_mask_is_that_of_its_own_group(tmp_path, make):
    group = make(tmp_path, {"observed": np.zeros((9, 9), "u1"), "a/x": X, "a/observed": KNOWN, "b/x": X})
    path = FORMS["path"](group)
    np.testing.assert_array_equal(observed(f"{path}::a/x"), KNOWN)
    np.testing.assert_array_equal(observed(group["a"]), KNOWN)
    assert observed(f"{path}::b/x").all()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_a_mask_of_another_shape_is_an_error_that_names_both(tmp_path, make, form):
    data = form(make(tmp_path, {"run1/counts": X, "run1/observed": KNOWN[..., 0]}))
    words = r"run1/observed, the mask of run1/counts, has shape \(6, 5\), the tensor \(6, 5, 4\)"
    with pytest.raises(ArgumentError, match=words):
        as_source(data)
    with pytest.raises(ArgumentError, match=words):
        decompose(data, 2)


def test_a_mask_beside_a_variable_of_a_dataset_counts():
    dims = ("a", "b", "c")
    data = xarray.Dataset({"x": (dims, X), "observed": (dims, KNOWN.astype("u1")), "time": ("c", np.arange(4))})
    for given in (data, data.chunk(2)):
        np.testing.assert_array_equal(observed(given), KNOWN)
    with pytest.raises(ArgumentError, match=r"has shape \(6, 5\), the tensor \(6, 5, 4\)"):
        as_source(data.assign(observed=data["observed"][..., 0]))
    with pytest.raises(FormatError, match="zeros and ones"):
        as_source(data.assign(observed=data["observed"] + 1))


CUBE = np.random.default_rng(2).random((4, 4, 4))
HIDDEN = CUBE > 0.3


@pytest.mark.parametrize("chunks", [None, 2])
def test_a_mask_of_the_same_sizes_but_turned_is_refused(chunks):
    """Sizes do not tell; the names of the modes do."""
    data = xarray.Dataset({"x": (("a", "b", "c"), CUBE), "observed": (("c", "a", "b"), HIDDEN)})
    data = data if chunks is None else data.chunk(chunks)
    words = r"mask has the modes \(c, a, b\), but the tensor has \(a, b, c\); transpose it"
    for given in [(data,), (data["x"], data["observed"]), (data["x"], data[["observed"]])]:
        with pytest.raises(ArgumentError, match=words):
            as_source(*given)
    turned = data.assign(observed=data["observed"].transpose("a", "b", "c"))
    for given in [(turned,), (turned["x"], turned["observed"]), (turned["x"], HIDDEN.transpose(1, 2, 0))]:
        assert as_source(*given).shape == (4, 4, 4)
    other_names = xarray.DataArray(HIDDEN, dims=("i", "j", "k"))
    assert as_source(data["x"], other_names).shape == (4, 4, 4)


def test_a_turned_mask_in_a_store_is_refused(tmp_path):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    for name, content, names in [("x", CUBE, ("a", "b", "c")), ("mask", HIDDEN, ("b", "a", "c"))]:
        made = group.create_array(name, shape=(4, 4, 4), dtype=content.dtype, dimension_names=names)
        made[...] = content
    for given in [(tmp_path / "x.zarr",), (group["x"], group["mask"]), (group["x"], f"{tmp_path}/x.zarr::mask")]:
        with pytest.raises(ArgumentError, match=r"mask has the modes \(b, a, c\)"):
            as_source(*given)


def test_a_mask_with_other_coordinates_is_refused():
    """Arithmetic of xarray would align them."""
    data = xarray.DataArray(CUBE, dims=("a", "b", "c"), coords={"a": [1, 2, 3, 4]})
    mask = xarray.DataArray(HIDDEN, dims=("a", "b", "c"), coords={"a": [1, 2, 3, 4], "b": [7, 8, 9, 10]})
    np.testing.assert_array_equal(as_source(data, mask).mask, HIDDEN)
    for given in (data, data.to_dataset(name="x")):
        with pytest.raises(ArgumentError, match="mask has other coordinates 'a' than data; align them first"):
            as_source(given, mask[::-1])


@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_an_array_given_without_its_group_does_not_drop_a_mask_in_silence(tmp_path, make):
    group = make(tmp_path, {"run1/tensor": X, "run1/observed": KNOWN, "lone": X})
    with pytest.warns(DataWarning, match="'observed' beside data is not used.*give mask=, or the group"):
        decompose(group["run1/tensor"], 2, solver=AWRTRD(smooth=0.0, sweeps=1))
    np.testing.assert_array_equal(observed(group["run1/tensor"], group["run1/observed"]), KNOWN)
    assert observed(group["lone"]).all()


def test_links_to_nowhere_are_no_arrays(tmp_path):
    file = hdf5_file(tmp_path, {"x": X})
    file.close()
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        file["gone"] = h5py.SoftLink("/nowhere")
        assert as_source(file).shape == SHAPE


# Masks as an argument.


def mask_of(kind, values, folder):
    if kind == "zarr":
        return zarr_group(folder, {"m": values})["m"]
    if kind == "hdf5":
        return hdf5_file(folder, {"m": values})["m"]
    return {"numpy": np.asarray, "list": np.ndarray.tolist, "dask": dask.array.from_array, "xarray": xarray.DataArray}[
        kind
    ](values)


@pytest.mark.parametrize("data", ["array", "store"])
@pytest.mark.parametrize("kind", ["numpy", "list", "dask", "xarray", "zarr", "hdf5"])
def test_masks_of_all_kinds_are_of_truth_values_or_refused_by_name(tmp_path, kind, data):
    x = X if data == "array" else dask.array.from_array(X, chunks=3)
    np.testing.assert_array_equal(observed(x, mask_of(kind, KNOWN, tmp_path)), KNOWN)
    for dtype in ("u1", "i8", "f4"):
        if kind == "list" and dtype != "i8":  # of Python's numbers only
            continue
        with pytest.raises(ArgumentTypeError, match=r"mask has dtype .*; give a bool array, True = observed"):
            as_source(x, mask_of(kind, KNOWN.astype(dtype), tmp_path))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_a_group_or_file_as_mask_means_the_mask_in_it(tmp_path, make, form):
    group = make(tmp_path, {"run1/tensor": X, "run1/observed": KNOWN.astype("u1")})
    np.testing.assert_array_equal(observed(X, form(group)), KNOWN)


def test_several_masks_need_a_choice(tmp_path):
    group = hdf5_file(tmp_path, {"a/mask": KNOWN, "b/mask": KNOWN})
    for mask in (group, group.filename):
        with pytest.raises(ArgumentError, match=r"holds several masks; .*: a/mask .*, b/mask"):
            as_source(X, mask)


def test_a_mask_of_masked_dask_arrays_is_refused():
    with pytest.raises(ArgumentTypeError, match="mask holds masked arrays"):
        as_source(X, dask.array.ma.masked_array(dask.array.from_array(KNOWN), mask=~KNOWN))


# What is missing by its value.


@pytest.mark.parametrize("kind", ["numpy", "dask", "lazy"])
@pytest.mark.parametrize(
    ("attributes", "missing"),
    [
        ({"_FillValue": 7}, [7]),
        ({"_FillValue": np.uint8(0)}, [0]),
        ({"missing_value": [7, 9]}, [7, 9]),
        ({"_FillValue": 255, "missing_value": np.array([7, 9], "u1")}, [255, 7, 9]),
        ({"missing_value": "none"}, []),
    ],
)
def test_fill_values_among_the_attributes_of_xarray_mean_missing(tmp_path, kind, attributes, missing):
    x = X.copy()
    x[0, 0] = [0, 7, 9, 255]
    data = xarray.DataArray(x, dims=("a", "b", "c"), name="x", attrs=attributes)
    if kind == "dask":
        data = data.chunk(2)
    elif kind == "lazy":
        data.to_dataset().to_zarr(tmp_path / "x.zarr", consolidated=False)
        data = xarray.open_zarr(tmp_path / "x.zarr", chunks=None, consolidated=False, mask_and_scale=False)["x"]
        assert not data.variable._in_memory
    np.testing.assert_array_equal(observed(data), ~np.isin(x, missing))


def test_what_xarray_has_decoded_is_nan_and_missing_once(tmp_path):
    data = xarray.DataArray(
        X.astype("f4"), dims=("a", "b", "c"), name="x", attrs={"_FillValue": np.float32(X[0, 0, 0])}
    )
    data.to_dataset().to_zarr(tmp_path / "x.zarr", consolidated=False)
    decoded = xarray.open_zarr(tmp_path / "x.zarr", consolidated=False)["x"]
    assert "_FillValue" not in decoded.attrs
    np.testing.assert_array_equal(observed(decoded), X[0, 0, 0] != X)


@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_several_missing_values_of_a_stored_array_count(tmp_path, make):
    x = X.copy()
    x[0, 0] = [0, 7, 9, 255]
    make(tmp_path, {"x": x})
    if make is zarr_group:
        zarr.open_array(tmp_path / "x.zarr" / "x", mode="r+").attrs["missing_value"] = [7, 9]
    else:
        with h5py.File(tmp_path / "x.h5", "r+") as file:
            file["x"].attrs["missing_value"] = np.array([7, 9], "u1")
    path = tmp_path / ("x.zarr" if make is zarr_group else "x.h5")
    np.testing.assert_array_equal(observed(path), ~np.isin(x, [7, 9]))


# Files that were closed.


def test_closed_hdf5_files_are_told_by_name(tmp_path):
    file = hdf5_file(tmp_path, {"run1/x": X, "known": KNOWN})
    dataset, group, known = file["run1/x"], file["run1"], file["known"]
    source = as_source(dataset)
    file.close()
    for given in (dataset, group, file):
        with pytest.raises(ArgumentError, match=r"data is an HDF5 .* whose file was closed; keep the file open"):
            decompose(given, 2)
    with pytest.raises(ArgumentError, match="mask is an HDF5 dataset whose file was closed"):
        decompose(X, 2, mask=known)
    with pytest.raises(ArgumentError, match="the array is an HDF5 dataset whose file was closed"):
        source.read(WHOLE)
    again = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own; what a worker gets opens the file itself
    np.testing.assert_array_equal(again.read(WHOLE)[0], X)
