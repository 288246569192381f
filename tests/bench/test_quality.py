"""`ringlet bench quality`: the damage is what it says, the summary adds up, and a run can be stopped."""

import itertools
import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from ringlet.bench.quality.cases import QualityCase, cases_of, chosen_cases, half_of, rival_cases, with_seeds
from ringlet.bench.quality.grid import climb, grid_of, ring_numbers
from ringlet.bench.quality.rival_samples import rival_samples
from ringlet.bench.quality.rival_table import duels_of, markdown, summarise_duels
from ringlet.bench.quality.rivals import FINISHED, PEERS
from ringlet.bench.quality.samples import builtin_samples, samples_in
from ringlet.bench.quality.summary import outcomes_of, summarise
from ringlet.cli.group import group
from ringlet.errors import ArgumentError

SHAPE = (24, 20, 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small photo, a short video of frames, and a temperature tensor with real gaps."""
    root = tmp_path_factory.mktemp("data")
    for name in ("photos", "tensors", "videos/clip"):
        (root / name).mkdir(parents=True)
    i, j, k = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    kelvin = (280 + 10 * np.sin(i / 5) * np.cos(j / 4) + k).astype(np.float32)
    observed = np.ones(SHAPE, bool)
    observed[5:9, 3:8] = False
    np.savez(root / "tensors/sea.npz", tensor=np.asfortranarray(np.where(observed, kelvin, -999.0)), observed=observed)
    pixels = np.stack([128 + 90 * np.sin(i[..., 0] / 6 + c) * np.cos(j[..., 0] / 5) for c in range(3)], axis=-1)
    Image.fromarray(pixels.astype(np.uint8)).save(root / "photos/waves.png")
    for frame in range(3):
        Image.fromarray(np.roll(pixels, frame, 0).astype(np.uint8)).save(root / f"videos/clip/{frame}.png")
    return root


def case_of(folder, name):
    return chosen_cases(cases_of(samples_in(folder)), (name,))[0]


def quality(*arguments):
    return CliRunner().invoke(group, ["bench", "quality", *map(str, arguments)])


def test_a_folder_is_read_as_photos_videos_and_tensors(folder):
    found = {sample.name: sample.kind for sample in samples_in(folder)}
    assert found == {"photos/waves": "photo", "tensors/sea": "tensor", "videos/clip": "video"}
    names = [case.name for case in cases_of(samples_in(folder))]
    assert len(set(names)) == 3 * 15
    assert {"photos/waves-m70-gmm", "tensors/sea-m0-o0", "videos/clip-m90-o40"} <= set(names)


def test_built_in_photos_need_no_folder():
    names = {sample.name for sample in builtin_samples()}
    assert names >= {"skimage/astronaut", "skimage/motorcycle", "grey/camera", "grey/gravel", "generated/discs"}
    small = {sample.name: sample for sample in builtin_samples(32)}
    assert small["grey/moon@32"].truth().values.shape == (32, 32)
    assert small["skimage/coffee@32"].truth().values.shape == (32, 48, 3)


def test_so_much_is_hidden_and_ruined_as_the_name_says(folder):
    damaged = case_of(folder, "photos/waves-m30-o40").damaged()
    truth = damaged.truth.values
    seen = ~np.isnan(damaged.data)
    assert seen.sum() == round(0.7 * truth.size)
    changed = damaged.data[seen] != truth[seen]
    assert set(np.unique(damaged.data[seen][changed])) <= {0.0, 1.0}
    ruined = np.isin(damaged.data[seen], (0.0, 1.0)).sum()
    assert int(0.4 * seen.sum()) <= ruined <= int(0.4 * seen.sum()) + np.isin(truth, (0.0, 1.0)).sum()
    again = case_of(folder, "photos/waves-m30-o40").damaged().data
    assert damaged.data.tobytes() == again.tobytes()


def test_pixels_and_blocks_are_missing_as_a_whole(folder):
    pixels = np.isnan(case_of(folder, "videos/clip-p70-o20").damaged().data)
    np.testing.assert_array_equal(pixels, np.broadcast_to(pixels[:, :, :1], pixels.shape))
    assert pixels.mean() == pytest.approx(0.7, abs=1e-3)
    assert (pixels[..., 0] != pixels[..., 1]).any()  # every frame has its own
    blocks = np.isnan(case_of(folder, "photos/waves-b20-o20").damaged().data)
    assert blocks.shape == (24, 20, 3)
    for top, left in itertools.product(range(0, 24, 8), range(0, 20, 8)):
        assert len(np.unique(blocks[top : top + 8, left : left + 8])) == 1
    assert len(np.unique(blocks)) == 2


def test_gaps_stay_gaps_and_are_never_scored(folder):
    case = case_of(folder, "tensors/sea-m70-o20")
    damaged = case.damaged()
    gap = np.zeros(SHAPE, bool)
    gap[5:9, 3:8] = True
    assert np.isnan(damaged.data[gap]).all()
    seen = ~np.isnan(damaged.data)
    low, high = damaged.truth.values[~gap].min(), damaged.truth.values[~gap].max()
    assert low - 1e-3 <= damaged.data[seen].min()
    assert damaged.data[seen].max() <= high + 1e-3
    assert (np.abs(damaged.data - damaged.truth.values)[seen] > 1e-3).mean() == pytest.approx(0.2, abs=0.01)
    estimate = damaged.truth.values.astype(np.float64) + 2.0
    estimate[gap] = 1e9
    expected = 20 * np.log10((float(high) - float(low)) / 2.0)
    assert damaged.score(estimate) == pytest.approx(expected, abs=1e-3)


def test_undamaged_data_keep_their_units(folder):
    damaged = case_of(folder, "tensors/sea-m0-o0").damaged()
    seen = ~np.isnan(damaged.data)
    np.testing.assert_allclose(damaged.data[seen], damaged.truth.values[seen], rtol=1e-6)


def test_the_climb_finds_the_top_of_a_hill_without_looking_everywhere():
    axes = (range(9), range(5), range(4))
    for top in itertools.product(*axes):
        tried = []

        def height(point, top=top, tried=tried):
            tried.append(point)
            return -sum(abs(a - b) for a, b in zip(point, top, strict=True))

        assert climb(axes, height) == (top, 0)
        assert len(tried) == len(set(tried)) < 30


def test_rings_on_the_grid_are_a_fifth_of_the_data_at_most():
    for shape in ((1356, 2040, 3), (64, 80, 3), (30, 77, 18), (480, 854, 3, 20)):
        ranks, _, _ = grid_of(shape)
        assert len(ranks) > 2
        assert all(5 * ring_numbers(shape, rank) <= np.prod(shape) for rank in ranks)


def records(case, group, like_the_papers=True, **scores):
    facts = {"case": case, "group": group, "like_the_papers": like_the_papers, "smaller": 6.0, "smaller_than_file": 1.5}
    return [facts | {"rival": name, "psnr": psnr, "seconds": seconds} for name, (psnr, seconds) in scores.items()]


def test_the_summary_adds_up():
    peers = dict.fromkeys(PEERS, (20.0, 4.0))
    found = summarise(
        outcomes_of(
            [
                *records("a", "x", auto=(30.0, 4.0), plain=(28.0, 1.0), grid=(30.4, 9.0), **{"same-rank": (9.0, 2.0)}),
                *records("a", "x", **peers),
                *records("b", "x", auto=(25.0, 9.0), plain=(26.0, 1.0), grid=(26.0, 9.0), **{"same-rank": (9.0, 3.0)}),
                *records("b", "x", **(peers | {"TNTV": (25.5, 9.0)})),
                *records("c", "y", like_the_papers=False, auto=(20.0, 1.0), plain=(None, 1.0)),
                *records("d", "y", plain=(20.0, 1.0)),  # not yet
            ]
        )
    )
    first, second, together = found
    assert (first.group, second.group, together.group) == ("x", "y", "all")
    assert (first.cases, second.cases, together.cases) == (2, 1, 3)
    assert first.close_to_grid == 0.5
    assert first.worst_behind_grid == pytest.approx(1.0)
    assert (first.mean_gain, first.worst_gain) == (0.5, -1.0)
    assert (first.papers_mean_gain, second.papers_mean_gain) == (0.5, None)
    assert (first.above_peers, second.above_peers) == (0.5, None)
    assert (first.median_cost, first.worst_cost) == (2.5, 3.0)
    assert (together.least_smaller, together.least_smaller_than_file) == (6.0, 1.5)


@pytest.mark.parametrize("kinds", [("photos",), pytest.param(("photos", "tensors"), marks=pytest.mark.long)])
def test_a_run_measures_everyone_on_every_case_and_goes_on_where_it_stopped(folder, tmp_path, kinds):
    out = tmp_path / "q.jsonl"
    everyone = [word for name in ("plain", "peers", "grid", "finished-peers") for word in ("--against", name)]
    cases = [word for kind in kinds for word in ("--cases", f"{kind}/*-m70-o20")]
    wanted = ("--data", folder, *cases, "--out", out, "--budget-minutes", 4)
    first = quality(*wanted, *everyone, "--json")
    assert first.exit_code == 0, first.output
    content = json.loads(first.stdout)
    names = {"photos": "photos/waves-m70-o20", "tensors": "tensors/sea-m70-o20"}
    assert {case["case"] for case in content["cases"]} == {names[kind] for kind in kinds}
    for case in content["cases"]:
        assert set(case["peers"]) == set(PEERS)
        assert set(case["finished"]) == set(FINISHED)
        assert all(np.isfinite(case[name]) for name in ("auto", "grid", "plain", "cost", "smaller"))
    assert [summary["group"] for summary in content["summary"]] == [*kinds, *["all"] * (len(kinds) > 1)]
    lines = out.read_text().splitlines()
    assert len(lines) == len(kinds) * 14
    # The plug was pulled while the last line but one was written: only what is lost is measured again.
    out.write_text("\n".join(lines[:-2]) + "\n" + lines[-2][:20])
    second = quality(*wanted, *everyone)
    assert second.exit_code == 0, second.output
    assert len(second.stderr.splitlines()) == 2
    assert out.read_text().splitlines()[:-2] == lines[:-2]
    assert "near     share of cases" in second.stdout


def test_nothing_is_begun_when_the_time_is_up(folder):
    result = quality("--data", folder, "--budget-minutes", 1e-9)
    assert result.exit_code == 0, result.output
    assert "0 of 45 cases" in result.stdout


def test_wrong_input_is_refused_in_one_line(folder, tmp_path):
    for arguments, message in (
        (("--cases", "nonsense*"), "matches none of the cases"),
        (("--data", tmp_path), "holds no folder with data"),
        (("--data", tmp_path / "no"), "is not a folder"),
    ):
        result = quality(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_a_tensor_of_which_nothing_is_known_is_refused(tmp_path):
    (tmp_path / "x").mkdir()
    np.save(tmp_path / "x/empty.npy", np.full((4, 4, 3), np.nan))
    (sample,) = samples_in(tmp_path)
    with pytest.raises(ArgumentError, match="no known entry"):
        QualityCase(sample, 0, 0).damaged()


def test_the_other_bench_is_still_there():
    assert "--alone" in CliRunner().invoke(group, ["bench", "--help"]).output
    assert "--budget-minutes" in quality("--help").output


def test_rivals_have_cases_of_their_own_in_two_halves(folder):
    cases = with_seeds(rival_cases(rival_samples(folder)), 2)
    names = {case.name for case in cases}
    assert {
        "full/coffee-m0-o20",
        "full/china-m90-r10-s2",
        "generated/discs-m50-gmm",
        "tensors-part/sea-m70-o20",
    } <= names
    assert {"full/coffee-p70-o0", "photos-part/waves-b20-o10-s2"} <= names
    assert not any("tensors-part/sea-b20" in name for name in names)
    assert len(names) == len(cases) == ((7 + 2 + 3) * 4 * 3 + (7 + 2 + 2) * 2 * 2) * 2
    tuned = [case for case in cases if half_of(case.kind_of_damage) == "tuned"]
    assert 0.35 < len(tuned) / len(cases) < 0.65
    by_damage = {}
    for case in cases:
        by_damage.setdefault(case.kind_of_damage, set()).add(half_of(case.kind_of_damage))
    assert all(len(halves) == 1 for halves in by_damage.values())  # seeds stay together


def test_another_seed_is_another_draw_of_the_same_damage(folder):
    first, second = (
        next(case for case in with_seeds(rival_cases(rival_samples(folder)), 2) if case.name == name).damaged()
        for name in ("photos-part/waves-m50-r10", "photos-part/waves-m50-r10-s2")
    )
    for damaged in (first, second):
        seen = ~np.isnan(damaged.data)
        assert seen.sum() == round(0.5 * damaged.data.size)
        wrong = damaged.data[seen] != damaged.truth.values[seen]
        assert wrong.sum() == int(0.1 * seen.sum())
        assert len(np.unique(damaged.data[seen][wrong])) > 50  # random values
    assert (np.isnan(first.data) != np.isnan(second.data)).any()


def test_parts_of_large_data_are_taken_from_the_middle(tmp_path):
    (tmp_path / "t").mkdir()
    ramp = np.arange(130 * 130 * 130, dtype=np.float32).reshape(130, 130, 130)
    np.save(tmp_path / "t/big.npy", ramp)
    truth = rival_samples(tmp_path)[-1].truth()
    np.testing.assert_array_equal(truth.values, ramp[15:115, 15:115, 15:115])
    assert (truth.low, truth.high) == (truth.values.min(), truth.values.max())


def rival_records(damage, noise, seed=1, kind="photo", **scores):
    facts = {"damage": damage, "case": f"{damage}-s{seed}", "noise": noise, "seed": seed, "kind": kind, "missing": 70}
    return [facts | {"rival": name.replace("_", "-"), "psnr": psnr, "seconds": 2.0} for name, psnr in scores.items()]


def test_the_table_of_rivals_adds_up_and_says_where_we_lose():
    found = duels_of(
        [
            *rival_records("a-m70-o20", "salt-and-pepper", auto=24.0, restore=30.0, gaussian=28.0, cv2_inpaint=29.0),
            *rival_records("a-m70-o20", "salt-and-pepper", 2, auto=26.0, restore=32.0, gaussian=29.0, cv2_inpaint=28.0),
            *rival_records("b-m70-o20", "salt-and-pepper", auto=24.0, restore=24.0, gaussian=26.5, bm3d=30.0),
            *rival_records("c-m70-gmm", "gmm", kind="tensor", auto=40.0, restore=40.0, pca=35.0, masked_cp=None),
            *rival_records("d-m70-gmm", "gmm", auto=20.0, restore=20.0),  # no rival yet
            {"case": "old", "rival": "auto", "psnr": 20.0},  # of another comparison
        ]
    )
    assert [duel.case for duel in found] == ["a-m70-o20", "b-m70-o20", "c-m70-gmm"]
    first, second, third = found
    assert first.seeds == 2
    assert (first.best_rival, first.lead) == ("gaussian", pytest.approx(2.5))
    assert (second.best_rival, second.lead) == ("gaussian", pytest.approx(-2.5))  # BM3D is not a simple rival
    assert (third.best_rival, third.lead) == ("pca", pytest.approx(5.0))
    photos, tensors, together = summarise_duels(found)
    assert (photos.cases, photos.ahead, photos.mean_lead, photos.least_lead) == (2, 0.5, 0.0, -2.5)
    assert (tensors.kind, tensors.ahead) == ("tensor", 1.0)
    assert together.cases == 3
    text = markdown(found, [photos, tensors, together])
    assert "| b-m70-o20 | -2.5 | 24.0 (2 s) | gaussian 26.5 (2 s) |" in text
    assert "| b-m70-o20 | 24.0 (2 s) | 24.0 (2 s) | 26.5 (2 s) | – | **30.0** (2 s) |" in text
    assert "Nowhere in these cases." in markdown([first], summarise_duels([first]))


def test_rivals_are_measured_recorded_and_tabulated(folder, tmp_path):
    for name in ("cv2", "pywt", "tensorly", "sklearn", "skimage"):
        pytest.importorskip(name)
    out, table = tmp_path / "r.jsonl", tmp_path / "t.md"
    wanted = ("--data", folder, "--against", "rivals", "--out", out, "--table", table)
    only = (
        "--only",
        "photos-part/waves-m70-o20",
        "--only",
        "tensors-part/sea-m70-o20",
        "--only",
        "videos-part/*-m50-r10",
    )
    first = quality(*wanted, *only, "--json")
    assert first.exit_code == 0, first.output
    cases = {case["case"]: case for case in json.loads(first.stdout)["cases"]}
    assert set(cases["photos-part/waves-m70-o20"]["rivals"]) >= {"gaussian", "cv2-inpaint", "drop-ends-linear"}
    assert set(cases["tensors-part/sea-m70-o20"]["rivals"]) >= {"pca", "masked-cp", "iterative-imputer", "linear-modes"}
    assert set(cases["videos-part/clip-m50-r10"]["rivals"]) >= {"median-over-time", "robust-pca"}
    assert all(np.isfinite(case["restored"]["psnr"]) and np.isfinite(case["lead"]) for case in cases.values())
    assert "### Tensors" in table.read_text(encoding="utf-8")
    lines = out.read_text().splitlines()
    again = quality(*wanted, *only, "--budget-minutes", 0)
    assert again.exit_code == 0, again.output
    assert out.read_text().splitlines() == lines
    assert "3 of 3 cases" in again.stdout
    half = {half: quality(*wanted, "--half", half, "--budget-minutes", 0).stdout for half in ("tuned", "other")}
    counts = [int(text.split(" of ")[1].split()[0]) for text in half.values()]
    assert sum(counts) == (7 + 2 + 3) * 12 + (7 + 2 + 2) * 4
    assert quality(*wanted, *only, "--cases", "full/*-m0-*", "--again").exit_code == 0
    added = [json.loads(line) for line in out.read_text().splitlines()[len(lines) :]]
    assert sorted(one["rival"] for one in added) == 3 * ["auto"] + 3 * ["restore"]  # only of cases with records


def test_options_that_do_not_fit_together_are_refused(folder, tmp_path):
    for arguments in (
        ("--table", tmp_path / "t.md"),
        ("--against", "rivals", "--without", "ridge"),
        ("--again",),
        ("--data", folder, "--short-side", 99),
    ):
        result = quality(*arguments)
        assert result.exit_code == 2
        assert "--against rivals" in result.stderr
