"""Holes that no neighbour determines: guides from coarse medians of their surroundings."""

import numpy as np
import pytest
from skimage import data, transform

from ringlet import decompose
from ringlet.solvers.tuning.hole_guides import guide_holes
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import as_source
from tuning_fits import tuned

WHOLE = (slice(None),) * 3


def hills(shape=(72, 60, 8), seed=0):
    i, j, k = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    noise = np.random.default_rng(seed).standard_normal(shape)
    return 100 + 30 * np.sin(i / 15) * np.cos(j / 12 + k / 20) + 0.5 * noise


def with_hole(shape):
    observed = np.ones(shape, bool)
    observed[20:41, 15:38] = False
    return observed


def given(kind, x, observed):
    match kind:
        case "mask":
            return as_source(x, observed)
        case "NaN":
            return as_source(np.where(observed, x, np.nan))
        case "numpy.ma":
            return as_source(np.ma.array(x, mask=~observed))
        case "uint8":
            return as_source(x.astype(np.uint8), observed)


@pytest.mark.parametrize("kind", ["mask", "NaN", "numpy.ma", "uint8"])
def test_guides_are_a_share_of_the_hole_near_its_surroundings_and_nothing_else_changes(kind):
    x = hills()
    observed = with_hole(x.shape)
    source = given(kind, x, observed)
    before = source.array.copy()
    guided = guide_holes(source, source, seed=0)
    values, known = guided.read(WHOLE)
    guides = known & ~observed
    np.testing.assert_array_equal(known[observed], True)
    np.testing.assert_array_equal(values[observed], before[observed])
    np.testing.assert_array_equal(source.array, before)  # what was given is left alone
    assert 0.2 < guides[22:39, 17:36].mean() < 0.4
    assert np.abs(values - x)[guides].mean() < 12  # the hills are 60 high
    np.testing.assert_array_equal(guide_holes(source, source, seed=0).read(WHOLE)[0][guides], values[guides])


@pytest.mark.parametrize(
    ("dtype", "level"), [("i4", 2**31 - 1), ("u4", 2**32 - 1), ("i8", 10**12), ("f8", 1e9), ("u1", 255)]
)
def test_guides_are_as_precise_as_the_data(dtype, level):
    wave = np.fromfunction(lambda i, j: np.abs(40 * np.sin(i / 15) + 30 * np.cos(j / 11)), (90, 60))
    x = (level - wave.astype(dtype)).astype(dtype)
    mask = np.ones(x.shape, bool)
    mask[30:60, 12:24] = False
    source = as_source(x, mask)
    values, observed = guide_holes(source, source, seed=0).read((slice(30, 60), slice(12, 24)))
    assert observed.any()
    off = values[observed].astype(np.longdouble) - x[30:60, 12:24][observed].astype(np.longdouble)
    assert np.abs(off).max() < 30


def test_outliers_around_a_hole_reach_few_guides():
    x = hills()
    observed = with_hole(x.shape)
    damaged = np.where(np.random.default_rng(1).random(x.shape) < 0.2, 1e4, x)
    source = as_source(damaged, observed)
    values, known = guide_holes(source, source, seed=0).read(WHOLE)
    far = np.abs(values - x)[known & ~observed] > 30
    assert far.mean() < 0.2  # no more than of the others, and the kernel finds them out as it does those


def test_held_out_entries_make_no_guides_and_are_not_replaced():
    x = hills()
    observed = with_hole(x.shape)
    observed[27:33, 24:27] = True  # an island, of which nothing is seen
    seen = observed.copy()
    seen[27:33, 24:27] = False
    island = np.where(observed & ~seen, 1e6, x)
    source = as_source(island, observed)
    values, known = guide_holes(source, as_source(island, seen), seed=0).read(WHOLE)
    np.testing.assert_array_equal(values[27:33, 24:27], 1e6)
    assert values[known & ~observed].max() < 200


