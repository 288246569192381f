import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import dense, fast_dense, random_cores
from ringlet.errors import IndexingError, RingletError
from ringlet.ring import TensorRing, evaluate
from ringlet.testing import indices, ring_cores


def agree(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_index_agrees_with_numpy(data):
    cores = data.draw(ring_cores())
    tensor = dense(cores)
    index = data.draw(indices(tensor.shape))
    agree(TensorRing(cores)[index], tensor[index])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_masks_agree_with_numpy(data):
    cores = data.draw(ring_cores(min_order=2))
    tensor = dense(cores)
    first = data.draw(st.integers(0, tensor.ndim - 1))
    last = data.draw(st.integers(first + 1, tensor.ndim))
    mask = np.random.default_rng(data.draw(st.integers(0, 999))).random(tensor.shape[first:last]) < 0.5
    index = (slice(None),) * first + (mask,)
    agree(TensorRing(cores)[index], tensor[index])
    if last == tensor.ndim - 1:
        agree(TensorRing(cores)[..., mask, 0], tensor[..., mask, 0])


@pytest.mark.parametrize(
    "index",
    [
        ([0, 1], slice(None), [1, 2], slice(None)),
        (0, slice(None), [1, 2, 0]),
        (slice(None), 0, [[1], [2]], [0, 1]),
        (slice(None), [0, 1], 1, slice(None, None, -1)),
        np.ix_([0, 2], [1, 0, 1], [2], [0, 1]),
        (np.array([[0], [1]]), slice(1, None), np.array([2, 1, 0])),
        ([],),
        (slice(0, 0), [0, 1]),
        ([[], []],),
        np.array(1),
        np.uint8(2),
        (..., np.int64(-1)),
        (slice(None), 0, ..., 0, [[0], [1]]),
        (np.array([2, 0], dtype=np.uint8), ...),
        ([True, False, True],),
        (),
        ...,
    ],
    ids=repr,
)
def test_special_indices_agree_with_numpy(index):
    cores = random_cores((3, 4, 3, 2), (2, 3, 1, 4))
    agree(TensorRing(cores)[index], dense(cores)[index])


def test_points_of_large_blocks_are_evaluated_one_by_one():
    rng = np.random.default_rng(0)
    cores = [rng.standard_normal(s) for s in [(2, 3, 3), (3, 90, 2), (2, 70, 2), (2, 4, 2)]]
    index = ([0, 2, 1], slice(None), slice(None), [3, 0, 3])
    tensor = np.einsum("aib,bjc,ckd,dla->ijkl", *cores)
    agree(TensorRing(cores)[index], tensor[index])


def test_single_integers_give_scalars_of_the_ring():
    ring = TensorRing(random_cores((3, 4), (2, 2), dtype=np.float32))
    assert isinstance(ring[1, 2], np.float32)


@pytest.mark.parametrize("shape", [(40, 30, 3), (3, 40, 30), (300, 2, 3, 40), (5,), (2, 3, 2, 3, 2, 3), (50, 40)])
def test_dense_tensor_is_right_for_every_cut(shape):
    rank = [1 + (3 * k) % 5 for k in range(len(shape))]
    cores = random_cores(shape, rank)
    letters = "abcdefg"
    terms = [f"{letters[k]}{'uvwxyz'[k]}{letters[(k + 1) % len(shape)]}" for k in range(len(shape))]
    expected = np.einsum(",".join(terms) + "->" + "uvwxyz"[: len(shape)], *cores, optimize=True)
    agree(np.asarray(TensorRing(cores)), expected)
    for p in range(len(shape)):
        for q in range(p + 1, len(shape)):
            agree(evaluate._Cut(cores, p, q).evaluate().reshape(shape), expected)


@settings(deadline=None, max_examples=60)
@given(ring_cores(), st.integers(0, 40), st.integers(0, 999))
def test_entries_agree_with_the_dense_tensor(cores, count, seed):
    tensor = dense(cores)
    rng = np.random.default_rng(seed)
    coordinates = np.stack([rng.integers(-size, size, count) for size in tensor.shape], axis=1)
    agree(TensorRing(cores).entries(coordinates), tensor[tuple(coordinates.T)])


def test_many_entries_come_in_batches():
    cores = random_cores((4, 5, 6), (30, 20, 25))
    coordinates = np.random.default_rng(0).integers(0, [4, 5, 6], (3000, 3))
    agree(TensorRing(cores).entries(coordinates), np.einsum("aib,bjc,cka->ijk", *cores)[tuple(coordinates.T)])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((0, 4), "index 4 is out of bounds for mode 1 of size 4"),
        (-4, "index -4 is out of bounds for mode 0 of size 3"),
        ((slice(None), [0, 9]), "index 9 is out of bounds for mode 1 of size 4"),
        ((0, 0, 0), "too many indices: the tensor has 2 modes, but 3"),
        (None, "newaxis"),
        ((..., 0, ...), "single ellipsis"),
        (1.0, "is no index"),
        ("a", "is no index"),
        ([[0], [0, 1]], "ragged"),
        (True, "is no index"),
        (np.ones((2, 4), bool), r"shape \(2, 4\) at mode 0 does not match the sizes \(3, 4\)"),
        (([0, 1], [0, 1, 2]), "cannot be broadcast"),
    ],
)
def test_wrong_index_is_explained(index, message):
    ring = TensorRing(random_cores((3, 4), (2, 2)))
    with pytest.raises(IndexingError, match=message) as caught:
        ring[index]
    assert isinstance(caught.value, IndexError)
    assert isinstance(caught.value, RingletError)


def test_iteration_ends_after_the_first_mode():
    cores = random_cores((3, 4), (2, 2))
    rows = list(TensorRing(cores))
    assert len(rows) == len(TensorRing(cores)) == 3
    agree(np.stack(rows), dense(cores))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint64"])
def test_small_integers_index_long_modes(dtype):
    ring = TensorRing(random_cores((300, 200), (2, 2)))
    tensor = np.asarray(ring)
    rows = np.array([1, 100, 0 if dtype.startswith("u") else -1], dtype)
    agree(ring[rows], tensor[rows])
    agree(ring[rows, rows], tensor[rows, rows])
    agree(ring.entries(np.stack([rows, rows], axis=1)), tensor[rows, rows])


@pytest.mark.parametrize("shape", [(2, 700), (2, 2, 700), (30, 30, 30), (2, 2, 2, 700)])
def test_wide_rings_are_evaluated_in_slabs(shape):
    cores = random_cores(shape, (40,) * len(shape))  # the longer arc would have more than a million numbers
    agree(np.asarray(TensorRing(cores)), fast_dense(cores))
