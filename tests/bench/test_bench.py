"""The bench runs, and its yardsticks do the same work as the product. Speed itself is never asserted."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from ringlet.bench.cases import CASES
from ringlet.bench.extension import measure_extension, moving_video
from ringlet.bench.gram import measure_gram
from ringlet.bench.naive import naive_sweep
from ringlet.bench.peers import measure_peers
from ringlet.bench.quality_time import competitors, measure_quality_time
from ringlet.bench.startup import measure_startup
from ringlet.cli.group import group
from ringlet.solvers.sawrtrd.start import random_start


def test_bench_reports_every_ratio_and_draws_the_parts(tmp_path):
    picture = tmp_path / "parts.png"
    result = CliRunner().invoke(group, ["bench", "toy", "--sweeps", "2", "--json", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    case = json.loads(result.stdout)["cases"][0]
    for ratio in ("over_limit", "naive_over_ours", "peer_over_ours", "peer_sampled_over_ours", "peak_over_data"):
        assert isinstance(case[ratio], float)
    assert len(case["modes"]) == len(case["mode_limits"]) == 3
    with Image.open(picture) as image:
        assert image.width > 600


def test_bench_prints_a_table():
    result = CliRunner().invoke(group, ["bench", "toy", "--sweeps", "1", "--alone"])
    assert result.exit_code == 0, result.output
    assert "toy" in result.stdout
    assert "limit" in result.stdout


def test_the_naive_sweep_fits_the_data_too():
    case = CASES["toy"]
    x, mask = case.data()
    cores = random_start(case.shape, case.rank, 0.5, np.dtype("f4"), seed=0)

    def error():
        model = np.einsum("aib,bjc,cka->ijk", *cores)
        return np.median(np.abs(model - x / 255))

    before = error()
    for _ in range(5):
        naive_sweep(case, x, mask, cores)
    assert error() < 0.5 * before


def test_gram_and_start_up_are_reported(monkeypatch):
    for name, measure in (("measure_gram", measure_gram), ("measure_startup", measure_startup)):
        monkeypatch.setattr(f"ringlet.cli.commands.bench.{name}", partial(measure, repeats=1))
    result = CliRunner().invoke(group, ["bench", "gram", "start-up", "--json"])
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["cases"] == []
    assert len(content["gram"]["orders"]) == len(content["gram"]["sweep"]) == 10
    assert isinstance(content["start-up"]["import_ringlet"], float)


def test_peers_are_timed_on_the_same_job(monkeypatch):
    quick = partial(measure_peers, cases=(CASES["toy"],), seconds=0.0)
    monkeypatch.setattr("ringlet.cli.commands.bench.measure_peers", quick)
    result = CliRunner().invoke(group, ["bench", "peers", "--sweeps", "2", "--json"])
    assert result.exit_code == 0, result.output
    peers = json.loads(result.stdout)["peers"]
    assert [peer["method"] for peer in peers] == ["TRALS", "SampledTRALS"]
    assert all(0 < peer["our_error"] < 1 and 0 < peer["peer_error"] < 1 and peer["ours"] > 0 for peer in peers)
    table = CliRunner().invoke(group, ["bench", "peers", "--sweeps", "1"])
    assert "SampledTRALS" in table.stdout


def test_a_stream_is_measured_against_a_fit_of_all_frames():
    whole, sparse = measure_extension(moving_video((24, 30, 3, 26)), rank=(6, 6, 3, 6), first=18, sweeps=20)
    assert (whole.observed, sparse.observed) == (1.0, 0.3)
    for result in (whole, sparse):
        assert result.appended > result.whole - 0.7
        assert result.as_dict()["refit_over_frame"] > 0


def test_bench_extend_takes_a_video_and_refuses_short_ones(tmp_path):
    video, short = tmp_path / "video.npy", tmp_path / "short.npy"
    np.save(video, moving_video((10, 12, 3, 32)))
    np.save(short, moving_video((10, 12, 3, 30)))
    result = CliRunner().invoke(group, ["bench", "extend", "--data", str(video), "--json"])
    assert result.exit_code == 0, result.output
    assert {"below_whole", "refit_over_frame", "late_over_early"} < set(json.loads(result.stdout)["extend"][0])
    refused = CliRunner().invoke(group, ["bench", "extend", "--data", str(short)])
    assert refused.exit_code == 2
    assert "more than 30 frames" in refused.output


def test_solvers_and_another_tree_take_turns_on_the_same_data():
    checkout = Path(__file__).parents[2]  # of the installed package, which may be a wheel
    chosen = competitors(["L1TNN"], [checkout], samples=200, sweeps=2)
    reported = []
    curves = measure_quality_time(
        moving_video((24, 32, 3, 8)), (4, 4, 3, 3), chosen, report=lambda curve: reported.append(curve.name)
    )
    assert reported[:3] == [one.name for one in chosen]
    other, this, _ = curves
    assert other.psnr == this.psnr  # the same sources
    for curve in curves:
        assert len(curve.psnr) == len(curve.wall) == 2
        assert curve.processor[0] < curve.processor[1]
        assert curve.peak > 10_000_000
    assert this.seconds_to(this.psnr[0]) == (this.processor[0], this.wall[0])
    assert this.seconds_to(100.0) is None


def test_tensorly_is_one_of_the_competitors():
    pytest.importorskip("tensorly")
    chosen = competitors(["TensorLy"], [], samples=200, sweeps=2)
    curve = measure_quality_time(moving_video((24, 32, 3, 8)), (4, 4, 3, 3), chosen, observed=0.8)[1]
    assert curve.name == "TensorLy, sampled"
    assert len(curve.psnr) == 3  # its start, too
    assert curve.psnr[-1] > max(curve.psnr[0], 5.0)


def test_time_to_quality_is_printed_and_drawn(tmp_path):
    photo, picture = tmp_path / "x.png", tmp_path / "curves.png"
    Image.fromarray(moving_video((24, 32, 3, 1))[..., 0]).save(photo)
    given = ["--data", str(photo), "--crop", "20,20", "--rank", "3,3,3", "--sweeps", "1", "--picture", str(picture)]
    result = CliRunner(env={"COLUMNS": "120"}).invoke(group, ["bench", "quality-time", *given])
    assert result.exit_code == 0, result.output
    assert "exact solve" in result.stdout
    with Image.open(picture) as image:
        assert image.width > 600
    result = CliRunner().invoke(group, ["bench", "quality-time", "--rank", "3,x"])
    assert "whole numbers" in result.output
