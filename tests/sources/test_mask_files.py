"""Masks say which entries are known, whatever file they come in."""

import warnings

import numpy as np
import pytest
import scipy.io
from PIL import Image, ImageFilter

from ringlet.errors import ArgumentError, DataWarning, FormatError, MissingFileError
from ringlet.sources import as_source
from ringlet.sources.mask_files import load_mask
from ringlet.store.outputs import write_array

KNOWN = np.arange(12).reshape(3, 4) % 3 > 0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("suffix", ["npy", "npz", "mat"])
def test_truth_values_and_zeros_and_ones_mean_the_same(tmp_path, suffix, dtype):
    write_array(tmp_path / f"m.{suffix}", KNOWN.astype(dtype))
    mask = load_mask(tmp_path / f"m.{suffix}", (3, 4))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, KNOWN)


@pytest.mark.parametrize(("black", "white"), [(0, 255), (20, 235), (3, 250), (0, 1)])
def test_dark_is_missing_and_bright_is_known_in_a_picture(tmp_path, black, white):
    Image.fromarray(np.where(KNOWN, np.uint8(white), np.uint8(black))).save(tmp_path / "m.png")
    np.testing.assert_array_equal(load_mask(tmp_path / "m.png", (3, 4)), KNOWN)


def test_sixteen_bits_of_grey_have_their_own_half(tmp_path):
    Image.fromarray(np.where(KNOWN, np.uint16(65535), np.uint16(255))).save(tmp_path / "m.png")
    np.testing.assert_array_equal(load_mask(tmp_path / "m.png", (3, 4)), KNOWN)


def disc(side=200):
    """A mask of a large hole, (side, side)."""
    i, j = np.ogrid[:side, :side]
    return (i - side / 2) ** 2 + (j - side / 2) ** 2 > (side / 4) ** 2


@pytest.mark.filterwarnings("ignore:the mask is a picture")
def test_a_mask_saved_as_jpeg_has_the_hole_that_was_drawn(tmp_path):
    hole = disc()
    Image.fromarray(hole).convert("L").save(tmp_path / "m.jpg", quality=75)
    mask = load_mask(tmp_path / "m.jpg", hole.shape)
    assert (mask != hole).mean() < 1e-3


def test_a_blurred_mask_is_split_at_half_and_the_user_is_told(tmp_path):
    hole = disc()
    Image.fromarray(hole).convert("L").filter(ImageFilter.GaussianBlur(6)).save(tmp_path / "m.png")
    with pytest.warns(DataWarning, match=r"neither near black nor near white; .*half brightness were taken as known"):
        mask = load_mask(tmp_path / "m.png", hole.shape)
    assert (mask != hole).mean() < 5e-3


def test_a_mask_that_is_bright_at_the_holes_is_told(tmp_path):
    holes = np.zeros((40, 50), np.uint8)
    holes[10:14, 20:30] = 255
    Image.fromarray(holes).save(tmp_path / "m.png")
    with pytest.warns(DataWarning, match=r"2\.0% is bright, which means known; .* invert it"):
        load_mask(tmp_path / "m.png", holes.shape)
    Image.fromarray(255 - holes).save(tmp_path / "m.png")
    assert load_mask(tmp_path / "m.png", holes.shape).mean() == 0.98


def test_a_few_grey_pixels_are_no_warning(tmp_path):
    pixels = np.where(disc(), np.uint8(255), np.uint8(0))
    pixels[0, :20] = 128  # half a thousandth
    Image.fromarray(pixels).save(tmp_path / "m.png")
    assert load_mask(tmp_path / "m.png", pixels.shape)[0, :20].all()


