"""`ringlet paper`, every experiment end to end at toy size."""

import csv
import json
from xml.etree import ElementTree

import pytest
from PIL import Image

from ringlet.experiments.methods import ABLATION, COMPLETIONS, DECOMPOSITIONS

FIELDS = {
    *(
        "experiment",
        "item",
        "content",
        "method",
        "run",
        "settings",
        "noise",
        "observed",
        "clip",
        "psnr",
        "ssim",
        "relative_error",
    ),
    *(
        "seconds",
        "processor_seconds",
        "peak_memory",
        "sweeps",
        "status",
        "versions",
        "machine",
        "budget",
        "trial_seconds",
        "shape",
        "ended",
    ),
}
KEY = ("experiment", "item", "method", "run", "settings")


def records(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def check_files(folder, *stems):
    for stem in stems:
        with Image.open(folder / f"{stem}.png") as picture:
            picture.load()
            assert picture.width > 800
        assert ElementTree.parse(folder / f"{stem}.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file
    page = (folder / "index.html").read_text()
    assert page.count("<section") >= 1
    for word in ("http://", "https://", 'src="/', '<link rel="stylesheet"'):  # nothing from elsewhere
        assert word not in page.replace("http://www.w3.org", "")


def check_records(folder, methods, items, runs=1):
    found = records(folder)
    assert len(found) == len({str([r[name] for name in KEY]) for r in found})
    assert {record["method"] for record in found} == set(methods)
    assert {record["item"] for record in found} == set(items)
    assert {record["run"] for record in found} == set(range(1, runs + 1))
    for record in found:
        assert record["status"] == "ok", record
        assert set(record) == FIELDS
        assert 0 < record["psnr"] < 60
        assert -1 <= record["ssim"] <= 1
        assert record["seconds"] > 0
        assert record["peak_memory"] > 10**7
        assert set(record["versions"]) == {"ringlet", "numpy", "python"}
        assert record["machine"]["cores"] >= 1
    return found


def test_photos_are_decomposed(paper, images, tmp_path):
    methods = ("TRSVD", "SAWRTRD")  # all methods: test_trial
    arguments = ("--out", tmp_path, "--runs", 1, "--sweeps", 5, "--methods", ",".join(methods))
    result = paper("image-decomposition", "--images", images, *arguments)
    assert result.exit_code == 0, result.output
    found = check_records(tmp_path, methods, ["first", "second"])
    assert {record["item"]: record["noise"] for record in found} == {"first": "gmm", "second": "salt-and-pepper"}
    assert {record["observed"] for record in found} == {1.0}
    check_files(tmp_path, "image-decomposition", "image-decomposition-pictures")
    rows = table(tmp_path / "summary.csv")
    assert [row["method"] for row in rows] == list(methods) * 2
    for row in rows:
        (record,) = [r for r in found if (r["item"], r["method"]) == (row["item"], row["method"])]
        assert float(row["psnr"]) == pytest.approx(record["psnr"])
    assert "index.html" in result.stdout
    assert "1/4  image-decomposition  first  TRSVD  run 1  time left: not known yet" in result.stderr
    assert "left" in result.stderr.splitlines()[-2]


def test_photos_are_completed_and_twice_gives_deviations(paper, images, tmp_path):
    methods = "l1-TNN,sawrtrd"
    arguments = ("--images", images, "--out", tmp_path, "--sweeps", 5, "--methods", methods, "--items", "second")
    result = paper("image-completion", *arguments, "--runs", 2, "--json", "--no-pictures")
    assert result.exit_code == 0, result.output
    found = check_records(tmp_path, ["l1-TNN", "SAWRTRD"], ["second"], runs=2)
    assert {record["observed"] for record in found} == {0.3}
    content = json.loads(result.stdout)
    assert content["records"] == 4
    assert [row["method"] for row in content["summary"]] == ["l1-TNN", "SAWRTRD"]
    assert all(row["runs"] == 2 and row["psnr_deviation"] > 0 for row in content["summary"])
    assert str(tmp_path / "index.html") in content["outputs"]
    check_files(tmp_path, "image-completion")


@pytest.mark.parametrize("methods", [("TNTV", "AWRTRD"), pytest.param(COMPLETIONS, marks=pytest.mark.long)])
def test_videos_are_completed(paper, videos, tmp_path, methods):
    arguments = ("--videos", videos, "--out", tmp_path, "--sweeps", 4, "--runs", 1, "--items", "frames")
    result = paper("video-completion", *arguments, "--methods", ",".join(methods))
    assert result.exit_code == 0, result.output
    check_records(tmp_path, methods, ["frames"])
    check_files(tmp_path, "video-completion", "video-completion-pictures")


@pytest.mark.parametrize("methods", [("TRALS", "SAWRTRD"), pytest.param(DECOMPOSITIONS, marks=pytest.mark.long)])
def test_videos_are_decomposed(paper, videos, tmp_path, methods):
    arguments = ("--videos", videos, "--out", tmp_path, "--sweeps", 4, "--runs", 1, "--items", "moving")
    result = paper("video-decomposition", *arguments, "--methods", ",".join(methods), "--no-pictures")
    assert result.exit_code == 0, result.output
    check_records(tmp_path, methods, ["moving"])
    check_files(tmp_path, "video-decomposition")
    assert not (tmp_path / "video-decomposition-pictures.png").exists()
    assert "data:image/webp" not in (tmp_path / "index.html").read_text()
    result = paper("video-decomposition", "--out", tmp_path, "--redraw")
    assert result.exit_code == 0, result.output
    check_files(tmp_path, "video-decomposition-pictures")


@pytest.mark.parametrize("arms", [ABLATION[:3:2], pytest.param(ABLATION, marks=pytest.mark.long)])
def test_the_ablation_runs_its_arms_over_the_sample_sizes(paper, videos, tmp_path, arms):
    arguments = ("--videos", videos, "--out", tmp_path, "--sweeps", 4, "--runs", 1)
    first = ("--samples", "20000", "--methods", ",".join(arms), "--no-pictures")
    for more in (first, ("--samples", "20000,40000", "--methods", arms[0])):
        result = paper("ablation", *arguments, *more)
        assert result.exit_code == 0, result.output
    found = check_records(tmp_path, arms, ["frames"])
    assert len(found) == len(arms) + 1
    # Scaled to 32 pixels. Without a ridge, local scaling needs many more samples than a row of a core has entries: 25.
    assert {record["settings"]["samples"] for record in found} == {89, 178}
    check_files(tmp_path, "ablation", "ablation-pictures")


@pytest.mark.long
def test_growth_is_measured_beside_the_papers(paper, tmp_path):
    result = paper("complexity", "--out", tmp_path, "--methods", "SAWRTRD,FGMC", "--items", "J,N")
    assert result.exit_code == 0, result.output
    found = records(tmp_path)
    assert {(record["method"], record["item"]) for record in found} == {
        ("SAWRTRD", "J"),
        ("SAWRTRD", "N"),
        ("FGMC", "N"),
    }
    assert all(record["status"] == "ok" for record in found)
    rows = table(tmp_path / "complexity.csv")
    assert len(rows) == 3
    for row in rows:
        assert float(row["time_low"]) <= float(row["time_slope"]) <= float(row["time_high"])
    samples = next(row for row in rows if row["axis"] == "J")
    assert samples["formula"] == "N I J r^2 + N^2 I r^4 + N r^6"
    assert samples["paper"] == "1"
    assert 0.2 < float(samples["time_slope"]) < 1.6
    check_files(tmp_path, "complexity", "complexity-fgmc")
    assert "paper here" in result.stdout


def test_all_runs_what_every_experiment_has_of_the_methods(paper, images, videos, tmp_path):
    arguments = ("--images", images, "--videos", videos, "--out", tmp_path, "--runs", 1, "--sweeps", 3)
    arguments += ("--no-pictures",)
    result = paper("all", *arguments, "--methods", "AWRTRD,TRSVD", "--items", "first")
    assert result.exit_code == 0, result.output
    assert {(record["experiment"], record["item"], record["method"]) for record in records(tmp_path)} == {
        ("image-decomposition", "first", "TRSVD"),
        ("image-decomposition", "first", "AWRTRD"),
        ("image-completion", "first", "AWRTRD"),
    }
    assert (tmp_path / "index.html").read_text().count("<section") == 2
    # Nothing is left to do: the second time nothing runs, and everything is drawn.
    before = (tmp_path / "results.jsonl").read_bytes()
    again = paper("all", *arguments, "--methods", "AWRTRD,TRSVD", "--items", "first")
    assert again.exit_code == 0
    assert again.stderr == ""
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_out_of_memory_is_reported_and_drawn_and_tried_again_with_more(paper, images, tmp_path):
    arguments = ("image-decomposition", "--images", images, "--out", tmp_path, "--runs", 1, "--sweeps", 3)
    arguments += ("--methods", "SAWRTRD,TRSVD-R", "--items", "first", "--no-pictures")
    result = paper(*arguments, "--budget", "150.1MB")
    assert result.exit_code == 0, result.output
    statuses = {(record["item"], record["method"]): record["status"] for record in records(tmp_path)}
    assert statuses["first", "SAWRTRD"].startswith("out of memory: needs 200 MB")
    assert "out of memory: needs" in " ".join(result.stdout.split())
    assert "out of memory: needs" in (tmp_path / "index.html").read_text()
    check_files(tmp_path, "image-decomposition")
    assert paper(*arguments, "--budget", "1GB").exit_code == 0
    assert [record["status"] for record in records(tmp_path)][-2:] == ["ok", "ok"]
    rows = table(tmp_path / "summary.csv")
    assert {row["status"] for row in rows} == {"ok"}


@pytest.mark.long
def test_only_runs_with_the_settings_asked_for_are_averaged(paper, images, tmp_path):
    arguments = (
        "image-decomposition",
        "--images",
        images,
        "--out",
        tmp_path,
        "--methods",
        "SAWRTRD",
        "--items",
        "first",
        "--no-pictures",
    )

    def score(*more):
        result = paper(*arguments, *more)
        assert result.exit_code == 0, result.output
        (row,) = table(tmp_path / "summary.csv")
        return row["runs"], row["sweeps"], row["psnr"]

    short = score("--runs", 2, "--sweeps", 1)
    assert short[:2] == ("2", "1")
    assert score("--runs", 1, "--sweeps", 3)[:2] == ("1", "3")
    assert "At most 3 sweeps" in (tmp_path / "index.html").read_text()
    before = (tmp_path / "results.jsonl").read_bytes()
    assert score("--runs", 2, "--sweeps", 1) == short
    assert score("--runs", 1, "--sweeps", 1, "--clip")[0] == "1"
    assert (tmp_path / "results.jsonl").read_bytes().startswith(before)


def test_what_the_ablation_could_not_run_is_told(paper, videos, tmp_path):
    arguments = ("--out", tmp_path, "--runs", 1, "--samples", 50, "--methods", ",".join(list(ABLATION)[:2]))
    result = paper("ablation", "--videos", videos, *arguments, "--budget", "160MB")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "index.html").read_text().count("out of memory: needs") == 2
    assert "out of memory" in (tmp_path / "ablation.svg").read_text()


@pytest.mark.parametrize(
    ("line", "words"),
    [('{"a": 1}', "line 1 has no 'experiment'"), ('{"method": "PCA"}', "line 1 has no 'experiment'")],
)
@pytest.mark.parametrize("more", [(), ("--redraw",)])
def test_lines_that_are_no_records_are_refused(paper, images, tmp_path, line, words, more):
    (tmp_path / "results.jsonl").write_text(line + "\n")
    result = paper("image-decomposition", "--images", images, "--out", tmp_path, *more)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_mistakes_are_told_before_any_work(paper, images, videos, tmp_path):
    (tmp_path / "empty").mkdir()
    out = ("--out", tmp_path / "out")
    mistakes = {
        ("image-decomposition", "--images", tmp_path / "empty"): "holds no photo",
        ("video-completion", "--videos", tmp_path / "empty"): "holds no video",
        ("image-decomposition", "--images", images, "--methods", "TNTV"): "allowed are TRSVD, TRALS, TRSVD-R",
        ("image-decomposition", "--images", images, "--items", "third"): "allowed are first, second",
        ("all", "--images", images, "--methods", "PCA"): "--methods PCA is not known",
        ("all", "--images", images, "--videos", videos, "--items", "third"): "--items third is not known",
        ("image-decomposition", "--images", tmp_path / "none"): "is not a folder",
        ("complexity", "--methods", "TRSVD", "--items", "J"): "complexity has no --items J of --methods TRSVD",
        ("all", "--methods", "FGMC", "--items", "coffee"): "no experiment has both --methods FGMC and --items coffee",
        ("complexity", "--items", "Q"): "its items are the sizes I, r, N, J",
        ("ablation", "--redraw"): "nothing to draw",
        ("image-completion", "--budget", "lots"): "not an amount of memory",
        ("image-completion", "--sweeps", "²"): "neither a positive number nor the word own",
        ("image-completion", "--sweeps", "many"): "neither a positive number nor the word own",
        ("ablation", "--samples", "0"): "positive",
        ("tables",): "is not one of",
    }
    for arguments, words in mistakes.items():
        result = paper(*arguments, *out)
        assert result.exit_code == 2, arguments
        assert words in result.stderr.replace("\n", " "), result.stderr
    assert not (tmp_path / "out").exists()


def test_without_data_everything_needed_is_built_in(paper, tmp_path):
    arguments = ("--out", tmp_path, "--runs", 1, "--sweeps", 1, "--methods", "AWRTRD", "--no-pictures")
    for experiment, item in (("image-decomposition", "coffee"), ("video-completion", "discs")):
        result = paper(experiment, *arguments, "--items", item)
        assert result.exit_code == 0, result.output
    check_records(tmp_path, ["AWRTRD"], ["coffee", "discs"])
