"""Stores through the command line: in and out of the same kind, a part at a time, and mistakes in one line."""

import json
import os
import subprocess
import sys
import tracemalloc
from contextlib import nullcontext

import h5py
import numpy as np
import pytest
import xarray
import zarr
from scipy.io import savemat

from limited import without_age
from ringlet import TensorRing
from ringlet.restoration.clean_entries import Cleaning
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import open_input
from ringlet.results.fit import Fit
from ringlet.results.records import Status
from ringlet.robust import Kernel
from ringlet.sources.files import load
from ringlet.store.chunked_outputs import default_chunks

CHUNKS = (20, 20, 3)
FIT = ("--rank", "4,4,3", "--smooth", "0", "--sweeps", "12", "--quiet")


def replace_by_fifo(file):
    file.unlink()
    os.mkfifo(file)


@pytest.fixture
def stores(tmp_path, photo, ruin):
    """A damaged picture as a zarr store and as an HDF5 file."""
    damaged = ruin(photo)
    names = ("height", "width", "colour")
    array = zarr.create_array(tmp_path / "x.zarr", shape=photo.shape, chunks=CHUNKS, dtype="u1", dimension_names=names)
    array[...] = damaged
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("run/picture", data=damaged, chunks=CHUNKS)
        for dimension, name in zip(dataset.dims, names, strict=True):
            dimension.label = name
    return tmp_path


def opened(path):
    if path.suffix == ".zarr":
        return zarr.open_array(path, mode="r")
    return h5py.File(path, "r")["run/picture"]


@pytest.mark.parametrize("suffix", [".zarr", ".h5"])
def test_restore_gives_a_clean_store_of_the_same_kind(run, stores, photo, suffix):
    result = run("restore", stores / f"x{suffix}", "-o", stores / f"clean{suffix}", *FIT)
    assert result.exit_code == 0, result.stderr
    clean = opened(stores / f"clean{suffix}")
    assert (clean.dtype, clean.chunks, clean.shape) == (np.uint8, CHUNKS, photo.shape)
    assert np.abs(clean[...].astype(int) - photo).mean() < 3
    assert load(stores / f"clean{suffix}").source.names == ("height", "width", "colour")
    assert sorted(path.name for path in stores.iterdir()) == sorted(["x.zarr", "x.h5", f"clean{suffix}"])


@pytest.mark.parametrize("suffix", [".npy", ".h5", ".png"])
def test_a_store_can_become_another_kind_of_file(run, stores, photo, suffix):
    out = stores / f"clean{suffix}"
    assert run("restore", stores / "x.zarr", "-o", out, *FIT).exit_code == 0
    assert np.abs(load(out).array.astype(int) - photo).mean() < 3


@pytest.mark.parametrize("suffix", [".npy", ".zarr", ".h5"])
def test_a_file_restored_in_place_still_shows_what_was_wrong_in_it(run, stores, photo, ruin, suffix):
    path = stores / f"x{suffix}"
    np.save(stores / "x.npy", ruin(photo))
    told = {}
    for out, name in ((stores / f"clean{suffix}", "apart.png"), (path, "inplace.png")):
        command = ("restore", path, "-o", out, "--outliers", stores / name, *FIT)
        result = run(*command, "--force", "--json")
        assert result.exit_code == 0, result.stderr
        told[name] = json.loads(result.stdout)["outlier_share"]
    assert told["inplace.png"] == told["apart.png"] > 0.1
    np.testing.assert_array_equal(load(stores / "inplace.png").array, load(stores / "apart.png").array)
    assert np.abs(load(path).array.astype(int) - photo).mean() < 3


