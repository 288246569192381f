"""Ranks that a fit is to find: 'auto', within a budget, up to a target."""

import numpy as np
import pytest
from skimage import data

import ringlet
from oracles import random_cores
from ringlet import AWRTRD, SAWRTRD, complete, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning
from tuning_fits import waves


@pytest.mark.parametrize("amount", [6000, "9kB", "20 KiB"])
def test_a_budget_is_kept(amount, tmp_path):
    x = np.random.default_rng(0).standard_normal((30, 25, 20)).astype("f4")
    ring = decompose(x, rank=ringlet.budget(amount)).ring
    ring.save(tmp_path / "x.ring")
    assert (tmp_path / "x.ring").stat().st_size <= ringlet.budget(amount).bytes


def test_a_target_is_reached_by_a_small_ring():
    truth = waves(rank=8, seed=4)
    x = truth + 1e-4 * np.random.default_rng(0).standard_normal(truth.shape)
    low, high = (decompose(x, rank=ringlet.target(psnr=psnr)).ring for psnr in (20, 60))
    assert low.parameters < high.parameters
    peak = np.ptp(x)
    for ring, psnr in ((low, 20), (high, 60)):
        reached = 20 * np.log10(peak / np.sqrt(np.mean((np.asarray(ring) - truth) ** 2)))
        assert reached > psnr - 1


def sines(shape=(40, 35, 20)):
    """Three smooth features, exactly."""
    return np.fromfunction(lambda i, j, k: np.sin(i / 7) * np.cos(j / 5) + 0.3 * np.sin((i + j) / 9 + k / 4), shape)


def test_a_target_that_a_small_ring_reaches_asks_for_no_more():
    clean = sines()
    fits = [decompose(clean, rank=ringlet.target(psnr=psnr)) for psnr in (15, 40)]
    small, large = (sum(core.size for core in fit.ring.cores) for fit in fits)
    assert small < large
    assert [-20 * np.log10(np.std(np.asarray(fit.ring) - clean) / np.ptp(clean)) for fit in fits] >= [15, 40]


def test_a_target_of_a_complete_picture_is_that_of_its_entries():
    x = data.astronaut()[::5, ::5]
    small, large = (decompose(x, rank=ringlet.target(psnr=psnr)).ring for psnr in (22, 25))
    for ring, psnr in ((small, 22), (large, 25)):
        assert psnr - 0.2 < 20 * np.log10(255 / np.sqrt(np.mean((np.asarray(ring) - x) ** 2))) < psnr + 1.5
    assert small.parameters < 0.8 * large.parameters


def test_a_target_out_of_reach_is_said():
    x = np.random.default_rng(0).standard_normal((20, 18, 16))
    with pytest.warns(DataWarning, match="target"):
        decompose(x, rank=ringlet.target(psnr=90))


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rank": "best"}, ArgumentTypeError, "rank='best'"),
        ({"rank": None}, ArgumentError, "rank=None is not allowed; give e.g. rank=5, or rank='auto'"),
        ({"rank": "auto", "solver": ringlet.baselines.TRSVD()}, ArgumentError, "TRSVD"),
        (
            {"rank": "auto", "solver": SAWRTRD(smooth=0.0, sweeps=30, sampling="uniform-rows")},
            ArgumentError,
            "uniform-rows",
        ),
        ({"rank": 2, "solver": AWRTRD(sweeps=30, smooth={7: 1})}, ArgumentError, "mode 7"),
        (
            {"rank": ringlet.budget("4kB")},
            ArgumentError,
            r"budget\(4000\) .* \(4, 3, 2\).* 4168 bytes",
        ),
    ],
)
def test_wrong_requests_are_refused(given, error, said):
    with pytest.raises(error, match=said):
        decompose(np.ones((4, 3, 2)), **given)


def test_a_start_that_is_too_large_for_the_asked_rank_is_refused():
    x = np.random.default_rng(0).standard_normal((30, 20, 10))
    large = decompose(x, 8, solver=AWRTRD(smooth=0.0, sweeps=1)).ring
    for rank, named in ((ringlet.budget("6kB"), r"budget\(6000\) allows 238"), ("auto", "'auto' allows 1200")):
        with pytest.raises(ArgumentError, match=f"init has 3840 numbers, but rank={named}"):
            decompose(x, rank, init=large)
    with pytest.raises(ArgumentError, match=r"init has shape \(30, 20\), but the data have shape"):
        decompose(x, init=[np.ones((1, 30, 2)), np.ones((2, 20, 1))])


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: ringlet.budget("abc"), ArgumentError, "amount='abc'"),
        (lambda: ringlet.target(psnr=-1), ArgumentError, "psnr=-1"),
        (lambda: ringlet.target(psnr="high"), ArgumentTypeError, "psnr"),
    ],
)
def test_wrong_values_are_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_complete_finds_a_rank_too():
    x = np.add.outer(np.add.outer(np.arange(9.0), np.arange(8.0)), np.arange(7.0))
    by_default, by_name = (complete(x, solver=AWRTRD(smooth=0.0, sweeps=20), **rank) for rank in ({}, {"rank": "auto"}))
    assert by_default.ring.rank == by_name.ring.rank == decompose(x, solver=AWRTRD(smooth=0.0, sweeps=20)).ring.rank


def test_a_background_keeps_the_bonds_of_time_at_one():
    rng = np.random.default_rng(0)
    scene = rng.random((24, 20, 3)).cumsum(axis=0).cumsum(axis=1)
    video = np.repeat(scene[..., np.newaxis], 10, axis=3)
    video[5:9, 6:10, :, 4] = 0.0  # something passes by
    fit = decompose(video, ringlet.background())
    assert fit.ring.rank[0] == fit.ring.rank[3] == 1
    assert np.abs(np.asarray(fit.ring) - scene[..., np.newaxis]).max() < 0.01 * np.ptp(scene)
    with pytest.raises(ArgumentError, match="keeps the bonds of that mode at 1"):
        decompose(video, ringlet.background(), init=random_cores(video.shape, (2, 2, 2, 2), seed=0))
    with pytest.raises(ArgumentError, match="names mode 7"):
        decompose(video, ringlet.background(7))
    assert "(1, " in ringlet.plan(video.shape, ringlet.background()).notes[0]


def test_a_target_counts_wrong_entries_unless_only_trusted_ones_are_asked_for():
    x = waves((24, 20, 10))
    ruined = np.random.default_rng(0).random(x.shape) < 0.03
    x[ruined] = x.max() + np.ptp(x)  # an error of at least the range at 3 % of the entries: less than 16 dB
    with pytest.warns(DataWarning, match=r"target\(psnr=30\) was not reached: .* trusted=True leaves out"):
        decompose(x, ringlet.target(psnr=30))
    decompose(x, ringlet.target(psnr=30, trusted=True))  # warnings are errors here


def test_the_peak_of_a_target_is_that_of_right_entries():
    i, j, k = np.ogrid[:60, :50, :12]
    truth = 10 * np.sin(i / 9) * np.cos(j / 7) + 3 * np.cos(k / 3 + i / 20) + np.sin(i * j / 300)
    rng = np.random.default_rng(0)
    x = truth + 0.02 * rng.standard_normal(truth.shape)
    x[rng.random(x.shape) < 0.2] = 100.0  # four times the range of what is right
    fit = decompose(x, ringlet.target(psnr=30, trusted=True))
    error = np.sqrt(np.mean((np.asarray(fit.ring) - truth) ** 2))
    assert 20 * np.log10(np.ptp(truth) / error) > 29
