"""Hypothesis strategies for rings and indices."""

import numpy as np
from hypothesis import strategies as st

from oracles import random_cores


@st.composite
def ring_cores(draw, min_order=1, max_order=4, max_size=5, max_rank=3, shape=None):
    if shape is None:
        shape = draw(st.lists(st.integers(1, max_size), min_size=min_order, max_size=max_order))
    rank = draw(st.lists(st.integers(1, max_rank), min_size=len(shape), max_size=len(shape)))
    return random_cores(shape, rank, seed=draw(st.integers(0, 2**20)))


@st.composite
def index_arrays(draw, size):
    """Integer arrays that broadcast with each other: every axis is 1 or a fixed length."""
    shape = draw(st.sampled_from([(3,), (2, 3), (2, 1), (1,), (1, 3), (1, 1)]))
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
    return np.array(values).reshape(shape)


@st.composite
def slices(draw, size):
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = draw(st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def indices(draw, shape):
    """Any mixture of integers, slices and index arrays, with and without an ellipsis."""
    count = draw(st.integers(0, len(shape)))
    ahead = draw(st.integers(0, count))
    ellipsis = draw(st.booleans())
    behind = len(shape) - (count - ahead) if ellipsis else ahead
    modes = [*range(ahead), *range(behind, behind + count - ahead)]
    items = [draw(st.integers(-shape[k], shape[k] - 1) | slices(shape[k]) | index_arrays(shape[k])) for k in modes]
    if ellipsis:
        items.insert(ahead, Ellipsis)
    return tuple(items)