def test_existing_stores_are_replaced_only_when_asked(run, stores):
    (stores / "clean.zarr").mkdir()
    (stores / "clean.zarr" / "precious.txt").write_text("mine")
    command = ["restore", stores / "x.zarr", "-o", stores / "clean.zarr", "--rank", "2", "--sweeps", "1", "--quiet"]
    result = run(*command, "--force")  # a folder, but no store: never deleted
    assert (result.exit_code, (stores / "clean.zarr" / "precious.txt").read_text()) == (2, "mine")
    (stores / "clean.zarr" / "precious.txt").unlink()
    (stores / "clean.zarr").rmdir()
    assert run(*command).exit_code == 0
    assert run(*command).exit_code == 2
    assert run(*command, "--force").exit_code == 0


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.filterwarnings("ignore:.*chunks are not in the store")
def test_a_tensor_is_written_without_ever_being_whole(tmp_path, keep):
    rng = np.random.default_rng(0)
    ring = TensorRing([rng.random((2, n, 2)).astype(np.float32) for n in (400, 300, 20, 20)])
    damaged = zarr.create_array(tmp_path / "in.zarr", shape=ring.shape, chunks=(50, 50, 20, 20), dtype="f4")
    damaged[:50, :50] = ring[:50, :50]
    damaged[40:50, 40:50] = 1e6
    given = open_input(tmp_path / "in.zarr")
    fit = Fit(ring, Status.DONE, (), given.source, Kernel(1.0))
    tracemalloc.start()
    CleanFile(tmp_path / "out.zarr", given, Cleaning(detail="never", keep=keep)).write(fit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * ring.size * 4  # 192 MB; a block has 16
    written = zarr.open_array(tmp_path / "out.zarr", mode="r")
    np.testing.assert_allclose(written[37:43, 37:43], ring[37:43, 37:43], rtol=1e-5)


def test_fit_info_and_plan_take_stores_and_names_inside_them(run, stores):
    result = run(
        "fit", f"{stores}/x.h5::run/picture", "--rank", "3", "-o", stores / "x.ring", "--sweeps", "2", "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert TensorRing.load(stores / "x.ring").names == ("height", "width", "colour")
    told = json.loads(run("info", stores / "x.h5", "--key", "run/picture", "--json").stdout)
    assert (told["kind"], told["key"], told["chunks"]) == ("hdf5", "run/picture", list(CHUNKS))
    assert "12 of 20 × 20 × 3" in run("info", stores / "x.zarr").stdout
    planned = json.loads(run("plan", stores / "x.zarr", "--rank", "3", "--solver", "sawrtrd", "--json").stdout)
    assert planned["sweep"]["peak_memory"] > 0
    result = run("plan", stores / "x.zarr", "--rank", "3", "--memory", "1kB")
    assert result.exit_code == 2
    assert "the smallest possible budget is" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.zarr"], "none.zarr does not exist"),
        (["x.h5", "--key", "nothing"], "has no array 'nothing'; it holds: run/picture (60, 80, 3)"),
        (["x.h5::nothing"], "has no array 'nothing'"),
        (["x.zarr", "--key", "a"], "holds a single array without a name"),
        (["x.zarr", "--mask", "small.zarr"], "the mask has shape (4, 4), the tensor (60, 80, 3)"),
        (["complex.zarr"], "complex.zarr: an array of dtype complex64; only real numbers"),
        (["empty"], "neither a zarr store nor holds pictures"),
    ],
)
def test_mistakes_are_told_in_one_line_and_write_nothing(run, stores, arguments, words, monkeypatch):
    monkeypatch.chdir(stores)
    zarr.create_array(stores / "small.zarr", shape=(4, 4), dtype=bool)
    zarr.create_array(stores / "complex.zarr", shape=(4, 4), dtype="c8")
    (stores / "empty").mkdir()
    result = run("fit", *arguments, "--rank", "2", "-o", stores / "y.ring")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (stores / "y.ring").exists()


