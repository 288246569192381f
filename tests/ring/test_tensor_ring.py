import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import dense, random_cores, subchain
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring import TensorRing
from ringlet.testing import ring_cores


@st.composite
def pairs(draw):
    cores = draw(ring_cores())
    others = draw(ring_cores(shape=[core.shape[1] for core in cores]))
    return cores, others


def agree(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max()))


# Algebra


@settings(deadline=None, max_examples=60)
@given(pairs())
def test_algebra_agrees_with_dense_algebra(pair):
    (x, y), (ring, other) = map(dense, pair), map(TensorRing, pair)
    agree(np.asarray(ring + other), x + y)
    agree(np.asarray(ring - other), x - y)
    agree(np.asarray(ring * other), x * y)
    agree(np.asarray(-ring), -x)
    agree(np.asarray(2 * ring), 2 * x)
    agree(np.asarray(ring / 4), x / 4)
    agree(np.asarray(np.float32(0.5) * ring), x / 2)
    agree(ring.inner(other), np.sum(x * y))


@settings(deadline=None, max_examples=60)
@given(pairs())
def test_norm_and_distance_agree_with_dense(pair):
    (x, y), (ring, other) = map(dense, pair), map(TensorRing, pair)
    scale = np.linalg.norm(x) + np.linalg.norm(y)
    np.testing.assert_allclose(ring.norm(), np.linalg.norm(x), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ring.distance(other), np.linalg.norm(x - y), rtol=1e-7, atol=1e-6 * scale)


@settings(deadline=None, max_examples=30)
@given(ring_cores(), st.floats(-1e3, 1e3))
def test_distance_is_never_negative_and_zero_to_itself(cores, factor):
    ring = TensorRing(cores)
    assert ring.distance(TensorRing([core.copy() for core in cores])) == 0.0
    assert ring.distance(factor * ring) >= 0.0


def test_huge_and_tiny_rings_have_finite_distances():
    huge = TensorRing([np.full((1, 3, 1), 1e150), np.full((1, 3, 1), 1e100)])
    tiny = TensorRing([np.full((1, 3, 1), 1e-200), np.full((1, 3, 1), 1e-200)])
    np.testing.assert_allclose(huge.norm(), 3e250)
    np.testing.assert_allclose(huge.distance(tiny), 3e250)
    np.testing.assert_allclose(huge.distance(-huge), 6e250)
    assert tiny.norm() == 0.0
    zero = TensorRing([np.zeros((2, 3, 2))])
    assert zero.norm() == zero.distance(zero) == 0.0


@settings(deadline=None, max_examples=40)
@given(ring_cores(), st.sampled_from([1, -2.5, 1e3, True, np.float32(0.5), np.uint8(7)]))
def test_numbers_are_added_and_subtracted(cores, number):
    tensor, ring = dense(cores), TensorRing(cores, units="K")
    value = float(number)
    agree(np.asarray(ring + number), tensor + value)
    agree(np.asarray(number + ring), tensor + value)
    agree(np.asarray(ring - number), tensor - value)
    agree(np.asarray(number - ring), value - tensor)
    assert (ring + number).rank == tuple(bond + 1 for bond in ring.rank)
    assert (number - ring).dtype == ring.dtype
    assert (ring - number).units == "K"


def test_python_sums_rings():
    cores = random_cores((3, 4), (2, 2))
    ring = TensorRing(cores, names=("x", "y"))
    total = sum([ring, ring, ring])  # begins with 0
    agree(np.asarray(total), 3 * dense(cores))
    assert (total.rank, (1 + ring).names) == ((6, 6), ("x", "y"))


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_sums_and_means_agree_with_numpy(data):
    cores = data.draw(ring_cores())
    tensor, ring = dense(cores), TensorRing(cores)
    axes = data.draw(st.lists(st.integers(0, len(cores) - 1), unique=True, min_size=1))
    axis = data.draw(st.sampled_from([tuple(axes), axes[0], axes[0] - len(cores), None]))
    for name in ("sum", "mean"):
        found = getattr(ring, name)(axis)
        expected = getattr(tensor, name)(axis)
        assert isinstance(found, float) == (np.ndim(expected) == 0)
        agree(np.asarray(found), expected)


