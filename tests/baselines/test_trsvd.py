"""TRSVD and RandomizedTRSVD: the error identity, feasible starts, prescribed accuracy."""

import numpy as np
import pytest

import ringlet
from oracles import dense, fast_dense, random_cores, trsvd
from ringlet import Status, decompose
from ringlet.baselines import TRSVD, RandomizedTRSVD
from ringlet.errors import ArgumentError, ArgumentTypeError

RNG = np.random.default_rng(0)
NOISE = RNG.standard_normal((7, 5, 4, 6))


def relative(ring, x):
    return np.linalg.norm(np.asarray(ring) - x) / np.linalg.norm(x)


@pytest.mark.parametrize("rank", [(2, 3, 4, 5), (1, 2, 3, 2), (3, 2, 9, 9)])
def test_it_is_the_textbook_decomposition(rank):
    cores, discarded = trsvd(NOISE, rank)
    fit = decompose(NOISE, rank, solver=TRSVD())
    assert fit.status is Status.DONE
    assert len(fit.history) == 1
    np.testing.assert_allclose(np.asarray(fit.ring), fast_dense(cores), atol=1e-12)
    assert fit.ring.rank == tuple(core.shape[0] for core in cores)
    assert np.linalg.norm(np.asarray(fit.ring) - NOISE) ** 2 == pytest.approx(np.sum(discarded**2), rel=1e-12)


@pytest.mark.parametrize("solver", [TRSVD, RandomizedTRSVD])
@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_the_squared_error_is_what_was_discarded_from_any_start(solver, start):
    rank = [3, 3, 3, 3]
    rank[start], rank[(start + 1) % 4] = 2, 2
    fit = decompose(NOISE, rank, solver=solver(start_mode=start))
    error = np.linalg.norm(np.asarray(fit.ring) - NOISE) ** 2
    assert fit.history[0].loss * 2 * NOISE.size == pytest.approx(error, rel=1e-10)


