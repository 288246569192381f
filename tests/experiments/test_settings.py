"""Which trials an experiment has, with which settings."""

import pytest

from ringlet import AWRTRD, SAWRTRD, baselines
from ringlet.errors import ArgumentError
from ringlet.experiments.catalogue import EXPERIMENTS, TrialOptions, trials
from ringlet.experiments.complexity import GROWTH_METHODS, series
from ringlet.experiments.items import Item, builtin_videos
from ringlet.experiments.methods import COMPLETIONS, DECOMPOSITIONS, METHODS, chosen_methods, settings_for
from ringlet.solvers.sawrtrd.settings import PRINTED

PHOTO = Item("photo", "photo", None, 1356)
VIDEO = Item("video", "video", None, 1080)


def test_large_items_get_the_papers_settings():
    assert settings_for(METHODS["SAWRTRD"], PHOTO) == PRINTED | {
        "rank": [20, 20, 3],
        "samples": 30_000,
        "sweeps": 30,
        "tol": 1e-3,
    }
    assert settings_for(METHODS["AWRTRD"], VIDEO) == PRINTED | {"rank": [80, 80, 3, 20], "sweeps": 30, "tol": 1e-3}
    assert settings_for(METHODS["TRALS-S"], VIDEO)["samples"] == 30_000
    assert settings_for(METHODS["TRSVD"], PHOTO) == {"rank": [20, 20, 3]}
    assert settings_for(METHODS["l1-SNN"], PHOTO) == {"sweeps": 30, "tol": 1e-3}


def test_small_items_get_less_but_never_fewer_than_three_colours():
    small = Item("small", "video", None, 48)
    assert settings_for(METHODS["SAWRTRD"], small) == PRINTED | {
        "rank": [8, 8, 3, 3],
        "samples": 300,
        "sweeps": 30,
        "tol": 1e-3,
    }


def test_the_names_of_the_paper_are_the_printed_methods():
    assert METHODS["AWRTRD"].solver({}) == AWRTRD.paper()
    assert METHODS["SAWRTRD"].solver({}) == SAWRTRD.paper()
    for name, kind in (("AWRTRD", AWRTRD), ("SAWRTRD", SAWRTRD)):
        assert METHODS[name].solver(settings_for(METHODS[name], PHOTO)) == kind.paper()
        assert METHODS[name].solver(settings_for(METHODS[name], PHOTO, sweeps=None)) == kind.paper()
    assert all(METHODS[name].solver({}).ridge == 0 for name in EXPERIMENTS["ablation"].methods)


def test_methods_may_keep_their_own_sweeps_and_tolerance():
    settings = settings_for(METHODS["TNTV"], PHOTO, sweeps=None)
    assert settings == {}
    assert METHODS["TNTV"].solver(settings) == baselines.TNTV()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_its_settings(name):
    solver = METHODS[name].solver(settings_for(METHODS[name], PHOTO, sweeps=7), memory=10**9)
    assert solver.memory == 10**9
    assert getattr(solver, "sweeps", 7) == 7
    assert getattr(solver, "samples", 30_000) == 30_000
    assert solver.handles_missing or name in DECOMPOSITIONS


def test_the_arms_of_the_ablation_differ_in_one_thing_each():
    plain = METHODS["SAWRTRD"].solver({})
    arms = [METHODS[name].solver({}) for name in EXPERIMENTS["ablation"].methods[1:]]
    assert [(arm.scaling, arm.sampling) for arm in arms] == [
        ("none", "subtensor"),
        ("local", "subtensor"),
        ("global", "uniform-rows"),
        ("global", "leverage-rows"),
    ]
    assert (plain.scaling, plain.sampling) == ("global", "subtensor")


def test_seven_decompositions_and_seven_completions():
    assert len(set(DECOMPOSITIONS)) == len(set(COMPLETIONS)) == 7
    for name in ("image-decomposition", "video-decomposition", "image-completion", "video-completion"):
        found = trials(EXPERIMENTS[name], [PHOTO, VIDEO], TrialOptions(runs=3))
        assert len(found) == 2 * 7 * 3
        assert {trial.observed for trial in found} == {0.3 if "completion" in name else 1.0}
        assert [trial.run for trial in found] == sorted(trial.run for trial in found)


def test_choosing_items_does_not_change_their_noise():
    items = [Item(name, "photo", None, 600) for name in "abcd"]
    whole = {t.item.name: t.noise for t in trials(EXPERIMENTS["image-decomposition"], items, TrialOptions())}
    some = {
        t.item.name: t.noise for t in trials(EXPERIMENTS["image-decomposition"], items, TrialOptions(items=("b", "c")))
    }
    assert some == {"b": "gmm", "c": "salt-and-pepper"}
    assert some.items() <= whole.items()


def test_the_ablation_prefers_flamingo_with_salt_and_pepper():
    items = [VIDEO, Item("davis_flamingo_480p", "video", None, 480)]
    found = trials(EXPERIMENTS["ablation"], items, TrialOptions(runs=1, samples=(5_000, 40_000)))
    assert {trial.item.name for trial in found} == {"davis_flamingo_480p"}
    assert {trial.noise for trial in found} == {"salt-and-pepper"}
    assert len(found) == 5 * 2
    assert {t.item.name for t in trials(EXPERIMENTS["ablation"], builtin_videos(), TrialOptions())} == {"waves"}


def test_unknown_methods_are_refused_with_those_allowed():
    with pytest.raises(ArgumentError, match="methods='PCA' is not known here; allowed are TRSVD, TRALS"):
        chosen_methods(DECOMPOSITIONS, ["PCA"])
    assert chosen_methods(DECOMPOSITIONS, ["sawrtrd", "trsvd-r"]) == ["TRSVD-R", "SAWRTRD"]
    with pytest.raises(ArgumentError, match="its items are the sizes I, r, N, J"):
        series(axes=["Q"])


def test_samples_grow_only_where_something_is_sampled():
    assert {one.method for one in series(axes=["J"])} == {"TRALS-S", "SAWRTRD"}
    assert {one.method for one in series(axes=["I"])} == set(GROWTH_METHODS)