@settings(deadline=None, max_examples=40)
@given(ring_cores(), st.integers(-6, 6))
def test_rotation_moves_modes_and_keeps_the_norm(cores, shift):
    tensor, ring = dense(cores), TensorRing(cores)
    order = [(shift + k) % tensor.ndim for k in range(tensor.ndim)]
    agree(np.asarray(ring.rotate(shift)), tensor.transpose(order))
    np.testing.assert_allclose(ring.rotate(shift).norm(), ring.norm(), rtol=1e-7, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(ring_cores(), st.integers(0, 6), st.booleans())
def test_transposition_along_and_against_the_ring(cores, shift, reverse):
    tensor, ring = dense(cores), TensorRing(cores)
    order = [(shift + (-k if reverse else k)) % tensor.ndim for k in range(tensor.ndim)]
    for found in (ring.transpose(order), ring.transpose(*order), np.transpose(ring, np.array(order))):
        agree(np.asarray(found), tensor.transpose(order))
    for found in (ring.transpose(), ring.transpose(None), ring.T):
        agree(np.asarray(found), tensor.T)


def test_transposition_across_the_ring_is_refused():
    ring = TensorRing(random_cores((2, 3, 4, 5), (1, 2, 3, 2)))
    with pytest.raises(ArgumentError, match="no cyclic shift"):
        ring.transpose((0, 2, 1, 3))


def test_gram_without_agrees_with_explicit_subchain():
    cores = random_cores((3, 4, 2), (2, 3, 4))
    for k in range(-3, 3):
        explicit = subchain(cores, k % 3)
        np.testing.assert_allclose(TensorRing(cores).gram_without(k), explicit.T @ explicit, atol=1e-10)


def test_names_and_units_travel_along():
    ring = TensorRing(random_cores((2, 3, 4), (1, 2, 3)), names=("y", "x", "t"), units="K")
    assert (2 * ring).names == ("y", "x", "t")
    assert (ring + ring).units == "K"
    assert (ring * ring).units is None
    assert ring.rotate(1).names == ("x", "t", "y")
    assert ring.transpose().names == ("t", "x", "y")
    assert ring.sum(1).names == ("y", "t")
    assert ring.round(rank=1).names == ring.names


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        (lambda ring: ring + TensorRing([np.ones((1, 9, 1))]), ArgumentError, "different shapes"),
        (lambda ring: ring.inner(np.ones(3)), ArgumentTypeError, "expected another TensorRing"),
        (lambda ring: ring / 0, ArgumentError, "other than 0"),
        (lambda ring: ring * float("nan"), ArgumentError, "finite"),
        (lambda ring: ring + "1", TypeError, "unsupported operand"),
        (lambda ring: "1" - ring, TypeError, "unsupported operand"),
        (lambda ring: ring + float("inf"), ArgumentError, "only a finite number can be added"),
        (lambda ring: ring + np.ones((3, 4)), ArgumentTypeError, r"e\.g\. np\.asarray\(ring\) \+ x"),
        (lambda ring: np.ones((3, 4)) - ring, ArgumentTypeError, "not with arrays"),
        (lambda ring: np.ones(3) * ring, ArgumentTypeError, "not with arrays"),
        (lambda ring: ring / np.ones(3), ArgumentTypeError, "not with arrays"),
        (lambda ring: ring.sum(2), ArgumentError, "out of range for a tensor of 2 modes"),
        (lambda ring: ring.sum((0, -2)), ArgumentError, "twice"),
        (lambda ring: ring.sum("a"), ArgumentTypeError, "int or a tuple"),
        (lambda ring: ring.astype(int), ArgumentTypeError, "float32 or float64"),
        (lambda ring: ring.entries([[0, 1, 2]]), ArgumentError, r"give \(M, 2\)"),
        (lambda ring: ring.entries([[0.5, 1]]), ArgumentTypeError, "integers"),
        (lambda ring: ring.entries([[0, 4]]), IndexError, "index 4 is out of bounds for mode 1 of size 4"),
        (lambda ring: ring.entries([[0, 1], [2]]), ArgumentError, "ragged"),
        (lambda ring: np.array(ring, copy=False), ValueError, "copy=False"),
        (lambda ring: ring.rotate(1.5), ArgumentTypeError, "shift must be an int, not 1.5"),
        (lambda ring: ring.transpose(1), ArgumentError, "names 1 modes, but the tensor has 2"),
        (lambda ring: ring.transpose(1.5, 0), ArgumentTypeError, "axes must be an int or a tuple of ints"),
        (lambda ring: ring.transpose(1.5), ArgumentTypeError, "axes must be an int or a tuple of ints"),
        (lambda ring: ring.transpose((0,)), ArgumentError, "names 1 modes, but the tensor has 2"),
        (lambda ring: ring.transpose(()), ArgumentError, "names 0 modes"),
        (lambda ring: ring.astype("foo"), ArgumentTypeError, "float32 or float64, not 'foo'"),
        (lambda ring: np.sum(ring, dtype=np.float32), ArgumentTypeError, "no dtype and no out"),
        (lambda ring: np.mean(ring, out=np.zeros(3)), ArgumentTypeError, "no dtype and no out"),
    ],
)
def test_wrong_operations_are_explained(operation, error, message):
    with pytest.raises(error, match=message):
        operation(TensorRing(random_cores((3, 4), (2, 2))))


