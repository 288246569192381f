"""What a type checker knows of the public names: run by pytest, and read by mypy --strict in `make types`."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import ringlet
from ringlet import AWRTRD, SAWRTRD, Estimate, Fit, Plan, Status, SweepRecord, TensorRing
from ringlet.results.records import State


def _data() -> NDArray[np.float64]:
    return np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + k, (12, 10, 4))


def test_verbs() -> None:
    x = _data()
    assert_type(ringlet.decompose(x), Fit)
    assert_type(ringlet.decompose(x, rank=2, solver=SAWRTRD(samples=100, sweeps=2), mask=x > 0, seed=1), Fit)
    assert_type(ringlet.complete(x, solver=ringlet.baselines.TRSVD(), rank=2), Fit | Estimate)
    assert_type(ringlet.plan((12, 10, 4), rank=2), Plan)


def test_results() -> None:
    fit = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3))
    assert_type(fit.ring, TensorRing)
    assert_type(fit.status, Status)
    record: SweepRecord = fit.history[-1]
    seconds: float = record.seconds
    assert seconds >= 0
    weights: NDArray[Any] = fit.weights((0, slice(None)))
    assert weights.shape == (10, 4)


def test_rings() -> None:
    ring = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3)).ring
    assert_type(ring.shape, tuple[int, ...])
    assert_type(ring + 2 * ring, TensorRing)
    assert_type(ring.round(rank=1), TensorRing)
    norm: float = ring.norm()
    assert norm > 0


def test_ranks_that_are_to_be_found() -> None:
    x = _data()
    for rank in (ringlet.budget("8kB"), ringlet.target(psnr=20), ringlet.background()):
        fit = ringlet.decompose(x, rank, time="20s")
        assert_type(fit.ring.rank, tuple[int, ...])


def test_files(tmp_path: Path) -> None:
    ring = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3)).ring
    cost: float = ring.save(tmp_path / "x.ring")
    assert cost == 0
    assert_type(TensorRing.load(str(tmp_path / "x.ring")), TensorRing)


def test_streams() -> None:
    fit = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3))
    assert_type(fit.extend(_data()[..., :1], forget=0.05), Fit)


def test_folding() -> None:
    x = _data()
    folded: NDArray[Any] = ringlet.fold(x, [ringlet.windows(4, 2), (5, -1), None])
    unfolded: NDArray[Any] = ringlet.unfold(folded, [ringlet.windows(4, 2), (5, -1), None], x.shape)
    assert np.array_equal(unfolded, x)


def test_stacks() -> None:
    many = ringlet.decompose_many(np.stack([_data(), _data()]), rank=2)
    assert_type(many, ringlet.ManyRings)
    assert_type(many[0], TensorRing)


def test_callbacks() -> None:
    seen: list[int] = []

    def stop(state: State) -> bool:
        seen.append(state.sweep)
        return len(seen) == 2

    fit = ringlet.decompose(_data(), 2, callback=stop)
    assert fit.status is Status.STOPPED
    assert seen == [1, 2]


def test_results_for_entries() -> None:
    fit = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3))
    validation: float = fit.validation
    assert validation > 0
    wrong: NDArray[np.bool_] = fit.outliers((0, ...), fdr=0.05)
    error: NDArray[np.float64] = fit.uncertainty()
    assert wrong.shape == (10, 4)
    assert error.shape == (12, 10, 4)
