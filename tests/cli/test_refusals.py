"""Wrong input: exit code 2, one line that says what to change, and not a single file more than before."""

import sys

import numpy as np
import pytest

from ringlet.store.outputs import write_array


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def refused(tmp_path, run):
    """Run a command that must be refused, and give the line it says."""

    def check(*arguments):
        before = files_in(tmp_path)
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert files_in(tmp_path) == before
        last = result.stderr.strip().splitlines()[-1]
        assert last.lower().startswith("error: ")
        return last

    return check


@pytest.fixture
def picture(tmp_path, photo):
    path = tmp_path / "in.png"
    write_array(path, photo)
    return path


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((0, 4, 3)), "holds no entries"),
        (np.arange(9.0), "at least 2"),
        (np.float64(3), "at least 2"),
        (np.ones((4, 5), dtype=complex), "complex128; only real numbers are read, and booleans of masks"),
        (np.array([["a", "b"], ["c", "d"]]), "<U1"),
        (np.array([[{}, 1], [2, 3]], dtype=object), "holds Python objects"),
        (np.array([[1.0, 2.0], [np.inf, 4.0]]), "infinite at index (1, 0)"),
        (np.full((4, 5), np.nan), "no entry of the data is observed"),
        (np.ones((4, 5), dtype=bool), "bool"),
    ],
)
def test_arrays_that_are_no_tensors(tmp_path, refused, array, said):
    np.save(tmp_path / "in.npy", array, allow_pickle=True)
    assert said in refused("fit", tmp_path / "in.npy", "--rank", "2", "-o", tmp_path / "x.ring")
    assert said in refused("restore", tmp_path / "in.npy", "-o", tmp_path / "out.npy")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--rank", "20,20", "the tensor has 3 modes; give one bond per mode, e.g. --rank 20,20,3"),
        ("--rank", "5B", "--rank 5B is too small for shape"),
        ("--rank", "0,3,3", "at least 1"),
        ("--rank", "-4", "at least 1"),
        ("--rank", "4,4,3,5", "the last must repeat the first"),
        ("--rank", "4,x", "is not a rank"),
        ("--samples", "0", "--samples 0"),
        ("--sweeps", "0", "--sweeps 0"),
        ("--tol", "-1", "--tol -1"),
        ("--sigma", "0", "--sigma 0"),
        ("--sigma", "-3.5", "--sigma -3.5"),
        ("--sigma", "wide", "neither a number nor one of: iqr, maxabs"),
        ("--loss", "l7", "is not one of"),
        ("--ridge", "-1", "--ridge -1"),
        ("--threads", "0", "--threads 0"),
        ("--threads", "100000", "--threads 100000 is not allowed; it must be at most 4096"),
        ("--memory", "lots", "--memory lots is not an amount"),
        ("--seed", "-1", "--seed -1"),
        ("--missing", "none", "neither a number nor one of: nan"),
        ("--key", "x", "has no keys; --key x is for npz"),
        ("--mask", "nowhere.npy", "nowhere.npy does not exist"),
    ],
)
def test_options_with_impossible_values(tmp_path, refused, picture, option, value, said):
    assert said in refused("restore", picture, "-o", tmp_path / "out.png", option, value)


def test_samples_with_awrtrd(tmp_path, refused, picture):
    said = refused("restore", picture, "-o", tmp_path / "out.png", "--solver", "awrtrd", "--samples", "100")
    assert "--samples is for sawrtrd" in said


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (np.ones((5, 5), bool), "the mask has shape (5, 5), the tensor (60, 80, 3)"),
        (np.full((60, 80, 3), 0.5), "booleans, or zeros and ones"),
        (np.full((60, 80), "yes"), "<U3"),
        (np.zeros((60, 80, 3), bool), "no entry of the data is observed"),
    ],
)
def test_masks_that_fit_nothing(tmp_path, refused, picture, mask, said):
    np.save(tmp_path / "mask.npy", mask)
    assert said in refused("restore", picture, "-o", tmp_path / "out.png", "--mask", tmp_path / "mask.npy")


@pytest.mark.parametrize("option", ["-o", "--save", "--outliers"])
def test_an_output_that_exists_is_refused_before_the_input_is_even_opened(tmp_path, refused, run, picture, option):
    outputs = {"-o": "out.png", "--save": "x.ring", "--outliers": "map.png"}
    kept = tmp_path / outputs[option]
    kept.write_text("precious")
    arguments = [part for name, file in outputs.items() for part in (name, tmp_path / file)]
    assert "exists already" in refused("restore", tmp_path / "nowhere.png", *arguments)
    assert kept.read_text() == "precious"
    assert run("restore", picture, *arguments, "--force").exit_code == 0
    assert kept.read_bytes() != b"precious"


