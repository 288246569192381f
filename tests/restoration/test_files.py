"""`ringlet.restore` of files: the bytes that the command line writes, checked before the fit, never half."""

import sys

import h5py
import numpy as np
import pytest
import zarr
from click.testing import CliRunner

import ringlet
from ringlet.cli.group import group
from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError, MissingFileError, OutputExistsError
from ringlet.report.metrics import psnr
from ringlet.sources.files import load

KINDS = ["png", "npy", "npz", "mat", "zarr", "h5"]


class NoWork:
    """Not a solver, which `decompose` refuses at once: any other error was raised before the fit."""


@pytest.fixture
def run():
    def invoke(*arguments):
        result = CliRunner().invoke(group, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output

    return invoke


def content(path):
    """The bytes of a file, or of all files of a store by name."""
    if path.is_file():
        return path.read_bytes()
    return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def same(first, second):
    if first.suffix == ".mat":  # after a header of 128 bytes, which holds the time
        return content(first)[128:] == content(second)[128:]
    if first.suffix == ".npz":  # which holds the time
        return np.array_equal(np.load(first)["scan"], np.load(second)["scan"])
    return content(first) == content(second)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_becomes_what_the_command_line_writes(tmp_path, run, photo, damaged, quick, same_options, save, kind):
    path = save(damaged, kind)
    before = content(path)
    fit = ringlet.restore(path, tmp_path / f"clean.{kind}", missing=7, keep=True, **quick)
    assert isinstance(fit, ringlet.Fit)
    assert fit.missing_share == pytest.approx((damaged == 7).mean())
    run("restore", path, "-o", tmp_path / f"same.{kind}", "--missing", "7", "--keep", "always", *same_options)
    assert same(tmp_path / f"clean.{kind}", tmp_path / f"same.{kind}")
    assert psnr(load(tmp_path / f"clean.{kind}").array, photo, 255) > psnr(damaged, photo, 255) + 10
    assert content(path) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([f"{n}.{kind}" for n in ("in", "clean", "same")])


def test_without_options_both_do_the_same(tmp_path, run, damaged, save):
    path = save(damaged, "png")
    ringlet.restore(path, tmp_path / "clean.png")
    run("restore", path, "-o", tmp_path / "same.png", "--quiet")
    assert content(tmp_path / "clean.png") == content(tmp_path / "same.png")


def test_a_video_becomes_what_the_command_line_writes(tmp_path, run, photo, save):
    film = np.stack([photo // 2 + 4 * t for t in range(6)], axis=3).astype(np.uint8)
    path = save(film, "mp4")
    solver = ringlet.AWRTRD(smooth=0.0, sweeps=6)
    fit = ringlet.restore(path, tmp_path / "clean.mp4", rank=(4, 4, 3, 2), solver=solver)
    assert fit.ring.names == ("height", "width", "colour", "frame")
    options = ["--rank", "4,4,3,2", "--solver", "awrtrd", "--sweeps", "6", "--smooth", "0", "--quiet"]
    run("restore", path, "-o", tmp_path / "same.mp4", *options)
    assert content(tmp_path / "clean.mp4") == content(tmp_path / "same.mp4")
    assert load(tmp_path / "clean.mp4").array.shape == film.shape
    clean = ringlet.restore(path, rank=(4, 4, 3, 2), solver=solver)
    assert (clean.shape, clean.dtype) == (film.shape, np.uint8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_without_an_output_gives_an_array(damaged, quick, save, kind):
    path = save(damaged, kind)
    clean = ringlet.restore(str(path), missing=7, **quick)
    assert type(clean) is np.ndarray
    np.testing.assert_array_equal(clean, ringlet.restore(load(path).source, missing=7, **quick))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_masks_of_files_are_arrays_or_paths(tmp_path, damaged, known, quick, save):
    path = save(damaged, "png")
    expected = ringlet.restore(damaged, mask=known, **quick)
    assert np.any(expected != ringlet.restore(damaged, **quick))  # the mask matters
    masks = {"array": known, "png": save(known, "png", "known"), "npy": save(known, "npy", "known")}
    masks["zarr"] = save(known, "zarr", "known")
    for name, mask in masks.items():
        np.testing.assert_array_equal(ringlet.restore(path, mask=mask, **quick), expected)
        ringlet.restore(path, tmp_path / f"{name}.npy", mask=mask, **quick)
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), expected)


def test_a_key_says_which_array(tmp_path, damaged, quick):
    np.savez(tmp_path / "two.npz", a=damaged, b=damaged[::-1])
    with pytest.raises(ArgumentError, match="several arrays"):
        ringlet.restore(tmp_path / "two.npz")
    by_key = ringlet.restore(tmp_path / "two.npz", key="b", **quick)
    np.testing.assert_array_equal(ringlet.restore(f"{tmp_path}/two.npz::b", **quick), by_key)
    np.testing.assert_array_equal(ringlet.restore(damaged[::-1], **quick), by_key)
    ringlet.restore(tmp_path / "two.npz", tmp_path / "clean.npz", key="b", **quick)
    np.testing.assert_array_equal(np.load(tmp_path / "clean.npz")["b"], by_key)


def test_stores_keep_chunks_names_and_units(tmp_path, damaged, quick, save):
    ringlet.restore(save(damaged, "zarr"), tmp_path / "clean.zarr", **quick)
    clean = zarr.open_array(tmp_path / "clean.zarr", mode="r")
    assert (clean.chunks, clean.metadata.dimension_names) == ((8, 16, 3), ("height", "width", "colour"))
    ringlet.restore(save(damaged, "h5"), tmp_path / "clean.h5", **quick)
    with h5py.File(tmp_path / "clean.h5") as file:
        assert (file["run/scan"].chunks, file["run/scan"].attrs["units"]) == ((8, 16, 3), "counts")


@pytest.mark.parametrize("kind", KINDS)
def test_an_existing_output_is_replaced_only_by_force(damaged, quick, save, kind):
    path, old = save(damaged, kind), save(damaged[::-1], kind, "old")
    before = content(old)
    with pytest.raises(OutputExistsError, match="force=True"):
        ringlet.restore(path, old, solver=NoWork())
    assert content(old) == before
    ringlet.restore(path, old, force=True, **quick)
    np.testing.assert_array_equal(load(old).array, ringlet.restore(path, **quick))


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_may_replace_the_input(damaged, quick, save, kind):
    path = save(damaged, kind)
    expected = ringlet.restore(path, **quick)
    ringlet.restore(path, path, force=True, **quick)
    np.testing.assert_array_equal(load(path).array, expected)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("array", "output", "error", "said"),
    [
        (np.ones((9, 8, 7)), "clean.png", ArgumentError, r"clean\.png from shape"),
        (np.ones((9, 8, 3)), "clean.png", ArgumentError, "dtype float64"),
        (np.ones((9, 8, 3, 4), np.uint16), "clean.mp4", ArgumentError, "dtype uint16"),
        (np.ones((9, 8)), "clean.txt", ArgumentError, "the suffix must be one of"),
        (np.ones((9, 8)), "nowhere/clean.npy", ArgumentError, "its directory does not exist"),
        (np.ones((9, 8)), ".", ArgumentError, "not a regular file"),
    ],
)
@pytest.mark.parametrize("by_path", [False, True])
def test_an_output_that_cannot_be_is_refused_before_the_fit(tmp_path, save, array, output, error, said, by_path):
    data = save(array, "npy") if by_path else array
    with pytest.raises(error, match=said):
        ringlet.restore(data, tmp_path / output, solver=NoWork())
    assert not list(tmp_path.glob("clean*"))


def test_a_fit_that_begins_would_be_noticed(tmp_path, damaged):
    with pytest.raises(ArgumentTypeError, match="is not a solver"):
        ringlet.restore(damaged, tmp_path / "clean.npy", solver=NoWork())


@pytest.mark.parametrize(
    ("output", "lacking"), [("clean.png", "PIL.Image"), ("clean.zarr", "zarr"), ("clean.h5", "h5py")]
)
def test_a_missing_library_is_noticed_before_the_fit(tmp_path, damaged, monkeypatch, output, lacking):
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        ringlet.restore(damaged, tmp_path / output, solver=NoWork())


def test_other_arrays_in_the_output_are_never_lost(tmp_path, damaged):
    np.savez(tmp_path / "x.npz", scan=damaged, calibration=damaged[0])
    with pytest.raises(ArgumentError, match="calibration"):
        ringlet.restore(tmp_path / "x.npz", tmp_path / "x.npz", key="scan", force=True, solver=NoWork())


def test_a_picture_gives_no_video(tmp_path, damaged, save):
    with pytest.raises(ArgumentError, match="a picture gives a picture"):
        ringlet.restore(save(damaged, "png"), tmp_path / "clean.mp4", solver=NoWork())


def test_an_empty_path_is_not_the_current_folder(tmp_path, damaged, save, monkeypatch):
    monkeypatch.chdir(save(damaged, "png").parent)  # which could be read as a folder of frames
    with pytest.raises(ArgumentError, match="the path of the data is empty"):
        ringlet.restore("", solver=NoWork())


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"nothing\.png does not exist"):
        ringlet.restore(tmp_path / "nothing.png", tmp_path / "clean.png")


def test_a_restoration_goes_on_from_its_checkpoint(tmp_path, damaged, save):
    path = save(damaged, "png")
    for sweeps in (3, 9):
        fit = ringlet.restore(
            path,
            tmp_path / "clean.png",
            rank=4,
            solver=ringlet.AWRTRD(smooth=0.0, sweeps=sweeps, tol=0),
            checkpoint=tmp_path / "run.ckpt",
            every=2,
            force=True,
        )
    assert len(fit.history) == 9
    ringlet.restore(path, tmp_path / "whole.png", rank=4, solver=ringlet.AWRTRD(smooth=0.0, sweeps=9, tol=0))
    assert content(tmp_path / "clean.png") == content(tmp_path / "whole.png")
