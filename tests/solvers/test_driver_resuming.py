"""A fit that is set aside after any sweep and taken up again ends in the same bits as one that was not."""

import dataclasses
import re

import dask.array
import numpy as np
import pytest
import zarr

from ringlet import AWRTRD, SAWRTRD, Status, complete, decompose
from ringlet.baselines import (
    L1SNN,
    L1TNN,
    L1TRNN,
    TNTV,
    TRALS,
    TRSVD,
    LpTRC,
    RandomizedTRALS,
    RandomizedTRSVD,
    SampledTRALS,
)
from ringlet.errors import ArgumentError, ArgumentTypeError

RNG = np.random.default_rng(0)
WHOLE = RNG.standard_normal((9, 8, 7, 4))
HOLED = np.where(RNG.random(WHOLE.shape) < 0.2, np.nan, WHOLE)
RANK = (2, 3, 2, 3)

FITS = {
    "AWRTRD": (HOLED, AWRTRD(smooth=0.0, sweeps=6, tol=0)),
    "AWRTRD of float32": (HOLED.astype("f4"), AWRTRD(smooth=0.0, sweeps=6, tol=0, scaling="none")),
    "AWRTRD that converges": (np.round(100 * WHOLE).astype("i2"), AWRTRD(smooth=0.0, sweeps=60, tol=0.2)),
    "AWRTRD that stalls": (np.zeros((5, 4, 3, 2), np.uint8), AWRTRD(smooth=0.0, sweeps=50, tol=0)),
    "AWRTRD that smooths": (HOLED, AWRTRD(sweeps=12, tol=0, smooth="auto")),
    "SAWRTRD": (HOLED, SAWRTRD(smooth=0.0, samples=60, sweeps=6, tol=0)),
    "SAWRTRD by rows": (HOLED.astype("f4"), SAWRTRD(smooth=0.0, samples=60, sweeps=6, tol=0, sampling="leverage-rows")),
    "TRALS": (WHOLE, TRALS(sweeps=6, tol=0)),
    "SampledTRALS": (WHOLE, SampledTRALS(sweeps=6)),
    "SampledTRALS that converges": (WHOLE, SampledTRALS(sweeps=24, tol=0.015)),
    "SampledTRALS, exact": (WHOLE, SampledTRALS(sweeps=6, tol=0, sampling="exact-leverage")),
    "RandomizedTRALS": (WHOLE, RandomizedTRALS(sweeps=6, tol=0, sketch=5)),
    "LpTRC": (HOLED, LpTRC(sweeps=4, tol=0)),
}


def bits(fit):
    """All that a fit tells, to the bit, but the time it took."""
    history = [str(dataclasses.replace(record, seconds=0.0)) for record in fit.history]  # NaN is not equal to itself
    return [core.tobytes() for core in fit.ring.cores], history, fit.status, fit.sigma


@pytest.mark.parametrize(("data", "solver"), FITS.values(), ids=FITS.keys())
def test_set_aside_after_any_sweep_a_fit_ends_in_the_same_bits(quick_path, data, solver):
    whole = decompose(data, RANK, solver=solver)
    for last in range(1, len(whole.history) + 1):
        folder = quick_path / f"{last}.ckpt"
        stopped = decompose(
            data, RANK, solver=solver, checkpoint=folder, callback=lambda state, last=last: state.sweep == last
        )
        assert stopped.status is Status.STOPPED
        swept = []
        resumed = decompose(
            data, RANK, solver=solver, checkpoint=folder, callback=lambda state, swept=swept: swept.append(state.sweep)
        )
        assert swept == list(range(last + 1, len(whole.history) + 1))  # it went on, and did not begin again
        assert bits(resumed) == bits(whole)
        assert bits(decompose(data, RANK, solver=solver, checkpoint=folder)) == bits(whole)  # and stays so


def test_the_fits_above_end_in_all_ways():
    ends = {decompose(data, RANK, solver=solver).status for data, solver in FITS.values()}
    assert ends == {Status.SWEEPS_USED, Status.CONVERGED, Status.STALLED}


