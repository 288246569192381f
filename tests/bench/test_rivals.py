"""What people use instead: every rival fills what it should, against answers that are known without it."""

import numpy as np
import pytest
from scipy.interpolate import griddata

from ringlet.bench.rivals import libraries
from ringlet.bench.rivals.catalogue import SIMPLE, SLOW, check_libraries
from ringlet.bench.rivals.drop_ends import drop_ends_linear
from ringlet.bench.rivals.gaps import between_ends, gaussian_fill, held_out, local_median, trusted_entries
from ringlet.bench.rivals.gaussian_median import gaussian_only
from ringlet.bench.rivals.inpainting import biharmonic
from ringlet.bench.rivals.knn_imputer import knn_imputer
from ringlet.bench.rivals.linear_modes import linear_modes
from ringlet.bench.rivals.masked_cp import masked_cp
from ringlet.bench.rivals.over_time import median_over_time, robust_pca
from ringlet.bench.rivals.pca import pca
from ringlet.errors import ArgumentError, MissingDependencyError

SHAPES = {"photo": (30, 36, 3), "video": (20, 24, 3, 8), "tensor": (14, 12, 9)}


def smooth(shape):
    grid = np.ogrid[tuple(slice(length) for length in shape)]
    return (0.5 + 0.4 * np.sin(sum((k + 1) * axis / 9 for k, axis in enumerate(grid)))).astype(np.float32)


def damaged(shape, share=0.5, wrong=0.0):
    rng = np.random.default_rng(1)
    truth = smooth(shape)
    observed = rng.random(shape) < share
    values = np.where(observed, truth, np.float32(7))  # what is not observed is arbitrary
    hit = rng.random(shape) < wrong
    values[observed & hit] = rng.integers(0, 2, int((observed & hit).sum()))
    return truth, values, observed


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, entry in (SIMPLE | SLOW).items() for kind in entry.kinds]
)
def test_every_rival_fills_all_gaps_better_than_a_constant_and_changes_nothing_given(name, kind):
    entry = (SIMPLE | SLOW)[name]
    for module in entry.needs:
        pytest.importorskip(module)
    truth, values, observed = damaged(SHAPES[kind])
    if name in ("median-over-time", "robust-pca"):  # for what stands still
        truth = np.broadcast_to(truth[..., :1], truth.shape)
        values = np.where(observed, truth, np.float32(7))
    copies = values.copy(), observed.copy()
    estimate = entry.run(values, observed)
    assert estimate.shape == truth.shape
    assert np.isfinite(estimate).all()
    assert np.array_equal(values, copies[0])
    assert np.array_equal(observed, copies[1])
    hidden = ~observed
    error = np.sqrt(np.mean((estimate - truth)[hidden] ** 2))
    assert error < 0.7 * truth[hidden].std()


@pytest.mark.parametrize("name", sorted(SIMPLE | SLOW))
def test_what_is_not_observed_has_no_influence(name):
    entry = (SIMPLE | SLOW)[name]
    for module in entry.needs:
        pytest.importorskip(module)
    _, values, observed = damaged(SHAPES[entry.kinds[0]], wrong=0.1)
    other = np.where(observed, values, np.float32(-50))
    np.testing.assert_allclose(entry.run(values, observed), entry.run(other, observed), rtol=1e-4, atol=1e-5)


def test_linear_modes_agrees_with_numpy_along_one_mode():
    _, values, observed = damaged((6, 40))
    observed[:, 0] = True
    expected = values.astype(np.float64)
    for row, known in zip(expected, observed, strict=True):
        row[~known] = np.interp(np.flatnonzero(~known), np.flatnonzero(known), row[known])
    np.testing.assert_allclose(linear_modes(values, observed, mode=1), expected, rtol=1e-5)


def test_gaps_that_a_given_mode_does_not_reach_are_interpolated_along_the_others():
    seen = np.ones((5, 4), bool)
    seen[2] = False
    x = np.add.outer(np.arange(5.0), 10 * np.arange(4.0))
    np.testing.assert_allclose(linear_modes(np.where(seen, x, 0.0), seen, mode=1), x)


def test_linear_modes_trusts_the_mode_that_has_an_order():
    rng = np.random.default_rng(0)
    x = np.add.outer(rng.permutation(np.linspace(0, 100, 30)), np.linspace(0, 1, 50))
    seen = rng.random(x.shape) < 0.7
    assert np.abs(linear_modes(x, seen) - x)[~seen].max() < 1.0


def test_gaps_that_no_mode_reaches_get_the_mean():
    seen = np.zeros((3, 3), bool)
    seen[0, 0] = True
    x = np.full((3, 3), 4.0)
    assert (linear_modes(x, seen) == 4.0).all()


def test_drop_ends_is_griddata_of_what_is_neither_smallest_nor_largest():
    _, values, observed = damaged((25, 30), wrong=0.2)
    known = values[observed]
    kept = observed & (values != known.min()) & (values != known.max())
    points, gaps = np.argwhere(kept), np.argwhere(~kept)
    expected = griddata(points, values[kept], gaps, method="linear")
    found = drop_ends_linear(values, observed)[~kept]
    inside = np.isfinite(expected)
    # On a grid triangles are not unique: most gaps agree, and the others differ as diagonals of a square do.
    assert np.median(np.abs(found - expected)[inside]) < 1e-3
    assert np.abs(found - expected)[inside].max() < 0.1


