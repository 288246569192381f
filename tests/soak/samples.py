"""Sound files of every kind that is read, small and of many makes, as material for mutations."""

import shutil

import h5py
import numpy as np
import pandas
import PIL.Image
import scipy.io
import tifffile
import xarray
import zarr

from ringlet import TensorRing
from ringlet.store.outputs import write_array

KINDS = ("npy", "npz", "mat", "png", "jpg", "webp", "bmp", "h5", "zarr", "mp4", "tif", "nc", "csv", "parquet")


_written = {}  # the paths, by kind, of this process


def prepared(kind, folder):
    """The paths of some files of a kind, written when they are first asked for."""
    if kind not in _written:
        _written[kind] = write_samples(kind, folder / f"samples-{kind}")
    return _written[kind]


def write_samples(kind, folder):
    """The paths of some files of a kind, always the same."""
    shutil.rmtree(folder, ignore_errors=True)  # of a child that has ended
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    return _MAKERS[kind](folder, rng)


def _npy(folder, rng):
    arrays = [
        rng.random((6, 5, 4)),
        rng.integers(0, 99, (7, 6)).astype(">i2"),
        np.asfortranarray(rng.random((5, 4, 3))),
    ]
    paths = [folder / f"{number}.npy" for number in range(len(arrays))]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    return paths


def _npz(folder, rng):
    x = rng.random((6, 5, 4)).astype("f4")
    np.savez(folder / "plain.npz", tensor=x, observed=x > 0.2)
    np.savez_compressed(folder / "packed.npz", x=np.round(x, 1))
    return [folder / "plain.npz", folder / "packed.npz"]


def _mat(folder, rng):
    x = rng.random((6, 5, 4))
    scipy.io.savemat(folder / "plain.mat", {"tensor": x, "mask": (x > 0.2).astype("u1")})
    scipy.io.savemat(folder / "packed.mat", {"x": x.round(1)}, do_compression=True)
    scipy.io.savemat(folder / "small.mat", {"x": (100 * x).astype("i2")})
    return [folder / "plain.mat", folder / "packed.mat", folder / "small.mat"]


def _pictures(suffix, modes):
    def make(folder, rng):
        paths = []
        for mode, shape in modes.items():
            path = folder / f"{mode}.{suffix}"
            smooth = np.add.outer(np.arange(24), np.arange(20))[..., None] * 3 + rng.integers(0, 20, (24, 20, 4))
            picture = smooth.astype("u2" if mode == "I;16" else "u1")
            PIL.Image.fromarray(picture[:, :, 0] if not shape else picture[:, :, :shape]).save(path)
            paths.append(path)
        return paths

    return make


def _h5(folder, rng):
    x = rng.random((12, 10, 3))
    with h5py.File(folder / "attributes.h5", "w") as file:
        dataset = file.create_dataset("run/x", data=x)
        dataset.attrs["units"] = "kelvin"
        dataset.attrs["_FillValue"] = -999.0
        dataset.dims[0].label = "height"
        file["run/observed"] = (x > 0.2).astype("u1")
    with h5py.File(folder / "chunks.h5", "w") as file:
        dataset = file.create_dataset("x", data=x.round(1), chunks=(6, 5, 3), compression="gzip", shuffle=True)
        dataset.attrs["units"] = np.bytes_("m/s")
    with h5py.File(folder / "latest.h5", "w", libver="latest") as file:
        file.create_dataset("x", data=x.astype("f4"), chunks=(6, 5, 3), fletcher32=True).attrs["long_name"] = "speed"
    return [folder / "attributes.h5", folder / "chunks.h5", folder / "latest.h5"]


def _zarr(folder, rng):
    x = rng.random((8, 6, 4)).astype("f4")
    made = {
        "three": {"chunks": (4, 3, 4)},
        "two": {"chunks": (4, 3, 4), "zarr_format": 2, "compressors": "auto"},
        "gzip": {"chunks": (4, 6, 4), "compressors": zarr.codecs.GzipCodec()},
        "shards": {"chunks": (4, 3, 2), "shards": (8, 6, 4)},
    }
    for name, settings in made.items():
        zarr.create_array(folder / f"{name}.zarr", data=x, attributes={"units": "K"}, **settings)
    return [folder / f"{name}.zarr" for name in made]