@pytest.mark.parametrize("shape", [(3, 4, 3), (3, 4, 3, 7), (3, 4, 5)])
def test_a_flat_mask_holds_for_all_colours_and_frames(tmp_path, shape):
    np.save(tmp_path / "m.npy", KNOWN)
    Image.fromarray(KNOWN).save(tmp_path / "m.png")
    for name in ("m.npy", "m.png"):
        mask = load_mask(tmp_path / name, shape)
        assert mask.shape == shape
        assert (mask == KNOWN.reshape(3, 4, *[1] * (len(shape) - 2))).all()


def test_a_picture_saved_in_colour_serves_as_a_flat_mask(tmp_path):
    Image.fromarray(KNOWN).convert("RGB").save(tmp_path / "m.png")
    np.testing.assert_array_equal(load_mask(tmp_path / "m.png", (3, 4)), KNOWN)


def test_a_colour_picture_masks_each_colour_of_colour_data(tmp_path):
    pixels = np.zeros((3, 4, 3), np.uint8)
    pixels[..., 1] = 255
    Image.fromarray(pixels).save(tmp_path / "m.png")
    np.testing.assert_array_equal(load_mask(tmp_path / "m.png", (3, 4, 3)), pixels > 0)
    assert load_mask(tmp_path / "m.png", (3, 4, 5)).all()


def test_the_array_named_observed_is_the_mask(tmp_path):
    np.savez(tmp_path / "m.npz", tensor=np.zeros((3, 4)), observed=KNOWN)
    scipy.io.savemat(tmp_path / "m.mat", {"tensor": np.zeros((3, 4)), "mask": KNOWN})
    for name in ("m.npz", "m.mat"):
        np.testing.assert_array_equal(load_mask(tmp_path / name, (3, 4)), KNOWN)


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (3,), (2, 3, 4), (3, 1, 4)])
def test_a_mask_of_another_shape_is_refused_with_both_shapes(tmp_path, shape):
    np.save(tmp_path / "m.npy", KNOWN)
    with pytest.raises(ArgumentError, match=r"mask has shape \(3, 4\), the tensor"):
        load_mask(tmp_path / "m.npy", shape)


def test_a_mask_of_one_mode_is_not_spread(tmp_path):
    np.save(tmp_path / "m.npy", np.ones(3))
    with pytest.raises(ArgumentError, match="two or more"):
        load_mask(tmp_path / "m.npy", (3, 4))


@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan])
def test_other_numbers_are_no_mask(tmp_path, value):
    np.save(tmp_path / "m.npy", np.array([[0, 1, value]]))
    with pytest.raises(FormatError, match=r"m\.npy: a mask holds booleans"):
        load_mask(tmp_path / "m.npy", (1, 3))


def test_a_video_is_no_mask(tmp_path):
    write_array(tmp_path / "m.mp4", np.zeros((16, 16, 3, 2)))
    with pytest.raises(FormatError, match="video cannot be a mask"):
        load_mask(tmp_path / "m.mp4", (16, 16, 3, 2))


def test_a_missing_mask_is_a_file_not_found_error(tmp_path):
    with pytest.raises(MissingFileError):
        load_mask(tmp_path / "m.npy", (3, 4))


@pytest.mark.parametrize("shown", [0.02, 0.4])
def test_a_mask_that_is_true_in_the_holes_is_noticed(shown):
    rng = np.random.default_rng(0)
    x, holes = rng.random((40, 30, 3)), rng.random((40, 30, 1)) < shown
    filled = np.where(holes, 1.0, x)
    with pytest.warns(DataWarning, match=r"of which have the same value, .* True means observed: .* give ~mask"):
        as_source(filled, np.broadcast_to(holes, x.shape))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_source(filled, np.broadcast_to(~holes, x.shape))  # the right way round
        as_source(x, np.broadcast_to(holes, x.shape))  # what is shown varies
        as_source(np.where(holes, x, np.nan), np.broadcast_to(holes, x.shape))  # nothing else is there
        as_source(np.where(rng.random(x.shape) < 0.99, 0.0, x), np.broadcast_to(holes, x.shape))  # mostly zeros
