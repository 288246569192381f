"""The verbs: wrong arguments are refused before work starts, and what comes out is what is promised."""

import re
import warnings

import numpy as np
import pytest

import ringlet
from ringlet import SAWRTRD, TensorRing, decompose
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, DataWarning, RingletError

X = np.arange(60.0).reshape(3, 4, 5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.zeros((0, 3)), r"shape \(0, 3\), which holds no entries"),
        (np.zeros((3, 0, 4)), "holds no entries"),
        (np.arange(5.0), "1 mode"),
        (np.float64(3.0), "0 mode"),
    ],
)
def test_empty_and_one_dimensional_data_are_refused(data, words):
    with pytest.raises(ArgumentError, match=words):
        decompose(data, 2)


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (object, "dtype object"),
        (str, "dtype <U"),
        (complex, "complex dtype.*unsupported"),
        (bool, "dtype bool"),
    ],
)
def test_dtypes_without_an_order_are_refused_by_name(dtype, words):
    with pytest.raises(ArgumentTypeError, match=words):
        decompose(np.ones((3, 4)).astype(dtype), 2)


@pytest.mark.skipif(np.longdouble(0).itemsize == 8, reason="long double is double on this machine")
def test_long_double_is_refused():
    with pytest.raises(ArgumentTypeError, match="float16, float32, float64"):
        decompose(np.ones((3, 4), dtype=np.longdouble), 2)


@pytest.mark.parametrize(
    ("rank", "words"),
    [
        ((2, 2), "rank has 2 entries but the tensor has 3 modes"),
        ((2, 2, 2, 3), "closes"),
        ((2, 2, 2, 2, 2), "5 entries"),
        (0, "0"),
        (-3, "-3"),
        ((2, 0, 2), "0"),
        (2.5, "2.5"),
        (True, "True"),
        ("3", "text"),
    ],
)
def test_wrong_ranks_are_refused(rank, words):
    with pytest.raises(RingletError, match=words):
        decompose(X, rank)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones((3, 4), bool), r"mask has shape \(3, 4\) but the data have shape \(3, 4, 5\)"),
        (np.ones((3, 4, 5)), "mask has dtype float64"),
        (np.ones((3, 4, 5), np.uint8), "mask has dtype uint8"),
        (np.ma.ones((3, 4, 5), dtype=bool), r"numpy\.ma"),
        ("yes", "yes does not exist"),
    ],
)
def test_wrong_masks_are_refused(mask, words):
    with pytest.raises(RingletError, match=words):
        decompose(X, 2, mask=mask)


def test_data_with_nothing_observed_are_refused():
    for arguments in ({"data": np.full((3, 4), np.nan)}, {"data": X, "mask": np.zeros(X.shape, bool)}):
        with pytest.raises(ArgumentError, match="no entry of the data is observed"):
            decompose(rank=2, **arguments)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_entries_are_named_with_their_position(value):
    x = X.copy()
    x[1, 2, 3] = value
    with pytest.raises(ArgumentError, match=r"infinite at index \(1, 2, 3\)"):
        decompose(x, 2)
    mask = np.isfinite(x)
    assert decompose(x, 2, mask=mask).ring.shape == X.shape  # a masked infinity is only missing


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_wrong_seeds_are_refused(seed):
    with pytest.raises(RingletError, match="seed"):
        decompose(X, 2, seed=seed)


@pytest.mark.parametrize("argument", ["data", "mask"])
def test_ragged_lists_are_refused_by_name(argument):
    given = {"data": X, "mask": np.ones(X.shape, bool)} | {argument: [[1, 2], [3]]}
    with pytest.raises(ArgumentError, match=f"{argument} is not an array"):
        decompose(rank=2, **given)


def test_what_cannot_be_called_is_no_callback():
    with pytest.raises(ArgumentTypeError, match="callback=5"):
        decompose(X, 2, callback=5)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((0, 3), "shape=0"), ((-3, 4), "shape=-3"), ((3,), "1 mode"), ((3.5, 3), "shape=3.5"), (5, "shape=5")],
)
def test_plans_of_impossible_shapes_are_refused(shape, words):
    with pytest.raises(RingletError, match=words):
        ringlet.plan(shape, 2)


@pytest.mark.parametrize("data", [np.ones((200, 300)), ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))])])
def test_a_plan_of_an_array_asks_for_its_shape_in_few_words(data):
    with pytest.raises(ArgumentTypeError, match=r"give its shape, e\.g\. ringlet\.plan\(x\.shape, 5\)") as caught:
        ringlet.plan(data, 3)
    assert len(str(caught.value)) < 120
    assert ringlet.plan(np.array([20, 30]), 3).shape == (20, 30)


