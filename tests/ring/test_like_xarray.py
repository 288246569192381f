"""A ring as the xarray object that was fitted."""

import numpy as np
import pytest
import xarray

from ringlet import TensorRing
from ringlet.errors import ArgumentError, ArgumentTypeError


@pytest.fixture
def ring():
    return TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))], names=("y", "x"))


def test_a_dataset_gives_a_dataset_with_its_variable_replaced(ring):
    given = xarray.Dataset(
        {"scan": (("y", "x"), np.zeros((2, 3)), {"units": "K"}), "observed": (("y", "x"), np.eye(2, 3) > 0)},
        {"x": [5, 6, 7]},
        {"title": "run"},
    )
    filled = ring.to_xarray(like=given)
    assert (filled["scan"] == 1).all()
    xarray.testing.assert_identical(filled.assign(scan=given["scan"]), given)


def test_stacked_variables_are_replaced_together():
    ring = TensorRing([np.array([1.0, 2.0]).reshape(1, 2, 1), np.ones((1, 3, 1))], names=("variable", "x"))
    filled = ring.to_xarray(like=xarray.Dataset({"a": ("x", np.zeros(3)), "b": ("x", np.zeros(3))}))
    np.testing.assert_array_equal(filled["a"], np.ones(3))
    np.testing.assert_array_equal(filled["b"], np.full(3, 2.0))


def test_a_choice_is_left_to_the_user(ring):
    given = xarray.Dataset({"a": (("y", "x"), np.zeros((2, 3))), "b": (("y", "x"), np.zeros((2, 3)))})
    with pytest.raises(ArgumentError, match=r"2 variables of the ring's shape \(2, 3\); give one of its variables"):
        ring.to_xarray(like=given)
    with pytest.raises(ArgumentTypeError, match="like must be"):
        ring.to_xarray(like=np.zeros((2, 3)))
