"""Fits of a given rank that stand still where the rank could do better begin anew."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD, decompose
from ringlet.solvers.tuning.restarts import Restarts


def exact(seed, rank=3, shape=(24, 22, 20), noise=0.01):
    truth = dense(random_cores(shape, (rank,) * len(shape), seed=seed))
    truth /= truth.std()
    return truth, truth + noise * np.random.default_rng(seed).standard_normal(truth.shape)


def error(fit, truth):
    return np.linalg.norm(np.asarray(fit.ring) - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("seed", [2, 9])
def test_a_fit_in_a_swamp_begins_anew(seed, monkeypatch):
    truth, x = exact(seed)
    fit = decompose(x, 3, seed=seed)
    assert fit.ring.rank == (3, 3, 3)
    assert error(fit, truth) < 0.01
    monkeypatch.setattr(Restarts, "elsewhere", lambda *_: None)
    assert error(decompose(x, 3, seed=seed), truth) > 0.2  # as it would end otherwise


def test_missing_and_wrong_entries_do_not_hide_a_swamp():
    truth, x = exact(9)
    rng = np.random.default_rng(0)
    x[rng.random(x.shape) < 0.1] = 8.0
    assert error(decompose(x, 3, seed=9, mask=rng.random(x.shape) < 0.7), truth) < 0.02


def test_a_fit_that_its_rank_limits_keeps_its_bits(monkeypatch):
    _, x = exact(0, rank=5)
    x[:] = np.cumsum(np.cumsum(x, axis=0), axis=1)
    fit = decompose(x, 2)
    monkeypatch.setattr(Restarts, "elsewhere", lambda *_: None)
    for one, other in zip(fit.ring.cores, decompose(x, 2).ring.cores, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_given_start_is_kept(monkeypatch):
    def refuse(*_):
        raise AssertionError("began anew")

    monkeypatch.setattr(Restarts, "elsewhere", refuse)
    _, x = exact(2)
    decompose(x, 3, init=random_cores(x.shape, (3, 3, 3), seed=2))


def test_a_fit_that_begins_anew_goes_on_from_its_checkpoint(tmp_path):
    _, x = exact(2)
    solver = AWRTRD(smooth="auto", sweeps=80, threads=1)
    whole = decompose(x, 3, solver=solver, seed=2)
    for last in (23, 25):
        folder = tmp_path / str(last)
        decompose(x, 3, solver=solver, seed=2, checkpoint=folder, callback=lambda s, last=last: s.sweep == last)
        resumed = decompose(x, 3, solver=solver, seed=2, checkpoint=folder)
        assert [core.tobytes() for core in resumed.ring.cores] == [core.tobytes() for core in whole.ring.cores]
