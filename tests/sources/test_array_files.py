"""Arrays come back from npy, npz and mat files as they were, and bad files are refused in plain words."""

import io
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ringlet import TensorRing
from ringlet.errors import ArgumentError, FormatError, MissingFileError
from ringlet.sources.files import load
from ringlet.store.outputs import write_array

DTYPES = ["bool", "uint8", "int16", "uint16", "int64", "float32", "float64"]


def sample(dtype, shape=(3, 4, 2)):
    return (np.arange(np.prod(shape)).reshape(shape) % 5).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["npy", "npz", "mat"])
def test_arrays_keep_their_values_shape_and_dtype(tmp_path, kind, dtype):
    file = tmp_path / f"x.{kind}"
    write_array(file, sample(dtype))
    loaded = load(file)
    np.testing.assert_array_equal(loaded.array, sample(dtype))
    assert loaded.array.dtype == dtype
    assert loaded.kind == kind
    assert loaded.key == (None if kind == "npy" else "tensor")
    assert (loaded.source.names, loaded.frame_rate, loaded.source.mask) == (None, None, None)


@given(
    array=hnp.arrays(
        st.sampled_from(["uint8", "int32", "float32", "float64"]),
        hnp.array_shapes(min_dims=2, max_dims=4, max_side=4),
    ),
    kind=st.sampled_from(["npy", "npz"]),
    fortran=st.booleans(),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_array_survives_the_round_trip(tmp_path, array, kind, fortran):
    file = tmp_path / f"x.{kind}"
    write_array(file, np.asfortranarray(array) if fortran else array, force=True)
    np.testing.assert_array_equal(load(file).array, array)


def test_npy_is_mapped_read_only_and_not_read(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.zeros((1000, 1000)))
    tracemalloc.start()
    array = load(file).array
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable
    assert peak < 1_000_000


def test_an_empty_array_is_read(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    source = load(tmp_path / "x.npy").source
    values, observed = source.read((slice(0, 0), slice(0, 3)))
    assert values.shape == (0, 3)
    assert observed is None


def test_content_tells_the_kind_before_the_suffix_does(tmp_path):
    file = tmp_path / "x.dat"
    np.save(tmp_path / "x.npy", sample("float32"))
    (tmp_path / "x.npy").rename(file)
    assert load(file).kind == "npy"


def test_compressed_npz_is_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", sample("float64"))
    np.testing.assert_array_equal(load(tmp_path / "x.npz").array, sample("float64"))


def test_numbers_that_matlab_packed_small_come_back_as_doubles(tmp_path):
    """MATLAB writes a double array of small integers as bytes; the array's own dtype is double."""
    file = tmp_path / "x.mat"
    values = np.arange(6, dtype=np.uint8)
    flags = struct.pack("<IIII", 6, 8, 6, 0)  # mxDOUBLE_CLASS
    body = flags + struct.pack("<IIii", 5, 8, 2, 3) + struct.pack("<HH4s", 1, 1, b"a")
    body += struct.pack("<II", 2, 6) + values.tobytes() + b"\0\0"  # miUINT8
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    file.write_bytes(header + struct.pack("<II", 14, len(body)) + body)
    loaded = load(file).array
    assert loaded.dtype == np.float64
    np.testing.assert_array_equal(loaded, values.reshape(2, 3, order="F"))


# Which array of several.


def save_all(file, **arrays):
    if file.suffix == ".npz":
        np.savez(file, **arrays)
    else:
        scipy.io.savemat(file, arrays)


@pytest.fixture(params=["npz", "mat"])
def keyed(request, tmp_path):
    return tmp_path / f"x.{request.param}"


def test_the_only_array_needs_no_key(keyed):
    save_all(keyed, anything=sample("float64"))
    assert load(keyed).key == "anything"


def test_tensor_is_the_default_among_several(keyed):
    save_all(keyed, a=np.zeros((2, 2)), tensor=sample("float64"), b=np.ones((2, 2)))
    assert load(keyed).key == "tensor"
    assert load(keyed, key="b").array.all()


def test_an_unclear_choice_lists_the_keys_and_shapes(keyed):
    save_all(keyed, a=np.zeros((2, 3)), b=np.ones((4, 5)))
    with pytest.raises(ArgumentError, match=r"a \(2, 3\), b \(4, 5\)"):
        load(keyed)


def test_a_wrong_key_lists_the_right_ones(keyed):
    save_all(keyed, a=np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match=r"no array 'c'; it holds: a \(2, 3\)"):
        load(keyed, key="c")


@pytest.mark.parametrize("name", ["observed", "mask"])
def test_a_mask_in_the_file_comes_along(keyed, name):
    observed = sample("uint8") > 1
    save_all(keyed, **{"tensor": sample("float64"), name: observed})
    loaded = load(keyed)
    np.testing.assert_array_equal(loaded.source.mask, observed)
    assert loaded.source.mask.dtype == bool


def test_a_mask_in_the_file_must_fit_the_tensor(keyed):
    save_all(keyed, tensor=np.zeros((2, 3)), observed=np.ones((3, 2)))
    with pytest.raises(ArgumentError, match=r"mask has shape \(3, 2\), the tensor \(2, 3\)"):
        load(keyed)


def test_arrays_that_are_not_numbers_are_no_candidates(tmp_path):
    np.savez(tmp_path / "x.npz", a=sample("float32"), label=np.array(["text"]))
    assert load(tmp_path / "x.npz").key == "a"
    cell = np.array([1, "a"], dtype=object)
    scipy.io.savemat(tmp_path / "x.mat", {"a": sample("float32"), "s": scipy.sparse.eye(3), "c": cell, "t": "text"})
    assert load(tmp_path / "x.mat").key == "a"


def test_a_key_for_a_file_without_keys_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", sample("float32"))
    with pytest.raises(ArgumentError, match="no keys"):
        load(tmp_path / "x.npy", key="a")


def test_any_key_can_be_written_to_npz(tmp_path):
    write_array(tmp_path / "x.npz", sample("float32"), key="file")
    assert load(tmp_path / "x.npz").key == "file"


# Files that are refused.


class Trap:
    def __reduce__(self):
        return pytest.fail, ("code ran",)


def test_pickled_npy_and_npz_are_refused_and_never_run(tmp_path):
    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "x.npz", trap)
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Trap()))
    for name in ("x.npy", "x.npz", "raw.npy"):
        with pytest.raises(FormatError, match=name):
            load(tmp_path / name)


