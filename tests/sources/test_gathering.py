"""Gathering subtensors: every memory layout and every kind of block, against NumPy's own outer indexing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlet.sources import ArraySource
from ringlet.sources.memory import gather


@st.composite
def arrays_and_blocks(draw):
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)))
    array = np.arange(np.prod(shape), dtype=draw(st.sampled_from(["u1", "i4", "f8"]))).reshape(shape)
    array = array.transpose(draw(st.permutations(range(len(shape)))))
    layout = draw(st.sampled_from(["as it is", "gaps", "backwards"]))
    if layout == "gaps":
        array = np.repeat(array, 2, axis=0)[::2]
    elif layout == "backwards":
        array = array[::-1]
    block = []
    for length in array.shape:
        if draw(st.booleans()):
            start = draw(st.integers(0, length - 1))
            block.append(slice(start, draw(st.integers(start + 1, length))))
        else:
            chosen = draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=length, unique=True))
            block.append(np.array(sorted(chosen)))
    return array, tuple(block)


def outer(array, block):
    return array[np.ix_(*(np.arange(n)[chosen] for n, chosen in zip(array.shape, block, strict=True)))]


@settings(deadline=None)  # other work on the machine may take the processor
@given(arrays_and_blocks())
def test_gather_is_outer_indexing(case):
    array, block = case
    np.testing.assert_array_equal(gather(array, block), outer(array, block), strict=True)


@pytest.mark.parametrize("fastest", [3, 40])
def test_many_entries_are_gathered_in_parts(fastest):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 255, (60, 50, 41, fastest), dtype=np.uint8)
    block = tuple(np.sort(rng.choice(n, max(1, 3 * n // 4), replace=False)) for n in array.shape)
    np.testing.assert_array_equal(gather(array, block), outer(array, block))


@settings(deadline=None)  # other work on the machine may take the processor
@given(arrays_and_blocks(), st.randoms(use_true_random=False))
def test_axes_come_in_the_order_asked_for_values_and_masks_alike(case, random):
    array, block = case
    observed = (array.astype(int) % 3) > 0
    order = list(range(array.ndim))
    random.shuffle(order)
    plain = ArraySource(array, observed).read(block)
    turned = ArraySource(array, observed).read(block, tuple(order))
    for straight, crossed in zip(plain, turned, strict=True):
        if straight is not None:  # None: nothing is missing
            straight = straight.transpose(order)
        np.testing.assert_array_equal(straight, crossed)
