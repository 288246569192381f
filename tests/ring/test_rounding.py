import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringlet
from oracles import dense, random_cores
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError
from ringlet.ring import TensorRing
from ringlet.ring.rounding import _solve
from ringlet.testing import ring_cores


def relative_error(rounded, tensor):
    return np.linalg.norm(np.asarray(rounded, dtype=np.float64) - tensor) / np.linalg.norm(tensor)


@settings(deadline=None, max_examples=40)
@given(ring_cores(max_order=4, max_rank=4), st.sampled_from([1e-6, 1e-3, 0.05, 0.3]), st.integers(0, 3))
def test_tolerance_is_kept_on_every_rotation(cores, tol, shift):
    ring = TensorRing(cores).rotate(shift)
    rounded = ring.round(tol=tol)
    assert relative_error(rounded, np.asarray(ring)) <= tol * (1 + 1e-6)
    assert ring.distance(rounded) <= tol * ring.norm()
    assert all(new <= old for new, old in zip(rounded.rank, ring.rank, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "rank"),
    [((6, 7, 8), (2, 3, 2)), ((9, 9), (2, 3)), ((5, 6, 7, 8), (3, 2, 4, 1)), ((10, 10, 10), (5, 4, 6))],
)
def test_ring_plus_itself_comes_back_to_its_rank(shape, rank, dtype):
    ring = TensorRing(random_cores(shape, rank, dtype=dtype))
    for shift in range(len(shape)):
        rounded = (ring + ring).rotate(shift).round(tol=1e-6)
        assert rounded.rank == ring.rotate(shift).rank
        assert rounded.dtype == dtype
        assert relative_error(rounded, 2 * dense(ring.rotate(shift).cores)) <= 1e-6


def test_rank_alone_merges_copies_too():
    ring = TensorRing(random_cores((6, 7, 8), (2, 3, 2)))
    rounded = (ring + ring).round(rank=ring.rank)
    assert relative_error(rounded, 2 * np.asarray(ring)) <= 1e-6


def test_difference_of_equal_rings_stays_near_zero():
    ring = TensorRing(random_cores((6, 7, 8), (2, 3, 2)))
    rounded = (ring - ring).round(tol=1e-3)
    assert np.linalg.norm(np.asarray(rounded)) <= 1e-6 * ring.norm()


def test_several_copies_and_a_mixed_gauge_come_back_too():
    ring = TensorRing(random_cores((7, 8, 9), (2, 3, 2)))
    total = 3 * ring - ring + 0.5 * ring
    rng = np.random.default_rng(1)
    cores = list(total.cores)
    for k in range(3):
        gauge = np.linalg.qr(rng.standard_normal((total.rank[k],) * 2))[0]
        cores[k - 1] = cores[k - 1] @ gauge
        cores[k] = np.tensordot(gauge.T, cores[k], axes=1)
    rounded = TensorRing(cores).round(tol=1e-6)
    assert rounded.rank == ring.rank
    assert relative_error(rounded, 2.5 * np.asarray(ring)) <= 1e-6


def test_bonds_beyond_their_limit_are_cut_without_loss():
    ring = TensorRing(random_cores((20, 20, 2), (6, 5, 2)))
    rounded = ring.round(tol=1e-6)
    assert rounded.rank == (4, 5, 2)
    assert relative_error(rounded, np.asarray(ring)) <= 1e-6


@pytest.mark.parametrize("noisy_bond", [0, 1, 2])
def test_weak_directions_of_any_bond_are_found(noisy_bond):
    cores = random_cores((8, 9, 10), (3, 3, 3))
    cores[noisy_bond] = cores[noisy_bond].copy()
    cores[noisy_bond][2] *= 1e-4
    ring = TensorRing(cores)
    rounded = ring.round(tol=1e-2)
    assert rounded.rank == tuple(2 if k == noisy_bond else 3 for k in range(3))
    assert relative_error(rounded, dense(cores)) <= 1e-2


@settings(deadline=None, max_examples=20)
@given(ring_cores(min_order=2, max_order=4, max_rank=4), st.integers(1, 3))
def test_rank_is_a_cap(cores, rank):
    ring = TensorRing(cores)
    rounded = ring.round(rank=rank)
    assert all(new <= min(old, rank) for new, old in zip(rounded.rank, ring.rank, strict=True))
    assert ring.distance(rounded) <= ring.norm() * (1 + 1e-6)


def test_matrix_is_cut_as_well_as_by_its_singular_values():
    cores = random_cores((12, 14), (1, 6))
    values = np.linalg.svd(dense(cores), compute_uv=False)
    best = np.sqrt(np.sum(values[3:] ** 2) / np.sum(values**2))
    rounded = TensorRing(cores).round(rank=(1, 3))
    np.testing.assert_allclose(relative_error(rounded, dense(cores)), best, rtol=1e-6)


def test_rank_of_a_noisy_copy_recovers_the_clean_ring():
    clean = TensorRing(random_cores((10, 11, 12), (2, 3, 2)))
    noise = 1e-3 * TensorRing(random_cores((10, 11, 12), (2, 2, 2), seed=5))
    rounded = (clean + noise).round(rank=(2, 3, 2, 2))
    assert rounded.rank == (2, 3, 2)
    assert relative_error(rounded, np.asarray(clean)) < 5e-3


def test_rank_and_tolerance_together_keep_the_rank_first():
    ring = TensorRing(random_cores((8, 8, 8), (4, 4, 4)))
    assert max(ring.round(rank=2, tol=1e-6).rank) <= 2
    assert max((ring + ring).round(rank=5, tol=1e-6).rank) == 4
    assert ring.round(rank=9, tol=1e-6).rank == ring.rank


