"""Folding into higher orders and back: entries come back to the bit, whatever the factors, dtypes and gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ringlet
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError

DTYPES = ("float16", "float32", "float64", "uint8", "int16", "int64", "uint64", "bool")


@st.composite
def foldings(draw):
    """A shape, factors that fit it (or are too large), and whether they are paired."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=11))
    paired = draw(st.booleans())
    number = draw(st.integers(2, 3)) if paired else None

    def split(length):
        count = number or draw(st.integers(1, 3))
        kinds = ["whole", "sizes", "rest"] + (["windows"] if count == 2 else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "whole":
            return draw(st.sampled_from([None, length, length + 2]))
        if kind == "windows":
            size = draw(st.integers(1, 6))
            return ringlet.windows(size, draw(st.integers(1, size)))
        sizes = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
        place = draw(st.integers(0, count - 1))
        if kind == "rest":
            sizes[place] = -1
        else:
            sizes[place] = max(sizes[place], length)
        return tuple(sizes)

    return shape, [split(length) for length in shape], paired


@settings(max_examples=150, deadline=None)
@given(foldings(), st.sampled_from(DTYPES), st.data())
def test_unfold_gives_back_what_was_folded_to_the_bit(folding, dtype, data):
    shape, factors, paired = folding
    x = data.draw(hnp.arrays(dtype, shape))
    kept = x.copy()
    y = ringlet.fold(x, factors, paired=paired)
    back = ringlet.unfold(y, factors, shape, paired=paired)
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert np.ma.getdata(back).tobytes() == kept.tobytes() or same_but_for_nan_bits(back, kept)
    assert not np.ma.getmaskarray(back).any()
    assert x.tobytes() == kept.tobytes()


def same_but_for_nan_bits(back, x):
    return (
        x.dtype.kind == "f"
        and np.array_equal(back, x, equal_nan=True)
        and np.array_equal(np.signbit(back[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))
    )


@settings(max_examples=100, deadline=None)
@given(foldings(), st.sampled_from(["float32", "int32"]), st.integers(0, 1 << 30))
def test_masked_arrays_keep_their_masks_and_what_they_do_not_hide(folding, dtype, seed):
    shape, factors, paired = folding
    rng = np.random.default_rng(seed)
    x = np.ma.MaskedArray((100 * rng.standard_normal(shape)).astype(dtype), mask=rng.random(shape) < 0.4)
    y = ringlet.fold(x, factors, paired=paired)
    assert np.array_equal(y.mask, ~ringlet.fold(~x.mask, factors, paired=paired))  # what fills up is missing
    back = ringlet.unfold(y, factors, shape, paired=paired)
    assert np.array_equal(back.mask, x.mask)
    assert np.array_equal(back.compressed(), x.compressed())


def test_plain_factors_are_numpys_reshape_and_share_memory():
    x = np.arange(12 * 8 * 3).reshape(12, 8, 3)
    y = ringlet.fold(x, [(3, 4), (2, 2, 2), None])
    assert np.array_equal(y, x.reshape(3, 4, 2, 2, 2, 3))
    assert np.shares_memory(x, y)


def test_paired_factors_are_blocks_within_blocks():
    x = np.arange(8 * 6 * 2).reshape(8, 6, 2)
    y = ringlet.fold(x, [(2, 4), (3, 2), None], paired=True)
    assert y.shape == (6, 8, 2)
    for block in range(6):
        for pixel in range(8):
            (i, j), (k, m) = divmod(block, 3), divmod(pixel, 2)
            assert np.array_equal(y[block, pixel], x[4 * i + k, 2 * j + m])


def test_paired_modes_stand_where_the_first_of_them_stood():
    x = np.zeros((3, 8, 5, 4))
    assert ringlet.fold(x, [None, (4, 2), None, (2, 2)], paired=True).shape == (3, 8, 4, 5)


def test_windows_are_the_slices_that_they_say():
    x = np.random.default_rng(0).random((11, 9))
    y = ringlet.fold(x, [ringlet.windows(4, 3), ringlet.windows(5)])
    assert y.shape == (4, 4, 3, 5)
    padded = np.full((13, 9), np.nan)
    padded[:11] = x
    for p in range(4):
        for q in range(3):
            assert np.array_equal(y[p, :, q], padded[3 * p : 3 * p + 4, 2 * q : 2 * q + 5], equal_nan=True)


def test_windows_that_disagree_are_averaged_without_what_is_missing():
    rng = np.random.default_rng(1)
    factors = [ringlet.windows(4, 1), ringlet.windows(3, 2), None]
    y = ringlet.fold(rng.random((9, 10, 2)), factors)
    y = y + rng.random(y.shape)
    y[rng.random(y.shape) < 0.6] = np.nan
    sums, counts = np.zeros((9, 11, 2)), np.zeros((9, 11, 2))
    for p in range(y.shape[0]):
        for q in range(y.shape[2]):
            place = np.s_[p : p + 4, 2 * q : 2 * q + 3]
            sums[place] += np.nan_to_num(y[p, :, q])
            counts[place] += ~np.isnan(y[p, :, q])
    with np.errstate(invalid="ignore"):
        expected = (sums / counts)[:, :10]
    assert np.isnan(expected).any()
    np.testing.assert_allclose(ringlet.unfold(y, factors, (9, 10, 2)), expected, rtol=1e-12)
    masked = ringlet.unfold(np.ma.masked_invalid(y), factors, (9, 10, 2))
    np.testing.assert_allclose(masked.filled(np.nan), expected, rtol=1e-12)


def test_integers_that_disagree_are_rounded_means():
    factors = [ringlet.windows(2, 1)]
    y = np.array([[0, 250], [255, 7], [8, 9]], np.uint8)
    assert ringlet.unfold(y, factors, (4,)).tolist() == [0, 252, 8, 9]  # 252.5 to even, 7.5 to even


def test_what_fills_up_is_missing_in_every_dtype():
    factors = [(2, 3)]
    floats = ringlet.fold(np.ones(5, np.float32), factors)
    assert floats.dtype == np.float32
    assert np.isnan(floats).tolist() == [[False] * 3, [False, False, True]]
    assert ringlet.fold(np.ones(5, np.uint8), factors).mask.tolist() == [[False] * 3, [False, False, True]]
    assert ringlet.fold(np.ones(5, bool), factors).tolist() == [[True] * 3, [True, True, False]]


def test_a_ring_fitted_to_a_folded_tensor_unfolds_to_the_tensor():
    x = np.add.outer(np.arange(20.0), np.arange(30.0))
    factors = [(4, 5), (-1, 7)]  # 30 filled up to 35
    fit = ringlet.decompose(
        ringlet.fold(x, factors), rank=3, seed=0, solver=ringlet.AWRTRD(smooth=0.0, sweeps=60, tol=0)
    )
    assert np.abs(ringlet.unfold(fit.ring, factors, x.shape) - x).mean() < 0.3


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([(2, 3)], "factors has 1 entries but the tensor has 2 modes"),
        ([(2, 3), None, None], "factors has 3 entries"),
        ([(2, 2), None], r"factors\[0\]=\(2, 2\) holds 4 entries but mode 0 has 6"),
        ([(-1, -1), None], r"-1 for one of them"),
        ([(0, 6), None], r"factors\[0\]=\(0, 6\)"),
        ([(), None], r"factors\[0\]=\(\)"),
    ],
)
def test_factors_that_do_not_fit_are_refused_by_name(factors, message):
    with pytest.raises(ArgumentError, match=message):
        ringlet.fold(np.zeros((6, 4)), factors)