@pytest.mark.parametrize(
    ("dtype", "words"), [("foo", "dtype='foo'"), (complex, "complex128"), ("datetime64[s]", "allowed")]
)
def test_plans_for_data_that_cannot_be_fitted_are_refused(dtype, words):
    with pytest.raises(ArgumentTypeError, match=words):
        ringlet.plan((5, 4, 3), 2, dtype=dtype)


def test_more_memory_than_the_machine_has_is_refused_before_it_is_taken():
    with pytest.raises(BudgetError, match="more than the"):
        decompose(np.ones((4, 5)), 30_000)
    with pytest.raises(BudgetError, match="more than the"):
        decompose(X, 2, solver=SAWRTRD(smooth=0.0, sweeps=30, samples=10**12, sampling="uniform-rows"))
    with pytest.raises(BudgetError, match="smallest possible budget"):
        decompose(X, 2, solver=SAWRTRD(smooth=0.0, sweeps=30, samples=10**6, sampling="uniform-rows", memory="1MB"))


def test_wrong_solvers_are_refused():
    for solver in ("sawrtrd", SAWRTRD):
        with pytest.raises(ArgumentTypeError, match="solver="):
            decompose(X, 2, solver=solver)


def test_wrong_starts_are_refused():
    ring = TensorRing([np.ones((2, 3, 2)), np.ones((2, 4, 2)), np.ones((2, 5, 2))])
    with pytest.raises(ArgumentError, match=r"init has shape \(3, 4, 5\) and rank \(2, 2, 2\)"):
        decompose(X, 3, init=ring)
    with pytest.raises(ArgumentError, match="init has a core of zeros"):
        decompose(X, 2, init=0 * ring)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda x, ring: decompose(x, [1, [2, 3], 4]), "rank entries must be integers"),
        (lambda x, ring: ringlet.plan(x.shape, 2, chunks=3), "chunks=3"),
        (lambda x, ring: ring.transpose((0, 0, 1)), "axes="),
        (lambda x, ring: ring.gram_without(9), "k=9"),
        (lambda x, ring: ring.to_xarray(like=3), "like must be"),
        (lambda x, ring: TensorRing(ring.cores, names=(name for name in "ab")), "names has 2 entries"),
    ],
)
def test_mistakes_are_named_by_their_argument(call, named):
    x = np.arange(24.0).reshape(2, 3, 4)
    ring = TensorRing([np.ones((1, length, 1)) for length in x.shape])
    with pytest.raises(RingletError, match=named):
        call(x, ring)


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        ("auto", "rank='auto': an upper bound, that of the largest ring the fit may come to"),
        (None, "rank='auto': an upper bound"),
        (ringlet.budget("20kB"), r"rank=budget\(20000\): an upper bound"),
        (ringlet.target(psnr=30), r"rank=target\(psnr=30\): an upper bound"),
    ],
)
def test_a_plan_of_a_rank_to_be_found_is_an_upper_bound_and_says_so(rank, said):
    x = wave()
    plan = ringlet.plan(x.shape, rank, dtype=x.dtype)
    assert re.match(said, plan.notes[0])
    assert said.split(":")[0].replace("\\", "") in str(plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fit = decompose(x, rank or "auto")
    found = ringlet.plan(x.shape, fit.ring.rank, dtype=x.dtype)
    assert plan.ring_bytes >= fit.ring.parameters * fit.ring.dtype.itemsize
    assert plan.operations >= found.operations
    assert not any("upper bound" in note for note in found.notes)


def wave():
    return np.fromfunction(lambda i, j, t: np.cos(i / 9 + t / 5) + np.sin(j / 7), (20, 15, 12))


def test_complete_without_a_solver_gives_what_decompose_gives():
    x = wave()
    damaged = x[..., :11].copy()
    damaged[3, 4, 5], damaged[6, 7, 8] = 50.0, np.nan
    fit, same = ringlet.complete(damaged), decompose(damaged)
    assert isinstance(fit, ringlet.Fit)
    for core, other in zip(fit.ring.cores, same.ring.cores, strict=True):
        np.testing.assert_array_equal(core, other)
    np.testing.assert_array_equal(fit.tensor, np.asarray(fit.ring))
    assert fit.weights((3, 4, 5)) < 0.01
    assert np.isnan(fit.weights((6, 7, 8)))
    np.testing.assert_allclose(fit.restored(), x[..., :11], atol=0.05)
    grown = fit.extend(x[..., 11:])
    np.testing.assert_allclose(np.asarray(grown.ring)[..., 11:], x[..., 11:], atol=0.1)


def test_complete_without_a_ring_gives_an_estimate():
    estimate = ringlet.complete(
        np.where(np.eye(6, dtype=bool), np.nan, np.ones((6, 6))), solver=ringlet.baselines.L1SNN()
    )
    assert isinstance(estimate, ringlet.Estimate)
    assert estimate.ring is None
    assert estimate.tensor.shape == (6, 6)