@pytest.mark.parametrize("what", ["scattered", "without order", "all", "chunks"])
def test_there_are_no_guides_without_large_holes_in_smooth_data(what):
    x = hills()
    observed = with_hole(x.shape)
    if what == "scattered":
        observed = np.random.default_rng(0).random(x.shape) < 0.3
    if what == "without order":
        x = np.random.default_rng(0).standard_normal(x.shape)
    if what == "all":
        observed[:] = True
    if what == "chunks":
        dask = pytest.importorskip("dask.array")
        source = as_source(dask.from_array(x, chunks=20), observed)
    else:
        source = as_source(x, observed)
    assert guide_holes(source, source, seed=0) is source


def test_a_memory_budget_without_room_for_a_copy_means_no_guides():
    x = hills()
    source = as_source(x, with_hole(x.shape))
    assert guide_holes(source, source, 0, budget=2 * x.nbytes) is source
    assert guide_holes(source, source, 0, budget=8 * x.nbytes) is not source


def photo(short=120):
    x = data.chelsea()
    scale = short / min(x.shape[:2])
    return transform.resize(x, (round(x.shape[0] * scale), round(x.shape[1] * scale)), anti_aliasing=True)


@pytest.mark.parametrize("seeds", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_hole_in_a_photo_is_filled_better_with_guides(seeds):
    x = photo()
    observed = np.ones(x.shape, bool)
    for row in range(10, 100, 24):
        observed[row : row + 12, 20 + row : 50 + row] = False

    def error(guides):
        policy = TuningPolicy(hole_guides=guides)
        found = [np.asarray(tuned(x, mask=observed, seed=seed, policy=policy).ring) for seed in range(seeds)]
        return np.mean([np.sqrt(np.mean((one - x)[~observed] ** 2)) for one in found])

    assert error(True) < 0.8 * error(False)


@pytest.mark.parametrize("rank", [4, "auto"])
def test_guides_do_not_harm_the_entries_around_a_hole(rank):
    i, j, k = np.ogrid[:60, :50, :12]
    truth = np.sin(i / 9) * np.cos(j / 8) + np.cos(k / 5 + i / 20)
    observed = with_hole(truth.shape)
    x = truth + 0.05 * np.random.default_rng(0).standard_normal(truth.shape)
    guided = np.asarray(decompose(x, rank, mask=observed).ring) - truth
    plain = np.asarray(tuned(x, rank, mask=observed, policy=TuningPolicy(hole_guides=False)).ring) - truth
    assert np.std(guided[observed]) < 1.05 * np.std(plain[observed])
    assert np.std(guided[~observed]) < 0.5 * np.std(plain[~observed])


def spectra(shape=(48, 42, 32), seed=0):
    """Pixels of a scene with patches of three materials, whose spectra are rough: bands tell more than neighbours."""
    rng = np.random.default_rng(seed)
    materials = np.cumsum(rng.standard_normal((3, shape[2])), axis=1) + 3 * rng.standard_normal((3, shape[2]))
    patches = rng.dirichlet([3.0] * 3, (shape[0] // 6, shape[1] // 6)).repeat(6, axis=0).repeat(6, axis=1)
    return patches @ materials + 0.05 * rng.standard_normal(shape)


def with_boxes(shape, seed=0):
    """A third is missing in boxes of a quarter of every mode's length."""
    rng, observed = np.random.default_rng(seed), np.ones(shape, bool)
    while observed.mean() > 0.7:
        starts = [rng.integers(0, length - length // 4) for length in shape]
        observed[tuple(slice(at, at + length // 4) for at, length in zip(starts, shape, strict=True))] = False
    return observed


def test_there_are_no_guides_where_slices_tell_more_than_the_surroundings():
    x = spectra()
    for seed in range(3):
        source = as_source(x, with_boxes(x.shape, seed))
        assert guide_holes(source, source, seed) is source
        smooth = as_source(hills(x.shape), with_boxes(x.shape, seed))
        assert guide_holes(smooth, smooth, seed) is not smooth


def test_boxes_of_a_spectral_cube_are_filled_by_their_other_bands():
    x = spectra()
    observed = with_boxes(x.shape)
    filled = np.asarray(decompose(x, mask=observed).ring)
    assert np.std((filled - x)[~observed]) < 0.15 * np.std(x)
