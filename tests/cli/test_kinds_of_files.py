"""`ringlet restore` and `info` of TIFF, netCDF, tables, frames and videos with sound: the same kind comes back."""

import json
import sys

import av
import numpy as np
import pandas as pd
import pytest
import tifffile
import xarray

from ringlet.errors import DataWarning
from ringlet.sources.files import load
from ringlet.sources.mask_files import load_mask
from ringlet.store.outputs import write_array

SHAPE = (6, 16, 18)
FIT = ["--rank", "3", "--solver", "awrtrd", "--sweeps", "15", "--smooth", "0", "--quiet"]


@pytest.fixture
def wave():
    """A smooth tensor, (6, 16, 18), from 60 to 200."""
    return np.fromfunction(lambda i, j, k: 130 + 40 * np.cos(i / 5 + j / 6) + 25 * np.sin(k / 7), SHAPE)


@pytest.fixture
def holes():
    """Which entries are missing: one in ten."""
    return np.random.default_rng(0).random(SHAPE) < 0.1


@pytest.fixture
def restore(run, tmp_path):
    def restored(path, output, *options):
        result = run("restore", path, "-o", tmp_path / output, *FIT, *options)
        assert result.exit_code == 0, result.output
        return tmp_path / output

    return restored


@pytest.fixture
def info(run):
    def told(path, *options):
        result = run("info", path, "--json", *options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return told


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_a_tiff_stack_gives_a_tiff_stack(tmp_path, restore, info, wave, holes, dtype):
    tifffile.imwrite(tmp_path / "in.tif", np.where(holes, 0, wave).astype(dtype), metadata={"axes": "ZYX"})
    told = info(tmp_path / "in.tif", "--missing", "0")
    assert (told["kind"], told["names"], told["shape"]) == ("tiff", ["depth", "height", "width"], list(SHAPE))
    with tifffile.TiffFile(restore(tmp_path / "in.tif", "out.tif", "--missing", "0")) as file:
        assert file.series[0].axes == "ZYX"
        clean = file.asarray()
    assert clean.dtype == dtype
    np.testing.assert_allclose(clean, wave, atol=5)


def test_colours_of_a_tiff_stay_colours_and_big_endian_is_read(tmp_path, restore, wave):
    pixels = np.moveaxis(wave[:3], 0, 2).astype(np.uint16)
    tifffile.imwrite(tmp_path / "in.tif", pixels, photometric="rgb", byteorder=">")
    with tifffile.TiffFile(restore(tmp_path / "in.tif", "out.tiff")) as file:
        assert file.pages[0].photometric == tifffile.PHOTOMETRIC.RGB
        assert file.series[0].axes == "YXS"


def test_a_tiff_of_several_sizes_is_read_with_a_warning(tmp_path, wave):
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        file.write(wave[0])
        file.write(wave[0, :8])
    with pytest.warns(DataWarning, match=r"different sizes or types \(16 x 18, 8 x 18\); only the first is read"):
        assert load(tmp_path / "in.tif").array.shape == (16, 18)


@pytest.fixture
def climate(wave, holes):
    return xarray.Dataset(
        {
            "t2m": (("time", "lat", "lon"), np.where(holes, np.nan, wave), {"units": "K", "long_name": "temperature"}),
            "time_bnds": (("time", "nv"), np.arange(12.0).reshape(6, 2)),
        },
        {
            "time": ("time", np.arange(6), {"units": "days since 2000-01-01", "bounds": "time_bnds"}),
            "lat": ("lat", np.linspace(50, 60, 16).astype("f4"), {"units": "degrees_north"}),
        },
        {"title": "run 7"},
    )


@pytest.mark.parametrize("version", [3, 4])
def test_a_netcdf_file_keeps_its_coordinates_attributes_and_version(tmp_path, restore, info, wave, climate, version):
    climate.to_netcdf(tmp_path / "in.nc", engine="scipy" if version == 3 else "h5netcdf")
    told = info(tmp_path / "in.nc")
    assert (told["kind"], told["names"]) == ("netcdf3" if version == 3 else "netcdf", ["time", "lat", "lon"])
    assert told["missing_share"] == pytest.approx(np.isnan(climate["t2m"].values).mean())
    out = restore(tmp_path / "in.nc", "out.nc")
    assert out.read_bytes()[:3] == (b"CDF" if version == 3 else b"\x89HD")
    with (
        xarray.open_dataset(out, decode_times=False) as clean,
        xarray.open_dataset(tmp_path / "in.nc", decode_times=False) as given,
    ):
        np.testing.assert_allclose(clean["t2m"], wave, atol=5)
        xarray.testing.assert_identical(clean.drop_vars("t2m"), given.drop_vars("t2m"))
        assert clean["t2m"].attrs == climate["t2m"].attrs


def test_packed_netcdf_stays_packed_and_never_wraps_around(tmp_path, restore, climate):
    packed = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 130.0, "_FillValue": -32768}
    climate["t2m"] = climate["t2m"].clip(max=130 + 327.67) * 6 - 650
    climate.to_netcdf(tmp_path / "in.nc", engine="h5netcdf", encoding={"t2m": packed})
    with xarray.open_dataset(restore(tmp_path / "in.nc", "out.nc"), mask_and_scale=False, decode_times=False) as clean:
        assert clean["t2m"].dtype == np.int16
        assert clean["t2m"].attrs["scale_factor"] == 0.01
        assert (clean["t2m"] != -32768).all()


