"""Numbers of any type count as what they are; what would take all memory, or leave the range of floats, is refused."""

from fractions import Fraction

import numpy as np
import pandas
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD, baselines
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, RingletError

X = np.random.default_rng(0).random((6, 5, 4))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (SAWRTRD, "samples"),
        (AWRTRD, "threads"),
        (baselines.TRSVD, "threads"),
        (baselines.RandomizedTRSVD, "oversampling"),
        (baselines.RandomizedTRSVD, "power"),
        (baselines.RandomizedTRALS, "sketch"),
        (baselines.LpTRC, "steps"),
    ],
)
def test_small_types_of_numpy_do_not_overflow_in_plans(kind, name):
    of_numpy, plain = kind(**{name: np.uint8(3)}), kind(**{name: 3})
    assert of_numpy == plain
    assert type(getattr(of_numpy, name)) is int
    assert ringlet.plan((60, 50, 40), 2, solver=of_numpy) == ringlet.plan((60, 50, 40), 2, solver=plain)


def test_fractions_are_numbers():
    solver = baselines.LpTRC(p=Fraction(1, 2), sweeps=2)
    assert solver.p == 0.5
    assert ringlet.decompose(X, 2, solver=solver).ring.shape == X.shape


def test_a_wide_smoothing_is_refused_before_its_powers_overflow():
    with pytest.raises(ArgumentError, match="epsilon=1e"):
        ringlet.decompose(X, 2, solver=baselines.LpTRC(epsilon=1e308))


def test_a_stack_that_no_machine_could_hold_is_refused():
    with pytest.raises(BudgetError, match="smaller rank"):
        ringlet.decompose_many(X, 1_000_000)
    with pytest.raises(BudgetError, match="1 kB"):
        ringlet.decompose_many(X, 3, solver=AWRTRD(loss="correntropy", smooth=0, memory="1kB"))


def test_plans_have_as_many_modes_as_data_may_have():
    with pytest.raises(ArgumentError, match="shape has 100000 modes; at most 62"):
        ringlet.plan([1] * 100_000, 2)


def test_entries_of_40_modes_are_taken_as_numpy_does():
    fit = ringlet.decompose(np.ones((2,) + (1,) * 39), 1, solver=AWRTRD(smooth=0, sweeps=1))
    assert fit.weights(([0, 1], slice(None, None, -1))).shape == (2,) + (1,) * 39


def test_long_messages_are_cut_in_their_middle():
    told = str(RingletError("a" * 5000 + "b" * 5000))
    assert told[:9] + told[-9:] == "a" * 9 + "b" * 9
    assert len(told) < 1000


@pytest.mark.parametrize(
    ("table", "value", "told"),
    [
        ({"a": [0, 1], "b": [0, 1], "v": [1.0, 2.0]}, "a", "value='a' is one of modes"),
        ({"a": [[0], [1]], "b": [0, 1], "v": [1.0, 2.0]}, "v", "cannot be keys"),
    ],
)
def test_long_tables_name_what_cannot_be_a_mode(table, value, told):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=told):
        ringlet.from_dataframe(pandas.DataFrame(table), ["a", "b"], value)


def test_a_name_that_a_long_table_has_twice_is_refused():
    table = pandas.DataFrame({"a": [0, 1], "b": [0, 1], "v": [1.0, 2.0]})
    with pytest.raises(ArgumentError, match=r"two columns, or levels of its index, 'a'"):
        ringlet.from_dataframe(table.set_index(table.a), ["a", "b"], "v")