def test_a_fit_of_a_chunked_store_is_resumed_and_told_from_one_of_an_array(quick_path):
    """Where chunks decide what is drawn, the same entries in an array make another fit."""
    store = zarr.create_array(quick_path / "x.zarr", shape=HOLED.shape, chunks=(4, 4, 3, 2), dtype="f8")
    store[...] = HOLED
    solver = SAWRTRD(smooth=0.0, samples=60, sweeps=6, tol=0)
    whole = decompose(store, RANK, solver=solver)
    for last in (1, 3, 5):
        folder = quick_path / f"{last}.ckpt"
        decompose(store, RANK, solver=solver, checkpoint=folder, callback=lambda state, last=last: state.sweep == last)
        assert bits(decompose(quick_path / "x.zarr", RANK, solver=solver, checkpoint=folder)) == bits(whole)
    with pytest.raises(ArgumentError, match=r"chunks is \[4, 4, 3, 2\] there and None here"):
        decompose(HOLED, RANK, solver=solver, checkpoint=folder)
    other = dask.array.from_array(HOLED, chunks=((4, 3, 2), 4, 3, 2))
    with pytest.raises(ArgumentError, match=r"chunks is .* there and \[\[4, 3, 2\], 4, 3, 2\] here"):
        decompose(other, RANK, solver=solver, checkpoint=folder)


def test_saving_changes_nothing(quick_path):
    solver = SAWRTRD(smooth=0.0, samples=60, sweeps=5, tol=0)
    plain = decompose(HOLED, RANK, solver=solver)
    assert bits(decompose(HOLED, RANK, solver=solver, checkpoint=quick_path / "x")) == bits(plain)


def test_a_finished_fit_is_given_back_without_a_sweep(quick_path):
    data, solver = FITS["AWRTRD that converges"]
    first = decompose(data, RANK, solver=solver, checkpoint=quick_path / "x")
    assert first.status is Status.CONVERGED
    sweeps = []
    again = decompose(data, RANK, solver=solver, checkpoint=quick_path / "x", callback=sweeps.append)
    assert sweeps == []
    assert bits(again) == bits(first)
    assert again.history == first.history  # the seconds, too, are those of the time


def test_more_sweeps_go_on_where_fewer_ended(quick_path):
    few, many = (AWRTRD(smooth=0.0, sweeps=sweeps, tol=0, threads=1) for sweeps in (3, 7))
    assert decompose(HOLED, RANK, solver=few, checkpoint=quick_path / "x").status is Status.SWEEPS_USED
    sweeps = []
    fit = decompose(
        HOLED, RANK, solver=many, checkpoint=quick_path / "x", callback=lambda state: sweeps.append(state.sweep)
    )
    assert sweeps == [4, 5, 6, 7]
    assert bits(fit) == bits(decompose(HOLED, RANK, solver=many))
    with pytest.raises(ArgumentError, match="sweeps=3 is not allowed: the checkpoint is of sweep 7; give at least"):
        decompose(HOLED, RANK, solver=few, checkpoint=quick_path / "x")


def test_patience_is_remembered(quick_path):
    """Set aside between the two quiet sweeps that end a fit, it needs one more, not two."""
    data, solver = FITS["AWRTRD that converges"]
    whole = decompose(data, RANK, solver=solver)
    last = len(whole.history) - 1
    decompose(data, RANK, solver=solver, checkpoint=quick_path / "x", callback=lambda state: state.sweep == last)
    fit = decompose(data, RANK, solver=solver, checkpoint=quick_path / "x")
    assert (fit.status, len(fit.history)) == (Status.CONVERGED, last + 1)


def test_threads_and_memory_may_change_meanwhile(quick_path):
    first = SAWRTRD(smooth=0.0, samples=60, sweeps=6, tol=0, threads=1)
    decompose(HOLED, RANK, solver=first, checkpoint=quick_path / "x", callback=lambda state: state.sweep == 3)
    other = dataclasses.replace(first, threads=3, memory="1GB")
    assert bits(decompose(HOLED, RANK, solver=other, checkpoint=quick_path / "x")) == bits(
        decompose(HOLED, RANK, solver=first)
    )