def test_salt_and_pepper_are_found_by_the_ends_and_other_wrong_entries_by_the_median():
    truth, values, observed = damaged((40, 40), share=0.6, wrong=0.2)
    wrong = observed & (np.abs(values - truth) > 0.01)
    trusted = trusted_entries(values, observed)
    assert not (trusted & wrong).any()
    assert (trusted & observed).sum() == (observed & ~wrong).sum()
    values = np.where(observed, truth, 0)
    spots = [(5, 5), (20, 30), (33, 8)]
    for spot in spots:
        observed[spot], values[spot] = True, 1 - np.round(truth[spot]) * 0.97
    trusted = trusted_entries(values, observed)
    assert not any(trusted[spot] for spot in spots)
    assert trusted.sum() >= observed.sum() - len(spots) - 5


def test_local_median_is_that_of_the_observed_entries_in_a_window():
    rng = np.random.default_rng(0)
    x = rng.random((15, 17))
    seen = rng.random(x.shape) < 0.6
    found = local_median(x, seen)
    for i, j in ((0, 0), (7, 8), (14, 16)):
        window = slice(max(0, i - 2), i + 3), slice(max(0, j - 2), j + 3)
        inside = np.sort(x[window][seen[window]])
        assert found[i, j] == inside[(len(inside) - 1) // 2]


def test_gaussian_fill_reproduces_a_constant_and_keeps_what_is_observed():
    seen = np.zeros((60, 60), bool)
    seen[::19, ::23] = True
    np.testing.assert_allclose(gaussian_fill(np.full((60, 60), 3.0), seen), 3.0)
    _, values, observed = damaged((20, 20))
    assert np.array_equal(gaussian_fill(values, observed)[observed], values[observed])


def test_a_picture_without_any_entry_is_filled_all_the_same():
    values, observed = np.zeros((8, 8, 3), np.float32), np.ones((8, 8, 3), bool)
    values += smooth(values.shape)
    observed[..., 1] = False
    for rival in (gaussian_only, drop_ends_linear):
        assert np.isfinite(rival(values, observed)).all()


def test_pca_recovers_a_matrix_of_low_rank():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 50))
    seen = rng.random(x.shape) < 0.7
    for components in (None, 3):
        error = (pca(np.where(seen, x, 0), seen, components=components) - x)[~seen]
        assert np.sqrt(np.mean(error**2)) < 0.1 * x.std()


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("columns", [False, True])
def test_the_same_row_or_column_fills_a_gap(mode, columns):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(5)
    table = np.repeat(rng.random((6, 20)), 2, axis=0)  # every row twice
    seen = np.ones(table.shape, bool)
    seen[::2] = rng.random((6, 20)) < 0.8
    if columns:
        table, seen = table.T, seen.T
    shape = (3, 4) if columns else (4, 5)
    x, known = (np.moveaxis(one.reshape(len(one), *shape), 0, mode) for one in (table, seen))
    filled = knn_imputer(np.where(known, x, 9.0), known, mode=mode, columns=columns, neighbours=1)
    assert np.array_equal(filled, x)


def test_masked_cp_recovers_a_tensor_of_low_rank():
    pytest.importorskip("tensorly")
    rng = np.random.default_rng(4)
    a, b, c = (rng.random((length, 2)) for length in (12, 13, 14))
    x = np.einsum("ir,jr,kr->ijk", a, b, c)
    seen = rng.random(x.shape) < 0.7
    for rank in (None, 4):
        assert np.sqrt(np.mean((masked_cp(np.where(seen, x, 0), seen, rank=rank) - x)[~seen] ** 2)) < 0.1 * x.std()


def test_still_cameras_are_seen_through_what_passes():
    background = smooth((20, 24, 3))
    film = np.repeat(background[..., None], 15, axis=3)
    for time in range(15):
        film[time : time + 4, 5:9, :, time] = 1.5
    seen = np.random.default_rng(0).random(film.shape) < 0.8
    values = np.where(seen, film, 0)
    for rival in (median_over_time, robust_pca):
        assert np.abs(rival(values, seen) - background[..., None]).mean() < 0.02


def test_a_pixel_that_is_never_seen_gets_the_median_of_all():
    values, seen = np.full((2, 2, 4), 5.0), np.ones((2, 2, 4), bool)
    seen[0, 0] = False
    assert (median_over_time(values, seen) == 5.0).all()


def test_held_out_entries_are_a_tenth_of_the_observed_ones():
    observed = np.random.default_rng(0).random((100, 100)) < 0.5
    out = held_out(observed)
    assert not (out & ~observed).any()
    assert out.sum() / observed.sum() == pytest.approx(0.1, abs=0.02)
    assert np.array_equal(out, held_out(observed))


def test_ends_are_kept_where_nothing_else_is_observed():
    x = np.array([[0.0, 1.0]])
    assert between_ends(x, np.ones(x.shape, bool)).all()
    assert not between_ends(x, np.zeros(x.shape, bool)).any()


def test_large_pictures_are_refused_by_the_biharmonic_equations():
    with pytest.raises(ArgumentError, match="take too long"):
        biharmonic(np.zeros((2000, 501)), np.ones((2000, 501), bool))


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(MissingDependencyError, match=r'opencv-python-headless: pip install "ringlet\[rivals\]"'):
        libraries.library("cv2")


def test_libraries_are_checked_before_any_work():
    if all(entry.is_installed for entry in SIMPLE.values()):
        check_libraries()
    else:
        with pytest.raises(MissingDependencyError):
            check_libraries()
