"""Tiles cover every entry once, look no farther than allowed, and give what the whole gives."""

import numpy as np
import pytest

from ringlet import AWRTRD, decompose
from ringlet.results.local_entries import LocalEntries
from ringlet.results.tiles import affordable, sample_windows, tiling
from ringlet.sources import as_source


@pytest.mark.parametrize("chunks", [(1, 1, 1), (16, 10, 3)])
def test_tiles_cover_everything_once(chunks):
    box = (slice(0, 90), slice(10, 77), slice(0, 3))
    tiles = tiling(box, (4, 4, 0), (2,), 3000, chunks)
    seen = np.zeros((90, 77, 3), int)
    for tile in tiles.over(box):
        seen[tile.core] += 1
        assert seen[tile.padded].size <= 3000
        np.testing.assert_array_equal(seen[tile.padded][tile.crop], seen[tile.core])
    assert (seen[:, 10:] == 1).all()
    assert (seen[:, :10] == 0).all()
    assert tiles.count > 1
    assert [sum(lengths) for lengths in tiles.chunks] == [90, 77, 3]
    assert tiles.lengths[2] == 3


def test_tiles_of_whole_chunks():
    tiles = tiling((slice(0, 1000), slice(0, 1000)), (5, 5), (), 50_000, (64, 64))
    assert all(length % 64 == 0 for length in tiles.lengths)


def test_tiles_give_what_one_large_tile_gives():
    """The photo is wide: it takes several tiles, of which each looks at its surroundings."""
    rng = np.random.default_rng(0)
    truth = np.fromfunction(lambda i, j: 100 + 80 * np.sin(i / 9 + j / 40) * np.cos(j / 13), (48, 400))
    x = np.where(rng.random(truth.shape) < 0.15, 255 * rng.integers(0, 2, truth.shape), truth).astype(np.uint8)
    ring = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=8)).ring
    whole = LocalEntries(ring, as_source(x))
    parts = LocalEntries(ring, as_source(x), tile_entries=48 * 200)
    block = (slice(0, 48), slice(0, 400))
    assert parts.tiles.count > whole.tiles.count == 1
    one, many = whole.clean(block), parts.clean(block)
    np.testing.assert_allclose(many.predicted, one.predicted, atol=0.01)
    np.testing.assert_allclose(many.weights, one.weights, atol=1e-3)
    np.testing.assert_array_equal(parts.clean((slice(0, 48), slice(150, 250))).predicted, many.predicted[:, 150:250])


def test_a_memory_budget_holds_for_restored_entries_too():
    x = np.add.outer(np.arange(12.0), np.arange(9.0))
    looked_at = [
        decompose(x, 2, solver=AWRTRD(smooth=0.0, sweeps=2, memory=memory))._entries.local.tile_entries
        for memory in (None, "1GB", "320MB", "10MB")
    ]
    assert looked_at == [1 << 22, 1 << 22, 2_000_000, 1 << 20]  # about 100 bytes each


def test_windows_fit_into_what_may_be_looked_at():
    x = np.fromfunction(lambda i, j, k: np.sin(i / 9) + np.cos(j / 7) + k / 9, (60, 50, 4))
    ring = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=2)).ring
    small = LocalEntries(ring, as_source(x), window_entries=8000)
    sizes = [np.prod([part.stop - part.start for part in window]) for window in small.learned.windows]
    assert 4000 < sum(sizes) < 9000


def test_halos_shrink_until_a_tile_is_not_mostly_halo():
    """Along four modes a halo of 28 entries to either side would be larger than any tile."""
    box = tuple(slice(0, n) for n in (60, 50, 55, 40))
    tilings = [tiling(box, [halo] * 4, (), 1 << 20, [1] * 4) for halo in (28, 10, 5, 2)]
    assert tilings[0].lengths == (1, 1, 1, 1)
    chosen = affordable(tilings, 8.0)
    assert chosen.overhead <= 8
    assert chosen in tilings[1:3]
    assert affordable(tilings, 1.0) is tilings[-1]


def test_windows_of_large_chunks_lie_within_them():
    chunks = ((400,), (300, 300), (50,))
    windows = sample_windows(tuple(slice(0, sum(lengths)) for lengths in chunks), chunks, 40_000)
    sizes = [np.prod([part.stop - part.start for part in window]) for window in windows]
    assert len(windows) == 2
    assert all(5000 < size <= 20_000 for size in sizes)
    assert {window[1].start for window in windows} == {0, 300}