@pytest.mark.parametrize("damage", [lambda chunk: chunk.write_bytes(b"no chunk"), replace_by_fifo])
def test_a_damaged_chunk_is_one_line_that_names_the_store(stores, damage):
    """In a process of its own: reads of other chunks that went on made Python print pages at its end."""
    damage(stores / "x.zarr" / "c" / "1" / "1" / "0")
    command = [sys.executable, "-m", "ringlet", "fit", stores / "x.zarr", "--rank", "2", "-o", stores / "y.ring"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    told = without_age(result.stderr)
    assert told.count("\n") == 1
    assert told.startswith(f"error: {stores / 'x.zarr'}: ")
    assert not (stores / "y.ring").exists()


def test_damaged_entries_of_an_hdf5_file_are_a_named_error(run, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=np.ones((40, 30)), chunks=(20, 30), compression="gzip")
        place = dataset.id.get_chunk_info(1).byte_offset
    with (tmp_path / "x.h5").open("r+b") as file:
        file.seek(place)
        file.write(b"no chunk")
    result = run("fit", tmp_path / "x.h5", "--rank", "2", "-o", tmp_path / "y.ring")
    assert result.exit_code == 2
    assert f"{tmp_path / 'x.h5'}: " in result.stderr


def test_a_mask_in_a_store_counts(run, stores, photo):
    known = np.random.default_rng(1).random(photo.shape) < 0.7
    zarr.create_array(stores / "known.zarr", shape=photo.shape, chunks=(30, 80, 1), dtype="u1")[...] = known
    result = run("info", stores / "x.zarr", "--mask", stores / "known.zarr", "--json")
    assert json.loads(result.stdout)["missing_share"] == pytest.approx(1 - known.mean())


PACKED = {"scale_factor": 0.5, "add_offset": 300.0, "units": "K"}


def packed_store(path, kelvin):
    """Whole numbers that stand for temperatures, as xarray reads them."""
    packed = np.rint((kelvin - PACKED["add_offset"]) / PACKED["scale_factor"]).astype("i2")
    packed[::3, ::2] = -999
    if path.suffix == ".zarr":
        group, told = zarr.open_group(path, mode="w"), {**PACKED, "_FillValue": -999}
        array = group.create_array("t", shape=packed.shape, dtype="i2", dimension_names=("y", "x"), attributes=told)
        array[...] = packed
        return
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("t", data=packed)
        dataset.attrs.update(PACKED, scale_factor=np.float64([0.5]), _FillValue=np.int16(-999))  # as netCDF writes it
        dataset.dims[0].label, dataset.dims[1].label = "y", "x"


@pytest.mark.parametrize(("given", "out"), [(".zarr", ".zarr"), (".h5", ".zarr"), (".zarr", ".h5"), (".h5", ".h5")])
def test_packed_entries_stay_packed_and_say_so(run, tmp_path, given, out):
    kelvin = 290 + np.add.outer(np.arange(40.0), 0.5 * np.arange(30.0))
    packed_store(tmp_path / f"x{given}", kelvin)
    clean, ring = tmp_path / f"clean{out}", tmp_path / "x.ring"
    result = run(
        "restore", tmp_path / f"x{given}", "-o", clean, "--save", ring, "--rank", "2,1", "--smooth", "0", "--quiet"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    opened = zarr.open(clean, mode="r") if out == ".zarr" else h5py.File(clean)
    array = opened if isinstance(opened, zarr.Array) else opened["t" if given == out else "tensor"]
    assert PACKED.items() <= dict(array.attrs).items()
    np.testing.assert_allclose(array[...] * 0.5 + 300, kelvin, atol=1.0)
    if given == out == ".zarr":
        np.testing.assert_allclose(xarray.open_zarr(clean, consolidated=False)["t"], kelvin, atol=1.0)
    assert TensorRing.load(ring).units is None  # of the ring's own numbers it is not the unit
    assert json.loads(run("info", tmp_path / f"x{given}", "--json").stdout)["packing"] == PACKED
    assert "packed   scale_factor 0.5, add_offset 300.0, units K" in run("info", tmp_path / f"x{given}").stdout


def test_what_cannot_say_that_it_is_packed_comes_with_a_warning(run, tmp_path):
    packed_store(tmp_path / "x.zarr", np.add.outer(np.arange(20.0), np.arange(20.0)) + 290)
    result = run(
        "restore", tmp_path / "x.zarr", "-o", tmp_path / "clean.npy", "--rank", "3", "--sweeps", "1", "--quiet"
    )
    assert result.exit_code == 0
    assert "but not their attributes: scale_factor 0.5, add_offset 300.0, units K" in " ".join(result.stderr.split())


def test_default_chunks_hold_about_half_a_million_entries():
    for shape in [(1080, 1920, 3, 50), (10, 10), (100_000, 3), (7, 100_000, 100_000)]:
        sizes = default_chunks(shape)
        assert np.prod(sizes) <= 1 << 19
        assert np.prod(sizes) >= min(np.prod(shape), 1 << 17)


@pytest.mark.parametrize("suffix", [".zarr", ".h5"])
def test_arrays_beside_the_output_are_never_lost(run, tmp_path, suffix):
    path, x = tmp_path / f"g{suffix}", np.random.default_rng(0).random((8, 7, 3))
    with h5py.File(path, "w") if suffix == ".h5" else nullcontext(zarr.open_group(path, mode="w")) as group:
        for name in ("tensor", "calibration"):
            group.create_array(name, data=x) if suffix == ".zarr" else group.create_dataset(name, data=x)
    result = run("restore", f"{path}::tensor", "-o", path, "--rank", "2", "--force")
    assert result.exit_code == 2
    assert "calibration" in result.output
    assert sorted(h5py.File(path) if suffix == ".h5" else zarr.open_group(path)) == ["calibration", "tensor"]


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_arrays_beside_the_output_in_a_plain_file_are_never_lost(run, tmp_path, suffix):
    path, x = tmp_path / f"g{suffix}", np.random.default_rng(0).random((8, 7, 3))
    save = np.savez if suffix == ".npz" else lambda path, **arrays: savemat(path, arrays)
    save(path, tensor=x, calibration=x[0], author="somebody")
    before = path.read_bytes()
    for source in (f"{path}::tensor", path):
        result = run("restore", source, "-o", path, "--rank", "2", "--force")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "other arrays in it would be lost (calibration, author)" in " ".join(result.stderr.split())
    assert path.read_bytes() == before
    save(path, tensor=x)
    assert run("restore", path, "-o", path, "--rank", "2", "--force", "--quiet").exit_code == 0


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".npz", ".mat"])
def test_an_output_can_be_written_once_more(run, tmp_path, suffix):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((8, 7, 3)))
    for options in [(), ("--force",)]:
        out = tmp_path / f"clean{suffix}"
        result = run("restore", tmp_path / "x.npy", "-o", out, "--rank", "2", "--sweeps", "1", "--quiet", *options)
        assert result.exit_code == 0, result.stderr


def test_names_in_groups_do_not_end_a_fit_that_goes_into_a_mat_file(run, stores):
    out = stores / "clean.mat"
    result = run("restore", stores / "x.h5", "-o", out, "--rank", "2", "--sweeps", "1", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert load(out).key == "tensor"
    np.savez(stores / "x.npz", **{"2nd": np.ones((4, 3, 2))})
    result = run("restore", stores / "x.npz", "-o", stores / "clean2.mat", "--rank", "2", "--sweeps", "1", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'2nd' is no MATLAB name" in result.stderr


def test_an_output_in_place_of_the_input_is_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).random((8, 7, 3)))
    for source in (tmp_path / "x.npy", "x.npy"):
        result = run("restore", source, "-o", "x.npy", "--save", "x.ring", "--rank", "2", "--force")
        assert result.exit_code == 0, result.output
        assert "written   x.npy (in place of the input)\n          x.ring\n" in result.stdout