def test_fit_refuses_an_output_that_exists(tmp_path, refused, picture):
    (tmp_path / "x.ring").write_text("precious")
    said = refused("fit", picture, "--rank", "4", "-o", tmp_path / "x.ring")
    assert said.endswith("x.ring exists already; choose another path, or overwrite it with --force")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("out.gif", "the suffix must be one of"),
        ("out.mp4", "a picture gives a picture"),
        ("out", "the suffix must be one of"),
        ("nowhere/out.png", "its directory does not exist"),
    ],
)
def test_outputs_that_cannot_hold_the_result(tmp_path, refused, picture, name, said):
    assert said in refused("restore", picture, "-o", tmp_path / name)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_outputs_where_no_file_can_be_made_are_refused_before_the_input_is_even_opened(tmp_path, refused):
    absent = tmp_path / "nowhere.png"
    assert "cannot write /proc/x.ring: " in refused("fit", absent, "-o", "/proc/x.ring")
    assert "cannot write /proc/x.ring: " in refused(
        "restore", absent, "-o", tmp_path / "o.png", "--save", "/proc/x.ring"
    )
    assert "cannot write /proc/o.zarr: " in refused("restore", absent, "-o", "/proc/o.zarr")


def test_suffixes_of_the_other_outputs(tmp_path, refused, picture):
    out = ("-o", tmp_path / "out.png")
    assert "must end in .ring" in refused("restore", picture, *out, "--save", tmp_path / "x.npy")
    assert "must end in .png or .npy or .zarr" in refused("restore", picture, *out, "--outliers", tmp_path / "map.tif")
    assert "must end in .ring" in refused("fit", picture, "--rank", "3", "-o", tmp_path / "x.npz")


def test_one_path_for_two_outputs(tmp_path, refused, picture):
    same = tmp_path / "out.png"
    assert "given for two outputs" in refused("restore", picture, "-o", same, "--outliers", same)


def test_floats_do_not_go_into_a_picture(tmp_path, refused, photo):
    np.save(tmp_path / "in.npy", photo / 255)
    assert "whole numbers" in refused("restore", tmp_path / "in.npy", "-o", tmp_path / "out.png")


@pytest.mark.parametrize("name", ["x.ring", "x.png", "x.mp4", "x.npy", "x.npz", "x.mat", "x.xyz"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, b"\x89PNG\r\n\x1a\n" + bytes(50), b"\xff" * 64])
def test_unreadable_files(tmp_path, refused, name, content):
    (tmp_path / name).write_bytes(content)
    assert name in refused("info", tmp_path / name)


def test_truncated_files(tmp_path, refused, picture, photo):
    np.save(tmp_path / "in.npy", photo)
    for path in (picture, tmp_path / "in.npy"):
        path.write_bytes(path.read_bytes()[:-900])
        assert path.name in refused("restore", path, "-o", tmp_path / f"out{path.suffix}")
    size, whole = (tmp_path / "in.npy").stat().st_size, photo.nbytes + 128
    assert f"the file is cut off: it has {size} bytes where its shape (60, 80, 3) needs {whole}" in refused(
        "info", tmp_path / "in.npy"
    )


def test_files_that_are_not_there(tmp_path, refused):
    assert "nowhere.png does not exist" in refused("info", tmp_path / "nowhere.png")
    assert "nowhere.ring does not exist" in refused("info", tmp_path / "nowhere.ring")
    assert "nowhere.png does not exist" in refused("restore", tmp_path / "nowhere.png", "-o", tmp_path / "out.png")


def test_a_budget_that_is_too_small_names_one_that_is_not(tmp_path, refused, picture):
    said = refused("plan", picture, "--rank", "20,20,3", "--memory", "10kB")
    assert "the smallest possible budget is" in said


def test_plan_wants_a_file_or_a_shape(refused, picture):
    assert "either a file or --shape" in refused("plan", "--rank", "3")
    assert "either a file or --shape" in refused("plan", picture, "--shape", "3,4", "--rank", "3")


@pytest.mark.parametrize(
    ("option", "value"), [("--dtype", "float32"), ("--dtype", "uint8"), ("--chunks", "40,40,3"), ("--missing", "0")]
)
def test_plan_refuses_what_says_nothing_of_its_input(refused, picture, option, value):
    source = ["--shape", "30,40"] if option == "--missing" else [picture]
    meant = "a file" if option == "--missing" else "--shape"
    assert f"{option} is for {meant}" in refused("plan", *source, "--rank", "3", option, value)


@pytest.mark.parametrize("rank", ["1.2.3dB", ".dB", "0dB", "1.2.3MB", "dB"])
def test_qualities_and_sizes_that_are_none_are_no_ranks(refused, picture, tmp_path, rank):
    said = refused("fit", picture, "--rank", rank, "-o", tmp_path / "x.ring")
    assert f"'{rank}' is not a rank; write e.g. auto, 20, 20,20,3, 1MB or 35dB" in said