def test_other_wrong_arguments_are_refused_by_name():
    x = np.zeros((6, 4))
    with pytest.raises(ArgumentTypeError, match="factors=6 is not a sequence"):
        ringlet.fold(x, 6)
    with pytest.raises(ArgumentTypeError, match=r"factors\[1\]=2.5 is not a whole number"):
        ringlet.fold(x, [None, (2.5, 2)])
    with pytest.raises(ArgumentError, match="cannot be paired"):
        ringlet.fold(x, [(2, 3), (2, 1, 2)], paired=True)
    with pytest.raises(ArgumentError, match="step=5 is not allowed with size=4"):
        ringlet.windows(4, 5)
    with pytest.raises(ArgumentError, match="size=0"):
        ringlet.windows(0)
    with pytest.raises(ArgumentError, match=r"y has shape \(6, 4\), but .* has shape \(2, 3, 4\)"):
        ringlet.unfold(x, [(2, 3), None], (6, 4))
    with pytest.raises(ArgumentTypeError, match="x has dtype <U1"):
        ringlet.fold(np.array(["a"]), [None])


@pytest.mark.parametrize("size", [10**6, 10**9])
def test_what_no_machine_holds_is_refused(size):
    with pytest.raises(BudgetError, match=r"the folded tensor of shape .* does not fit into memory"):
        ringlet.fold(np.zeros((4, 3)), [(size, size), None])


def test_arrays_of_other_libraries_come_back_where_they_were():
    xp = pytest.importorskip("array_api_strict")
    x = np.random.default_rng(0).random((6, 5, 3)).astype(np.float32)
    there = xp.asarray(x, device=xp.Device("device1"))
    folded = ringlet.fold(there, [(2, 4), None, None])  # filled up by NaN
    assert (folded.device, folded.dtype) == (there.device, there.dtype)
    back = ringlet.unfold(folded, [(2, 4), None, None], x.shape)
    assert back.device == there.device
    assert bool(xp.all(back == there))


def test_tensors_of_a_dtype_that_numpy_lacks_are_folded():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.arange(12).reshape(4, 3).to(torch.bfloat16)
    folded = ringlet.fold(x, [(2, 2), None])
    assert (folded.dtype, folded.shape) == (torch.bfloat16, (2, 2, 3))
    assert torch.equal(ringlet.unfold(folded, [(2, 2), None], (4, 3)), x)