def test_variables_of_a_netcdf_file_are_chosen_or_fitted_together(tmp_path, run, restore, climate):
    climate.assign(d2m=climate["t2m"] - 10).to_netcdf(tmp_path / "in.nc", engine="h5netcdf")
    with xarray.open_dataset(restore(tmp_path / "in.nc", "both.nc"), decode_times=False) as both:
        assert np.isfinite(both["t2m"]).all()
        assert np.isfinite(both["d2m"]).all()
    out = restore(f"{tmp_path}/in.nc::d2m", "one.nc")
    with xarray.open_dataset(out, decode_times=False) as one:
        assert np.isfinite(one["d2m"]).all()
        assert np.isnan(one["t2m"]).any()
    result = run("info", tmp_path / "in.nc", "--key", "x")
    assert result.exit_code == 2
    assert "has no array 'x'; it holds: d2m" in result.stderr


def test_an_array_can_become_a_netcdf_file(tmp_path, restore, wave):
    np.save(tmp_path / "in.npy", wave)
    with xarray.open_dataset(restore(tmp_path / "in.npy", "out.nc")) as clean:
        np.testing.assert_allclose(clean["tensor"], wave, atol=5)


@pytest.fixture
def log():
    """A table with names, dates, whole numbers of which some are missing, and floats."""
    hours = np.arange(40)
    table = pd.DataFrame(
        {
            "when": [f"2024-01-{1 + hour // 24:02} {hour % 24:02}:00" for hour in hours],
            "count": (100 + 50 * np.sin(hours / 6)).round().astype(int),
            "level": (100 + 50 * np.sin(hours / 6)) / 3,
            "note": "ok",
            "flow": (100 + 50 * np.sin(hours / 6)) / 7,
        }
    ).astype({"count": "Int64"})
    table.loc[5, "count"] = pd.NA
    table.loc[9, "flow"] = np.nan
    return table


TABLE_FIT = ["--rank", "1", "--ridge", "0"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_a_table_gives_a_table_with_all_its_columns(tmp_path, restore, info, log, suffix):
    path = tmp_path / f"in.{suffix}"
    if suffix == "parquet":
        log.to_parquet(path)
    else:
        log.to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    told = info(path)
    assert (told["kind"], told["shape"]) == ("parquet" if suffix == "parquet" else "csv", [40, 3])
    assert told["missing_share"] == pytest.approx(2 / 120)
    out = restore(path, f"out.{suffix}", *TABLE_FIT, "--keep", "always")
    clean = pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out, sep="," if suffix == "csv" else "\t")
    assert list(clean.columns) == list(log.columns)
    assert not clean.isna().any(axis=None)
    assert clean["count"].dtype == ("Int64" if suffix == "parquet" else np.int64)
    assert abs(clean.loc[5, "count"] - (100 + 50 * np.sin(5 / 6))) < 8
    kept = log.notna().all(axis=1)
    pd.testing.assert_frame_equal(clean[kept], log[kept], check_dtype=False)