def test_several_arrays_are_told_apart_by_what_can_be_typed(tmp_path, refused, run):
    path = tmp_path / "in.npz"
    np.savez(path, a=np.ones((3, 4)), b=np.ones((4, 5)))
    assert "choose one by path::name: a (3, 4), b (4, 5)" in refused("info", path)
    assert run("info", f"{path}::b").exit_code == 0


def test_an_unknown_command(refused):
    assert "No such command" in refused("mend", "x.png")


@pytest.mark.parametrize("shape", ["0,3", "-3,4", "3"])
def test_plan_of_an_impossible_shape(refused, shape):
    assert "shape" in refused("plan", f"--shape={shape}", "--rank", "2")


@pytest.mark.parametrize("content", [b"1.0 2.0\n3.0 4.0\n", b"\x80\x04]\x94."])
def test_text_and_pickles_named_npy_are_refused_without_unsafe_advice(tmp_path, refused, content):
    (tmp_path / "in.npy").write_bytes(content)
    message = refused("info", tmp_path / "in.npy")
    assert "does not begin as an npy file" in message
    assert "allow_pickle" not in message


@pytest.mark.parametrize(
    ("shape", "name"),
    [((20, 30), "out.jpg"), ((20, 30, 3), "out.png"), ((20, 30, 3, 4), "out.mp4"), ((9, 8, 5), "o.mp4")],
)
def test_sixteen_bits_are_not_clipped_to_eight(tmp_path, refused, shape, name):
    np.save(tmp_path / "in.npy", np.full(shape, 40_000, np.uint16))
    said = refused("restore", tmp_path / "in.npy", "-o", tmp_path / name)
    assert "uint16" in said
    assert "grey .png" in said


def test_output_names_that_no_file_system_holds(tmp_path, refused, picture):
    (tmp_path / "loop").symlink_to(tmp_path / "pool")
    (tmp_path / "pool").symlink_to(tmp_path / "loop")
    for path in (tmp_path / ("x" * 300 + ".png"), tmp_path / "loop" / "x.png"):
        assert f"cannot write {path}" in refused("restore", picture, "-o", path)


@pytest.mark.parametrize("arguments", [("-o", "out.npy", "--outliers", "map.png"), ("-o", "out.png")])
def test_a_missing_pillow_is_noticed_before_the_fit(tmp_path, refused, photo, monkeypatch, arguments):
    np.save(tmp_path / "in.npy", photo)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    monkeypatch.setattr("ringlet.cli.commands.restore.fit_input", None)  # a fit would be a TypeError
    paths = [tmp_path / part if "." in part else part for part in arguments]
    assert "pictures need Pillow" in refused("restore", tmp_path / "in.npy", *paths)


def test_an_empty_path_is_not_the_current_folder(tmp_path, refused, picture, monkeypatch):
    monkeypatch.chdir(tmp_path)  # which holds a picture, so that it could be read as a folder of frames
    assert "the path is empty" in refused("info", "")
    assert "the path is empty" in refused("plan", "", "--rank", "3")
    assert "the path is empty" in refused("fit", "", "-o", tmp_path / "x.ring")
    assert "the path is empty" in refused("restore", "", "-o", tmp_path / "out.npy")
    for option in ("--mask", "--cache", "--checkpoint", "--save"):
        assert "the path is empty" in refused("restore", picture, "-o", tmp_path / "out.npy", option, "")
    assert "the path is empty" in refused("restore", picture, "-o", "")


@pytest.mark.parametrize(
    ("lacking", "arguments", "said"),
    [
        ("matplotlib.figure", ["paper", "video-decomposition", "--out", "out"], "plots need Matplotlib"),
        ("matplotlib.figure", ["paper", "complexity", "--out", "out"], "plots need Matplotlib"),
        ("skimage.data", ["paper", "image-completion", "--out", "out"], "built-in photos need scikit-image"),
        ("matplotlib.figure", ["demo", "--out", "out"], "plots need Matplotlib"),
        ("skimage", ["demo", "--out", "out"], "the demo needs scikit-image"),
        ("matplotlib.figure", ["bench", "toy", "--picture", "out.png"], "plots need Matplotlib"),
        ("tensorly.decomposition", ["bench", "toy", "peers"], "the peers need TensorLy"),
    ],
)
def test_libraries_that_are_needed_at_the_end_are_missed_at_the_beginning(
    tmp_path, refused, monkeypatch, lacking, arguments, said
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, lacking, None)
    for work in ("paper.run_tasks", "demo.fill_log", "bench.measure_case"):
        monkeypatch.setattr(f"ringlet.cli.commands.{work}", None)  # any work would be a TypeError
    assert said in refused(*arguments)