def test_tolerance_below_what_can_be_verified_cuts_nothing():
    ring = TensorRing(random_cores((5, 6, 7), (2, 2, 2)))
    twice = ring + ring
    assert twice.round(tol=1e-12).rank == twice.rank
    assert twice.round(tol=0).distance(twice) == 0.0


def test_scale_does_not_matter():
    ring = TensorRing(random_cores((5, 6, 7), (2, 3, 2)))
    for factor in (1e-30, 1e30):
        rounded = (factor * (ring + ring)).round(tol=1e-6)
        assert rounded.rank == ring.rank
        assert relative_error(rounded, 2 * factor * np.asarray(ring)) <= 1e-6


def test_zero_and_vectors_need_rank_one_only():
    zero = TensorRing([np.zeros((2, 3, 2)), np.zeros((2, 4, 2))])
    assert zero.round(tol=0.1).rank == (1, 1)
    vector = TensorRing(random_cores((7,), (3,)))
    np.testing.assert_allclose(np.asarray(vector.round(tol=1e-6)), dense(vector.cores))
    assert vector.round(rank=2).rank == (1,)


def test_same_ring_gives_the_same_bits():
    ring = TensorRing(random_cores((8, 8, 8), (4, 4, 4)))
    for first, second in zip(ring.round(rank=2).cores, ring.round(rank=2).cores, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ArgumentError, "rank=, tol= or both"),
        ({"tol": -1.0}, ArgumentError, "tol=-1.0 is not allowed; it must be at least 0"),
        ({"tol": float("nan")}, ArgumentError, "tol=nan is not allowed"),
        ({"tol": "much"}, ArgumentTypeError, "tol='much' is not a number"),
        ({"rank": (1, 2)}, ArgumentError, "2 entries but the tensor has 3 modes"),
    ],
)
def test_wrong_arguments_are_explained(arguments, error, message):
    with pytest.raises(error, match=message):
        TensorRing(random_cores((3, 4, 5), (2, 2, 2))).round(**arguments)


def test_bonds_too_wide_to_round_are_refused():
    ring = TensorRing(random_cores((2, 2), (1, 200)))
    with pytest.raises(BudgetError, match="bond 1 has rank 200"):
        ring.round(tol=1e-3)


@st.composite
def hard_cores(draw):
    """Cores of very different scale, with bond indices of very different scale or nearly dependent slices."""
    cores = draw(ring_cores(min_order=2, max_order=4, max_size=6, max_rank=4))
    exponents = st.floats(-6, 6)
    for k, core in enumerate(cores):
        nearness = 10.0 ** draw(st.floats(-14, -2))
        kind = draw(st.sampled_from(["plain", "scaled", "dependent before", "dependent after"]))
        if kind == "scaled":
            core *= 10.0 ** np.array([draw(exponents) for _ in core])[:, None, None]
        elif kind == "dependent before":
            core[1:] = core[:1] + nearness * core[1:]
        elif kind == "dependent after":
            core[:, :, 1:] = core[:, :, :1] + nearness * core[:, :, 1:]
        cores[k] = core * 10.0 ** draw(exponents)
    return cores


@pytest.mark.filterwarnings("error")
@settings(deadline=None, max_examples=80)
@given(hard_cores(), st.sampled_from([1e-6, 1e-4, 1e-2, 0.3]))
def test_tolerance_is_kept_for_badly_scaled_and_nearly_dependent_cores(cores, tol):
    ring = TensorRing(cores)
    rounded = ring.round(tol=tol)
    assert ring.distance(rounded) <= tol * ring.norm()
    assert all(np.isfinite(core).all() for core in rounded.cores)
    capped = ring.round(rank=2)
    assert max(capped.rank) <= 2
    assert all(np.isfinite(core).all() for core in capped.cores)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("strength", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("seed", range(5))
def test_weak_directions_on_both_sides_of_a_bond_are_cut(strength, seed):
    cores = random_cores((20, 15, 3), (3, 4, 3), seed=seed)
    for core in cores:  # as a fit of a tensor of lower rank leaves them
        core[1:] *= strength
        core[:, :, 1:] *= strength
    ring = TensorRing(cores)
    rounded = ring.round(tol=0.01)
    assert rounded.rank == (1, 1, 1)
    assert relative_error(rounded, dense(cores)) <= 0.01


@pytest.mark.filterwarnings("error")
def test_a_fit_of_more_rank_than_the_data_have_is_rounded():
    truth = np.fromfunction(lambda i, j, k: 100 + 20 * np.sin(i / 9) * np.cos(j / 7) + 5 * k, (60, 50, 3))
    rng = np.random.default_rng(0)
    x = np.where(rng.random(truth.shape) < 0.1, 255.0, truth)
    x[rng.random(truth.shape) < 0.3] = np.nan
    ring = ringlet.decompose(x, rank=(3, 4, 3)).ring
    rounded = ring.round(tol=0.01)
    assert rounded.parameters < ring.parameters / 3
    assert ring.distance(rounded) <= 0.01 * ring.norm()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_an_error_not_an_endless_loop(wrong):
    with pytest.raises(ArgumentError, match="orders of magnitude"):
        _solve(np.diag([wrong, 1.0]), np.ones((2, 1)))


def test_a_matrix_with_a_negative_part_is_solved_with_a_larger_ridge():
    assert np.isfinite(_solve(np.diag([-1e9, 1.0]), np.ones((2, 1)))).all()


def test_a_norm_too_small_for_its_square_is_an_error():
    faint = np.zeros((2, 3, 2))
    faint[0, 0, 1] = faint[1, 1, 0] = 1.0
    faint[0, 0, 0] = 1e-150
    ring = TensorRing([faint, np.eye(2)[:, None, :]])
    with pytest.raises(ArgumentError, match="orders of magnitude"):
        ring.round(tol=0.1)
