"""Numbers are converted without wrapping, and existing files are safe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ringlet.errors import ArgumentError, ArgumentTypeError, OutputExistsError
from ringlet.sources.dtypes import as_dtype
from ringlet.store.outputs import check_kind, write_array

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]


def exactly(value, dtype):
    """The oracle, in Python's unlimited integers."""
    limits = np.iinfo(dtype)
    return min(max(round(value), limits.min), limits.max)


@given(
    values=hnp.arrays(
        st.sampled_from(["float16", "float32", "float64", *INTEGERS]),
        4,
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    dtype=st.sampled_from(INTEGERS),
)
@settings(deadline=None)
def test_conversion_to_integers_rounds_and_clips_and_never_wraps(values, dtype):
    converted = as_dtype(values, dtype)
    assert converted.dtype == dtype
    # Only floats coarser than the integers themselves may miss the last integers below the limit.
    spacing = np.iinfo(dtype).max * 2.0 ** -np.finfo(values.dtype).nmant if values.dtype.kind == "f" else 0
    for got, value in zip(converted.tolist(), values.tolist(), strict=True):
        assert abs(got - exactly(value, dtype)) <= int(spacing)


def test_infinities_are_clipped():
    assert as_dtype(np.array([np.inf, -np.inf]), np.int16).tolist() == [32767, -32768]


def test_a_narrower_float_is_clipped_not_infinite():
    assert as_dtype(np.float32([7e4, -7e4, 1.5, np.nan]), np.float16).tolist()[:3] == [65504, -65504, 1.5]
    assert np.isfinite(as_dtype(np.array([1e39, -1e300]), ">f4")).all()
    assert as_dtype(np.array([1e39, np.inf]), np.float64).tolist() == [1e39, np.inf]


def test_what_needs_no_conversion_is_not_copied():
    values = np.arange(3, dtype=np.uint8)
    assert as_dtype(values, np.uint8) is values
    assert as_dtype(values, np.float32).dtype == np.float32


def test_the_input_is_never_changed():
    values = np.array([1.6, 300.0])
    as_dtype(values, np.uint8)
    assert values.tolist() == [1.6, 300.0]


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "png", "mp4"])
def test_an_existing_file_is_replaced_only_by_force(tmp_path, suffix):
    file = tmp_path / f"x.{suffix}"
    file.write_text("old")
    array = np.zeros((16, 16, 3, 2)) if suffix == "mp4" else np.zeros((4, 4))
    with pytest.raises(OutputExistsError, match=f"x.{suffix}"):
        write_array(file, array)
    assert file.read_text() == "old"
    write_array(file, array, force=True)
    assert file.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_suffixes_in_capitals_are_the_same_kinds(tmp_path):
    write_array(tmp_path / "X.NPY", np.ones((2, 2)))
    write_array(tmp_path / "X.PNG", np.ones((2, 2)))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["X.NPY", "X.PNG"]


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("x.npy", (2,), "npy"),
        ("x.JPG", (2, 2, 3), "image"),
        ("x.mkv", (2, 2, 5), "video"),
        ("x.mat", (), "mat"),
    ],
)
def test_the_kind_is_known_before_any_work(name, shape, kind):
    assert check_kind(name, shape) == kind


@pytest.mark.parametrize("array", [np.zeros(2, complex), np.array([object()]), np.array(["a"])])
def test_only_real_numbers_are_written(tmp_path, array):
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        write_array(tmp_path / "x.npy", array)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["_hidden", "1st", "with space", "x" * 64, "", "é"])
def test_names_that_matlab_would_drop_are_refused(tmp_path, key):
    with pytest.raises(ArgumentError, match="MATLAB name"):
        write_array(tmp_path / "x.mat", np.ones((2, 2)), key=key)
