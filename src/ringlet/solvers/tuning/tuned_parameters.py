"""Penalties and kernel width as tuned parameters: which value to try next, and when to pause."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.robust_ring import RobustRing

__all__ = ["TunedParameter", "TunedParameters", "Tuning", "TuningState", "open_parameters"]

_ORDERED = 8  # modes of fewer slices are not smoothed
_RIDGE_STEP, _RIDGE_LEAST, _RIDGE_MOST = 3.0, 1e-4, 1.0
_SMOOTH_STEP, _SMOOTH_LEAST, _SMOOTH_MOST = 3.0, 0.009, 30.0
_SMOOTH_FIRST = 0.03  # the first strength that is tried from zero
_WIDTH_STEP, _WIDTH_LEAST, _WIDTH_MOST = 1.4, 0.25, 2.0
_LIKELY = 1.0  # standard errors by which another value has to be better,
_SURE = 2.0  # and for a first smoothness or a smaller ridge, whose harm shows later
_WEAK = 0.03  # smoothness up to which a smaller one is kept unless it is probably worse
_AT_ONCE = 2  # parameters that are tried in a sweep
_MISSES = 2  # trials in a row, one each way, after which a parameter rests
_REST = 1.5  # until the ring has grown by this factor


class Tuning(IntEnum):
    """What a sweep did about the tuned parameters."""

    EARLY = 0  # nothing yet
    HELPED = 1
    IN_VAIN = 2  # tried some without success, and others are left
    DONE = 3  # all rest


@dataclass(frozen=True)
class TunedParameter:
    """One parameter that can be raised and lowered.

    Attributes
    ----------
    name : {"ridge", "smooth", "width"}
    mode : int
        A mode whose core update shows its effect; for "smooth" the mode that it acts on.
    """

    name: str
    mode: int

    def changed(self, given: Penalties, up: bool, *, exact: bool = False) -> Penalties | None:
        """The next larger or smaller value, or None at the end of the range.

        Penalties of `exact` data go to zero at once; others keep a ridge.

        Examples
        --------
        >>> TunedParameter("smooth", 1).changed(Penalties(0.1, (0.0, 0.0)), up=True).smooth
        (0.0, 0.03)
        >>> TunedParameter("smooth", 1).changed(Penalties(0.1, (0.0, 0.0)), up=False) is None
        True
        """
        if self.name == "smooth":
            strength = given.smooth[self.mode]
            strength = _stronger(strength, up, _SMOOTH_STEP, _SMOOTH_LEAST) if strength or not up else _SMOOTH_FIRST
            strength = 0.0 if exact and not up else min(strength, _SMOOTH_MOST)
            smooth = (*given.smooth[: self.mode], strength, *given.smooth[self.mode + 1 :])
            return None if smooth == given.smooth else replace(given, smooth=smooth)
        if self.name == "ridge":
            ridge = _stronger(given.ridge or 0.0, up, _RIDGE_STEP, _RIDGE_LEAST)
            if exact and not up:
                ridge = 0.0
            return replace(given, ridge=ridge) if given.ridge != ridge <= _RIDGE_MOST and (ridge or exact) else None
        width = given.width * (_WIDTH_STEP if up else 1 / _WIDTH_STEP)
        return replace(given, width=width) if _WIDTH_LEAST <= width <= _WIDTH_MOST else None


def open_parameters(solver: RobustRing, shape: tuple[int, ...], *, tunes_width: bool) -> list[TunedParameter]:
    """The parameters that the solver leaves open: ridge, smoothness of every ordered mode, and kernel width if tuned.

    The ridge comes first: if it is too small, smoothness helps even along a mode without order.
    """
    longest = shape.index(max(shape))
    parameters = [TunedParameter("ridge", longest)] if solver.ridge == "auto" else []
    if solver.smooth == "auto":
        parameters += [TunedParameter("smooth", mode) for mode, length in enumerate(shape) if length >= _ORDERED]
    if tunes_width and solver.tunes_width:
        parameters.append(TunedParameter("width", longest))
    return parameters


@dataclass(frozen=True)
class TuningState:
    """The state of the tuning; one entry per parameter.

    Attributes
    ----------
    queue : tuple of int
        The order in which they are tried.
    up : tuple of bool
        The direction of the next change of each.
    kept : tuple of int
        The direction of the last change that helped: 1 up, -1 down, 0 none yet.
    reversals : tuple of int
        How often this direction has changed.
    misses : tuple of int
        Trials in a row that did not help.
    size : tuple of int
        Parameters of the ring at the last trial.
    """

    queue: tuple[int, ...]
    up: tuple[bool, ...]
    kept: tuple[int, ...]
    reversals: tuple[int, ...]
    misses: tuple[int, ...]
    size: tuple[int, ...]


class TunedParameters:
    """Tries one parameter after the other; the same one again, in the same direction, while this helps.

    Parameters
    ----------
    parameters : sequence of TunedParameter
    state : TuningState, optional
        Their state; by default none has been tried.

    Notes
    -----
    A ring that has grown is first tried with stronger penalties.
    """

    def __init__(self, parameters: Sequence[TunedParameter], state: TuningState | None = None) -> None:
        self._parameters = parameters
        none = (0,) * len(parameters)
        up = tuple([parameter.name == "smooth" for parameter in parameters])
        self.state = state or TuningState(tuple(range(len(parameters))), up, none, none, none, none)

    def due(self, size: int, without: Sequence[str] = ()) -> dict[int, int]:
        """By mode, the parameters to try in a sweep of a ring of `size` numbers; empty if every one rests."""
        chosen: dict[int, int] = {}
        for at in self.state.queue:
            parameter = self._parameters[at]
            if len(chosen) < _AT_ONCE and parameter.name not in without and not self._rests(at, size):
                chosen.setdefault(parameter.mode, at)
        return chosen

    def changed(self, at: int, given: Penalties, size: int, *, exact: bool = False) -> Penalties | None:
        """Other penalties to try; None if a parameter rests. `answer` takes the result."""
        if size >= _REST * self.state.size[at]:
            self._set(at, misses=0, kept=0, reversals=0)
            if self.state.size[at] and self._parameters[at].name != "width":
                self._set(at, up=True)
        self._set(at, size=size)
        while not self._rests(at, size):
            penalties = self._parameters[at].changed(given, self.state.up[at], exact=exact)
            if penalties is not None:
                return penalties
            self._miss(at)
        return None

    def answer(self, at: int, given: Penalties, changed: Penalties, certainty: float) -> bool:
        """Whether to keep the result of `changed`, from its certainty to be better, in standard errors."""
        state, parameter = self.state, self._parameters[at]
        old, new = given.smooth[parameter.mode], changed.smooth[parameter.mode]
        needed = _SURE if new > old == 0 else -_LIKELY if _WEAK >= old > new else _LIKELY
        if parameter.name == "ridge" and not state.up[at]:
            needed = _SURE
        if certainty <= needed:
            self._miss(at)
            return False
        way = 1 if state.up[at] else -1
        reversals = state.reversals[at] + (state.kept[at] == -way)
        # Up helped, then down, then up: the best value is between the two, and the parameter rests.
        self._set(at, kept=way, reversals=reversals, misses=_MISSES if reversals > 1 else 0)
        return True

    def _rests(self, at: int, size: int) -> bool:
        return self.state.misses[at] >= _MISSES and size < _REST * self.state.size[at]

    def _miss(self, at: int) -> None:
        self._set(at, misses=self.state.misses[at] + 1, up=not self.state.up[at])
        self.state = replace(self.state, queue=(*[other for other in self.state.queue if other != at], at))

    def _set(self, at: int, **values: int) -> None:
        changed = {}
        for name, value in values.items():
            now = getattr(self.state, name)
            changed[name] = (*now[:at], value, *now[at + 1 :])
        self.state = replace(self.state, **changed)


def _stronger(strength: float, up: bool, step: float, least: float) -> float:
    """The next larger strength, or the next smaller one, of which zero is the last."""
    if up:
        return max(step * strength, least)
    return strength / step if strength / step >= least else 0.0