# What a ring is made of


def test_properties_describe_the_ring():
    ring = TensorRing(random_cores((6, 7, 8), (2, 3, 4), dtype=np.float32))
    assert ring.shape == (6, 7, 8)
    assert ring.rank == (2, 3, 4)
    assert (ring.ndim, ring.size, ring.dtype) == (3, 336, np.float32)
    assert ring.parameters == 2 * 6 * 3 + 3 * 7 * 4 + 4 * 8 * 2
    assert ring.nbytes == 4 * ring.parameters
    assert ring.compression == 336 / ring.parameters


@pytest.mark.parametrize(
    ("given_dtypes", "stored"),
    [
        (("int64", "int64"), "float64"),
        (("float16", "float16"), "float32"),
        (("float32", "float64"), "float64"),
        (("float32", "float32"), "float32"),
        ((">f4", ">f4"), "float32"),
        (("uint8", "float32"), "float32"),
    ],
)
def test_dtypes_are_promoted(given_dtypes, stored):
    ring = TensorRing([np.ones((1, 2, 1), dtype) for dtype in given_dtypes])
    assert all(core.dtype == stored and core.dtype.isnative for core in ring.cores)
    assert np.asarray(ring).dtype == stored
    assert np.asarray(ring, dtype="float64").dtype == "float64"


@pytest.mark.parametrize(
    ("cores", "error", "message"),
    [
        ([], ArgumentError, "at least one core"),
        ([np.ones((2, 3))], ArgumentError, r"core 0 has shape \(2, 3\)"),
        ([np.ones((1, 0, 1))], ArgumentError, "each at least 1"),
        ([np.ones((2, 3, 1))], ArgumentError, "core 0 ends in a bond of rank 1, but core 0 begins with 2"),
        ([np.ones((1, 3, 2)), np.ones((3, 3, 1))], ArgumentError, "core 0 ends in a bond of rank 2"),
        ([np.ones((1, 3, 1)), np.full((1, 3, 1), np.nan)], ArgumentError, "core 1 has entries that are NaN"),
        ([np.ones((1, 3, 1), complex)], ArgumentTypeError, "complex128"),
        ([np.ones((1, 3, 1), bool)], ArgumentTypeError, "bool"),
        ([np.array([[["a"]]])], ArgumentTypeError, "real numbers"),
        ([np.array([[[None]]])], ArgumentTypeError, "object"),
        (np.ones((1, 3, 1)), ArgumentTypeError, r"write \[core\]"),
        ([[[[1.0], [2.0, 3.0]]]], ArgumentError, "core 0 is a ragged list"),
        (None, ArgumentTypeError, "sequence of 3-D arrays, not None"),
    ],
)
def test_wrong_cores_are_explained(cores, error, message):
    with pytest.raises(error, match=message):
        TensorRing(cores)


@pytest.mark.parametrize(
    ("names", "error"),
    [(["a"], ArgumentError), ("ab", ArgumentTypeError), ([1, 2], ArgumentTypeError), (5, ArgumentTypeError)],
)
def test_wrong_names_are_refused(names, error):
    with pytest.raises(error, match="names"):
        TensorRing(random_cores((3, 4), (2, 2)), names=names)