def _mp4(folder, rng):
    i, j, t = np.meshgrid(np.arange(32), np.arange(32), np.arange(6), indexing="ij")
    grey = (8 * ((i + t) % 16) + 4 * (j % 8)).astype("u1")
    paths = [folder / "film.mp4", folder / "film.mkv"]
    for path in paths:
        write_array(path, np.stack([grey, 255 - grey, grey // 2], axis=2), frame_rate=24)
    return paths


def _tif(folder, rng):
    x = rng.integers(0, 999, (4, 16, 20)).astype("u2")
    tifffile.imwrite(folder / "stack.tif", x, photometric="minisblack")
    tifffile.imwrite(folder / "packed.tif", x, photometric="minisblack", compression="zlib", predictor=True)
    tifffile.imwrite(folder / "tiles.tif", x[0].astype("u1"), tile=(16, 16), compression="zlib")
    with tifffile.TiffWriter(folder / "pages.tif", bigtiff=True) as file:
        for page in x:
            file.write(page, contiguous=False, metadata=None)
    return [folder / f"{name}.tif" for name in ("stack", "packed", "tiles", "pages")]


def _nc(folder, rng):
    labels = {"time": np.arange(8), "name": ("x", [f"s{i}" for i in range(6)])}
    x = xarray.DataArray(rng.random((8, 6, 4)), labels, ("time", "x", "y"), "speed", {"units": "m/s"})
    x.to_netcdf(folder / "four.nc", engine="h5netcdf")
    packed = {"speed": {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -1, "zlib": True, "chunksizes": (4, 6, 4)}}
    x.to_netcdf(folder / "packed.nc", engine="h5netcdf", encoding=packed)
    x.to_netcdf(folder / "three.nc", engine="scipy", format="NETCDF3_64BIT")
    x.to_netcdf(folder / "classic.nc", engine="scipy", format="NETCDF3_CLASSIC", unlimited_dims=["time"])
    return [folder / f"{name}.nc" for name in ("four", "packed", "three", "classic")]


def _tables(suffix):
    def make(folder, rng):
        i, j, k = (axis.ravel() for axis in np.indices((4, 3, 5)))
        long = pandas.DataFrame({"sensor": [f"s{n}" for n in i], "day": j, "hour": k, "v": rng.random(60)})
        wide = pandas.DataFrame(rng.integers(0, 99, (12, 6)), columns=list("abcdef")).astype("Int64")
        wide = wide.mask(rng.random(wide.shape) < 0.1)
        paths = [folder / f"{name}.{suffix}" for name in ("long", "wide")]
        for table, path in zip((long, wide), paths, strict=True):
            if suffix == "csv":
                table.to_csv(path, index=False)
            else:
                table.to_parquet(path, compression="zstd" if table is long else None)
        return paths

    return make


def _ring(folder, rng):
    cores = [rng.standard_normal(shape) for shape in ((2, 6, 3), (3, 5, 2), (2, 4, 2))]
    TensorRing(cores, names=("a", "b", "c"), units="K").save(folder / "double.ring", force=True)
    TensorRing([core.astype("f4") for core in cores]).save(folder / "single.ring", force=True)
    return [folder / "double.ring", folder / "single.ring"]


_MAKERS = {
    "npy": _npy,
    "npz": _npz,
    "mat": _mat,
    "png": _pictures("png", {"L": 0, "RGB": 3, "RGBA": 4, "I;16": 0}),
    "jpg": _pictures("jpg", {"L": 0, "RGB": 3}),
    "webp": _pictures("webp", {"RGB": 3, "RGBA": 4}),
    "bmp": _pictures("bmp", {"L": 0, "RGB": 3}),
    "h5": _h5,
    "zarr": _zarr,
    "mp4": _mp4,
    "tif": _tif,
    "nc": _nc,
    "csv": _tables("csv"),
    "parquet": _tables("parquet"),
    "ring": _ring,
}