def test_where_a_rank_is_found_the_budget_is_part_of_the_fit(quick_path):
    """Bonds grow as far as it allows, so another one may end in another ring."""
    first = SAWRTRD(smooth=0.0, samples=60, sweeps=4, tol=0, memory="1GB")
    decompose(HOLED, solver=first, checkpoint=quick_path / "x", callback=lambda state: state.sweep == 2)
    for memory, told in (("2GB", "2000000000"), (None, "None")):
        with pytest.raises(ArgumentError, match=f"another fit: memory is 1000000000 there and {told} here"):
            decompose(HOLED, solver=dataclasses.replace(first, memory=memory), checkpoint=quick_path / "x")
    same = dataclasses.replace(first, memory=10**9)  # in other words
    assert bits(decompose(HOLED, solver=same, checkpoint=quick_path / "x")) == bits(decompose(HOLED, solver=first))


def test_every_says_how_often_and_the_end_is_always_saved(quick_path, monkeypatch):
    from ringlet.store.checkpoint import FitCheckpoint

    saved, real = [], FitCheckpoint.save
    monkeypatch.setattr(FitCheckpoint, "save", lambda self, it: (saved.append(len(it.history)), real(self, it)))
    decompose(HOLED, RANK, solver=AWRTRD(smooth=0.0, sweeps=8, tol=0), checkpoint=quick_path / "x", every=3)
    assert saved == [3, 6, 8]


def test_an_interrupt_leaves_the_last_checkpoint(quick_path):
    solver = AWRTRD(smooth=0.0, sweeps=6, tol=0)

    def interrupt(state):
        if state.sweep == 4:
            raise KeyboardInterrupt

    fit = decompose(HOLED, RANK, solver=solver, checkpoint=quick_path / "x", callback=interrupt)
    assert fit.status is Status.INTERRUPTED
    sweeps = []
    again = decompose(
        HOLED, RANK, solver=solver, checkpoint=quick_path / "x", callback=lambda state: sweeps.append(state.sweep)
    )
    assert sweeps == [4, 5, 6]  # sweep 4 was not saved yet
    assert bits(again) == bits(decompose(HOLED, RANK, solver=solver))


def test_an_error_in_a_callback_leaves_the_last_checkpoint(quick_path):
    solver = AWRTRD(smooth=0.0, sweeps=4, tol=0)
    with pytest.raises(ZeroDivisionError):
        decompose(HOLED, RANK, solver=solver, checkpoint=quick_path / "x", callback=lambda state: 1 / (state.sweep - 3))
    assert bits(decompose(HOLED, RANK, solver=solver, checkpoint=quick_path / "x")) == bits(
        decompose(HOLED, RANK, solver=solver)
    )


def test_complete_takes_checkpoints_too(quick_path):
    solver = AWRTRD(smooth=0.0, sweeps=5, tol=0)
    complete(HOLED, rank=RANK, solver=solver, checkpoint=quick_path / "x", callback=lambda state: state.sweep == 2)
    fit = complete(HOLED, rank=RANK, solver=solver, checkpoint=quick_path / "x", every=2)
    assert fit.tensor.tobytes() == complete(HOLED, rank=RANK, solver=solver).tensor.tobytes()


@pytest.mark.parametrize("solver", [L1SNN(), L1TNN(), L1TRNN(), TNTV()], ids=lambda solver: type(solver).__name__)
def test_methods_that_cannot_be_resumed_say_so(quick_path, solver):
    name = type(solver).__name__
    with pytest.raises(ArgumentError, match=f"checkpoint is not allowed with {name}, which cannot be resumed"):
        complete(HOLED, solver=solver, checkpoint=quick_path / "x")
    assert list(quick_path.iterdir()) == []


@pytest.mark.parametrize("solver", [TRSVD(), RandomizedTRSVD()], ids=lambda solver: type(solver).__name__)
def test_methods_of_one_pass_say_so(quick_path, solver):
    with pytest.raises(ArgumentError, match="checkpoint is not allowed"):
        decompose(WHOLE, RANK, solver=solver, checkpoint=quick_path / "x")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"checkpoint": 3}, ArgumentTypeError, "checkpoint=3 is not a path"),
        ({"checkpoint": b"x"}, ArgumentTypeError, "checkpoint=b'x' is not a path"),
        ({"every": 0}, ArgumentError, "every=0 is not allowed; it must be at least 1"),
        ({"every": 1.5}, ArgumentTypeError, "every=1.5 is not a whole number"),
        ({"checkpoint": "no/such/place"}, ArgumentError, "checkpoint='no/such/place': its directory does not exist"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(arguments, error, words):
    with pytest.raises(error, match=re.escape(words)):
        decompose(WHOLE, RANK, **arguments)
