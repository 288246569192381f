"""What is drawn from results.jsonl, whatever order, scores and earlier drawings there are."""

import json
from math import inf, nan

import pytest

from ringlet.experiments.catalogue import EXPERIMENTS, TrialOptions, trials
from ringlet.experiments.figures import _mark_noises
from ringlet.experiments.items import Item
from ringlet.experiments.outcome import draw_outcome
from ringlet.experiments.summary import summarise
from ringlet.report.style import new_figure

FACTS = {
    "status": "ok",
    "ssim": 0.7,
    "relative_error": 0.1,
    "sweeps": 12,
    "seconds": 2.0,
    "processor_seconds": 3.0,
    "peak_memory": 10**9,
    "versions": {"ringlet": "0.1.0", "numpy": "2.0", "python": "3.11"},
    "machine": {"cpu": "a processor", "cores": 2, "system": "Linux"},
}


def records(names="abcd", method="SAWRTRD", psnr=25.0, clip=False):
    items = [Item(name, "photo", None, 600) for name in names]
    options = TrialOptions(runs=1, methods=(method,), clip=clip)
    return [one.identity | FACTS | {"psnr": psnr} for one in trials(EXPERIMENTS["image-decomposition"], items, options)]


def test_items_of_a_noise_stand_together_whatever_was_run_first():
    a, b, c, d = records()
    rows = summarise([d, a, c, b])
    assert [(row.item, row.noise) for row in rows] == [
        ("a", "gmm"),
        ("b", "gmm"),
        ("d", "salt-and-pepper"),
        ("c", "salt-and-pepper"),
    ]
    axes = new_figure(4, 3).subplots()
    _mark_noises(axes, [row.noise for row in rows])
    assert [text.get_position()[0] for text in axes.texts] == [0.5, 2.5]


def test_runs_with_another_noise_than_the_last_are_left_out():
    old, *_ = records()
    new = {**old, "noise": "salt-and-pepper", "psnr": 30.0}
    (row,) = summarise([old, {**old, "run": 2}, new])
    assert (row.noise, row.runs, row.psnr) == ("salt-and-pepper", 1, 30.0)


@pytest.mark.parametrize("score", [inf, nan])
def test_scores_that_are_no_numbers_do_not_end_the_drawing(tmp_path, score):
    written = draw_outcome([*records("a", psnr=score), *records("a", method="TRSVD")], tmp_path)
    assert {path.suffix for path in written} >= {".png", ".html"}
    assert all(path.stat().st_size > 0 for path in written)


def test_pictures_drawn_before_are_taken_away_where_none_are_wanted(tmp_path):
    stale = [tmp_path / f"image-decomposition-pictures.{suffix}" for suffix in ("png", "svg")]
    for path in stale:
        path.write_bytes(b"a picture that may not be published")
    written = draw_outcome(records(), tmp_path, pictures=False)
    assert written
    assert not any(path.exists() for path in stale)


@pytest.mark.parametrize(
    ("clips", "said"),
    [
        ((False,), "estimates are not clipped"),
        ((True,), "; estimates are clipped"),
        ((False, True), "some estimates are"),
    ],
)
def test_the_page_says_what_was_clipped(tmp_path, clips, said):
    lines = [line for name, clip in zip("ab", clips, strict=False) for line in records(name, clip=clip)]
    draw_outcome(json.loads(json.dumps(lines)), tmp_path)
    assert said in (tmp_path / "index.html").read_text()
