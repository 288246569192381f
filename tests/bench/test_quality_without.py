"""`ringlet bench quality --without`: ideas are left out, one at a time, and their worth adds up."""

import json
from dataclasses import fields

import numpy as np
from click.testing import CliRunner

from ringlet.api import decompose
from ringlet.bench.quality.cases import half_of
from ringlet.bench.quality.ideas import IDEAS, request_without
from ringlet.bench.quality.worth import halves_of, worths_of
from ringlet.cli.group import group
from ringlet.request import FitRequest
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import as_source

TUNED, OTHER = (next(name for name in map(str, range(99)) if half_of(name) == half) for half in ("tuned", "other"))


def quality(*arguments):
    return CliRunner().invoke(group, ["bench", "quality", *map(str, arguments)])


def records(damage, seed, **scores):
    facts = {"damage": damage, "case": f"{damage}-s{seed}", "seed": seed}
    return [facts | {"rival": name.replace("_", "-"), "psnr": psnr} for name, psnr in scores.items()]


MEASURED = [
    *records(TUNED, 1, auto=30.0, plain=28.0, without_ridge=28.0, without_judgement=30.5),
    *records(TUNED, 2, auto=31.0, plain=28.0, without_ridge=30.0),
    *records(OTHER, 1, auto=20.0, grid=20.5, without_ridge=20.25, without_judgement=None),
    *records("no fit", 1, auto=None, without_ridge=20.0),
]


def test_worth_is_what_is_lost_over_the_seeds_that_both_have():
    judgement, ridge = worths_of(MEASURED)
    assert (judgement.idea, judgement.cases, judgement.tuned, judgement.other) == ("judgement", 1, -0.5, None)
    assert (judgement.mean, judgement.worst, judgement.rescued) == (-0.5, -0.5, 0)
    assert (ridge.idea, ridge.cases, ridge.tuned, ridge.other) == ("ridge", 2, 1.5, -0.25)
    assert (ridge.mean, ridge.worst, ridge.rescued) == (0.625, -0.25, 1)


def test_halves_stand_side_by_side():
    tuned, other = halves_of(MEASURED)
    assert (tuned.half, tuned.cases, tuned.mean, tuned.gain, tuned.behind_grid) == ("tuned", 1, 30.5, 2.5, None)
    assert (tuned.mean_spread, tuned.largest_spread) == (1.0, 1.0)
    assert (other.half, other.cases, other.mean, other.gain, other.behind_grid) == ("other", 1, 20.0, None, 0.5)
    assert other.mean_spread is None


def test_every_switch_has_a_name_and_turns_off_nothing_else():
    usual, switches = TuningPolicy(), {field.name for field in fields(TuningPolicy) if field.type is bool}
    assert {"hole_guides", "coarse_start", "tunes_width", "chooses_least_squares"} <= switches
    for idea in IDEAS:
        request = request_without(idea, 3)
        changed = {
            field.name for field in fields(usual) if getattr(usual, field.name) != getattr(request.policy, field.name)
        }
        assert changed == ({idea.replace("-", "_")} & switches)
        assert bool(changed) != bool(request.fields)
        assert request.seed == 3


def test_the_rest_is_the_automatic_fit():
    x = np.add.outer(np.sin(np.arange(20) / 4), np.arange(15) / 9)[..., None] * np.array([1.0, 0.5, 2.0])
    x[::4, ::3] = 9.0
    restarts = request_without("restarts", 1).run(as_source(x))  # which only fits of a given rank have
    np.testing.assert_array_equal(restarts.ring, decompose(x, seed=1).ring)
    judged = request_without("judgement", 1).run(as_source(x))
    np.testing.assert_array_equal(judged.ring, decompose(x, seed=1, loss="correntropy").ring)


def test_a_run_tells_worth_halves_and_spread_and_goes_on(tmp_path):
    (tmp_path / "tensors").mkdir()
    i, j, k = np.ogrid[:12, :10, :4]
    np.save(tmp_path / "tensors/field.npy", np.sin(i / 3) * np.cos(j / 4) + k)
    out = tmp_path / "q.jsonl"
    wanted = ("--data", tmp_path, "--cases", "*-m30-o20", "--seeds", 2, "--without", "ridge", "--out", out)
    first = quality(*wanted, "--json")
    assert first.exit_code == 0, first.output
    content = json.loads(first.stdout)
    assert [record["rival"] for record in map(json.loads, out.read_text().splitlines())] == [
        "auto",
        "without-ridge",
    ] * 2
    (worth,) = content["without"]
    assert (worth["idea"], worth["cases"]) == ("ridge", 1)
    assert np.isfinite(worth["mean"])
    (half,) = (half for half in content["halves"] if half["cases"])
    assert half["half"] == half_of("tensors/field-m30-o20")
    again = quality(*wanted, "--budget-minutes", 0)
    assert again.exit_code == 0, again.output
    assert "kept aside" in again.stdout
    assert not again.stderr


def test_unknown_ideas_are_refused_with_a_list():
    result = quality("--without", "magic")
    assert result.exit_code == 2
    assert "--without 'magic' is not known; allowed are hole-guides, " in result.stderr
    assert "judgement" in result.stderr


def test_widths_stay_with_their_rule_unless_they_are_tuned():
    i, j, k = np.ogrid[:16, :14, :5]
    x = np.sin(i / 3) * np.cos(j / 4) + k / 4
    x += np.random.default_rng(0).normal(scale=0.05, size=x.shape)
    x.flat[::7] = 5.0
    kernel = {"loss": "correntropy"}
    usual, ruled = (
        FitRequest(fields=kernel, policy=TuningPolicy(tunes_width=tunes)).run(as_source(x)) for tunes in (True, False)
    )
    assert usual.sigma != ruled.sigma
    assert np.isfinite(np.asarray(ruled.ring)).all()
