"""Settings of AWRTRD and SAWRTRD: checked when they are given, and frozen."""

import dataclasses
import math

import numpy as np
import pytest

from ringlet import AWRTRD, SAWRTRD, Status, baselines, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("sweeps", 0, ArgumentError),
        ("sweeps", 2.5, ArgumentTypeError),
        ("sweeps", True, ArgumentTypeError),
        ("tol", -1e-3, ArgumentError),
        ("tol", math.nan, ArgumentError),
        ("tol", math.inf, ArgumentError),
        ("tol", np.float32("nan"), ArgumentError),
        ("sigma_factor", math.inf, ArgumentError),
        ("ridge", math.inf, ArgumentError),
        ("loss", "l1", ArgumentError),
        ("sigma", 0, ArgumentError),
        ("sigma", -1.0, ArgumentError),
        ("sigma", math.nan, ArgumentError),
        ("sigma", "mad", ArgumentError),
        ("sigma_factor", 0.0, ArgumentError),
        ("sigma_min", 0.0, ArgumentError),
        ("ridge", -0.1, ArgumentError),
        ("ridge", "much", ArgumentError),
        ("scaling", "locally", ArgumentError),
        ("dtype", "float16", ArgumentTypeError),
        ("dtype", "int32", ArgumentTypeError),
        ("memory", "lots", ArgumentError),
        ("memory", 0, ArgumentError),
        ("threads", 0, ArgumentError),
        ("samples", 0, ArgumentError),
        ("samples", -5, ArgumentError),
        ("samples", 1e4, ArgumentTypeError),
        ("sampling", "rows", ArgumentError),
    ],
)
def test_wrong_hyper_parameters_are_refused_by_name(field, value, error):
    with pytest.raises(error, match=field) as caught:
        SAWRTRD(**{field: value})
    plain = value.item() if isinstance(value, np.generic) else value  # NumPy's numbers are shown as Python's
    assert repr(plain) in str(caught.value)
    if field not in ("samples", "sampling"):
        with pytest.raises(error, match=field):
            AWRTRD(**{field: value})


def test_numbers_of_any_size_are_understood():
    assert SAWRTRD(smooth=0.0, sweeps=30, samples=10**300).samples == 10**300
    with pytest.raises(ArgumentTypeError, match="dtype='foo'"):
        AWRTRD(smooth=0.0, sweeps=30, dtype="foo")
    assert AWRTRD(smooth=0.0, sweeps=30, dtype=np.float32) == AWRTRD(smooth=0.0, sweeps=30, dtype="float32")
    assert AWRTRD(smooth=0.0, sweeps=30, sigma=math.inf).sigma == math.inf  # least squares


@pytest.mark.parametrize("given", [{"ridge": 5.0}, {"smooth": 10.0}, {"smooth": {0: 1.0}}])
def test_plain_gradient_descent_has_no_penalties(given):
    with pytest.raises(ArgumentError, match="is not allowed with scaling='none'"):
        AWRTRD(scaling="none", **given)


def test_a_solver_does_not_follow_a_dict_that_changes():
    strengths = {0: 1.0}
    solver = AWRTRD(sweeps=30, smooth=strengths)
    strengths[0] = -5.0
    assert solver.smooth == {0: 1.0}


def test_solvers_are_frozen_and_comparable():
    solver = AWRTRD(smooth=0.0, sweeps=3)
    assert solver == AWRTRD(smooth=0.0, sweeps=3) != AWRTRD(smooth=0.0, sweeps=4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.sweeps = 5
    assert solver.handles_missing
    assert solver.robust


@pytest.mark.parametrize(
    ("smooth", "error", "said"),
    [
        ("much", ArgumentError, "smooth='much'"),
        (-1, ArgumentError, "smooth=-1"),
        ({0: -1}, ArgumentError, "smooth"),
        ({"x": 1}, ArgumentTypeError, "smooth"),
        ([1, 2], ArgumentTypeError, "smooth"),
    ],
)
def test_wrong_smoothness_is_refused(smooth, error, said):
    with pytest.raises(error, match=said):
        AWRTRD(sweeps=30, smooth=smooth)


def test_a_fixed_width_is_annealed():
    """From the first sweep on, a narrow kernel would take for wrong what the unfinished model does not reach."""
    x = np.random.default_rng(0).random((30, 28, 3)).cumsum(axis=0).cumsum(axis=1)
    x *= 255 / x.max()
    fit = decompose(x, 6, solver=AWRTRD(sigma=2.0, smooth=0.0))
    assert fit.sigma == pytest.approx(2.0)
    assert np.sqrt(np.mean((np.asarray(fit.ring) - x) ** 2)) < 2.0
    assert fit.history[-1].mean_weight > 0.9


def test_a_fit_that_trusts_little_says_so():
    x = np.random.default_rng(0).standard_normal((20, 18, 16))  # no ring of rank 1 fits it
    fit = decompose(x, 1, solver=AWRTRD(sigma=0.05, smooth=0.0, tol=0.1))
    assert fit.status is Status.DISTRUSTED
    assert fit.history[-1].mean_weight < 0.5


def test_naming_a_solver_changes_no_default():
    x = np.random.default_rng(0).random((20, 18, 3)).cumsum(axis=0)
    fits = [decompose(x), decompose(x, memory="2GB", threads=1), decompose(x, solver=AWRTRD(memory="2GB"))]
    assert len({fit.ring.cores[0].tobytes() for fit in fits}) == 1
    with pytest.raises(ArgumentError, match="sigma is not allowed with TRALS"):
        decompose(x, 2, solver=baselines.TRALS(), sigma=3.0)


def test_the_printed_methods_have_no_penalties():
    for solver in (AWRTRD.paper(), SAWRTRD.paper(samples=40_000)):
        assert (solver.loss, solver.ridge, solver.smooth, solver.scaling) == ("correntropy", 0.0, 0.0, "global")
        assert (solver.sweeps, solver.tol) == (30, 1e-3)
        assert not solver.tunes(None)
    assert SAWRTRD.paper(samples=40_000).samples == 40_000
