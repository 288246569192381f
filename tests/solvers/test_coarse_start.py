"""Automatic fits of large, smooth data begin with their block medians: how these are made, and what is promised."""

from itertools import product

import numpy as np
import pytest
import zarr

from ringlet import AWRTRD, decompose, target
from ringlet.solvers.sawrtrd import settings as robust_ring
from ringlet.solvers.tuning import block_medians as block_medians
from ringlet.solvers.tuning import coarse_start as coarse_start
from ringlet.solvers.tuning.block_medians import interpolated, smooth_modes
from ringlet.solvers.tuning.holdout import Judge
from ringlet.sources import as_source

SOLVER = AWRTRD(smooth="auto", sweeps=20, threads=1)


def hills(shape=(144, 132, 3), seed=0, terms=12):
    """Smooth along the first two modes, of size about one, of no small rank."""
    rng = np.random.default_rng(seed)
    y, x = (np.linspace(0, 1, length) for length in shape[:2])
    bumps = [
        np.multiply.outer(
            np.exp(-(np.hypot.outer(y - rng.random(), x - rng.random()) ** 2) / rng.uniform(0.005, 0.05)),
            rng.uniform(0, 1, shape[2]),
        )
        for _ in range(terms)
    ]
    return np.sum(bumps, axis=0)


def spoiled(truth, observed=0.3, outliers=0.2, seed=1):
    rng = np.random.default_rng(seed)
    x = truth + 0.02 * rng.standard_normal(truth.shape)
    x[rng.random(truth.shape) < outliers] = rng.choice([-1.0, 3.0])
    return x, rng.random(truth.shape) < observed


def error(fit, truth):
    return np.linalg.norm(np.asarray(fit.ring) - truth) / np.linalg.norm(truth)


def bits(fit):
    return [core.tobytes() for core in fit.ring.cores]


@pytest.fixture
def starts(monkeypatch):
    """Small data begin with block medians, too; the starts that were used."""
    used, begin = [], robust_ring.coarse_start

    def note(*given):
        used.append(begin(*given))
        return used[-1]

    monkeypatch.setattr(robust_ring, "coarse_start", note)
    monkeypatch.setattr(coarse_start, "_LARGE", 0)
    return used


