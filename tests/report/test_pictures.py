"""Pictures: what they show is where it should be, and nothing runs over the edge."""

import numpy as np
import pytest
import xarray
from PIL import Image

import ringlet
from ringlet.report.history import plot_history
from ringlet.report.outlier_files import write_outliers
from ringlet.report.outliers import outlier_flags, outlier_map, wrong_pixels
from ringlet.report.pictures import Panel, draw_comparison, draw_outliers, show_missing
from ringlet.results.records import SweepRecord

WHITE = (255, 255, 255)


def solid(colour, size=(450, 300)):
    width, height = size
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_panel_appears_unchanged(count):
    colours = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (90, 90, 90)][:count]
    image = np.asarray(draw_comparison([Panel(solid(colour), "Title", "note") for colour in colours]))
    for colour in colours:
        assert (image == colour).all(axis=2).sum() >= 450 * 300


def test_four_panels_make_two_rows_of_two():
    image = draw_comparison([Panel(solid((9, 9, 9)), "Title")] * 4)
    assert 2 * 450 < image.width < 3 * 450


def test_long_notes_wrap_inside_their_panel_and_stay_on_the_paper():
    short = Panel(solid((9, 9, 9)), "Title", "note")
    long = Panel(solid((9, 9, 9)), "Title", "a rather long story " * 12)
    image = np.asarray(draw_comparison([long, short]))
    edge = 10
    for border in (image[:edge], image[-edge:], image[:, :edge], image[:, -edge:]):
        assert (border == WHITE).all()
    gap = 450 // 24
    assert (image[:, gap + 450 + 1 : 2 * gap + 450 - 1] == WHITE).all()


def test_small_pictures_grow_by_whole_factors_and_large_ones_shrink():
    checks = (np.indices((30, 40)).sum(axis=0) % 2 * 255).astype(np.uint8)
    grown = np.asarray(draw_comparison([Panel(checks, "Title")]).convert("L"))
    gap = 400 // 24
    assert (grown[gap : gap + 300, gap : gap + 400] == checks.repeat(10, axis=0).repeat(10, axis=1)).all()
    assert draw_comparison([Panel(solid((9, 9, 9), (3000, 900)), "Title")]).width < 1200


def test_missing_entries_become_grey_and_others_stay():
    pixels = np.array([[1, 2], [3, 4]], np.uint8)
    shown = show_missing(pixels, np.array([[True, False], [True, True]]))
    assert shown.tolist() == [[1, 128], [3, 4]]
    assert pixels[0, 1] == 2


def test_the_outlier_map_tells_trusted_outlier_and_missing_apart():
    distrust = np.zeros((40, 400))
    distrust[:, 100:200] = 1
    distrust[:, 200:300] = np.nan
    image = np.asarray(draw_outliers(distrust)).astype(int)
    trusted, outlier, missing = image[20, 50], image[20, 150], image[20, 250]
    assert trusted.min() > 230
    assert outlier[0] - outlier[1] > 100
    assert np.abs(missing - trusted).max() > 60
    assert missing[2] > missing[0]
    assert (image[-1] == WHITE).all()  # the legend stands on paper


def test_outliers_of_a_fit_are_found_where_they_were_put():
    x = np.add.outer(np.arange(40.0), np.arange(30.0))[..., None] + np.arange(5.0)
    rng = np.random.default_rng(0)
    wrong = rng.permuted(np.arange(1200) < 30).reshape(40, 30)  # scattered: a regular pattern would be fitted
    x[wrong, 2] = 500.0
    wrong[8, 8] = False
    x[8, 8, :] = np.nan
    fit = ringlet.decompose(x, rank=2)
    distrust = outlier_map(fit)
    assert distrust.shape == (40, 30)
    assert distrust[wrong] == pytest.approx(1 / 5, abs=0.05)
    assert np.isnan(distrust[8, 8])
    assert np.nanmedian(distrust) < 0.05
    assert fit.outlier_share == pytest.approx(wrong.sum() / (x.size - 5))


def record(sweep, change, sigma=3.0):
    return SweepRecord(sweep=sweep, seconds=0.1, change=change, loss=1.0, sigma=sigma, mean_weight=0.9)


@pytest.mark.parametrize(
    "history",
    [
        [record(1, float("inf"), float("inf")), record(2, 0.1), record(3, 0.01)],
        [record(1, float("inf"), float("inf"))],
        [record(1, float("inf")), record(2, 0.0)],
        [],
    ],
    ids=["usual", "one sweep", "no change", "interrupted at once"],
)
def test_any_history_can_be_plotted(tmp_path, history):
    plot_history(history, tmp_path / "history.png", tol=1e-3, units="K")
    with Image.open(tmp_path / "history.png") as picture:
        assert picture.format == "PNG"
        assert picture.width >= 1200


@pytest.mark.parametrize("shape", [(3000, 2), (2, 3000), (1, 1), (1, 50_000), (50_000, 1), (4000, 6000), (700, 30)])
def test_maps_of_any_shape_stay_of_a_size_that_can_be_looked_at(shape):
    image = draw_outliers(np.zeros(shape, np.float32))
    assert 400 <= image.width <= 1000
    assert 80 <= image.height <= 2100


def test_both_columns_of_a_tall_map_can_be_seen():
    distrust = np.zeros((3000, 2))
    distrust[:, 1] = 1
    distrust[:1500, 0] = np.nan
    image = np.asarray(draw_outliers(distrust)).astype(int)
    assert image[500, 30, 0] - image[500, 30, 1] > 100
    assert image[500, 5, 2] > image[500, 5, 0]
    assert image[1700, 5].min() > 230


def test_outliers_of_a_huge_map_are_averaged_not_skipped():
    distrust = np.zeros((4000, 4000), np.float32)
    distrust[::4, ::4] = 1
    image = np.asarray(draw_outliers(distrust)).astype(int)[:900, :1000]
    np.testing.assert_allclose(image[..., 1], 243 - (243 - 38) / 16, atol=2)


def test_a_tall_narrow_panel_keeps_its_captions():
    image = draw_comparison([Panel(np.zeros((3000, 3), np.uint8), "Title", "a note")] * 2)
    assert image.height < 2300


def test_the_picture_of_outliers_has_the_modes_of_height_and_width(tmp_path):
    x = xarray.DataArray(
        np.fromfunction(lambda t, i, j: t + np.cos(i / 3 + j / 5), (6, 12, 9)), dims=("time", "lat", "lon")
    )
    x[3, 5, 7] = 50.0
    fit = ringlet.decompose(x, rank=3)
    assert np.argwhere(wrong_pixels(fit)).tolist() == [[5, 7]]
    assert outlier_map(fit).shape == (12, 9)
    write_outliers(fit, tmp_path / "wrong.png")
    assert np.asarray(Image.open(tmp_path / "wrong.png")).nonzero() == ([5], [7])


def test_files_of_outliers_hold_those_that_the_fit_finds():
    rng = np.random.default_rng(0)
    x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.1, (20, 15, 10))
    x[11, 7, 3] += 2.0  # too little for the kernel, whose weights trust it
    fit = ringlet.decompose(x, rank=3, loss="correntropy")
    assert fit.weights((11, 7, 3)) > 0.5
    assert np.argwhere(outlier_flags(fit, ...)).tolist() == [[11, 7, 3]]
    assert outlier_map(fit)[11, 7] == pytest.approx(0.1, abs=0.02)
