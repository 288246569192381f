"""States by the names of their fields, and states made of them again: nothing is lost, whatever is wrong is named."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from ringlet.errors import FormatError
from ringlet.results.saved_state import NOT_SAVED, by_name, from_names, named_cores, saved_cores


@dataclass(frozen=True)
class Inner:
    up: tuple[bool, ...]
    counts: tuple[int, ...]
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    cores: tuple[np.ndarray, ...]
    width: float
    sweeps: int
    ended: bool
    inner: Inner
    limit: float | None = None
    caches: object = field(default=None, metadata=NOT_SAVED)


def state(**changes):
    cores = (np.arange(6.0).reshape(1, 3, 2), np.ones((2, 4, 1)))
    return replace(Outer(cores, np.inf, 7, True, Inner((True, False), (3, -1)), caches="here"), **changes)


def blank():
    """A state of the same structure, with other values in all fields."""
    cores = (np.zeros((1, 3, 1)), np.zeros((1, 4, 1)))
    return Outer(cores, 0.0, 0, False, Inner((False, False), (0, 0), 0.5), 1.0, "there")


def same(one, other):
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one.cores, other.cores, strict=True))
    assert replace(one, cores=(), caches=None) == replace(other, cores=(), caches=None)


@pytest.mark.parametrize(
    "saved",
    [
        state(),
        state(limit=-2.5, width=0.25, ended=False),
        state(inner=Inner((False, True), (0, 10**9), -1.0)),
    ],
)
def test_a_state_comes_back_from_its_fields(saved):
    back = from_names(blank(), by_name(saved))
    same(back, saved)
    assert back.caches == "there"  # what is not saved is taken from the other
    for got, given in ((back.sweeps, int), (back.ended, bool), (back.inner.up[0], bool), (back.inner.counts[0], int)):
        assert type(got) is given


def test_fields_have_the_names_of_the_state_and_nothing_else():
    assert set(by_name(state())) == {"cores.0", "cores.1", "width", "sweeps", "ended", "inner.up", "inner.counts"}
    assert set(by_name(state(), "fit.")) == {f"fit.{name}" for name in by_name(state())}
    same(from_names(blank(), by_name(state(), "fit."), "fit."), state())


def test_none_is_saved_by_leaving_it_out_and_comes_back_as_none():
    named = by_name(state())
    assert "limit" not in named
    assert "inner.share" not in named
    back = from_names(blank(), named)
    assert back.limit is None
    assert back.inner.share is None
    assert from_names(state(), by_name(state(limit=3.0))).limit == 3.0  # and None becomes a number


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"width": ...}, "the state lacks 'width'"),
        ({"cores.1": ...}, "the state lacks 'cores.1'"),
        ({"inner.up": ...}, "the state lacks 'inner.up'"),
        ({"width": np.nan}, "'width' of the state is not a number"),
        ({"limit": np.nan}, "'limit' of the state is not a number"),
        ({"width": np.ones(1)}, "'width' of the state is not a number"),
        ({"sweeps": np.inf}, "'sweeps' of the state is inf, not a whole number"),
        ({"inner.counts": np.array([1.0, np.inf])}, "'inner.counts' of the state is inf, not a whole number"),
        ({"inner.counts": np.ones(3)}, r"'inner.counts' of the state is float64 of shape \(3,\)"),
        ({"cores.0": np.ones((1, 3, 2), "f4")}, "'cores.0' of the state is float32 .*, not float64"),
        ({"cores.0": np.full((1, 3, 2), np.inf)}, "'cores.0' of the state has entries that are NaN or infinite"),
    ],
)
def test_whatever_is_wrong_is_named(changes, words):
    named = {name: value for name, value in (by_name(state()) | changes).items() if value is not ...}
    with pytest.raises(FormatError, match=words):
        from_names(blank(), named)


def test_cores_alone_are_saved_and_must_come_back_in_their_shapes():
    cores = state().cores
    for core, again in zip(cores, saved_cores(named_cores(cores), cores), strict=True):
        np.testing.assert_array_equal(core, again)
    with pytest.raises(FormatError, match=r"'cores.0' of the state is float64 of shape \(1, 3, 2\), not"):
        saved_cores(named_cores(cores), blank().cores)
