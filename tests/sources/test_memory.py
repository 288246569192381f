"""Arrays as sources: blocks, missing entries, the first look."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlet.sources import ArraySource, as_source, survey
from ringlet.sources.base import slabs


@st.composite
def blocks(draw, shape):
    chosen = []
    for length in shape:
        if draw(st.booleans()):
            start = draw(st.integers(0, length - 1))
            chosen.append(slice(start, draw(st.integers(start + 1, length))))
        else:
            kept = draw(st.lists(st.integers(0, length - 1), min_size=1, unique=True))
            chosen.append(np.array(sorted(kept)))
    return tuple(chosen)


@given(blocks((5, 4, 3, 6)))
@settings(max_examples=200, deadline=None)
def test_blocks_are_outer_selections(block):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 4, 3, 6))
    x[rng.random(x.shape) < 0.2] = np.nan
    mask, masked = rng.random(x.shape) < 0.7, rng.random(x.shape) < 0.1
    where = np.ix_(*(np.arange(length)[chosen] for chosen, length in zip(block, x.shape, strict=True)))
    for array in (x, np.asfortranarray(x), x[::-1][::-1]):
        values, observed = ArraySource(array, mask, masked).read(block)
        np.testing.assert_array_equal(values, x[where])
        expected = (~np.isnan(x) & mask & ~masked)[where]
        assert (observed is None) == expected.all()  # None says that nothing is missing
        np.testing.assert_array_equal(np.True_ if observed is None else observed, expected)


def test_reading_views_not_copies_where_it_can():
    x = np.zeros((50, 40), np.uint8)
    values, observed = ArraySource(x).read((slice(3, 9), slice(None)))
    assert np.shares_memory(values, x)
    assert observed is None


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("slices", [slice(1, 3), slice(None), np.array([0, 3])])
def test_rows_are_columns_of_the_unfolding(mode, slices):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5, 6))
    x[0, 0, 0] = np.nan
    others = [length for other, length in enumerate(x.shape) if other != mode]
    rows = tuple(rng.integers(0, length, 7) for length in others)
    values, observed = ArraySource(x).read_rows(mode, slices, rows)
    expected = np.array([np.moveaxis(x, mode, 0)[slices][:, i, j] for i, j in zip(*rows, strict=True)]).T
    np.testing.assert_array_equal(values, expected)
    assert np.array_equal(~np.isnan(expected), np.ones_like(expected, bool) if observed is None else observed)


def test_survey_finds_counts_range_and_empty_slices():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 5, 150_000), dtype="f4")
    assert len(slabs(x.shape)) > 1
    mask = rng.random(x.shape) < 0.7
    mask[2] = mask[:, 0] = mask[:, 4] = False
    found = survey(as_source(x, mask))
    assert found.observed == mask.sum()
    assert found.minimum == x[mask].min()
    assert found.maximum == x[mask].max()
    assert found.empty == ((2,), (0, 4), ())
    for mode, counts in enumerate(found.counts):
        np.testing.assert_array_equal(counts, mask.sum(axis=tuple({0, 1, 2} - {mode})))
    assert survey(as_source(x)).empty == ((), (), ())
