"""Penalties and widths as parameters: which value is tried next, and when a parameter rests."""

import numpy as np
import pytest

from ringlet import AWRTRD, decompose
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.tuning.tuned_parameters import TunedParameter, TunedParameters
from tuning_fits import chosen_penalties, spoiled, waves


def test_only_exact_data_do_without_a_ridge():
    parameter, least = TunedParameter("ridge", 0), Penalties(1e-4, (0.0,))
    assert parameter.changed(least, up=False) is None
    without = parameter.changed(least, up=False, exact=True)
    assert without.ridge == 0.0
    assert parameter.changed(without, up=False, exact=True) is None
    assert parameter.changed(without, up=True).ridge == pytest.approx(1e-4)
    assert parameter.changed(Penalties(0.9, (0.0,)), up=True) is None


def test_a_parameter_that_cannot_be_lowered_is_raised_once():
    parameters, given = TunedParameters([TunedParameter("smooth", 0)]), Penalties(0.1, (0.0,))
    changed = parameters.changed(0, given, size=100)
    assert changed.smooth[0] > 0
    assert not parameters.answer(0, given, changed, -3.0)
    assert parameters.changed(0, given, size=100) is None
    assert not parameters.due(size=100)


def test_a_parameter_that_is_changed_to_and_fro_rests():
    parameters, given = TunedParameters([TunedParameter("ridge", 0)]), Penalties(0.1, (0.0,))
    low, high = 0.1 / 3, 0.1
    for certainty, found in ((3, low), (-3, low), (3, high), (-3, high), (3, low)):
        changed = parameters.changed(0, given, size=100)
        given = changed if parameters.answer(0, given, changed, certainty) else given
        assert given.ridge == pytest.approx(found)
    assert not parameters.due(size=100)
    assert parameters.due(size=150) == {0: 0}


def test_a_mode_without_order_is_not_smoothed():
    truth = waves((60, 50, 8), rank=8, seed=2)
    shuffle = np.random.default_rng(0).permutation(60)
    x, observed = spoiled(truth[shuffle], 0.2, 0.1)
    fit = decompose(x, 5, solver=AWRTRD(smooth="auto", sweeps=40), mask=observed)
    assert chosen_penalties(fit).smooth[0] == 0.0
    assert chosen_penalties(fit).smooth[1] > 0.0