def test_nothing_can_be_set():
    ring = TensorRing(random_cores((3, 4), (2, 2)))
    for name in ("shape", "cores", "_cores", "new"):
        with pytest.raises(AttributeError, match="cannot"):
            setattr(ring, name, 1)
    with pytest.raises(AttributeError, match="cannot"):
        del ring._cores
    with pytest.raises(ValueError, match="read-only"):
        ring.cores[0][0, 0, 0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        ring.cores[0].flags.writeable = True


def test_later_changes_by_the_caller_do_not_reach_the_ring():
    owner = np.ones((1, 3, 1))
    view = owner[:]
    view.flags.writeable = False
    for core in (owner, view):
        ring = TensorRing([core])
        owner[...] = 7.0
        assert ring[0] == 1.0
        owner[...] = 1.0
    assert owner.flags.writeable


def test_read_only_cores_are_shared_not_copied():
    core = np.ones((1, 3, 1))
    core.flags.writeable = False
    ring = TensorRing([core])
    assert np.shares_memory(ring.cores[0], core)
    assert np.shares_memory(ring.rotate(0).cores[0], core)


def test_operations_leave_input_arrays_alone():
    cores = random_cores((3, 4, 5), (2, 3, 2))
    before = [core.copy() for core in cores]
    ring = TensorRing(cores)
    (ring + ring).round(tol=1e-3)
    ring.round(rank=1)
    np.asarray(ring)[...] = 0
    for core, kept in zip(cores, before, strict=True):
        np.testing.assert_array_equal(core, kept)
        assert core.flags.writeable


def test_equality_is_identity():
    cores = random_cores((3, 4), (2, 2))
    ring = TensorRing(cores)
    assert ring == ring
    assert ring != TensorRing(cores)
    assert len({ring, ring}) == 1


def through_pickle(ring):
    return pickle.loads(pickle.dumps(ring))  # noqa: S301


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
def test_copies_are_complete(duplicate):
    ring = TensorRing(random_cores((3, 4), (2, 2)), names=("a", "b"), units="m")
    twin = duplicate(ring)
    assert (twin.names, twin.units) == (ring.names, ring.units)
    np.testing.assert_array_equal(np.asarray(twin), np.asarray(ring))
    assert not twin.cores[0].flags.writeable


def test_tensorly_agrees_both_ways():
    tr_tensor = pytest.importorskip("tensorly.tr_tensor")
    cores = random_cores((3, 4, 5), (2, 3, 4))
    ring = TensorRing(cores)
    np.testing.assert_allclose(tr_tensor.tr_to_tensor(ring.to_tensorly()), dense(cores))
    np.testing.assert_array_equal(np.asarray(TensorRing.from_tensorly(ring.to_tensorly())), np.asarray(ring))
    ring.to_tensorly()[0][...] = 0.0  # a copy


# How it looks


def test_repr_is_one_informative_line():
    ring = TensorRing([np.ones(s, np.float32) for s in [(20, 1356, 20), (20, 2040, 3), (3, 3, 20)]], units="K")
    facts = "shape=(1356, 2040, 3), rank=(20, 20, 3), float32, 2.66 MB, 12.5x smaller, in K"
    assert repr(ring) == f"TensorRing({facts})"


@pytest.mark.parametrize("order", range(1, 13))
def test_html_draws_every_mode_and_bond_without_script(order):
    names = ["<script>alert(1)</script>"] * order
    ring = TensorRing([np.ones((2 + order, 3, 2 + order))] * order, names=names)
    html = ring._repr_html_()
    assert "<script" not in html
    assert html.count("<circle") == order
    assert len(re.findall(rf">{2 + order}</text>", html)) == order
    assert "&lt;script" in html


def test_numpy_sums_and_means_without_forming_the_tensor():
    cores = random_cores((3, 4), (2, 2))
    ring, tensor = TensorRing(cores), dense(cores)
    np.testing.assert_allclose(np.sum(ring), tensor.sum())
    np.testing.assert_allclose(np.mean(ring), tensor.mean())
    np.testing.assert_allclose(np.asarray(np.sum(ring, axis=1)), tensor.sum(axis=1))
    np.testing.assert_allclose(np.asarray(np.mean(ring, axis=0)), tensor.mean(axis=0))
