"""The page, in a real browser: the slider moves, everything loads, nothing complains, phones can show it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from browser import CHROMIUM, browser
from ringlet.experiments.catalogue import EXPERIMENTS, TrialOptions, trials
from ringlet.experiments.complexity import Series
from ringlet.experiments.items import builtin_photos, builtin_videos
from ringlet.experiments.trial import OUT_OF_MEMORY
from ringlet.store.outputs import write_array

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


def record(task, **found):
    """What a run would have written of a task."""
    facts = {
        "status": "ok",
        "budget": 10**9,
        "trial_seconds": 1.0,
        "versions": {"ringlet": "0.1.0", "numpy": "2.0", "python": "3.11"},
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux"},
    }
    return task.identity | facts | found


def trial_records(out, items, name, options):
    """Made-up scores, and pictures to go with them."""
    rng = np.random.default_rng(0)
    for trial in trials(EXPERIMENTS[name], items, options):
        if trial.method == "TRALS":
            yield record(trial, status=f"{OUT_OF_MEMORY}83.1 GB", needs=83_100_000_000)
            continue
        for path in trial.pictures(out).values():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_array(path, rng.integers(0, 255, (48, 64, 3)).astype(np.uint8), force=True)
        scores = {"psnr": 20 + 5 * rng.random(), "ssim": 0.7, "relative_error": 0.1, "sweeps": 12, "ended": "CONVERGED"}
        yield record(
            trial,
            seconds=10 * rng.random(),
            processor_seconds=15 * rng.random(),
            peak_memory=2 * 10**9,
            shape=[48, 64, 3],
            **scores,
        )


@pytest.fixture(scope="module")
def results(paper, tmp_path_factory):
    """Four sections: bars with something out of memory, bars with a video, lines, and growth."""
    out = tmp_path_factory.mktemp("page")
    photos, videos = builtin_photos()[:2], builtin_videos()[:1]
    lines = [
        *trial_records(out, photos, "image-decomposition", TrialOptions(runs=1, methods=("TRSVD", "TRALS", "SAWRTRD"))),
        *trial_records(out, videos, "video-completion", TrialOptions(runs=1, methods=("l1-TNN", "SAWRTRD"))),
        *trial_records(
            out, videos, "ablation", TrialOptions(runs=1, methods=("SAWRTRD", "local-scaling"), samples=(5, 9000))
        ),
        record(Series("FGMC", "N"), seconds=[1e-3, 2e-3, 3e-3, 4e-3, 6e-3], memory=[10**6] * 5),
    ]
    (out / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = paper("all", "--out", out, "--redraw")
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def tab(results, tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def opened(request, tab, results):
    tab.resize(*request.param)
    tab.problems.clear()
    tab.open(f"file://{results}/index.html")
    yield tab
    if folder := os.environ.get("RINGLET_SCREENSHOTS"):  # for people who want to look
        tab.screenshot(Path(folder) / f"page-{request.param[0]}.png")


def test_all_images_load_and_the_console_is_silent(opened):
    sizes = opened.run("[...document.images].map(image => image.complete && image.naturalWidth)")
    assert len(sizes) == 4 + 2 * 3  # a figure of each section, two pictures in each of three viewers
    assert all(sizes), sizes
    assert opened.problems == []


def test_every_picture_that_can_be_chosen_loads(opened):
    sizes = opened.run(
        """Promise.all([...document.querySelectorAll('.viewer script')].flatMap(one => JSON.parse(one.textContent))
           .flatMap(item => item.pictures).map(async picture => {
             const image = new Image();
             image.src = picture.source;
             await image.decode();
             return image.naturalWidth }))"""
    )
    # original, damaged and the methods: two photos with two methods, a video with two, two sample sizes of two
    assert len(sizes) == 2 * 4 + 4 + 2 * 4
    assert all(sizes)


def test_nothing_is_wider_than_the_window(opened):
    assert opened.run("document.documentElement.scrollWidth <= window.innerWidth")
    outside = opened.run(
        """[...document.querySelectorAll('body *')].filter(one => !one.closest('.wide'))
           .filter(one => one.getBoundingClientRect().right > window.innerWidth + 1)
           .map(one => one.outerHTML.slice(0, 80))"""
    )
    assert outside == []


def test_text_can_be_read_and_things_can_be_touched(opened):
    small = opened.run(
        """[...document.querySelectorAll('p, td, th, a, label, select, span')]
           .filter(one => one.textContent.trim() && parseFloat(getComputedStyle(one).fontSize) < 12).length"""
    )
    assert small == 0
    low = opened.run("[...document.querySelectorAll('select, nav a')].filter(one => one.offsetHeight < 30).length")
    assert low == 0


def place(tab, number=0):
    """Where the slider of a viewer is and what it shows: left edge, width, middle in height, share in percent."""
    return tab.run(
        f"""(() => {{ const stage = document.querySelectorAll('.stage')[{number}];
            stage.scrollIntoView({{block: 'center'}}); const box = stage.getBoundingClientRect();
            const bar = stage.querySelector('.bar').getBoundingClientRect();
            return {{left: box.left, width: box.width, y: box.top + box.height / 2,
                     at: 100 * ((bar.left + bar.right) / 2 - box.left) / box.width,
                     clip: getComputedStyle(stage.querySelector('.after')).clipPath}} }})()"""
    )


def test_the_slider_follows_the_mouse(opened):
    before = place(opened)
    assert before["at"] == pytest.approx(50, abs=1)
    opened.drag(before["left"] + before["width"] / 2, before["left"] + 0.2 * before["width"], before["y"])
    after = place(opened)
    assert after["at"] == pytest.approx(20, abs=6)
    assert after["clip"] != before["clip"]


def test_the_slider_follows_a_finger(opened):
    before = place(opened, 1)
    opened.touch(before["left"] + 0.8 * before["width"], before["y"])
    assert place(opened, 1)["at"] == pytest.approx(80, abs=6)


def test_the_slider_follows_the_keyboard(opened):
    opened.run("document.querySelector('.stage input').focus()")
    for _ in range(5):
        opened.press("ArrowRight", 39)
    assert place(opened)["at"] == pytest.approx(55, abs=0.5)
    opened.press("Home", 36)
    assert place(opened)["at"] == pytest.approx(0, abs=0.5)


def test_other_items_and_methods_can_be_chosen(opened):
    viewer = "document.querySelectorAll('.viewer')[1]"
    choose = f"""(which, value) => {{ const select = {viewer}.querySelectorAll('select')[which];
        select.value = [...select.options].find(one => one.textContent === value).value;
        select.dispatchEvent(new Event('change')) }}"""
    captions = f"[...{viewer}.querySelectorAll('.captions span')].map(one => one.textContent)"
    assert opened.run(captions)[0] == "Damaged, Gaussian mixture"
    assert opened.run(captions)[1].startswith("SAWRTRD, ")
    opened.run(f"({choose})(1, 'Original')")
    opened.run(f"({choose})(2, 'TRSVD')")
    opened.run(f"({choose})(0, 'chelsea')")
    left, right = opened.run(captions)
    assert left == "Original, chelsea"
    assert right.startswith("TRSVD, ")
    assert right.endswith(" dB")
    assert opened.problems == []


def test_names_from_files_cannot_break_the_page(paper, images, tmp_path, tab):
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "<b>x & 'y' </script>.png".replace("/", "⁄")).write_bytes((images / "first.png").read_bytes())
    arguments = ("--images", photos, "--out", tmp_path, "--runs", 1, "--sweeps", 2, "--methods", "SAWRTRD")
    assert paper("image-decomposition", *arguments).exit_code == 0
    name = json.loads((tmp_path / "results.jsonl").read_text())["item"]
    tab.problems.clear()
    tab.open(f"file://{tmp_path}/index.html")
    assert tab.run("document.querySelector('select').selectedOptions[0].textContent") == name
    assert tab.run("document.querySelectorAll('b').length") == 0
    assert tab.problems == []
