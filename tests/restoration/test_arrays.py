"""`ringlet.restore` of data in memory and in open stores: the same kind comes back, and nothing is changed."""

import dask.array
import h5py
import numpy as np
import pytest
import xarray
import zarr

import ringlet
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, FormatError
from ringlet.report.metrics import psnr
from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks


def test_an_array_comes_back_clean_in_its_own_dtype(photo, damaged, known, quick):
    before = damaged.copy()
    clean = ringlet.restore(damaged, mask=known, **quick)
    assert type(clean) is np.ndarray
    assert clean.dtype == np.uint8
    assert psnr(clean, photo, 255) > psnr(damaged, photo, 255) + 10
    np.testing.assert_array_equal(damaged, before)


def test_without_any_option_the_rank_is_found(photo):
    damaged = photo.astype(np.float32)
    damaged[np.random.default_rng(0).random(photo.shape) < 0.1] = np.nan
    clean = ringlet.restore(damaged)
    assert clean.dtype == np.float32
    assert psnr(clean, photo, 255) > 30


@pytest.mark.parametrize("detail", ["auto", "never"])
@pytest.mark.parametrize("keep", ["auto", "always", "never", True, False])
def test_options_are_those_of_the_fit(damaged, known, quick, detail, keep):
    fit = ringlet.decompose(damaged, mask=known, **quick)
    clean = ringlet.restore(damaged, mask=known, detail=detail, keep=keep, **quick)
    np.testing.assert_array_equal(clean, fit.restored(detail=detail, keep=keep))
    trusted = np.nan_to_num(fit.weights()) > 0.5
    assert trusted.mean() > 0.8
    if keep in ("always", True):
        np.testing.assert_array_equal(clean[trusted], damaged[trusted])


def test_without_detail_and_data_all_is_the_rings(damaged, known, quick):
    ring = ringlet.decompose(damaged, mask=known, **quick).ring
    clean = ringlet.restore(damaged, mask=known, detail="never", keep="never", **quick)
    np.testing.assert_array_equal(clean, np.clip(np.rint(np.asarray(ring)), 0, 255).astype(np.uint8))


@pytest.mark.parametrize("keep", ["auto", "never"])
def test_trust_known_replaces_missing_entries_and_no_other(damaged, known, quick, keep):
    model = ringlet.restore(damaged, mask=known, **quick)
    clean = ringlet.restore(damaged, mask=known, trust_known=True, keep=keep, **quick)
    np.testing.assert_array_equal(clean, np.where(known, damaged, model))


def test_everything_that_says_missing_gives_the_same(damaged, known, quick):
    by_mask = ringlet.restore(damaged, mask=known, missing=7, **quick)
    np.testing.assert_array_equal(ringlet.restore(damaged, missing=7, **quick), by_mask)
    masked = np.ma.MaskedArray(damaged, damaged == 7)
    clean = ringlet.restore(masked, **quick)
    assert type(clean) is np.ndarray
    np.testing.assert_array_equal(clean, by_mask)
    assert np.array_equal(masked.mask, damaged == 7)
    assert not np.array_equal(ringlet.restore(damaged, **quick), by_mask)


def test_a_mask_may_be_a_file(damaged, known, quick, save):
    expected = ringlet.restore(damaged, mask=known, **quick)
    for path in (save(known[:, :, 0], "png", "known"), save(known, "npy", "known")):
        np.testing.assert_array_equal(ringlet.restore(damaged, mask=path, **quick), expected)
        np.testing.assert_array_equal(ringlet.restore(damaged, mask=str(path), **quick), expected)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_dataarray_gives_a_dataarray_with_all_that_it_says(damaged, known, quick, lazy):
    values = np.where(known, damaged, np.nan).astype(np.float32)
    given = xarray.DataArray(
        dask.array.from_array(values, chunks=(8, 32, 3)) if lazy else values,
        dims=("y", "x", "band"),
        coords={"y": np.arange(24) * 0.5, "band": ["r", "g", "b"], "mean": (("y", "x"), values.mean(axis=2))},
        attrs={"units": "K", "sensor": "A"},
        name="scan",
    )
    before = given.copy(deep=True)
    clean = ringlet.restore(given, **quick)
    xarray.testing.assert_identical(given, before)
    assert isinstance(clean, xarray.DataArray)
    assert np.isfinite(clean.values).all()
    assert clean.dtype == np.float32
    xarray.testing.assert_identical(clean.copy(data=before.values), before.compute())


def test_open_stores_give_numpy_arrays(damaged, quick, save):
    expected = ringlet.restore(save(damaged, "zarr"), **quick)
    with h5py.File(save(damaged, "h5"), "r") as file:
        given = [
            zarr.open_array(save(damaged, "zarr", "again"), mode="r"),
            dask.array.from_array(damaged, chunks=(8, 16, 3)),
            file["run/scan"],
            file,
        ]
        for data in given:
            clean = ringlet.restore(data, **quick)
            assert type(clean) is np.ndarray
            np.testing.assert_array_equal(clean, expected)


