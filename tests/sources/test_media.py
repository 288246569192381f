"""Pictures and videos come in upright and complete, and go out as close as their format allows."""

import builtins
import resource
import struct
import tracemalloc
import zlib
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError, DataWarning, FormatError, MissingDependencyError, OutputError
from ringlet.sources.files import load
from ringlet.sources.media import read_frames
from ringlet.store.outputs import write_array
from ringlet.store.video_outputs import write_video


def smooth(*shape, seed=0):
    """A picture or video without sharp edges, so that lossy formats keep it."""
    rng = np.random.default_rng(seed)
    waves = [np.cos(rng.uniform(0, 3) + np.linspace(0, 3, size)) for size in shape]
    total = sum(wave.reshape([-1 if k == j else 1 for k in range(len(shape))]) for j, wave in enumerate(waves))
    return np.uint8(np.rint(255 * (total - total.min()) / np.ptp(total)))


def mean_error(a, b):
    return np.abs(a.astype(float) - b).mean()


def write_png(path, size, bits, pixels):
    """RGB, byte by byte."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, bits, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


# Pictures.


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp"])
def test_colour_survives_lossless_formats_exactly(tmp_path, suffix):
    picture = smooth(13, 17, 3)
    write_array(tmp_path / f"x.{suffix}", picture)
    loaded = load(tmp_path / f"x.{suffix}")
    np.testing.assert_array_equal(loaded.array, picture)
    assert (loaded.kind, loaded.source.names) == ("image", ("height", "width", "colour"))


@pytest.mark.parametrize("suffix", ["png", "bmp"])
def test_grey_survives_lossless_formats_exactly(tmp_path, suffix):
    write_array(tmp_path / f"x.{suffix}", smooth(13, 17))
    loaded = load(tmp_path / f"x.{suffix}")
    np.testing.assert_array_equal(loaded.array, smooth(13, 17))
    assert loaded.source.names == ("height", "width")


@pytest.mark.parametrize("shape", [(40, 50, 3), (40, 50)])
def test_jpeg_stays_close(tmp_path, shape):
    write_array(tmp_path / "x.jpg", smooth(*shape))
    assert mean_error(load(tmp_path / "x.jpg").array, smooth(*shape)) < 1.5


def test_sixteen_bit_grey_survives(tmp_path):
    picture = np.arange(63, dtype=np.uint16).reshape(7, 9) * 1040
    write_array(tmp_path / "x.png", picture)
    loaded = load(tmp_path / "x.png").array
    assert loaded.dtype == np.uint16
    np.testing.assert_array_equal(loaded, picture)


def test_sixteen_bit_colours_lose_half_of_their_bits_with_a_warning(tmp_path):
    write_png(tmp_path / "x.png", (2, 1), bits=16, pixels=b"\0" + bytes(range(12)))
    with pytest.warns(DataWarning, match=r"16 bits a channel.*\.npy"):
        loaded = load(tmp_path / "x.png").array
    np.testing.assert_array_equal(loaded, [[[0, 2, 4], [6, 8, 10]]])


@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_alpha_is_kept_only_if_something_is_transparent(tmp_path, suffix):
    picture = smooth(6, 7, 4)
    picture[..., 3] = 255
    write_array(tmp_path / f"opaque.{suffix}", picture)
    assert load(tmp_path / f"opaque.{suffix}").alpha is None
    picture[2:4, 2:5, 3] = 7
    write_array(tmp_path / f"clear.{suffix}", picture)
    loaded = load(tmp_path / f"clear.{suffix}")
    np.testing.assert_array_equal(loaded.array, picture[..., :3])  # alpha is no colour
    np.testing.assert_array_equal(loaded.alpha, picture[..., 3])
    assert loaded.source.mask is None


def test_pixels_that_cannot_be_seen_have_no_colour(tmp_path):
    picture = smooth(12, 14, 4)
    picture[..., 3] = 255
    picture[2:4, 2:5] = (0, 255, 0, 0)  # as an eraser leaves it
    picture[7, 7, 3] = 1
    write_array(tmp_path / "x.png", picture)
    source = load(tmp_path / "x.png").source
    hidden = np.zeros((12, 14, 3), bool)
    hidden[2:4, 2:5] = True
    np.testing.assert_array_equal(source.array, picture[..., :3])
    np.testing.assert_array_equal(source.mask, ~hidden)
    picture[2:4, 2:5, :3] = 99  # what they hide changes nothing
    write_array(tmp_path / "y.png", picture)
    fits = [decompose(tmp_path / name, 2, solver=AWRTRD(smooth=0.0, sweeps=3)) for name in ("x.png", "y.png")]
    assert all(np.array_equal(a, b) for a, b in zip(*(fit.ring.cores for fit in fits), strict=True))


def test_palettes_and_other_colour_spaces_become_rgb(tmp_path):
    rgb = Image.fromarray(np.repeat(np.uint8([[[255, 0, 0], [0, 0, 255]]]), 8, axis=0))
    rgb.convert("P", palette=Image.Palette.ADAPTIVE).save(tmp_path / "palette.png")
    rgb.resize((16, 16), 0).convert("CMYK").save(tmp_path / "cmyk.jpg", quality=100)
    np.testing.assert_array_equal(load(tmp_path / "palette.png").array, rgb)
    assert mean_error(load(tmp_path / "cmyk.jpg").array, np.asarray(rgb.resize((16, 16), 0))) < 3


def test_black_and_white_and_grey_with_alpha_are_grey(tmp_path):
    Image.fromarray(np.eye(4) > 0).save(tmp_path / "bits.png")
    np.testing.assert_array_equal(load(tmp_path / "bits.png").array, np.uint8(255 * np.eye(4)))
    Image.new("LA", (3, 2), (9, 255)).save(tmp_path / "la.png")
    np.testing.assert_array_equal(load(tmp_path / "la.png").array, np.full((2, 3), 9))
    Image.new("LA", (3, 2), (9, 128)).save(tmp_path / "la.png")
    loaded = load(tmp_path / "la.png")
    np.testing.assert_array_equal(loaded.array, np.full((2, 3), 9))
    np.testing.assert_array_equal(loaded.alpha, np.full((2, 3), 128))
    Image.fromarray(np.uint8([[5, 6], [6, 7]])).save(tmp_path / "l.png", transparency=6)
    loaded = load(tmp_path / "l.png")
    assert (loaded.array.tolist(), loaded.alpha.tolist()) == ([[5, 6], [6, 7]], [[255, 0], [0, 255]])


def test_a_transparent_palette_entry_gives_alpha(tmp_path):
    image = Image.new("P", (2, 2), 0)
    image.putpixel((1, 0), 1)
    image.putpixel((0, 1), 1)
    image.putpalette([1, 2, 3, 4, 5, 6])
    image.save(tmp_path / "x.png", transparency=0)
    loaded = load(tmp_path / "x.png")
    assert loaded.array.tolist() == [[[1, 2, 3], [4, 5, 6]], [[4, 5, 6], [1, 2, 3]]]
    assert loaded.alpha.tolist() == [[0, 255], [255, 0]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("alphas", [bytes([255, 255]), bytes([255, 40])])
def test_a_palette_of_alphas_is_read_without_a_word(tmp_path, alphas):
    image = Image.new("P", (3, 2), 1)
    image.putpalette([1, 2, 3, 4, 5, 6])
    image.save(tmp_path / "x.png", transparency=alphas)
    loaded = load(tmp_path / "x.png")
    assert loaded.array[0, 0].tolist() == [4, 5, 6]
    assert (loaded.alpha is None) == (alphas[1] == 255)


def test_frames_are_their_colours_and_say_so_where_pixels_cannot_be_seen(tmp_path):
    picture = smooth(6, 7, 4)
    picture[..., 3] = 90
    write_array(tmp_path / "a.png", picture)
    write_array(tmp_path / "b.png", picture)
    np.testing.assert_array_equal(load(tmp_path).array, np.stack([picture[..., :3]] * 2, axis=3))
    picture[2, 2, 3] = 0
    write_array(tmp_path / "b.png", picture, force=True)
    with pytest.warns(DataWarning, match=r"b\.png has wholly transparent pixels"):
        assert load(tmp_path).array.shape == (6, 7, 3, 2)


def test_frames_are_ordered_by_the_numbers_in_their_names(tmp_path):
    names = [
        "cut-1 f1.png",
        "cut-1 f2.png",
        "cut-1 f10.png",
        "cut-2 f01.png",
        "cut-2 f1.png",
        "cut-10 f1.png",
        "end.png",
    ]
    for place, name in enumerate(names):
        write_array(tmp_path / name, np.full((2, 3), place, np.uint8))
    (tmp_path / "._end.png").write_bytes(b"what a file system notes of a file")
    assert load(tmp_path).array[0, 0].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_pictures_are_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # The camera was turned: rotate by 90 degrees clockwise.
    Image.fromarray(smooth(10, 20, 3)).save(tmp_path / "x.png", exif=exif)
    np.testing.assert_array_equal(load(tmp_path / "x.png").array, np.rot90(smooth(10, 20, 3), -1))


def test_numbers_are_rounded_and_clipped_into_pictures(tmp_path):
    write_array(tmp_path / "x.png", np.array([[-5.0, 0.4, 254.6], [1e9, 3.0, 100.5]]))
    assert load(tmp_path / "x.png").array.tolist() == [[0, 0, 255], [255, 3, 100]]


def test_truth_values_become_black_and_white(tmp_path):
    write_array(tmp_path / "x.png", np.eye(3) > 0)
    np.testing.assert_array_equal(load(tmp_path / "x.png").array, 255 * np.eye(3))


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp"])
def test_truncated_pictures_are_refused_by_name(tmp_path, suffix):
    file = tmp_path / f"x.{suffix}"
    write_array(file, np.random.default_rng(0).integers(256, size=(40, 50, 3)))
    content = file.read_bytes()
    for part in (0.01, 0.1, 0.5, 0.9):
        file.write_bytes(content[: int(part * len(content))])
        with pytest.raises(FormatError, match=f"x.{suffix}"):
            load(file)


def test_pictures_with_a_broken_checksum_are_refused(tmp_path):
    write_array(tmp_path / "x.png", smooth(10, 10))
    content = bytearray((tmp_path / "x.png").read_bytes())
    content[content.index(b"IDAT") + 6] ^= 255
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.png"):
        load(tmp_path / "x.png")


def test_a_picture_of_absurd_size_is_refused_unread(tmp_path):
    write_png(tmp_path / "x.png", (60_000, 60_000), bits=8, pixels=bytes(1000))
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"x\.png.*decompression bomb"):
        load(tmp_path / "x.png")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_other_formats_in_disguise_are_refused(tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "x.gif")
    (tmp_path / "x.gif").rename(tmp_path / "x.png")
    with pytest.raises(FormatError, match=r"x\.png"):
        load(tmp_path / "x.png")


# Videos.


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "avi"])
@pytest.mark.parametrize(("height", "width"), [(48, 64), (33, 47), (33, 48), (1, 1)])
def test_videos_keep_size_frames_rate_and_nearly_all_values(tmp_path, suffix, height, width):
    video = smooth(height, width, 3, 12) if height > 1 else np.full((1, 1, 3, 12), 90, np.uint8)
    write_array(tmp_path / f"x.{suffix}", video, frame_rate=Fraction(30000, 1001))
    loaded = load(tmp_path / f"x.{suffix}")
    assert loaded.array.shape == video.shape
    assert loaded.array.dtype == np.uint8
    assert mean_error(loaded.array, video) < 2
    assert loaded.frame_rate == Fraction(30000, 1001)
    assert (loaded.kind, loaded.source.names) == ("video", ("height", "width", "colour", "frame"))


def test_frames_come_in_order_and_lie_one_after_the_other(tmp_path):
    video = np.broadcast_to(np.uint8(np.arange(0, 250, 5)), (16, 16, 3, 50))
    write_array(tmp_path / "x.mp4", video)
    array = load(tmp_path / "x.mp4").array
    assert (np.diff(array.mean(axis=(0, 1, 2))) > 0).all()
    assert array.transpose(3, 0, 1, 2).flags.c_contiguous


def test_only_the_first_frames_of_a_video_are_read_when_so_asked(tmp_path):
    write_array(tmp_path / "x.mp4", smooth(32, 48, 3, 9))
    whole, short = load(tmp_path / "x.mp4").array, load(tmp_path / "x.mp4", frames=4).array
    np.testing.assert_array_equal(short, whole[..., :4])
    assert load(tmp_path / "x.mp4", frames=50).array.shape == whole.shape


def test_grey_videos_are_written_as_grey_colour(tmp_path):
    video = smooth(20, 30, 8)
    write_array(tmp_path / "x.mp4", video)
    loaded = load(tmp_path / "x.mp4")
    assert mean_error(loaded.array, video[:, :, None, :]) < 2
    assert loaded.frame_rate == 25


def test_videos_can_be_written_frame_by_frame_without_holding_them(tmp_path):
    frame = smooth(120, 160, 3)
    tracemalloc.start()
    write_video(tmp_path / "x.mp4", (np.roll(frame, t, axis=0) for t in range(60)), 12.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * frame.nbytes
    assert load(tmp_path / "x.mp4").array.shape == (120, 160, 3, 60)
    assert load(tmp_path / "x.mp4").frame_rate == Fraction(25, 2)


@pytest.mark.parametrize("block_bytes", [1, 16 * 16 * 3 * 4, 1 << 20])
def test_frames_of_unknown_number_are_stacked_whatever_the_block(tmp_path, block_bytes):
    video = smooth(16, 16, 3, 9)
    write_array(tmp_path / "x.mkv", video)
    stacked, _ = read_frames(tmp_path / "x.mkv", "video", block_bytes=block_bytes)
    assert mean_error(stacked, video) < 2


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "avi"])
def test_truncated_videos_are_refused_by_name(tmp_path, suffix):
    file = tmp_path / f"x.{suffix}"
    write_array(file, np.random.default_rng(0).integers(256, size=(48, 64, 3, 30)))
    content = file.read_bytes()
    for part in (0.001, 0.05, 0.3, 0.6, 0.9, 0.99):
        file.write_bytes(content[: int(part * len(content))])
        with pytest.raises(FormatError, match=f"x.{suffix}"):
            load(file)


def test_truncated_videos_with_the_index_in_front_are_refused(tmp_path):
    """FFmpeg would quietly give the frames that are left."""
    import av

    with av.open(str(tmp_path / "x.mp4"), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for t in range(30):
            pixels = np.random.default_rng(t).integers(256, size=(48, 64, 3), dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    assert load(tmp_path / "x.mp4").array.shape[3] == 30
    content = (tmp_path / "x.mp4").read_bytes()
    (tmp_path / "x.mp4").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="truncated"):
        load(tmp_path / "x.mp4")


def test_damaged_videos_load_or_are_refused_but_never_crash(tmp_path):
    file = tmp_path / "x.mkv"
    write_array(file, smooth(32, 32, 3, 6))
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        try:
            assert load(file).array.ndim == 4
            outcomes.add("loaded")
        except FormatError as error:
            assert "x.mkv" in str(error)  # noqa: PT017 - either outcome is right
            outcomes.add("refused")
    assert outcomes == {"loaded", "refused"}


def test_a_file_with_sound_only_is_refused(tmp_path):
    import av

    with av.open(str(tmp_path / "x.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate = 44100
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    with pytest.raises(FormatError, match="no video in it"):
        load(tmp_path / "x.mp4")


def test_a_playlist_in_disguise_is_not_followed(tmp_path):
    write_array(tmp_path / "secret.mp4", smooth(16, 16, 3, 4))
    (tmp_path / "x.mp4").write_text(f"#EXTM3U\n#EXTINF:10,\n{tmp_path / 'secret.mp4'}\n#EXT-X-ENDLIST\n")
    with pytest.raises(FormatError, match=r"x\.mp4"):
        load(tmp_path / "x.mp4")


# What does not fit.


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("x.png", (4,), r"\(height, width\) or \(height, width, 3 or 4\)"),
        ("x.png", (4, 4, 2), "3 or 4"),
        ("x.png", (0, 4), "holds"),
        ("x.jpg", (4, 4, 4), r"\(height, width, 3\)"),
        ("x.webp", (4, 4), r"holds \(height, width, 3 or 4\)"),
        ("x.webp", (1, 20_000, 3), "16383"),
        ("x.mp4", (4, 4), r"\(height, width, 3, frames\) or \(height, width, frames\)"),
        ("x.mp4", (4, 4, 4, 5), "frames"),
        ("x.mp4", (4, 4, 3, 0), "frames"),
        ("x.webm", (4, 4, 3, 2), r"one of \.npy .*\.mp4"),
        ("x", (4, 4), r"one of \.npy"),
        ("x.gif", (4, 4), r"one of \.npy"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_with_what_it_can(tmp_path, name, shape, words):
    with pytest.raises(ArgumentError, match=words):
        write_array(tmp_path / name, np.zeros(shape, np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), 1e9])
def test_impossible_frame_rates_are_refused(tmp_path, rate):
    with pytest.raises(ArgumentError, match="frame_rate"):
        write_array(tmp_path / "x.mp4", smooth(16, 16, 3, 2), frame_rate=rate)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "frames",
    [[], [smooth(16, 16)], [smooth(16, 16, 3), smooth(16, 18, 3)], [smooth(16, 16, 3) / 2]],
    ids=["none", "grey", "two sizes", "floats"],
)
def test_frames_that_make_no_video_are_refused_and_leave_no_file(tmp_path, frames):
    with pytest.raises(ArgumentError, match="frame"):
        write_video(tmp_path / "x.mp4", frames, 25)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "png", "jpg", "webp", "bmp", "mp4", "mkv", "avi"])
def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(tmp_path, suffix):
    file = tmp_path / f"x.{suffix}"
    file.write_text("old")
    noise = np.random.default_rng(0).integers(256, size=(60, 60, 3), dtype=np.uint8)
    array = np.repeat(noise[..., None], 5, axis=3) if suffix in ("mp4", "mkv", "avi") else noise
    write_array(tmp_path / f"warm.{suffix}", array)  # Imports write no files once they are done.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OutputError, match=f"x.{suffix}: ") as caught:
            write_array(file, array, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(caught.value, OSError)
    assert file.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"warm.{suffix}", f"x.{suffix}"]


@pytest.mark.parametrize(("library", "suffix"), [("PIL", "png"), ("av", "mp4")])
def test_a_missing_library_says_how_to_install_it(tmp_path, monkeypatch, library, suffix):
    write_array(tmp_path / f"x.{suffix}", smooth(16, 16, 3) if suffix == "png" else smooth(16, 16, 3, 2))
    real_import = builtins.__import__

    def without_library(name, *args, **kwargs):
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_library)
    with pytest.raises(MissingDependencyError, match=r'pip install "ringlet\[media\]"'):
        load(tmp_path / f"x.{suffix}")


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "it is empty"), (b"hello", "it does not begin as a picture does")]
)
def test_a_file_that_is_no_picture_says_so_in_plain_words(tmp_path, content, reason):
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"picture.png: cannot be read: {reason}$"):
        decompose(path)
