"""The one loop: history, callbacks, stopping, statuses, progress."""

import dataclasses
import io

import numpy as np
import pytest

import ringlet
from oracles import dense, random_cores
from ringlet import AWRTRD, Status, decompose
from ringlet.baselines import SampledTRALS
from ringlet.errors import DataWarning

X = dense(random_cores((8, 7, 6), (2, 2, 2)))


def test_history_has_one_record_a_sweep():
    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=7, tol=0))
    assert [record.sweep for record in fit.history] == list(range(1, 8))
    assert fit.status is Status.SWEEPS_USED
    assert fit.history[0].change == np.inf
    for record in fit.history[1:]:
        assert record.seconds > 0
        assert 0 <= record.mean_weight <= 1
        assert record.loss >= 0
        assert 0 < record.sigma < np.inf


def test_a_settled_ring_stops_after_two_quiet_sweeps():
    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=500, tol=1e-3))
    assert fit.status is Status.CONVERGED
    assert all(record.change < 1e-3 for record in fit.history[-2:])
    assert fit.history[-3].change >= 1e-3


def test_callback_sees_immutable_states_and_can_stop():
    states = []

    def watch(state):
        states.append((state, state.ring, state.tensor))
        return state.sweep == 4

    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=50, tol=0), callback=watch)
    assert fit.status is Status.STOPPED
    assert len(fit.history) == len(states) == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        states[0][0].sweep = 9
    assert states[0][0].record == fit.history[0]
    first, last = states[0][1], states[-1][1]
    np.testing.assert_array_equal(np.asarray(last), np.asarray(fit.ring))
    assert first.distance(last) > 0  # rings handed out earlier keep their values
    np.testing.assert_array_equal(states[0][2], np.asarray(first))


def test_states_kept_by_a_callback_stay_as_they_were():
    states = []
    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=5, tol=0), callback=states.append)
    np.testing.assert_array_equal(np.asarray(states[-1].ring), np.asarray(fit.ring))
    assert states[0].ring.distance(fit.ring) > 0


def test_a_numpy_true_stops_too():
    fit = decompose(
        X, 2, solver=AWRTRD(smooth=0.0, sweeps=9, tol=0), callback=lambda state: np.float64(state.sweep) >= 2
    )
    assert len(fit.history) == 2


def test_a_truthy_answer_that_is_not_true_does_not_stop():
    fit = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=3, tol=0), callback=lambda state: 1)
    assert len(fit.history) == 3


def test_every_status_gives_advice():
    for status in Status:
        assert len(str(status)) > 30
        assert str(status) == status.value


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_standard_error_only(terminal, monkeypatch, capsys):
    import rich.console

    stream = io.StringIO()
    real = rich.console.Console
    monkeypatch.setattr(rich.console, "Console", lambda **_: real(file=stream, force_terminal=terminal, width=100))
    decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=3, tol=0), progress=True)
    assert "sweep" in stream.getvalue()
    assert "change" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_callbacks_see_the_names_of_the_data():
    xarray = pytest.importorskip("xarray")
    seen = []
    data = xarray.DataArray(X, dims=("row", "column", "time"), attrs={"units": "K"})
    decompose(data, 2, solver=AWRTRD(smooth=0.0, sweeps=1), callback=lambda state: seen.append(state.ring))
    assert (seen[0].names, seen[0].units) == (("row", "column", "time"), "K")


@pytest.mark.parametrize("solver", [None, SampledTRALS(samples=5)])
def test_warnings_point_at_the_line_of_the_user(solver):
    rank = ringlet.target(psnr=500) if solver is None else 2
    with pytest.warns(DataWarning) as caught:
        decompose(X, rank, solver=solver)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_fit_that_its_time_has_ended_is_saved_and_continued(tmp_path):
    """The last sweep is kept whatever `every` says, and with more time the fit goes on to where it would have ended."""
    x = np.random.default_rng(0).standard_normal((40, 36, 30)).cumsum(axis=0).cumsum(axis=1)
    solver = AWRTRD(threads=1)
    first = decompose(x, solver=solver, checkpoint=tmp_path / "fit", every=1000, time=0.2)
    assert first.status is Status.TIME_USED
    assert (tmp_path / "fit").exists()
    resumed = decompose(x, solver=solver, checkpoint=tmp_path / "fit", every=1000)
    assert len(resumed.history) > len(first.history) + 2
    assert resumed.validation < first.validation