def test_an_array_can_be_written_to_any_kind_of_file(tmp_path, damaged, quick):
    clean = ringlet.restore(damaged, **quick)
    for suffix in ("npy", "npz", "mat", "png", "zarr", "h5"):
        fit = ringlet.restore(damaged, tmp_path / f"clean.{suffix}", **quick)
        assert isinstance(fit, ringlet.Fit)
        np.testing.assert_array_equal(ringlet.sources.files.load(tmp_path / f"clean.{suffix}").array, clean)


def test_a_dataset_is_written_as_the_array_in_it(tmp_path, damaged, known, quick):
    pair = xarray.Dataset({"scan": (("y", "x", "c"), damaged), "observed": (("y", "x", "c"), known)})
    fit = ringlet.restore(pair, tmp_path / "clean.npy", **quick)
    assert fit.missing_share == pytest.approx(1 - known.mean())
    np.testing.assert_array_equal(np.load(tmp_path / "clean.npy"), ringlet.restore(damaged, mask=known, **quick))


@pytest.mark.parametrize("kind", ["zarr", "dask", "memmap", "path"])
def test_what_does_not_fit_in_memory_needs_an_output(tmp_path, kind):
    shape = (1 << 20, 1 << 21)  # 2 TB of which nothing is ever made
    if kind == "dask":
        data = dask.array.zeros(shape, chunks=1 << 12, dtype="u1")
    elif kind == "memmap":
        data = np.memmap(tmp_path / "x", "u1", "w+", shape=(1, 1))
        data = np.lib.stride_tricks.as_strided(data, shape, (0, 0), subok=True)
    else:
        data = zarr.create_array(tmp_path / "x.zarr", shape=shape, chunks=(1 << 12, 1 << 12), dtype="u1")
        data = tmp_path / "x.zarr" if kind == "path" else data
    said = r"an array of 2\.2 TB, more than a quarter .*output='clean\.zarr'"
    if kind in ("zarr", "path"):  # stores that hold next to nothing of what they claim are not believed
        said = r"needs 2\.2 TB, but only .* are stored"
    with pytest.raises((ArgumentError, FormatError), match=said):
        ringlet.restore(data, rank=2)


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"keep": "some"}, ArgumentError, "keep='some'"),
        ({"detail": 3}, ArgumentError, "detail=3"),
        ({"trust_known": 1}, ArgumentTypeError, "trust_known=1"),
        ({"force": 1}, ArgumentTypeError, "force=1"),
        ({"output": 3}, ArgumentTypeError, "output=3 is not a path"),
        ({"missing": "0"}, ArgumentTypeError, "missing='0'"),
        ({"missing": True}, ArgumentTypeError, "missing=True"),
        ({"key": "scan"}, ArgumentError, "key='scan'"),
        ({"mask": np.ones((2, 2), bool)}, ArgumentError, "mask has shape"),
        ({"mask": np.ones((24, 32, 3))}, ArgumentTypeError, "mask has dtype float64"),
        ({"rank": "large"}, ArgumentTypeError, "rank='large'"),
        ({"rank": (2, 2)}, ArgumentError, "rank has 2 entries"),
        ({"seed": -1}, ArgumentError, "seed=-1"),
        ({"solver": "awrtrd"}, ArgumentTypeError, "solver='awrtrd'"),
        ({"solver": ringlet.baselines.L1TNN()}, ArgumentError, "gives no ring"),
        ({"executor": 3}, ArgumentTypeError, "executor=3"),
        ({"checkpoint": "x.ckpt", "every": 0}, ArgumentError, "every=0"),
    ],
)
def test_a_wrong_argument_is_named(damaged, wrong, error, said):
    with pytest.raises(error) as raised:
        ringlet.restore(damaged, **wrong)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (np.arange(9.0), ArgumentError),
        (np.ones((4, 5), complex), ArgumentTypeError),
        (np.ones((4, 5), bool), ArgumentTypeError),
        (np.full((4, 5), np.nan), ArgumentError),
        ([[1, 2], [3]], ArgumentError),
        (None, ArgumentTypeError),
    ],
)
def test_data_that_are_no_tensor_are_refused(data, error):
    with pytest.raises(error, match="data"):
        ringlet.restore(data)


class Interrupted:
    """An array during whose reading, at some time, the user presses Ctrl-C."""

    def __init__(self, array, reads):
        self.array, self.dtype, self.reads = array, array.dtype, reads

    def __getitem__(self, block):
        self.reads -= 1
        if self.reads == -1:
            raise KeyboardInterrupt
        return self.array[block]


def test_an_interrupted_fit_is_told_with_the_data(damaged):
    source = ChunkedSource(Interrupted(damaged, reads=30), regular_chunks(damaged.shape, (8, 16, 3)))
    with pytest.warns(DataWarning, match="interrupted after"):
        clean = ringlet.restore(source, rank=3, solver=ringlet.SAWRTRD(smooth=0.0, samples=20, sweeps=1000, tol=0))
    assert clean.shape == damaged.shape