def test_keys_make_a_tensor_of_a_long_table(tmp_path, restore, info, wave, holes):
    keys = pd.MultiIndex.from_product(map(range, SHAPE), names=["sensor", "day", "hour"])
    long = pd.DataFrame({"reading": wave.ravel()}, keys)[~holes.ravel()].sample(frac=1, random_state=0).reset_index()
    long.loc[7, "reading"] = 5000.0
    long.to_csv(tmp_path / "in.csv", index=False)
    told = info(tmp_path / "in.csv", "--key", "sensor,day,hour")
    assert (told["shape"], told["names"]) == (list(SHAPE), ["sensor", "day", "hour"])
    clean = pd.read_csv(restore(tmp_path / "in.csv", "out.csv", "--key", "sensor,day,hour"))
    pd.testing.assert_frame_equal(clean.drop(columns="reading"), long.drop(columns="reading"))
    expected = wave[tuple(long[name] for name in keys.names)]
    np.testing.assert_allclose(clean["reading"], expected, atol=8)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a,b\nx,y\n", [], "no column of numbers"),
        ("a,b\n1,2\n", ["--key", "c"], "has no column 'c'; it has: a, b"),
        ("a,b,v\n1,2,3\n1,2,4\n", ["--key", "a,b"], "two rows of the key"),
        ('a,b\n1,2\n"', [], "cannot be read"),
        ("", [], "cannot be read"),
    ],
)
def test_tables_that_are_no_tensor_are_refused_in_one_line(tmp_path, run, text, options, said):
    (tmp_path / "in.csv").write_text(text)
    result = run("info", tmp_path / "in.csv", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_words_for_missing_entries_are_told(tmp_path, run):
    path = tmp_path / "log.csv"
    path.write_text(
        "place,a,b,c\n" + "\n".join(f"p{row},{row},{'err' if row == 7 else 2 * row},{3 * row}" for row in range(20))
    )
    told = run("info", path)
    assert "column 'b' is not fitted, because of words such as 'err' among its numbers" in told.stderr
    assert "columns  a, c" in told.stdout
    assert told.stderr.count("warning") == 1


@pytest.mark.parametrize("row", ["p;1;2", "p;1,5;2,5"])
def test_semicolons_are_refused_with_the_way_out(tmp_path, run, row):
    (tmp_path / "log.csv").write_text("\n".join(["place;a;b", *[row] * 9]))
    told = run("info", tmp_path / "log.csv")
    assert told.exit_code == 2
    assert "separated by ';'" in told.stderr
    assert told.stderr.count("\n") == 1


def test_a_long_table_without_keys_is_told(tmp_path, run, log):
    rows = [f"s{sensor},{hour},{np.sin(sensor) + np.cos(hour):.3f}" for sensor in range(6) for hour in range(5)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["sensor,hour,reading", *rows]))
    told = run("info", path)
    assert "if they are keys, give --key sensor,hour" in told.stderr
    assert "columns  hour, reading" in told.stdout
    assert "labels   sensor" in told.stdout
    assert run("info", path, "--key", "sensor,hour").stderr == ""
    log.to_csv(tmp_path / "wide.csv")
    assert run("info", tmp_path / "wide.csv").stderr == ""


