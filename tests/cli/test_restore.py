"""`ringlet restore` through real files: what comes out is close to the truth, and of the same kind."""

import json
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

import ringlet
from ringlet import TensorRing
from ringlet.report.metrics import psnr
from ringlet.sources.files import load
from ringlet.store.outputs import write_array
from ringlet.store.video_outputs import write_video


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


RING = ["--detail", "never", "--keep", "never"]  # every entry is the ring's
FEW = ["--smooth", "0", "--sweeps", "8"]  # enough where the quality of the ring does not matter


def test_a_photo_gains_many_decibels_by_one_command(tmp_path, run, photo, ruin):
    write_array(tmp_path / "in.png", ruin(photo))
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.png")
    assert result.exit_code == 0, result.stderr
    restored = load(tmp_path / "out.png").array
    assert restored.dtype == np.uint8
    assert psnr(restored, photo, 255) > psnr(ruin(photo), photo, 255) + 10
    assert files_in(tmp_path) == ["in.png", "out.png"]


def test_a_video_keeps_its_shape_and_frame_rate_and_gets_clean(tmp_path, run, photo, ruin):
    clean = np.stack([photo * (0.7 + 0.3 * np.cos(t / 4)) for t in range(12)], axis=3).astype(np.uint8)
    rate = Fraction(30000, 1001)
    # Noise of single entries would not survive the encoding: wrong blocks do.
    damaged = clean.copy()
    rng = np.random.default_rng(0)
    for t in range(12):
        for row, column in rng.integers(0, (56, 76), size=(30, 2)):
            damaged[row : row + 4, column : column + 4, :, t] = 255 * (t % 2)
    write_video(tmp_path / "in.mp4", (damaged[..., t] for t in range(12)), rate)
    before = load(tmp_path / "in.mp4")
    result = run(
        "restore", tmp_path / "in.mp4", "-o", tmp_path / "out.mp4", "--rank", "5,5,3,3", "--sweeps", "12", *RING
    )
    assert result.exit_code == 0, result.stderr
    after = load(tmp_path / "out.mp4")
    assert after.array.shape == before.array.shape == clean.shape
    assert after.frame_rate == before.frame_rate == rate
    assert psnr(after.array, clean, 255) > psnr(before.array, clean, 255) + 4


def test_nan_in_an_npy_file_is_filled_and_floats_stay_floats(tmp_path, run, photo):
    clean = photo.astype(np.float32) / 100
    damaged = clean.copy()
    damaged[np.random.default_rng(0).random(clean.shape) < 0.3] = np.nan
    np.save(tmp_path / "in.npy", damaged)
    result = run("restore", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--missing", "nan", "--rank", "6,6,3")
    assert result.exit_code == 0, result.stderr
    restored = np.load(tmp_path / "out.npy")
    assert restored.dtype == np.float32
    assert np.linalg.norm(restored - clean) < 0.05 * np.linalg.norm(clean)


def test_an_npz_file_brings_its_own_mask_and_keeps_its_key(tmp_path, run, photo):
    observed = np.random.default_rng(0).random(photo.shape) < 0.7
    np.savez(tmp_path / "in.npz", scan=np.where(observed, photo, 77), observed=observed)
    result = run("restore", tmp_path / "in.npz", "-o", tmp_path / "out.npz", "--rank", "6,6,3", "--json")
    assert json.loads(result.stdout)["input"]["missing_share"] == pytest.approx(1 - observed.mean())
    with np.load(tmp_path / "out.npz") as arrays:
        assert psnr(arrays["scan"], photo, 255) > 28


def test_a_mask_picture_hides_what_is_black_in_it(tmp_path, run, photo):
    hole = np.full(photo.shape[:2], 255, np.uint8)
    hole[25:30, 40:45] = 0
    damaged = photo.copy()
    damaged[hole == 0] = 255
    write_array(tmp_path / "in.png", damaged)
    write_array(tmp_path / "mask.png", hole)
    result = run("restore", tmp_path / "in.png", "--mask", tmp_path / "mask.png", "-o", tmp_path / "out.png", "--json")
    assert json.loads(result.stdout)["input"]["missing_share"] == pytest.approx(25 / hole.size)
    inside = load(tmp_path / "out.png").array[hole == 0].astype(float)
    assert np.abs(inside - photo[hole == 0]).mean() < 15


def test_keep_leaves_trusted_pixels_as_they_are(tmp_path, run, photo):
    rng = np.random.default_rng(0)
    photo = np.clip(photo + rng.integers(-9, 10, photo.shape), 0, 255).astype(np.uint8)  # detail that no ring can hold
    lost, wrong = (rng.random(photo.shape[:2]) < share for share in (0.1, 0.03))
    damaged = photo.copy()
    damaged[wrong] = 255 - 255 * (damaged[wrong] > 127)
    damaged[lost] = 7
    write_array(tmp_path / "in.png", damaged)
    write_array(tmp_path / "known.png", ~lost)
    options = ["--mask", tmp_path / "known.png", "--rank", "8,8,3", *FEW]
    assert run("restore", tmp_path / "in.png", "-o", tmp_path / "model.png", *options, *RING).exit_code == 0
    for name in ("out.png", "out.npy", "out.zarr"):
        result = run(
            "restore", tmp_path / "in.png", "-o", tmp_path / name, "--keep", "always", "--detail", "never", *options
        )
        assert result.exit_code == 0, result.stderr
        kept, model = load(tmp_path / name).array, load(tmp_path / "model.png").array
        np.testing.assert_array_equal(kept[lost], model[lost])
        same = kept == damaged
        np.testing.assert_array_equal(kept[~same], model[~same])
        assert same[~lost & ~wrong].mean() > 0.9
        assert same[wrong].mean() < 0.1
        assert psnr(kept, photo, 255) > psnr(model, photo, 255) + 3


def test_refine_is_that_of_the_function(tmp_path, run, photo):
    damaged = photo[::2, ::2].copy()
    damaged[np.random.default_rng(1).random(damaged.shape) < 0.1] = 255
    write_array(tmp_path / "in.png", damaged)
    options = ["--rank", "4", "--refine", "patches", *FEW]
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.npy", *options)
    assert result.exit_code == 0, result.stderr
    refined = ringlet.restore(damaged, rank=4, refine="patches", smooth=0.0, sweeps=8)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), refined)
    assert not np.array_equal(refined, ringlet.restore(damaged, rank=4, smooth=0.0, sweeps=8))