@pytest.mark.parametrize("array", [np.zeros(2, complex), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f4")])])
def test_numbers_that_are_not_real_are_refused(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FormatError, match="only real numbers"):
        load(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", array)
    with pytest.raises(FormatError, match="no array of real numbers"):
        load(tmp_path / "x.npz")


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(MissingFileError, match=r"gone\.npy does not exist") as caught:
        load(tmp_path / "gone.npy")
    assert isinstance(caught.value, FileNotFoundError)


def test_a_folder_without_a_tensor_is_refused(tmp_path):
    with pytest.raises(FormatError, match="neither a zarr store nor holds pictures"):
        load(tmp_path)


def test_an_unknown_kind_lists_the_known_ones(tmp_path):
    (tmp_path / "x.xyz").write_text("hello")
    with pytest.raises(FormatError, match=r"unknown kind.*\.npy \.npz \.mat \.png"):
        load(tmp_path / "x.xyz")


def test_a_ring_given_as_data_says_how_to_get_its_entries(tmp_path):
    TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))]).save(tmp_path / "x.ring")
    with pytest.raises(FormatError, match=r"x\.ring: a ring, not data; .*TensorRing\.load\(path\)"):
        load(tmp_path / "x.ring")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".png", ".jpg", ".bmp", ".webp", ".mp4", ".avi", ".mkv"])
def test_empty_files_are_refused_by_name(tmp_path, suffix):
    file = tmp_path / f"empty{suffix}"
    file.touch()
    with pytest.raises(FormatError, match=f"empty{suffix}"):
        load(file)


