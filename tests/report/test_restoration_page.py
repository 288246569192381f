"""The page of one restored file, in a real browser: pictures load, the slider moves, phones can show it."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from browser import CHROMIUM, browser
from ringlet.cli.group import group
from ringlet.report.views import Tones, views_of

IN_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def restore(*arguments):
    return CliRunner().invoke(group, ["restore", *map(str, arguments)])


def waves(shape):
    i, j, c = np.ogrid[: shape[0], : shape[1], :3]
    return (128 + 90 * np.sin(i / 9 + c) * np.cos(j / 7)).astype(np.uint8)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A photo with a mask, by an automatic fit; a folder of frames; a cube of floats whose name is a script."""
    out = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    photo = waves((60, 80))
    photo[rng.random(photo.shape) < 0.1] = 255
    Image.fromarray(photo).save(out / "photo.png")
    Image.fromarray(np.where(rng.random((60, 80)) < 0.7, 255, 0).astype(np.uint8)).save(out / "known.png")
    (out / "clip").mkdir()
    for frame in range(9):
        Image.fromarray(np.roll(waves((40, 56)), frame, 1)).save(out / f"clip/{frame}.png")
    cube = np.fromfunction(lambda i, j, k: np.sin(i / 5) * np.cos(j / 4) + k / 3, (20, 24, 7))
    cube[3, 4:9] = np.nan
    cube[8, 8, 3] = 90.0
    np.save(out / "a<script>b.npy", cube)
    jobs = {
        "photo": ("photo.png", "--mask", out / "known.png", "-o", out / "clean.png"),
        "video": ("clip", "-o", out / "clean-clip", "--rank", "4", "--smooth", "0", "--sweeps", "6"),
        "cube": ("a<script>b.npy", "-o", out / "clean.npy", "--rank", "3", "--smooth", "0", "--sweeps", "9"),
    }
    for name, (given, *arguments) in jobs.items():
        result = restore(out / given, *arguments, "--report", out / f"{name}.html", "--quiet")
        assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture(params=[(page, size) for page in ("photo", "video", "cube") for size in SIZES], ids="-".join)
def opened(request, tab, pages):
    page, size = request.param
    tab.resize(*SIZES[size])
    scheme = "dark" if size == "phone" else "light"
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.problems.clear()
    tab.open(f"file://{pages}/{page}.html")
    yield page, tab
    if folder := os.environ.get("RINGLET_SCREENSHOTS"):  # for people who want to look
        tab.screenshot(Path(folder) / f"restoration-{page}-{size}.png")


@IN_BROWSER
def test_all_pictures_load_and_the_console_is_silent(opened):
    page, tab = opened
    sizes = tab.run("[...document.images].map(image => image.complete && image.naturalWidth)")
    assert len(sizes) == 2 + {"photo": 1, "video": 5, "cube": 5}[page]  # before, after, and the maps
    assert all(sizes), sizes
    assert tab.problems == []


