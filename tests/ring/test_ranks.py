import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import random_cores
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring.ranks import bond_limits, normalise_rank

RANKS = [4, np.int32(4), (4, 4, 4), [4, 4, 4, 4], np.array([4, 4, 4]), np.array(4), array_api_strict.asarray(4)]


@pytest.mark.parametrize("rank", RANKS, ids=repr)
def test_every_form_of_rank_becomes_one_bond_per_mode(rank):
    bonds = normalise_rank(rank, 3)
    assert bonds == (4, 4, 4)
    assert all(type(bond) is int for bond in bonds)


@pytest.mark.parametrize(
    ("rank", "message"),
    [
        (
            (1,) * 5,
            r"5 entries but the tensor has 3 modes; give one bond per mode, e.g. rank=\(20, 20, 3\)",
        ),
        ((20, 20), "2 entries but the tensor has 3 modes"),
        ((4, 5, 6, 7), "last must repeat the first"),
        (0, "at least 1, not 0"),
        ((2, -1, 2), "at least 1, not -1"),
    ],
)
def test_wrong_rank_values_are_explained(rank, message):
    with pytest.raises(ArgumentError, match=message):
        normalise_rank(rank, 3)


@pytest.mark.parametrize("rank", [True, 2.0, (2, 2.5, 2), "4", (1, True, 1), None], ids=repr)
def test_wrong_rank_types_are_refused(rank):
    with pytest.raises(ArgumentTypeError, match=r"integers|text"):
        normalise_rank(rank, 3)


def test_colour_photo_carries_nine_directions_through_its_colour_core():
    assert bond_limits((1356, 2040, 3), (20, 20, 3)) == (9, 20, 3)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 30)), min_size=2, max_size=4))
def test_bond_limits_are_what_neighbouring_cores_can_carry(modes):
    shape, rank = zip(*modes, strict=True)
    limits = bond_limits(shape, rank)
    for k, core in enumerate(random_cores(shape, limits)):
        assert limits[k] <= rank[k]
        rows = np.linalg.matrix_rank(core.reshape(limits[k], -1))
        columns = np.linalg.matrix_rank(core.reshape(-1, core.shape[2]))
        assert (rows, columns) == (limits[k], core.shape[2])
