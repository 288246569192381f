"""SampledTRALS: its distributions, its samples, and how close it comes to TRALS."""

from statistics import median

import numpy as np
import pytest

from oracles import fast_dense, leverage_scores, random_cores, subchain
from ringlet import decompose
from ringlet.baselines import TRALS, SampledTRALS
from ringlet.errors import ArgumentError
from ringlet.ring import GramChain
from ringlet.sampling import draw_leverage_rows, draw_rows, leverage_distribution, merge_rows
from ringlet.sources import ArraySource

SAMPLINGS = ("product-leverage", "exact-leverage", "uniform")


def relative(ring, x):
    return np.linalg.norm(np.asarray(ring) - x) / np.linalg.norm(x)


def noisy(shape, rank, seed=0, noise=0.1):
    x = fast_dense(random_cores(shape, rank, seed=seed))
    return x + noise * np.std(x) * np.random.default_rng(seed).standard_normal(shape)


def cyclic_rows(rows, mode, shape):
    """Row numbers in the order of the oracle's subchain, from indices of the modes 0 .. N-1 without `mode`."""
    others = [other for other in range(len(shape)) if other != mode]
    by_mode = dict(zip(others, rows, strict=True))
    chain = [*range(mode + 1, len(shape)), *range(mode)]
    return np.ravel_multi_index([by_mode[other] for other in chain], [shape[other] for other in chain])


def test_leverage_of_a_core_is_that_of_its_unfolding():
    for shape in ((2, 9, 3), (3, 4, 2), (2, 30, 2)):
        core = np.random.default_rng(0).standard_normal(shape)
        scores = leverage_scores(core.transpose(1, 0, 2).reshape(shape[1], -1))
        np.testing.assert_allclose(leverage_distribution(core), scores / scores.sum(), atol=1e-10)
    deficient = np.repeat(np.random.default_rng(1).standard_normal((2, 9, 1)), 3, axis=2)
    scores = leverage_scores(deficient.transpose(1, 0, 2).reshape(9, -1))
    np.testing.assert_allclose(leverage_distribution(deficient), scores / scores.sum(), atol=1e-8)


def test_leverage_is_uniform_where_a_core_has_as_many_columns_as_slices():
    core = np.random.default_rng(0).standard_normal((3, 8, 3))
    np.testing.assert_allclose(leverage_distribution(core), 1 / 8, atol=1e-9)
    np.testing.assert_allclose(leverage_distribution(np.zeros((2, 5, 2))), 1 / 5)


@pytest.mark.parametrize(("shape", "rank"), [((6, 5), (2, 2)), ((5, 4, 6), (2, 3, 2)), ((4, 3, 3, 4), (2, 2, 3, 2))])
def test_rows_are_drawn_by_their_exact_leverage(shape, rank):
    cores, count = random_cores(shape, rank), 20_000
    for mode in range(len(shape)):
        scores = leverage_scores(subchain(cores, mode))
        gram = GramChain(cores).without(mode).dense()
        rows, weights = draw_leverage_rows(cores, mode, gram, count, np.random.default_rng(0))
        numbers = cyclic_rows(rows, mode, shape)
        np.testing.assert_allclose(1 / (count * weights), scores[numbers] / scores.sum(), rtol=1e-6, atol=1e-11)
        drawn = np.bincount(numbers, minlength=len(scores)) / count
        assert np.abs(drawn - scores / scores.sum()).max() < 0.02


def test_exact_leverage_sums_to_the_rank_of_the_subchain():
    cores = random_cores((8, 7, 2), (5, 2, 2), seed=1)  # the bond of 5 carries only 4
    S = subchain(cores, 0)
    assert np.linalg.matrix_rank(S) == 8 < S.shape[1]
    gram = GramChain(cores).without(0).dense()
    rows, weights = draw_leverage_rows(cores, 0, gram, 4000, np.random.default_rng(0))
    numbers = cyclic_rows(rows, 0, (8, 7, 2))
    assert set(numbers) == set(np.flatnonzero(leverage_scores(S) > 1e-10))
    seen = dict(zip(numbers, 1 / (4000 * weights), strict=True))
    assert sum(seen.values()) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("exact", [False, True])
def test_the_sampled_gram_converges_to_that_of_the_subchain(exact):
    shape, rank, mode, count = (8, 7, 6), (2, 3, 2), 1, 200_000
    cores = random_cores(shape, rank)
    S, rng = subchain(cores, mode), np.random.default_rng(0)
    gram = GramChain(cores).without(mode).dense()
    if exact:
        rows, weights = draw_leverage_rows(cores, mode, gram, count, rng)
    else:
        others = [leverage_distribution(cores[other]) for other in (0, 2)]
        assert all(scores.sum() == pytest.approx(1.0) for scores in others)
        rows, weights = draw_rows(others, count, rng)
    rows, weights = merge_rows(rows, weights, (8, 6))
    drawn = S[cyclic_rows(rows, mode, shape)]
    sampled = (drawn.T * weights) @ drawn
    assert np.linalg.norm(sampled - gram) < 1.5e-2 * np.linalg.norm(gram)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_five_times_the_unknowns_come_within_a_tenth_of_trals(sampling):
    ratios = []
    for seed in (4, 5, 6):
        x = noisy((30, 32, 28), (4, 4, 4), seed=seed)
        whole = decompose(x, 4, solver=TRALS(tol=0))
        sampled = decompose(x, 4, solver=SampledTRALS(samples=80, sampling=sampling, tol=0))
        ratios.append(relative(sampled.ring, x) / relative(whole.ring, x))
    assert np.median(ratios) < 1.1


