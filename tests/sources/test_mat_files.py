"""MATLAB files: what SciPy writes is read, and no byte of a file can end the process or be guessed at."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import scipy.io

from ringlet.errors import ArgumentError, FormatError
from ringlet.sources.files import load

HEADER = b"MATLAB 5.0 MAT-file".ljust(124)


def sample(dtype="float64", shape=(4, 3, 2)):
    return (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(dims, numbers, *, kind=6, number=9, name=b"a", order="<"):
    body = element(6, struct.pack(f"{order}II", kind, 0), order)
    body += element(5, struct.pack(f"{order}{len(dims)}i", *dims), order)
    return element(14, body + element(1, name, order) + element(number, numbers, order), order)


def mat_file(path, *elements, order="<"):
    mark = b"\x00\x01IM" if order == "<" else b"\x01\x00MI"
    path.write_bytes(HEADER + mark + b"".join(elements))
    return path


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_what_scipy_writes_is_read(tmp_path, dtype, compressed):
    file = tmp_path / "x.mat"
    scipy.io.savemat(file, {"tensor": sample(dtype), "note": "text"}, do_compression=compressed)
    array = load(file).array
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, sample(dtype))


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "f4", "f8"])
def test_version_4_is_read(tmp_path, dtype):
    file = tmp_path / "x.mat"
    scipy.io.savemat(file, {"a": sample(dtype, (4, 6)), "text": "hello"}, format="4")
    assert load(file).key == "a"
    np.testing.assert_array_equal(load(file).array, sample(dtype, (4, 6)))


def test_files_of_machines_with_the_other_byte_order_are_read(tmp_path):
    numbers = np.arange(6, dtype=">f8")
    file = mat_file(tmp_path / "x.mat", matrix((2, 3), numbers.tobytes(), order=">"), order=">")
    np.testing.assert_array_equal(load(file).array, numbers.reshape(2, 3, order="F"))


def test_numbers_are_read_across_many_pieces_of_a_compressed_element(tmp_path):
    x = np.random.default_rng(0).normal(size=(300, 200, 5))
    scipy.io.savemat(tmp_path / "x.mat", {"x": x}, do_compression=True)
    np.testing.assert_array_equal(load(tmp_path / "x.mat").array, x)


def test_complex_numbers_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"x": sample() + 1j})
    with pytest.raises(FormatError, match="no array of real numbers"):
        load(tmp_path / "x.mat")


@pytest.mark.parametrize("step", [17, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("compressed", [False, True])
def test_no_value_of_any_byte_in_a_header_ends_the_process(quick_path, compressed, step):
    """The data-type tag, at byte 193 of this file, used to end it for most of its values."""
    file = quick_path / "x.mat"
    scipy.io.savemat(file, {"x": sample(shape=(12, 10, 3))}, do_compression=compressed)
    content = file.read_bytes()
    for place in range(124, 220):
        for value in range(0, 256, step if place != 193 else 1):
            file.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
            try:
                assert load(file).array.dtype.kind in "biuf"
            except (FormatError, ArgumentError) as error:
                assert "x.mat" in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("dims", [(-1, 6), (-2, -3), (2, -3, -1), (6,), (1,) * 65, (2**31 - 1,) * 64])
def test_dimensions_that_no_array_has_are_refused(tmp_path, dims):
    file = mat_file(tmp_path / "x.mat", matrix(dims, bytes(48)))
    with pytest.raises(FormatError, match=r"x\.mat: a has"):
        load(file)


@pytest.mark.parametrize("number", [0, 8, 10, 11, 14, 15, 16, 255, 65535])
def test_types_of_numbers_that_matlab_does_not_have_are_refused(tmp_path, number):
    file = mat_file(tmp_path / "x.mat", matrix((2, 3), bytes(48), number=number))
    with pytest.raises(FormatError, match=f"have the type {number}"):
        load(file)


@pytest.mark.parametrize("length", [0, 40, 47, 49, 4096])
def test_sizes_that_do_not_match_the_dimensions_are_refused(tmp_path, length):
    file = mat_file(tmp_path / "x.mat", matrix((2, 3), bytes(length)))
    with pytest.raises(FormatError, match=f"a has {length} bytes"):
        load(file)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    file = mat_file(tmp_path / "x.mat", matrix((2, 3), bytes(48)), matrix((2, 3), bytes(48)))
    with pytest.raises(FormatError, match="two arrays of the name 'a'"):
        load(file)


def test_compressed_elements_are_inflated_no_further_than_their_shape_asks_for(tmp_path):
    plain = matrix((2, 3), bytes(48)) + bytes(50_000_000)
    packed = zlib.compress(plain, 9)
    compressed = struct.pack("<II", 15, len(packed)) + packed
    bomb = mat_file(tmp_path / "x.mat", compressed)
    tracemalloc.start()
    with pytest.raises(FormatError, match="unpacks to more than the 48 bytes"):
        load(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_arrays_larger_than_allowed_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"x": np.zeros((1000, 1000))}, do_compression=True)
    assert load(tmp_path / "x.mat", max_size="8MB").array.shape == (1000, 1000)
    with pytest.raises(FormatError, match="x takes 8 MB of memory or more, but 1 MB are allowed"):
        load(tmp_path / "x.mat", max_size="1MB")


def test_vectors_beside_a_cube_leave_no_choice(tmp_path):
    cube = np.arange(24.0).reshape(2, 3, 4)
    scipy.io.savemat(tmp_path / "x.mat", {"cube": cube, "wavelength": np.arange(4.0), "gain": 2.0})
    assert load(tmp_path / "x.mat").key == "cube"
    np.testing.assert_array_equal(load(tmp_path / "x.mat").array, cube)