def scratched(photo):
    """A picture with alpha: a half-transparent corner, and lines that an eraser has made clear (and black)."""
    alpha = np.full(photo.shape[:2], 255, np.uint8)
    alpha[:15, :20] = 128
    alpha[25:27] = alpha[:, 35] = 0
    colours = photo.copy()
    colours[alpha == 0] = 0
    return colours, alpha


def as_picture(path, colours, alpha):
    image = Image.fromarray(colours)
    image.putalpha(Image.fromarray(alpha))
    image.save(path, lossless=True)


@pytest.mark.parametrize(
    ("suffix", "options"), [("png", ["--keep", "always"]), ("png", ["--missing", "0"]), ("webp", [])]
)
def test_erased_pixels_are_filled_and_opaque_and_alpha_is_no_colour(tmp_path, run, photo, suffix, options):
    photo = np.maximum(photo, 1)
    colours, alpha = scratched(photo)
    as_picture(tmp_path / f"in.{suffix}", colours, alpha)
    out = tmp_path / f"out.{suffix}"
    result = run("restore", tmp_path / f"in.{suffix}", "-o", out, "--rank", "8,8,3", "--json", *options)
    content = json.loads(result.stdout)
    assert content["input"]["shape"] == [60, 80, 3]
    assert content["input"]["missing_share"] == pytest.approx((alpha == 0).mean())
    assert content["outlier_share"] < 0.02
    with Image.open(out) as image:
        assert image.mode == "RGBA"
        pixels = np.asarray(image)
    np.testing.assert_array_equal(pixels[..., 3], np.where(alpha == 0, 255, alpha))
    assert psnr(pixels[alpha == 0, :3], photo[alpha == 0], 255) > 35


def test_grey_with_alpha_stays_grey_with_alpha(tmp_path, run, photo):
    colours, alpha = scratched(photo[..., 0])
    as_picture(tmp_path / "in.png", colours, alpha)
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.png", "--rank", "8")
    assert result.exit_code == 0, result.stderr
    with Image.open(tmp_path / "out.png") as image:
        assert image.mode == "LA"
        grey, opaque = np.moveaxis(np.asarray(image), 2, 0)
    np.testing.assert_array_equal(opaque, np.where(alpha == 0, 255, alpha))
    assert psnr(grey, photo[..., 0], 255) > 35
    assert json.loads(run("info", tmp_path / "in.png", "--json").stdout)["shape"] == [60, 80]


