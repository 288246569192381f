"""Fits of a given rank that stand still where the rank could do better begin anew."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD, decompose
from ringlet.solvers.tuning.policy import TuningPolicy
from tuning_fits import bits, error, tuned


def exact(seed, rank=3, shape=(24, 22, 20), noise=0.01):
    truth = dense(random_cores(shape, (rank,) * len(shape), seed=seed))
    truth /= truth.std()
    return truth, truth + noise * np.random.default_rng(seed).standard_normal(truth.shape)


NO_RESTARTS = TuningPolicy(restarts=False)


@pytest.mark.parametrize("seed", [2, 9])
def test_a_fit_in_a_swamp_begins_anew(seed):
    truth, x = exact(seed)
    fit = decompose(x, 3, seed=seed)
    assert fit.ring.rank == (3, 3, 3)
    assert error(fit, truth) < 0.01
    assert error(tuned(x, 3, seed=seed, policy=NO_RESTARTS), truth) > 0.2  # as it would end otherwise


def test_missing_and_wrong_entries_do_not_hide_a_swamp():
    truth, x = exact(3)
    rng = np.random.default_rng(0)
    x[rng.random(x.shape) < 0.1] = 8.0
    mask = rng.random(x.shape) < 0.7
    assert error(decompose(x, 3, seed=3, mask=mask), truth) < 0.02
    assert error(tuned(x, 3, seed=3, mask=mask, policy=NO_RESTARTS), truth) > 0.2  # there is one


def test_a_fit_that_its_rank_limits_keeps_its_bits():
    _, x = exact(0, rank=5)
    x[:] = np.cumsum(np.cumsum(x, axis=0), axis=1)
    assert bits(decompose(x, 2)) == bits(tuned(x, 2, policy=NO_RESTARTS))


def test_a_given_start_is_kept():
    """Also one that leads into a swamp."""
    _, x = exact(2)
    swamp = tuned(x, 3, seed=2, policy=NO_RESTARTS).ring
    given, without = (tuned(x, 3, init=swamp, policy=policy) for policy in (TuningPolicy(), NO_RESTARTS))
    assert bits(given) == bits(without)


def test_a_fit_that_begins_anew_goes_on_from_its_checkpoint(tmp_path):
    _, x = exact(2)
    solver = AWRTRD(smooth="auto", sweeps=30, threads=1)
    whole = decompose(x, 3, solver=solver, seed=2)
    without = tuned(x, 3, solver=solver, seed=2, policy=NO_RESTARTS)
    same = [one == other for one, other in zip(errors(whole), errors(without), strict=False)]
    restart = same.index(False) + 1  # the first sweep that goes on from another start
    assert restart > 3
    for last in (restart - 1, restart, restart + 2):
        folder, swept = tmp_path / str(last), []
        decompose(x, 3, solver=solver, seed=2, checkpoint=folder, callback=lambda s, last=last: s.sweep == last)
        resumed = decompose(
            x, 3, solver=solver, seed=2, checkpoint=folder, callback=lambda s, swept=swept: swept.append(s.sweep)
        )
        assert swept[0] == last + 1
        assert bits(resumed) == bits(whole)


def errors(fit):
    """Validation errors of all sweeps; NaN, of the last ones with all entries, is equal to itself here."""
    return [np.nan_to_num(record.held_out) for record in fit.history]
