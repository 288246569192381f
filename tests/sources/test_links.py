"""Stores that lead to other files: nothing outside is read unless the caller allows it."""

import h5py
import numpy as np
import pytest
import tifffile
import zarr

from ringlet.errors import ArgumentError, FormatError
from ringlet.sources import as_source
from ringlet.sources.files import load
from ringlet.sources.mask_files import load_mask

SECRET = np.arange(12, dtype="u1").reshape(3, 4)


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "secret.bin").write_bytes(SECRET.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = SECRET
    return tmp_path


def external_storage(file, folder):
    file.create_dataset("x", (3, 4), "u1", external=[(str(folder / "secret.bin"), 0, 12)])


def external_link(file, folder):
    file["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "/x")


def soft_link_to_an_external_one(file, folder):
    file["away"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")
    file["x"] = h5py.SoftLink("/away/x")


def external_group(file, folder):
    file["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")


def virtual_dataset(file, folder):
    layout = h5py.VirtualLayout((3, 4), "u1")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "x", (3, 4))
    file.create_virtual_dataset("x", layout)


def virtual_dataset_of_an_external_one(file, folder):
    external_storage(file.create_group("g"), folder)
    layout = h5py.VirtualLayout((3, 4), "u1")
    layout[:] = h5py.VirtualSource(".", "g/x", (3, 4))
    file.create_virtual_dataset("x", layout)


WAYS = [
    external_storage,
    external_link,
    soft_link_to_an_external_one,
    external_group,
    virtual_dataset,
    virtual_dataset_of_an_external_one,
]


@pytest.mark.parametrize("make", WAYS)
def test_hdf5_files_that_lead_to_others_are_refused_by_name_unless_allowed(secret, make):
    with h5py.File(secret / "in.h5", "w") as file:
        make(file, secret)
    key = "x/x" if make is external_group else "x"
    for asked in (key, None):
        with pytest.raises((FormatError, ArgumentError), match=r"secret\.|several arrays"):
            load(secret / "in.h5", key=asked)
    with pytest.raises(FormatError, match=r"secret\..*follow_links=True"):
        load(secret / "in.h5", key=key)
    with pytest.raises(FormatError, match=r"secret\..*follow_links=True"):
        load_mask(f"{secret}/in.h5::{key}", (3, 4))
    np.testing.assert_array_equal(load(secret / "in.h5", key=key, follow_links=True).array, SECRET)


@pytest.mark.parametrize("make", WAYS)
def test_netcdf_files_that_lead_to_others_are_refused_by_name_unless_allowed(secret, make):
    with h5py.File(secret / "in.nc", "w") as file:
        make(file, secret)
        file["own"] = np.ones((2, 2))
    for read in (load, lambda path: load_mask(f"{path}::own", (2, 2))):
        with pytest.raises(FormatError, match=r"secret\..*follow_links=True"):
            read(secret / "in.nc")
    if make is not external_group:  # of which xarray reads nothing
        np.testing.assert_array_equal(load(secret / "in.nc", key="x", follow_links=True).array, SECRET)


def test_a_scalar_of_a_netcdf_file_leads_nowhere_either(secret):
    with h5py.File(secret / "in.nc", "w") as file:
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_external(str(secret / "secret.bin").encode(), 0, 1)
        h5py.h5d.create(file.id, b"s", h5py.h5t.NATIVE_UINT8, space, made)
        file["x"] = SECRET
    with pytest.raises(FormatError, match=r"secret\.bin.*follow_links=True"):
        load(secret / "in.nc")


OME = """<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">
<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="4" SizeY="3" SizeZ="2" SizeC="1" SizeT="1">
<Channel ID="Channel:0:0" SamplesPerPixel="1"/>
<TiffData IFD="0" FirstZ="0" PlaneCount="1"><UUID FileName="in.tif">urn:uuid:1</UUID></TiffData>
<TiffData IFD="{place}" FirstZ="1" PlaneCount="1"><UUID FileName="{name}">urn:uuid:{number}</UUID></TiffData>
</Pixels></Image></OME>"""


def test_tiff_files_that_lead_to_others_are_refused_unless_allowed(secret):
    def write(**other):
        with tifffile.TiffWriter(secret / "in.tif") as file:
            for number in range(2):
                text = OME.format(**other) if not number else None
                file.write(np.full((3, 4), number, "u1"), description=text, metadata=None, contiguous=False)

    tifffile.imwrite(secret / "secret.tif", SECRET)
    write(place=0, name=secret / "secret.tif", number=2)
    for read in (load, lambda path: load_mask(path, (2, 3, 4))):
        with pytest.raises(FormatError, match="name other files, which are not read; follow_links=True reads them"):
            read(secret / "in.tif")
    np.testing.assert_array_equal(load(secret / "in.tif", follow_links=True).array[1], SECRET)
    (secret / "secret.tif").unlink()
    with pytest.raises(FormatError, match="planes of its stack are missing"):
        load(secret / "in.tif", follow_links=True)
    write(place=1, name="in.tif", number=1)
    assert load(secret / "in.tif").array.mean(axis=(1, 2)).tolist() == [0, 1]


def test_other_arrays_of_a_file_with_outside_links_are_read_by_their_key(secret):
    with h5py.File(secret / "in.h5", "w") as file:
        external_link(file, secret)
        file["own"] = np.ones((2, 2))
    assert load(secret / "in.h5", key="own").array.all()


def test_a_dataset_that_the_caller_opened_is_read_wherever_its_entries_are(secret):
    with h5py.File(secret / "in.h5", "w") as file:
        external_storage(file, secret)
    with h5py.File(secret / "in.h5", "r") as file:
        np.testing.assert_array_equal(as_source(file["x"]).read((slice(0, 3), slice(0, 4)))[0], SECRET)


def test_virtual_datasets_within_one_file_are_read(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["g/part"] = SECRET
        layout = h5py.VirtualLayout((3, 4), "u1")
        layout[:] = h5py.VirtualSource(".", "g/part", (3, 4))
        file.create_virtual_dataset("x", layout)
    np.testing.assert_array_equal(load(tmp_path / "in.h5", key="x").array, SECRET)


@pytest.mark.parametrize("gone", ["file", "dataset", "own dataset"])
def test_a_virtual_dataset_of_which_a_source_is_gone_is_an_error(secret, gone):
    with h5py.File(secret / "in.h5", "w") as file:
        layout = h5py.VirtualLayout((3, 4), "u1")
        layout[:] = h5py.VirtualSource("." if gone == "own dataset" else "secret.h5", "x", (3, 4))
        file.create_virtual_dataset("v", layout)
    if gone == "file":
        (secret / "secret.h5").unlink()
    elif gone == "dataset":
        with h5py.File(secret / "secret.h5", "r+") as file:
            del file["x"]
    with pytest.raises(FormatError, match="which is not there"):
        load(secret / "in.h5", follow_links=True)


def test_groups_whose_links_run_in_a_circle_are_looked_at_once(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["a/x"] = SECRET
        file["a/again"] = file["/"]
        file["b"] = file["a"]
        file["soft"] = h5py.SoftLink("/soft")
        file["far"] = h5py.SoftLink("/near")
        file["near"] = h5py.SoftLink("/far")
    with pytest.raises(FormatError, match="run in a circle"):
        load(tmp_path / "in.h5")
    with h5py.File(tmp_path / "in.h5", "r+") as file:
        for name in ("soft", "far", "near"):
            del file[name]
    np.testing.assert_array_equal(load(tmp_path / "in.h5").array, SECRET)


# Zarr.


@pytest.mark.parametrize("what", ["chunk", "folder of chunks", "array"])
def test_symbolic_links_in_zarr_stores_are_refused_unless_allowed(tmp_path, what):
    zarr.create_array(tmp_path / "secret.zarr", data=SECRET, compressors=None)
    zarr.create_array(tmp_path / "in.zarr", data=SECRET * 2, name="x", compressors=None)
    zarr.open_group(tmp_path / "in.zarr", mode="a")
    place = {"chunk": "x/c/0/0", "folder of chunks": "x/c", "array": "x"}[what]
    (tmp_path / "in.zarr" / place).rename(tmp_path / "moved")
    target = {"chunk": "secret.zarr/c/0/0", "folder of chunks": "secret.zarr/c", "array": "secret.zarr"}[what]
    (tmp_path / "in.zarr" / place).symlink_to(tmp_path / target)
    with pytest.raises(FormatError, match=r"symbolic link.*follow_links=True reads it"):
        load(tmp_path / "in.zarr", key="x").source.read((slice(0, 3), slice(0, 4)))
    loaded = load(tmp_path / "in.zarr", key="x", follow_links=True)
    np.testing.assert_array_equal(loaded.array, SECRET)


def test_a_link_to_a_whole_store_is_followed_as_to_any_file(tmp_path):
    zarr.create_array(tmp_path / "x.zarr", data=SECRET)
    (tmp_path / "link.zarr").symlink_to(tmp_path / "x.zarr")
    np.testing.assert_array_equal(load(tmp_path / "link.zarr").array, SECRET)


def test_zarr_groups_that_link_to_themselves_end_in_an_error(tmp_path):
    group = zarr.open_group(tmp_path / "in.zarr", mode="w")
    group.create_array("x", data=SECRET)
    (tmp_path / "in.zarr" / "again").symlink_to(tmp_path / "in.zarr")
    with pytest.raises(FormatError, match="symbolic link"):
        load(tmp_path / "in.zarr")
    with pytest.raises(FormatError, match="links may run in a circle"):
        load(tmp_path / "in.zarr", follow_links=True)