@IN_BROWSER
def test_nothing_is_wider_than_the_window_and_nothing_is_too_small(opened):
    _, tab = opened
    assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")
    outside = tab.run(
        """[...document.querySelectorAll('body *')].filter(one => !one.closest('.wide') && !one.closest('.area'))
           .filter(one => one.getBoundingClientRect().right > window.innerWidth + 1)
           .map(one => one.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    small = tab.run(
        """[...document.querySelectorAll('body *')].filter(one => one.innerText && !one.children.length)
           .filter(one => parseFloat(getComputedStyle(one).fontSize) < 12).map(one => one.outerHTML.slice(0, 80))"""
    )
    assert small == []
    heights = tab.run("[...document.querySelectorAll('select, summary')].map(one => one.offsetHeight).filter(Boolean)")
    assert min(heights) >= 32


@IN_BROWSER
def test_the_slider_uncovers_the_damaged_picture(opened):
    _, tab = opened
    shown = tab.run("[...document.querySelectorAll('.captions span')].map(one => one.textContent)")
    assert shown[0].startswith("Damaged")
    assert shown[1] == "Restored"
    tab.run("document.querySelector('.stage input').focus()")
    for _ in range(5):
        tab.press("ArrowRight", 39)
    assert tab.run("document.querySelector('.stage').style.getPropertyValue('--at')") == "55%"


@IN_BROWSER
def test_frames_and_other_pictures_can_be_chosen(opened):
    page, tab = opened
    names = tab.run("[...document.querySelector('select').options].map(one => one.textContent)")
    hidden = tab.run("document.querySelector('.choices label').hidden")
    if page == "photo":
        assert hidden
        return
    word = {"video": "Frame", "cube": "Slice"}[page]
    assert not hidden
    assert names == [f"{word} {number}" for number in {"video": (1, 3, 5, 7, 9), "cube": (1, 3, 4, 5, 7)}[page]]
    before = tab.run("document.querySelector('.stage img').src")
    tab.run(
        """{ const item = document.querySelector('select'); item.value = 2;
             item.dispatchEvent(new Event('change')) }"""
    )
    assert tab.run("document.querySelector('.stage img').src") != before
    assert tab.run("document.querySelector('.stage img').alt") == f"{names[2]}: Damaged"


@IN_BROWSER
def test_lines_of_the_path_stay_in_their_boxes(opened):
    _, tab = opened
    boxes = tab.run(
        """[...document.querySelectorAll('.area')].map(area => {
             const line = area.querySelector('polyline').getBoundingClientRect(), box = area.getBoundingClientRect();
             return [line.left - box.left, box.right - line.right, line.top - box.top, box.bottom - line.bottom] })"""
    )
    assert len(boxes) == 2
    assert all(gap > -2 for box in boxes for gap in box), boxes


def test_a_page_is_one_file_that_says_what_was_chosen(pages):
    for name in ("photo", "video", "cube"):
        text = (pages / f"{name}.html").read_text(encoding="utf-8")
        assert not re.search(r"""(src|href)=["'](?!data:|#)""", text)
    photo = (pages / "photo.html").read_text(encoding="utf-8")
    assert "It was chosen from the data" in photo
    assert re.search(r"±[\d.]+ of 255", photo)
    cube = (pages / "cube.html").read_text(encoding="utf-8")
    assert "It was given." in cube
    assert "No entries were set aside" in cube
    assert "a&lt;script&gt;b.npy, restored" in cube
    assert "<script>b" not in cube


def test_a_page_is_refused_before_any_work(pages):
    assert restore(pages / "photo.png", "-o", pages / "x.png", "--report", pages / "x.txt").exit_code == 2
    result = restore(pages / "photo.png", "-o", pages / "x.png", "--report", pages / "photo.html")
    assert result.exit_code == 2
    assert "photo.html" in result.stderr
    assert not (pages / "x.png").exists()


def test_the_input_may_be_replaced_although_the_page_shows_it(tmp_path):
    Image.fromarray(waves((30, 40))).save(tmp_path / "x.png")
    before = (tmp_path / "x.png").read_bytes()
    result = restore(
        tmp_path / "x.png", "-o", tmp_path / "x.png", "--rank", 2, "--report", tmp_path / "x.html", "--force", "--quiet"
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "x.png").read_bytes() != before
    assert (tmp_path / "x.html").exists()


def test_views_of_data_that_are_no_pictures():
    assert [view.name for view in views_of((8, 9), moving=False)] == [""]
    assert [view.name for view in views_of((8, 9, 2, 2), moving=False)] == [
        "Slice 1, 1",
        "Slice 1, 2",
        "Slice 2, 1",
        "Slice 2, 2",
    ]
    grey_film = views_of((8, 9, 3), moving=True)
    assert [view.name for view in grey_film] == ["Frame 1", "Frame 2", "Frame 3"]
    assert not grey_film[0].in_colour
    (long,) = views_of((9000, 4), moving=False)
    assert long.block == (slice(3300, 5700), slice(0, 4))


def test_named_modes_make_the_picture():
    views = views_of((4, 30, 20), moving=False, names=("sea level", "lon", "lat"))
    assert [view.name for view in views] == ["Sea level 1", "Sea level 2", "Sea level 3", "Sea level 4"]
    values = np.arange(4 * 30 * 20).reshape(4, 30, 20)
    assert np.array_equal(views[1].plane(values[views[1].block]), values[1].T)
    assert views_of((9, 8, 3), moving=False, names=("depth", "height", "width"))[0].block[1:] == (
        slice(0, 8),
        slice(0, 3),
    )


def test_tones_stretch_floats_and_keep_bytes():
    values = np.linspace(0, 1, 201).reshape(3, 67)
    pixels = Tones.of([values]).pixels(values)
    assert (pixels.min(), pixels.max()) == (0, 255)
    levels = np.array([[3, 200]], np.uint8)
    assert (Tones.of([levels]).pixels(levels) == levels).all()
    painted = Tones(0.0, 1.0).pixels(values, values < 0.5)
    assert painted.shape == (3, 67, 3)
    assert len(np.unique(painted[values >= 0.5], axis=0)) == 1
    assert Tones.of([np.full((2, 2), np.nan)]) == Tones(0.0, 1.0)
    assert Tones.of([np.ones((2, 2))]) == Tones(1.0, 2.0)
    assert not Tones.of([np.full((2, 2), 3e20)]).pixels(np.full((2, 2), 3e20)).any()
