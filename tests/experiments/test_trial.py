"""Single trials, each in its own interpreter: scores, memory, failures that harm nobody."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from ringlet import decompose
from ringlet.experiments.catalogue import EXPERIMENTS, TrialOptions, trials
from ringlet.experiments.isolated import run_isolated
from ringlet.experiments.items import Item, photos_in, videos_in
from ringlet.experiments.methods import METHODS
from ringlet.experiments.noise import TrialSeed, add_noise, generator
from ringlet.experiments.trial import Trial, measure
from ringlet.report.metrics import psnr, relative_error, ssim
from ringlet.sources.files import load

SETTINGS = {"rank": [3, 3, 3], "samples": 200, "sweeps": 4, "tol": 1e-3}


@pytest.fixture
def trial(images):
    return Trial("image-decomposition", photos_in(images)[0], "SAWRTRD", 1, "gmm", 1.0, SETTINGS)


def test_scores_are_those_of_a_fit_by_hand(trial, tmp_path):
    found = measure(trial.argument(tmp_path, 10**9))
    truth = trial.item.tensor()
    data = trial.item.tensor()
    add_noise(data, "gmm", generator("first", 1, TrialSeed.NOISE))
    seed = int(generator("first", 1, TrialSeed.FIT).integers(1 << 31))
    fit = decompose(data, SETTINGS["rank"], solver=METHODS["SAWRTRD"].solver(SETTINGS), seed=seed)
    estimate = np.asarray(fit.ring)
    assert found["status"] == "ok"
    assert found["psnr"] == pytest.approx(psnr(estimate, truth, 1.0))
    assert found["ssim"] == pytest.approx(ssim(estimate, truth, 1.0))
    assert found["relative_error"] == pytest.approx(relative_error(estimate, truth))
    assert found["sweeps"] == len(fit.history)
    assert found["ended"] == fit.status.name
    assert found["shape"] == [40, 48, 3]


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, one in EXPERIMENTS.items() for method in one.methods]
)
def test_every_method_of_an_experiment_runs_by_its_settings(images, videos, tmp_path, name, method):
    item = photos_in(images)[0] if EXPERIMENTS[name].kind == "photo" else videos_in(videos)[0]
    (one,) = trials(EXPERIMENTS[name], [item], TrialOptions(runs=1, sweeps=2, methods=(method,), samples=(20_000,)))
    found = measure(one.argument(tmp_path, 10**9))
    assert found["status"] == "ok"
    assert 0 < found["psnr"] < 60
    assert -1 <= found["ssim"] <= 1


def test_estimates_are_clipped_only_on_request(trial, tmp_path):
    found, clipped = (measure(replace(trial, clip=clip).argument(tmp_path, 10**9)) for clip in (False, True))
    assert clipped["psnr"] > found["psnr"]


def test_pictures_are_kept_of_the_original_the_damage_and_the_estimate(trial, tmp_path):
    measure(trial.argument(tmp_path, 10**9))
    paths = trial.pictures(tmp_path)
    names = sorted(path.name for path in (tmp_path / "pictures" / "image-decomposition" / "first").iterdir())
    assert names == sorted(path.name for path in paths.values())
    assert [name.rpartition("-")[0] for name in names] == ["SAWRTRD-run1", "damaged-run1", "original"]
    assert trial.pictures(tmp_path)["recovered"] != replace(trial, clip=True).pictures(tmp_path)["recovered"]
    original = load(paths["original"]).array
    np.testing.assert_array_equal(original, np.rint(255 * trial.item.tensor()))
    assert 5 < psnr(load(paths["damaged"]).array, original, 255) < psnr(load(paths["recovered"]).array, original, 255)


def test_of_a_video_the_tenth_frame_or_the_last_is_kept_upright(videos, tmp_path):
    item = videos_in(videos)[0]
    video = Trial("video-completion", item, "SAWRTRD", 1, "salt-and-pepper", 0.3, SETTINGS | {"rank": [3, 3, 3, 2]})
    found = measure(video.argument(tmp_path, 10**9))
    assert found["shape"] == [40, 32, 3, 5]
    assert load(video.pictures(tmp_path)["original"]).array.shape == (32, 40, 3)
    last = load(videos / "frames" / "00004.jpg").array
    np.testing.assert_array_equal(load(video.pictures(tmp_path)["original"]).array, last)
    assert (load(video.pictures(tmp_path)["damaged"]).array == 128).mean() > 0.65  # missing entries are grey


def test_what_does_not_fit_the_budget_is_reported_and_not_run(trial, tmp_path):
    found = run_isolated("trial", trial.argument(tmp_path, 150_020_000))
    assert found["status"].startswith("out of memory: needs ")
    assert found["status"].endswith("MB")
    assert found["needs"] > 150_020_000
    assert list(tmp_path.iterdir()) == []


def test_peak_memory_is_that_of_the_trials_own_process(trial, tmp_path):
    ballast = np.ones(300_000_000, np.uint8)  # ours, not the trial's
    found = run_isolated("trial", trial.argument(tmp_path, 10**9))
    assert ballast.nbytes > found["peak_memory"] > 20_000_000


def test_a_trial_that_crashes_says_why(trial, tmp_path):
    gone = replace(trial, item=Item("gone", "photo", str(tmp_path / "gone.png"), 40))
    found = run_isolated("trial", gone.argument(tmp_path, 10**9))
    assert found["status"].startswith("failed: ")
    assert "gone.png does not exist" in found["status"]


def children():
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


@pytest.mark.skipif(not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(), reason="needs Linux's /proc")
def test_a_trial_that_is_killed_harms_nobody(trial, tmp_path):
    endless = replace(trial, settings=SETTINGS | {"sweeps": 10**9, "tol": 0})
    before = set(children())

    def kill():
        while not set(children()) - before:
            time.sleep(0.01)
        for child in set(children()) - before:
            os.kill(int(child), signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    found = run_isolated("trial", endless.argument(tmp_path, 10**9))
    killer.join()
    assert found == {"status": "failed: killed, most likely because the machine ran out of memory"}