@pytest.mark.parametrize("solver", [TRSVD, RandomizedTRSVD])
@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 4), (7, 5, 4, 6)])
def test_full_ranks_reproduce_the_data(solver, shape):
    x = RNG.standard_normal(shape)
    first = min(shape[0], x.size // shape[0])
    rank = (1, first, *(99,) * (len(shape) - 2))
    fit = decompose(x, rank, solver=solver())
    assert relative(fit.ring, x) < 1e-13


def test_many_blocks_of_columns_give_the_textbook_decomposition(pieces_of_work):
    x = RNG.standard_normal((24, 30, 40, 80))
    cores, _ = trsvd(x, (2, 3, 4, 5))
    ring = decompose(x, (2, 3, 4, 5), solver=TRSVD(threads=1)).ring
    assert max(pieces_of_work) > 2
    np.testing.assert_allclose(np.asarray(ring), fast_dense(cores), atol=1e-11)


def test_an_infeasible_start_names_the_feasible_ones():
    x = RNG.standard_normal((4, 30, 25))
    with pytest.raises(ArgumentError, match=r"start_mode=0 .*4 singular values.*start_mode=1 or 2 would do"):
        decompose(x, 3, solver=TRSVD())
    with pytest.raises(ArgumentError, match=r"start_mode=1 or 2"):
        ringlet.plan((4, 30, 25), 3, solver=RandomizedTRSVD())


def test_auto_takes_the_first_feasible_mode_and_turns_the_cores_back():
    x = RNG.standard_normal((4, 30, 25))
    auto = decompose(x, 3, solver=TRSVD(start_mode="auto"))
    asked = decompose(x, 3, solver=TRSVD(start_mode=1))
    assert auto.ring.shape == x.shape
    np.testing.assert_array_equal(np.asarray(auto.ring), np.asarray(asked.ring))
    cores, _ = trsvd(x.transpose(1, 2, 0), (3, 3, 3))
    np.testing.assert_allclose(np.asarray(auto.ring), dense([cores[2], cores[0], cores[1]]), atol=1e-12)


def test_auto_without_any_feasible_mode_says_so():
    with pytest.raises(ArgumentError, match="no mode k"):
        decompose(RNG.standard_normal((4, 5, 6)), 4, solver=TRSVD(start_mode="auto"))
    with pytest.raises(ArgumentError, match="no other mode would do"):
        decompose(RNG.standard_normal((4, 5, 6)), 4, solver=TRSVD())


def test_ranks_that_cannot_be_reached_are_reported_and_planned():
    x = RNG.standard_normal((8, 3, 9))
    fit = decompose(x, (2, 2, 50), solver=TRSVD())
    assert fit.ring.rank == (2, 2, 6)
    assert "will have rank 6, not 50" in str(ringlet.plan(x.shape, (2, 2, 50), solver=TRSVD()))


@pytest.mark.parametrize("accuracy", [0.0, 1e-8, 0.05, 0.3])
@pytest.mark.parametrize("start", [0, 2])
def test_a_prescribed_accuracy_is_kept(accuracy, start):
    x = fast_dense(random_cores((9, 8, 7, 6), (2, 3, 2, 3))) + 0.02 * RNG.standard_normal((9, 8, 7, 6))
    fit = decompose(x, None, solver=TRSVD(accuracy=accuracy, start_mode=start))
    assert relative(fit.ring, x) <= accuracy + 1e-13
    exact = decompose(x, None, solver=TRSVD(accuracy=0.0, start_mode=start))
    if accuracy == 0.3:
        assert fit.ring.parameters < exact.ring.parameters


@pytest.mark.parametrize("accuracy", [0.3, 0.5])
def test_an_accuracy_is_shared_out_over_the_bonds(accuracy):
    def lost(*bonds):
        """Squared error if all later bonds are full."""
        return np.sum(trsvd(NOISE, (*bonds, *(10**6 for _ in range(4 - len(bonds)))))[1] ** 2)

    a, b, c, d = decompose(NOISE, None, solver=TRSVD(accuracy=accuracy)).ring.rank
    whole, share = np.sum(NOISE**2), accuracy**2 / 4  # of what is left, for each of four bonds
    assert lost(a, b) <= 2 * share * whole
    for before, bond in (((a, b), c), ((a, b, c), d)):
        allowed = lost(*before) + share * (whole - lost(*before))
        assert lost(*before, bond) <= allowed < lost(*before, bond - 1)


def test_a_prime_number_of_components_does_not_make_a_train():
    x = np.zeros((12, 12))
    x[np.arange(7), np.arange(7)] = 1.0
    x += 1e-9 * RNG.standard_normal((12, 12))
    assert decompose(x, None, solver=TRSVD(accuracy=1e-6)).ring.rank == (2, 4)


def test_accuracy_and_rank_exclude_each_other():
    with pytest.raises(ArgumentError, match=r"rank=3 is not allowed with accuracy=0\.1"):
        decompose(NOISE, 3, solver=TRSVD(accuracy=0.1))
    with pytest.raises(ArgumentError, match="rank=None is not allowed"):
        decompose(NOISE, None, solver=TRSVD())


def test_a_sketch_with_power_iterations_comes_close_to_the_exact_factorisation():
    x = np.random.default_rng(3).standard_normal((60, 40, 5)) * np.linspace(1, 0.05, 60)[:, None, None] ** 3
    exact = relative(decompose(x, (4, 4, 8), solver=TRSVD()).ring, x)
    errors = [relative(decompose(x, (4, 4, 8), solver=RandomizedTRSVD(power=p)).ring, x) for p in (0, 1, 3)]
    assert errors[2] < 1.005 * exact  # it may be lower: each step is best for itself, not for those after it
    assert errors[2] <= errors[1] * 1.001 <= errors[0] * 1.002
    assert errors[0] < 1.2 * exact


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TRSVD(start_mode="best"), ArgumentError, "start_mode='best'"),
        (lambda: TRSVD(start_mode=-1), ArgumentError, "start_mode=-1"),
        (lambda: TRSVD(start_mode=1.5), ArgumentTypeError, r"start_mode=1\.5"),
        (lambda: TRSVD(accuracy=-0.1), ArgumentError, "accuracy"),
        (lambda: RandomizedTRSVD(oversampling=-1), ArgumentError, "oversampling=-1"),
        (lambda: RandomizedTRSVD(power=0.5), ArgumentTypeError, r"power=0\.5"),
        (lambda: decompose(NOISE, 2, solver=TRSVD(start_mode=4)), ArgumentError, "start_mode=4.*4 modes"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, error, words):
    with pytest.raises(error, match=words):
        make()