@pytest.mark.parametrize("factors", [(4, 4, 1), (2, 3, 2), (1, 5, 1)])
@pytest.mark.parametrize("slab", [10, 1 << 21])
def test_medians_are_those_of_the_observed_entries(factors, slab, monkeypatch):
    monkeypatch.setattr(block_medians, "_SLAB_ENTRIES", slab)
    rng = np.random.default_rng(0)
    x, observed = rng.standard_normal((13, 9, 4)), rng.random((13, 9, 4)) < 0.2
    found = block_medians.block_medians(as_source(x, observed), factors, np.dtype("f8"))
    assert found.shape == tuple(-(-length // factor) for length, factor in zip(x.shape, factors, strict=True))
    for place in product(*map(range, found.shape)):
        block = tuple(slice(i * factor, (i + 1) * factor) for i, factor in zip(place, factors, strict=True))
        entries = x[block][observed[block]]
        expected = np.median(entries) if entries.size else np.nan
        np.testing.assert_allclose(found[place], expected, rtol=1e-12)


def test_only_ordered_modes_count_as_smooth():
    truth = hills((144, 132, 30))
    rows, columns = (np.random.default_rng(5).permutation(length) for length in truth.shape[:2])
    for data, smooth in ((truth, [0, 1]), (truth[rows], [1]), (truth[rows][:, columns], [])):
        x, observed = spoiled(data)
        assert smooth_modes(as_source(x, observed), (0, 1, 2), seed=0) == smooth


def test_slices_on_a_line_stay_on_it():
    line = np.arange(24.0)[None, :, None] * [[[1.0, -2.0]]]
    centres = line.reshape(1, 6, 4, 2).mean(axis=2)
    fine = interpolated(centres, 1, np.arange(24), 4)
    np.testing.assert_allclose(fine[:, 2:-2], line[:, 2:-2])
    np.testing.assert_array_equal(fine[:, [0, -1]], centres[:, [0, -1]])
    assert interpolated(centres, 1, np.arange(23), 4).shape == (1, 23, 2)  # the last block is smaller


def test_a_fit_that_begins_with_medians_is_better_from_the_first_round_on(starts, monkeypatch):
    truth = hills()
    x, observed = spoiled(truth)
    first = decompose(x, solver=SOLVER, mask=observed, callback=lambda _: True)
    fit = decompose(x, solver=AWRTRD(smooth="auto", sweeps=80), mask=observed)
    assert error(fit, truth) < error(first, truth) < 0.15
    assert starts[0].penalties.smooth[2] == 0.0  # the colours were not made coarse
    monkeypatch.setattr(coarse_start, "_LARGE", x.size + 1)
    assert error(decompose(x, solver=SOLVER, mask=observed, callback=lambda _: True), truth) > 0.3


def test_medians_do_not_know_the_held_out_entries(starts):
    x, observed = spoiled(hills())
    _, lot = Judge.of(as_source(x, observed), int(observed.sum()), 0)
    held = lot.drawn((slice(None),) * 3, (0, 1, 2)) & observed
    for data in (x, np.where(held, 1e5 * x[::-1], x)):
        decompose(data, solver=SOLVER, mask=observed, callback=lambda _: True)
    for one, other in zip(starts[0].ring.cores, starts[1].ring.cores, strict=True):
        np.testing.assert_array_equal(one, other)
    assert held.sum() > 500


def test_the_bits_depend_neither_on_threads_nor_on_interruptions(starts, tmp_path):
    x, observed = spoiled(hills())
    whole = decompose(x, solver=AWRTRD(smooth="auto", sweeps=6, tol=0, threads=3), mask=observed)
    solver = AWRTRD(smooth="auto", sweeps=3, tol=0, threads=1)
    decompose(x, solver=solver, mask=observed, checkpoint=tmp_path / "fit")
    resumed = decompose(
        x, solver=AWRTRD(smooth="auto", sweeps=6, tol=0, threads=1), mask=observed, checkpoint=tmp_path / "fit"
    )
    assert bits(resumed) == bits(whole)
    assert len(starts) == 2  # the resumed fit needs none


@pytest.mark.parametrize("case", ["no order", "stored", "little memory", "a given rank", "given smoothness"])
def test_other_fits_begin_as_before(case, starts, tmp_path, monkeypatch):
    truth = hills()
    if case == "no order":
        truth = truth[np.random.default_rng(0).permutation(144)][:, np.random.default_rng(1).permutation(132)]
    x, observed = spoiled(truth)
    data, rank, solver = x, "auto", AWRTRD(smooth="auto", sweeps=1)
    if case == "stored":
        data = zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(72, 66, 3))
    if case == "little memory":
        monkeypatch.setattr(coarse_start, "_ROOM", 1000)
        solver = AWRTRD(smooth="auto", sweeps=1, memory="10MB")
    if case == "a given rank":
        rank = 3
    if case == "given smoothness":
        solver = AWRTRD(smooth=0.1, sweeps=1)
    decompose(data, rank, solver=solver, mask=observed)
    assert starts == [None]


def test_a_target_is_kept_in_mind(starts):
    truth = hills()
    x, observed = spoiled(truth)
    fit = decompose(x, target(psnr=22), solver=AWRTRD(smooth="auto", sweeps=80), mask=observed)
    assert starts[0] is not None
    assert fit.ring.parameters < decompose(x, mask=observed).ring.parameters


@pytest.mark.parametrize("channels", [3, 4])
def test_long_thin_data_are_fitted(starts, channels):
    """Hardly any ring of them or of their medians is small."""
    times = np.arange(4000)[:, np.newaxis]
    x = (3 + np.sin(times / 300) * [1.0, 2.0, 0.5, 0.1][:channels]).astype(np.float32)
    fit = decompose(x, solver=SOLVER)
    assert starts[0] is not None
    assert error(fit, x) < 1e-3


def test_data_whose_medians_have_no_small_ring_begin_with_a_constant(starts):
    x = np.sin(np.arange(4000.0) / 300)[:, np.newaxis]
    assert np.isfinite(np.asarray(decompose(x, solver=SOLVER).ring)).all()
    assert starts == [None]