def test_a_tensor_is_no_table(tmp_path, run, wave):
    np.save(tmp_path / "in.npy", wave)
    result = run("restore", tmp_path / "in.npy", "-o", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert "a table holds rows x columns" in result.stderr


@pytest.mark.parametrize("suffix", ["tif", "nc", "csv", "parquet"])
def test_arrays_and_masks_go_through_every_kind(tmp_path, suffix):
    known = np.eye(5, 7) == 0
    write_array(tmp_path / f"x.{suffix}", np.arange(35.0).reshape(5, 7))
    np.testing.assert_array_equal(load(tmp_path / f"x.{suffix}").array, np.arange(35.0).reshape(5, 7))
    write_array(tmp_path / f"m.{suffix}", known.astype(np.uint8))
    mask = load_mask(tmp_path / f"m.{suffix}", (5, 7))
    np.testing.assert_array_equal(getattr(mask, "array", mask), known)


@pytest.mark.parametrize(
    ("name", "lacking", "extra"),
    [
        ("x.tif", "tifffile", "tiff"),
        ("x.nc", "h5netcdf", "netcdf"),
        ("x.csv", "pandas", "table"),
        ("x.parquet", "pyarrow", "table"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(tmp_path, run, monkeypatch, name, lacking, extra):
    write_array(tmp_path / name, np.ones((5, 7)))
    np.save(tmp_path / "in.npy", np.ones((5, 7)))
    monkeypatch.setitem(sys.modules, lacking, None)
    for command in (["info", tmp_path / name], ["restore", tmp_path / "in.npy", "-o", tmp_path / f"out{name[1:]}"]):
        result = run(*command)
        assert result.exit_code == 2
        assert f'pip install "ringlet[{extra}]"' in result.stderr


@pytest.mark.parametrize("colour", [True, False])
def test_a_folder_of_frames_gives_a_folder_of_frames(tmp_path, run, restore, wave, colour):
    film = np.repeat(wave[..., None], 3, axis=3) if colour else wave
    (tmp_path / "in").mkdir()
    for number, frame in enumerate(film.astype(np.uint8)):
        write_array(tmp_path / "in" / f"f{number}.png", frame)
    rank = ["--rank", "3,3,2,3" if colour else "3"]
    out = restore(tmp_path / "in", "out", *rank)
    assert sorted(file.name for file in out.iterdir()) == [f"f{number}.png" for number in range(6)]
    clean = load(out).array
    assert clean.shape == load(tmp_path / "in").array.shape
    np.testing.assert_allclose(np.moveaxis(clean, -1, 0), film, atol=6)
    again = run("restore", tmp_path / "in", "-o", out, *FIT, *rank)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    restore(tmp_path / "in", "out", *rank, "--force")
    (out / "notes.txt").write_text("mine")
    refused = run("restore", tmp_path / "in", "-o", out, *FIT, *rank, "--force")
    assert refused.exit_code == 2
    assert (out / "notes.txt").read_text() == "mine"


def write_film(path, frames, rotation=0, codec="aac"):
    """A video with a tone of one second, turned by an angle."""
    with av.open(str(path), "w") as file:
        video = file.add_stream("libx264", rate=12)
        video.height, video.width, video.pix_fmt = *frames[0].shape[:2], "yuv420p"
        sound = file.add_stream(codec, rate=48000)
        if rotation:
            if not hasattr(video, "set_display_rotation"):
                pytest.skip("this PyAV cannot turn videos")
            video.set_display_rotation(rotation)
        for pixels in frames:
            file.mux(video.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        file.mux(video.encode(None))
        tone = np.sin(np.arange(48000) / 20).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(tone[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 48000, 0
        resampler = av.AudioResampler(
            format=sound.format, layout="mono", rate=44100, frame_size=sound.frame_size or None
        )
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            file.mux(sound.encode(piece))
        file.mux(sound.encode(None))


def sound_of(path):
    with av.open(str(path)) as file:
        return [bytes(packet) for packet in file.demux(audio=0) if packet.dts is not None]


def rotation_of(path):
    with av.open(str(path)) as file:
        return next(file.decode(video=0)).rotation


@pytest.fixture
def frames(wave):
    pixels = np.repeat(np.repeat(np.repeat(wave, 2, axis=1), 2, axis=2)[..., None], 3, axis=3).astype(np.uint8)
    return [*pixels, *pixels[::-1]]


@pytest.mark.parametrize(
    ("suffix", "angle"), [("mp4", 90), ("mov", -90), pytest.param("mp4", 180, marks=pytest.mark.long), ("mkv", 0)]
)
def test_a_video_keeps_its_sound_to_the_bit_and_its_rotation(tmp_path, restore, frames, suffix, angle):
    write_film(tmp_path / f"in.{suffix}", frames, angle)
    assert len(sound_of(tmp_path / f"in.{suffix}")) > 10
    out = restore(tmp_path / f"in.{suffix}", f"out.{suffix}", "--rank", "3,3,2,3")
    assert sound_of(out) == sound_of(tmp_path / f"in.{suffix}")
    assert rotation_of(out) == rotation_of(tmp_path / f"in.{suffix}")
    assert abs(rotation_of(out)) == abs(angle)
    assert load(out).array.shape == load(tmp_path / f"in.{suffix}").array.shape


def test_a_video_becomes_a_folder_of_frames(tmp_path, restore, frames):
    write_film(tmp_path / "in.mp4", frames)
    assert len(list(restore(tmp_path / "in.mp4", "out", "--rank", "3,3,2,3").iterdir())) == 12


def test_sound_and_rotation_that_the_output_cannot_hold_are_told(tmp_path, run, frames):
    write_film(tmp_path / "in.mkv", frames, 90, "libopus")
    result = run("restore", tmp_path / "in.mkv", "-o", tmp_path / "out.avi", *FIT, "--rank", "3,3,2,3")
    assert result.exit_code == 0
    assert "cannot hold the sound of the input (opus), which is left out; an .mkv file can" in result.stderr
    assert "players turn the input by 90 degrees, but not the output" in result.stderr
    assert load(tmp_path / "out.avi").array.shape == load(tmp_path / "in.mkv").array.shape


@pytest.mark.parametrize("name", ["x.tif", "packed.tif", "x.nc", "three.nc", "x.parquet"])
@pytest.mark.parametrize("share", [0.5, 0.002])
def test_a_file_that_is_cut_off_is_an_error_in_one_line(tmp_path, run, wave, name, share):
    path = tmp_path / name
    if name.endswith(".tif"):
        tifffile.imwrite(path, wave, compression="zlib" if name == "packed.tif" else None)
    elif name == "three.nc":
        xarray.Dataset({"v": (("a", "b", "c"), wave)}).to_netcdf(path, engine="scipy")
    else:
        write_array(path, wave if name == "x.nc" else wave[0])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    result = run("info", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {path}: ")
    assert result.stderr.count("\n") == 1