def test_matlab_7_3_is_refused_with_a_way_out(tmp_path):
    file = tmp_path / "x.mat"
    file.write_bytes(b"MATLAB 7.3 MAT-file, Platform".ljust(512) + b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(FormatError, match="save -v7"):
        load(file)


@pytest.mark.parametrize(
    "shape",
    ["(10**18,)", "(-1,)", "(2, -3)", "(4, 4, 4)", "(2**70,)", "(1.5,)", "'x'", "(10**9, 10**9, 10**9)"],
)
def test_npy_headers_that_lie_about_the_size_are_refused(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".replace("**", "").encode()
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(24))
    with pytest.raises(FormatError, match=r"x\.npy"):
        load(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("header", [b"(" * 5000, b"-" * 9000 + b"1", b"{" * 200, b"\xff" * 100, b"[" * 9000])
def test_npy_headers_made_to_break_the_parser_are_refused(tmp_path, header):
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    with pytest.raises(FormatError, match=r"x\.npy"):
        load(file)


# Decompression bombs.


def npy_header(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def declare_size(file, size):
    """Overwrite the uncompressed size in both of the archive's headers of its only member."""
    content = bytearray(file.read_bytes())
    struct.pack_into("<I", content, 22, size)
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, size)
    file.write_bytes(content)


def refused_cheaply(file, words):
    tracemalloc.start()
    with pytest.raises(FormatError, match=words):
        load(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_npz_members_longer_than_their_shape_are_refused_unread(tmp_path):
    file = tmp_path / "x.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tensor.npy", npy_header((2, 2)) + bytes(50_000_000))
    refused_cheaply(file, "50000128 bytes where its shape")


def test_npz_members_shorter_than_their_shape_are_refused_unread(tmp_path):
    file = tmp_path / "x.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tensor.npy", npy_header((10**9, 10**9)) + bytes(80))
    refused_cheaply(file, "bytes where its shape")


def test_npz_members_that_claim_absurd_sizes_are_refused_unread(tmp_path):
    file = tmp_path / "x.npz"
    header = npy_header((2**31,))
    # A real bomb of 16 GB would take a minute to make; this archive has the same headers.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tensor.npy", header)
    content = file.read_bytes()
    central = content.index(b"PK\x01\x02")
    extra = struct.pack("<HHQ", 1, 8, len(header) + 2**34)
    entry = bytearray(content[central : central + 46 + len("tensor.npy")])
    struct.pack_into("<I", entry, 24, 0xFFFFFFFF)
    struct.pack_into("<H", entry, 30, len(extra))
    directory = bytes(entry) + extra
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), central, 0)
    file.write_bytes(content[:central] + directory + end)
    refused_cheaply(file, "decompression bomb")


def test_npz_members_that_end_early_are_refused(tmp_path):
    file = tmp_path / "x.npz"
    header = npy_header((100_000,))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tensor.npy", header + bytes(8))
    declare_size(file, len(header) + 800_000)
    with pytest.raises(FormatError, match=r"x\.npz"):
        load(file)


def test_mat_variables_that_claim_absurd_sizes_are_refused_unread(tmp_path):
    file = tmp_path / "x.mat"
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 2**30, 2**20)
    body += struct.pack("<HH4s", 1, 1, b"a") + struct.pack("<II", 9, 8) + bytes(8)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    file.write_bytes(header + struct.pack("<II", 14, len(body)) + body)
    refused_cheaply(file, "8 bytes where its shape")


# Damage.


@pytest.mark.parametrize("kind", ["npy", "npz", "mat"])
def test_every_truncation_is_refused_by_name(tmp_path, kind):
    file = tmp_path / f"x.{kind}"
    write_array(file, sample("uint8", (3, 4)))
    content = file.read_bytes()
    for length in range(0, len(content), 3):
        file.write_bytes(content[:length])
        with pytest.raises(FormatError, match=f"x.{kind}"):
            load(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["npy", "npz", "mat"])
def test_flipped_bytes_load_or_are_refused_but_never_crash(tmp_path, kind):
    file = tmp_path / f"x.{kind}"
    write_array(file, sample("uint8", (3, 4)))
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        try:
            assert load(file).array.dtype.kind in "biuf"
        except (FormatError, ArgumentError) as error:
            assert f"x.{kind}" in str(error)  # noqa: PT017 - either outcome is right