def test_a_transparent_palette_colour_is_filled(tmp_path, run, photo):
    colours, alpha = scratched(photo // 64 * 64 + 20)
    image = Image.fromarray(colours).quantize(99)
    palette = image.getpalette()
    image.paste(len(palette) // 3, mask=Image.fromarray(alpha == 0))
    image.putpalette([*palette, 0, 255, 0])
    image.save(tmp_path / "in.png", transparency=len(palette) // 3)
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.png", "--rank", "9,9,3", "--json")
    assert json.loads(result.stdout)["input"]["missing_share"] == pytest.approx((alpha == 0).mean())
    with Image.open(tmp_path / "out.png") as image:
        assert np.asarray(image.convert("RGBA"))[..., 3].min() == 255


def test_formats_without_alpha_take_filled_pixels_but_no_half_transparent_ones(tmp_path, run, photo):
    colours, alpha = scratched(photo)
    as_picture(tmp_path / "half.png", colours, alpha)
    options = ["--rank", "8,8,3", "--smooth", "0"]
    result = run("restore", tmp_path / "half.png", "-o", tmp_path / "out.jpg", *options)
    assert result.exit_code == 2
    assert "half transparent; write a .png file" in result.stderr
    assert files_in(tmp_path) == ["half.png"]
    as_picture(tmp_path / "holes.png", colours, np.where(alpha, 255, 0).astype(np.uint8))
    for name in ("out.jpg", "out.npy"):
        assert run("restore", tmp_path / "holes.png", "-o", tmp_path / name, *options).exit_code == 0
        assert psnr(load(tmp_path / name).array, photo, 255) > 30


def test_missing_value_leaves_entries_with_that_value_out(tmp_path, run, photo):
    clean = np.maximum(photo, 1)
    hidden = np.random.default_rng(0).random(photo.shape) < 0.4
    write_array(tmp_path / "in.png", np.where(hidden, np.uint8(0), clean))
    result = run("restore", tmp_path / "in.png", "--missing", "0", "-o", tmp_path / "out.png", "--loss", "l2", "--json")
    content = json.loads(result.stdout)
    assert content["input"]["missing_share"] == pytest.approx(hidden.mean())
    assert content["outlier_share"] is None
    assert psnr(load(tmp_path / "out.png").array, clean, 255) > 28


def test_whole_numbers_are_rounded_and_clipped_to_the_inputs_dtype(tmp_path, run):
    steps = np.add.outer(np.arange(30), np.arange(20)) + 32719  # the model overshoots the largest int16 at the corner
    np.save(tmp_path / "in.npy", np.minimum(steps, 32767).astype(np.int16))
    result = run("restore", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--rank", "1")
    assert result.exit_code == 0, result.stderr
    restored = np.load(tmp_path / "out.npy")
    assert restored.dtype == np.int16
    assert restored.min() > 32000


@pytest.fixture
def spoiled(tmp_path, photo):
    """A file in which some pixels are wrong, and which: spoiled = path, flags (60, 80)."""
    wrong = np.random.default_rng(0).random(photo.shape[:2]) < 0.02
    damaged = np.where(wrong[..., None], np.where(photo > 127, 0, 255), photo).astype(np.uint8)
    write_array(tmp_path / "in.png", damaged)
    return tmp_path / "in.png", wrong


def test_save_and_outliers_are_written_beside_the_clean_file(tmp_path, run, photo, spoiled):
    path, wrong = spoiled
    result = run(
        "restore",
        *(path, "-o", tmp_path / "out.png"),
        *("--save", tmp_path / "x.ring", "--outliers", tmp_path / "map.png", "--rank", "6,6,3"),
    )
    assert result.exit_code == 0, result.stderr
    ring = TensorRing.load(tmp_path / "x.ring")
    assert (ring.shape, ring.rank, ring.names) == (photo.shape, (6, 6, 3), ("height", "width", "colour"))
    judged = load(tmp_path / "map.png").array
    assert judged.shape == photo.shape[:2]
    assert set(np.unique(judged)) == {0, 255}
    assert (judged[wrong] == 255).mean() > 0.95
    assert (judged[~wrong] == 255).mean() < 0.01
    assert files_in(tmp_path) == ["in.png", "map.png", "out.png", "x.ring"]


@pytest.mark.parametrize("name", ["map.npy", "map.zarr"])
def test_outliers_as_an_array_have_the_shape_of_the_data(tmp_path, run, photo, spoiled, name):
    path, wrong = spoiled
    result = run("restore", path, "-o", tmp_path / "out.png", "--outliers", tmp_path / name, "--rank", "6,6,3")
    assert result.exit_code == 0, result.stderr
    judged = load(tmp_path / name).array
    assert (judged.dtype, judged.shape) == (bool, photo.shape)
    assert judged[wrong].mean() > 0.9
    assert judged[~wrong].mean() < 0.01


def test_a_legend_is_drawn_on_request(tmp_path, run, spoiled):
    path, wrong = spoiled
    options = ["--outliers", tmp_path / "map.png", "--legend", "--rank", "6,6,3"]
    assert run("restore", path, "-o", tmp_path / "out.png", *options).exit_code == 0
    with Image.open(tmp_path / "map.png") as picture:
        scale = picture.width // 80
        assert picture.height > scale * 60
        colours = np.asarray(picture)[: scale * 60 : scale, ::scale].astype(int)
    judged = colours[..., 0] - colours[..., 1] > 80
    assert judged[wrong].mean() > 0.95
    assert judged[~wrong].mean() < 0.01


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--outliers", "map.jpg"], "must end in .png or .npy or .zarr"),
        (["--outliers", "map.npy", "--legend"], "--legend is for a .png file"),
        (["--legend"], "--legend needs --outliers"),
    ],
)
def test_outliers_that_cannot_be_written_are_refused_before_the_fit(tmp_path, run, spoiled, options, said):
    result = run("restore", spoiled[0], "-o", tmp_path / "out.png", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert files_in(tmp_path) == ["in.png"]


@pytest.mark.parametrize("name", ["out.png", "out.npy", "out.zarr"])
def test_trust_known_changes_only_what_the_mask_says(tmp_path, run, photo, spoiled, name):
    path, wrong = spoiled
    lost = np.zeros(wrong.shape, bool)
    lost[20:30, 25:35] = True
    write_array(tmp_path / "known.png", ~lost)
    options = ["--mask", tmp_path / "known.png", "--rank", "6,6,3", *FEW]
    assert run("restore", path, "-o", tmp_path / "model.png", *options).exit_code == 0
    result = run("restore", path, "-o", tmp_path / name, "--trust-known", *options)
    assert result.exit_code == 0, result.stderr
    clean, damaged = load(tmp_path / name).array, load(path).array
    np.testing.assert_array_equal(clean[~lost], damaged[~lost])
    np.testing.assert_array_equal(clean[lost], load(tmp_path / "model.png").array[lost])


def test_trust_known_without_anything_missing_is_told(tmp_path, run, spoiled):
    result = run("restore", spoiled[0], "-o", tmp_path / "out.png", "--trust-known", "--rank", "2", *FEW)
    assert result.exit_code == 0
    assert "--trust-known leaves all data as they are: none are missing" in result.stderr


def test_the_clean_file_may_be_of_another_kind_that_holds_it(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    for name in ("out.npy", "out.mat", "out.jpg"):
        result = run("restore", tmp_path / "in.png", "-o", tmp_path / name, "--rank", "3", "--quiet", *FEW)
        assert (result.exit_code, result.output) == (0, "")
        assert load(tmp_path / name).array.shape == photo.shape


def test_the_same_seed_gives_the_same_file_on_any_number_of_threads(tmp_path, run, photo, ruin):
    write_array(tmp_path / "in.png", ruin(photo))
    for threads in (1, 2):
        run(
            "restore",
            tmp_path / "in.png",
            "-o",
            tmp_path / f"{threads}.npy",
            "--threads",
            threads,
            "--seed",
            "7",
        )
    assert (tmp_path / "1.npy").read_bytes() == (tmp_path / "2.npy").read_bytes()


def test_json_is_the_only_thing_on_stdout(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.png", "--rank", "3", "--json", *FEW)
    content = json.loads(result.stdout)
    assert content["outputs"] == [str(tmp_path / "out.png")]
    assert content["sweeps"] == len(content["history"]) >= 1
    assert content["history"][0]["change"] is None  # infinite, which JSON does not have


def test_a_slice_without_data_is_a_warning_in_one_line(tmp_path, run, photo):
    damaged = photo.astype(np.float32)
    damaged[5] = np.nan
    np.save(tmp_path / "in.npy", damaged)
    result = run("restore", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--rank", "3", "--quiet", *FEW)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: 1 slice(s) of mode 0")
    assert result.stderr.count("\n") == 1
    assert np.isfinite(np.load(tmp_path / "out.npy")).all()


def test_a_grey_png_keeps_its_sixteen_bits(tmp_path, run):
    steps = (np.add.outer(np.arange(30), np.arange(40)) * 500 + 20_000).astype(np.uint16)
    write_array(tmp_path / "in.png", steps)
    result = run("restore", tmp_path / "in.png", "-o", tmp_path / "out.png", "--rank", "2", "--ridge", "0")
    assert result.exit_code == 0, result.stderr
    restored = load(tmp_path / "out.png").array
    assert restored.dtype == np.uint16
    assert np.abs(restored.astype(int) - steps).max() < 500


def test_a_time_limit_gives_a_preview_that_is_told_and_replaced(tmp_path, run, photo, ruin):
    damaged, clean = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(damaged, ruin(photo))
    result = run("restore", damaged, "-o", clean, "--rank", "3", "--time", "0.001s")
    assert result.exit_code == 0, result.output
    assert f"sweeps: {clean}; the final result replaces it" in " ".join(result.stderr.split())
    assert np.load(clean).shape == photo.shape
    assert files_in(tmp_path) == ["in.npy", "out.npy"]
    quiet = run("restore", damaged, "-o", clean, "--rank", "3", "--time", "0.001s", "--force", "--quiet")
    assert quiet.exit_code == 0
    assert quiet.stderr == ""
