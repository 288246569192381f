"""Many tensors fitted as one stack: each gets the ring that it would get alone."""

import numpy as np
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD
from ringlet.errors import ArgumentError, ArgumentTypeError, IndexingError

COUNT, SHAPE = 5, (8, 7, 6)


@pytest.fixture(scope="module")
def patches():
    rng = np.random.default_rng(0)
    x = np.fromfunction(lambda p, i, j, k: 5 * p + np.cos(i / 3 + j / 4 + p) + np.sin(k / 2 + i / 5), (COUNT, *SHAPE))
    x[rng.random(x.shape) < 0.1] += 5
    return x.astype(np.float32)


@pytest.fixture(scope="module")
def observed():
    known = np.random.default_rng(1).random((COUNT, *SHAPE)) < 0.8
    known[2, 3] = False  # a slice without data
    return known


def plain(**fields):
    return AWRTRD(**({"loss": "correntropy", "smooth": 0.0, "sweeps": 5, "tol": 0} | fields))


@pytest.mark.parametrize(
    "solver",
    [
        plain(),
        plain(loss="huber", ridge=0.0),
        plain(sigma=0.5),
        plain(loss="l2"),
        plain(sigma="maxabs", dtype="float64"),
    ],
)
@pytest.mark.filterwarnings("ignore:1 slice:ringlet.errors.DataWarning")
def test_every_tensor_gets_the_ring_that_it_gets_alone(solver, patches, observed):
    many = ringlet.decompose_many(patches, 3, solver=solver, mask=observed, seed=4)
    assert many.sweeps.tolist() == [5] * COUNT
    for i in range(COUNT):
        alone = ringlet.decompose(patches[i], 3, solver=solver, mask=observed[i], seed=4)
        expected = np.asarray(alone.ring)
        assert np.linalg.norm(np.asarray(many[i]) - expected) < 1e-4 * np.linalg.norm(expected)
        assert many.tensor[i] == pytest.approx(expected, abs=1e-3)
        # Twice the distance of two quartiles of residuals, each of which is as exact as an entry.
        assert many.sigma[i] == pytest.approx(alone.sigma, abs=4e-3)


def test_every_tensor_ends_when_it_would_end_alone(patches):
    solver = plain(sweeps=30, tol=1e-3)
    many = ringlet.decompose_many(patches, 3, solver=solver)
    alone = [ringlet.decompose(patch, 3, solver=solver) for patch in patches]
    assert many.sweeps.tolist() == [len(fit.history) for fit in alone]
    assert many.converged.tolist() == [fit.status.name == "CONVERGED" for fit in alone]


@pytest.mark.parametrize("missing", ["mask", "NaN"])
def test_a_stack_stays_on_its_device(put, missing, patches, observed):
    expected = ringlet.decompose_many(patches, 3, solver=plain(), mask=observed)
    if missing == "mask":
        there, mask = put(patches), put(observed)
    else:
        there, mask = put(np.where(observed, patches, np.float32(np.nan))), None
    many = ringlet.decompose_many(there, 3, solver=plain(), mask=mask)
    assert all(core.device == there.device for core in many.cores)
    assert many.tensor.device == there.device
    place = many[0].place
    assert place.fetch(many.tensor) == pytest.approx(expected.tensor, abs=1e-3)


def test_a_tensor_of_zeros_is_fitted_by_zeros(patches):
    stack = patches.copy()
    stack[1] = 0
    assert np.abs(ringlet.decompose_many(stack, 2).tensor[1]).max() < 1e-3


def test_what_is_not_for_stacks_is_refused(patches):
    for solver, name in ((AWRTRD(), "smooth"), (plain(loss="learned"), "loss"), (plain(sigma="trusted"), "sigma")):
        with pytest.raises(ArgumentError, match=f"{name}='.*' is not for stacks; smooth=0"):
            ringlet.decompose_many(patches, 3, solver=solver)
    with pytest.raises(ArgumentTypeError, match=r"SAWRTRD\(.* is not for stacks"):
        ringlet.decompose_many(patches, 3, solver=SAWRTRD())
    with pytest.raises(ArgumentError, match="three modes or more"):
        ringlet.decompose_many(patches[0, 0], 3)
    empty = np.ones(patches.shape, bool)
    empty[3] = False
    with pytest.raises(ArgumentError, match=r"data\[3\]: no entry of the data is observed"):
        ringlet.decompose_many(patches, 3, mask=empty)
    with pytest.raises(IndexingError, match="out of bounds for 5 rings"):
        ringlet.decompose_many(patches, 1)[5]