def test_exact_leverage_needs_fewer_rows_in_higher_orders():
    x = noisy((20, 20, 20, 20), (3, 3, 3, 3), seed=5)
    fit = decompose(x, 3, solver=SampledTRALS(samples=45, sampling="exact-leverage", tol=0))
    assert relative(fit.ring, x) < 0.11


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_it_recovers_an_exact_ring(sampling):
    x = fast_dense(random_cores((20, 18, 16), (2, 2, 2), seed=1))
    solver = SampledTRALS(samples=60, sampling=sampling, tol=0, sweeps=40)
    assert min(relative(decompose(x, 2, solver=solver, seed=seed).ring, x) for seed in range(4)) < 1e-6


def test_all_rows_make_it_nearly_trals():
    x, init = noisy((8, 7, 6), (2, 2, 2)), random_cores((8, 7, 6), (2, 2, 2), seed=3)
    whole = decompose(x, 2, solver=TRALS(sweeps=1), init=init)
    many = SampledTRALS(sweeps=1, samples=300_000, sampling="uniform", average=False)
    assert relative(decompose(x, 2, solver=many, init=init).ring, np.asarray(whole.ring)) < 0.05


def test_averaging_lowers_the_error_that_the_last_samples_leave():
    x = noisy((30, 32, 28), (3, 3, 3), seed=2)
    published, averaged = (
        median(relative(decompose(x, 3, solver=solver, seed=seed).ring, x) for seed in range(5))
        for solver in (SampledTRALS(samples=45, tol=0, average=False), SampledTRALS(samples=45, tol=0))
    )
    assert averaged < 0.8 * published


def test_only_sampled_entries_are_read(monkeypatch):
    x = noisy((30, 32, 28), (2, 2, 2))
    counts = []
    read_rows = ArraySource.read_rows

    def counted(self, mode, slices, rows):
        values, observed = read_rows(self, mode, slices, rows)
        counts.append(values.size)
        return values, observed

    surveyed = []
    read = ArraySource.read
    monkeypatch.setattr(ArraySource, "read_rows", counted)
    monkeypatch.setattr(ArraySource, "read", lambda self, block: (surveyed.append(self.shape), read(self, block))[1])
    decompose(x, 2, solver=SampledTRALS(samples=20, sweeps=2, tol=0))
    assert 0 < sum(counts) <= 2 * 20 * (30 + 32 + 28)
    assert surveyed.count(x.shape) == 1  # the survey of all data, and nothing after it


def test_the_history_estimates_the_error():
    x = noisy((30, 32, 28), (3, 3, 3), seed=2)
    fit = decompose(x, 3, solver=SampledTRALS(samples=400, tol=0))
    assert fit.history[-1].loss == pytest.approx(0.5 * np.mean((np.asarray(fit.ring) - x) ** 2), rel=0.1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_history_tells_errors_down_to_the_precision(dtype):
    x = np.add.outer(np.add.outer(np.linspace(0, 1, 12), np.linspace(0, 2, 10)), np.linspace(0, 1, 8)).astype(dtype)
    errors = []
    fit = decompose(x, 2, solver=SampledTRALS(tol=0), callback=lambda state: errors.append(relative(state.ring, x)))
    told = [np.sqrt(2 * record.loss / np.mean(x.astype("f8") ** 2)) for record in fit.history]
    assert max(errors[9:]) < 30 * np.finfo(dtype).eps
    assert all(error / 10 < said < 10 * error for said, error in zip(told[9:], errors[9:], strict=True))


def test_a_ridge_shrinks_the_cores():
    x = noisy((12, 11, 10), (2, 2, 2))
    plain = decompose(x, 2, solver=SampledTRALS(samples=100, tol=0))
    shrunk = decompose(x, 2, solver=SampledTRALS(samples=100, tol=0, ridge=1.0))
    assert shrunk.ring.norm() < 0.9 * plain.ring.norm()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"samples": 0}, "samples=0"),
        ({"sampling": "leverage"}, "sampling='leverage'.*exact-leverage"),
        ({"ridge": -1.0}, r"ridge=-1\.0"),
    ],
)
def test_wrong_parameters_are_refused_by_name(given, words):
    with pytest.raises(ArgumentError, match=words):
        SampledTRALS(**given)


def test_too_few_samples_are_refused():
    with pytest.raises(ArgumentError, match=r"samples=10 .*16 unknowns.*samples=80"):
        decompose(noisy((9, 8, 7), (2, 2, 2)), 4, solver=SampledTRALS(samples=10))
