"""What a fit may adjust while it runs, penalties and kernel width, and the turns that try other values of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringlet.solvers.sawrtrd.settings import RobustRing

__all__ = ["Knob", "Knobs", "Penalties", "Tuning", "open_knobs"]

_ORDERED = 8  # modes of fewer slices are not smoothed
_RIDGE_STEP, _RIDGE_LEAST, _RIDGE_MOST = 3.0, 1e-4, 1.0
_SMOOTH_STEP, _SMOOTH_LEAST, _SMOOTH_MOST = 3.0, 0.009, 30.0
_SMOOTH_FIRST = 0.03  # the first strength that is tried where there is none
_WIDTH_STEP, _WIDTH_LEAST, _WIDTH_MOST = 1.4, 0.25, 2.0
_LIKELY = 1.0  # standard errors by which a turn has to be better,
_SURE = 2.0  # or so many for a first smoothness, and for a smaller ridge: the harm that it does comes later
_WEAK = 0.03  # smoothness up to which less is taken unless that is likely to be worse
_AT_ONCE = 2  # knobs that are turned in a sweep
_MISSES = 2  # turns in a row, one each way, after which a knob rests
_REST = 1.5  # until the ring has grown by this factor


class Tuning(IntEnum):
    """What a sweep did about the knobs."""

    EARLY = 0  # nothing yet
    HELPED = 1
    IN_VAIN = 2  # turned some, and others are left
    DONE = 3  # all rest


@dataclass(frozen=True)
class Penalties:
    """Strengths of penalties on the cores, and a factor of the kernel width.

    Strengths are relative to the mean diagonal of the Gram matrix, or where data lie far from zero to the part of it
    that is owed to what varies (`ringlet.solvers.sawrtrd.start.Scale.penalty_unit`).

    Attributes
    ----------
    ridge : float or None
        None: by the rule of `automatic_ridge`.
    smooth : tuple of float
        One a mode.
    width : float
        Factor of what the rule of the solver gives.
    """

    ridge: float | None
    smooth: tuple[float, ...]
    width: float = 1.0

    def refined(self, factors: Sequence[int]) -> "Penalties":
        """For the same data with so many times more slices of every mode, and the rule's kernel width.

        With f times more slices there are f times more differences, each an f-th of what it was; the data of a slice
        weigh the same, and there are f times more: smoothness has to be f^2 times stronger.

        Examples
        --------
        >>> Penalties(0.1, (0.0, 0.03), 0.5).refined((4, 2))
        Penalties(ridge=0.1, smooth=(0.0, 0.12), width=1.0)
        """
        smooth = zip(self.smooth, factors, strict=True)
        return Penalties(self.ridge, tuple(min(strength * factor**2, _SMOOTH_MOST) for strength, factor in smooth))


@dataclass(frozen=True)
class Knob:
    """One thing that can be turned up and down.

    Attributes
    ----------
    name : {"ridge", "smooth", "width"}
    mode : int
        A mode whose core update shows what it does; for "smooth" the one that it acts on.
    """

    name: str
    mode: int

    def turned(self, given: Penalties, up: bool, *, exact: bool = False) -> Penalties | None:
        """The next larger or smaller value, or None at the end of the range; only `exact` data do without a ridge.

        Examples
        --------
        >>> Knob("smooth", 1).turned(Penalties(0.1, (0.0, 0.0)), up=True).smooth
        (0.0, 0.03)
        >>> Knob("smooth", 1).turned(Penalties(0.1, (0.0, 0.0)), up=False) is None
        True
        """
        if self.name == "smooth":
            strength = given.smooth[self.mode]
            strength = _stronger(strength, up, _SMOOTH_STEP, _SMOOTH_LEAST) if strength or not up else _SMOOTH_FIRST
            strength = min(strength, _SMOOTH_MOST)
            smooth = (*given.smooth[: self.mode], strength, *given.smooth[self.mode + 1 :])
            return None if smooth == given.smooth else replace(given, smooth=smooth)
        if self.name == "ridge":
            ridge = _stronger(given.ridge or 0.0, up, _RIDGE_STEP, _RIDGE_LEAST)
            return replace(given, ridge=ridge) if given.ridge != ridge <= _RIDGE_MOST and (ridge or exact) else None
        width = given.width * (_WIDTH_STEP if up else 1 / _WIDTH_STEP)
        return replace(given, width=width) if _WIDTH_LEAST <= width <= _WIDTH_MOST else None


def open_knobs(solver: "RobustRing", shape: tuple[int, ...]) -> list[Knob]:
    """What the solver leaves open: ridge, smoothness of every ordered mode, and kernel width.

    The ridge comes first: where it is too small, smoothness helps even along a mode without order.
    """
    longest = shape.index(max(shape))
    knobs = [Knob("ridge", longest)] if isinstance(solver.ridge, str) else []
    if isinstance(solver.smooth, str):
        knobs += [Knob("smooth", mode) for mode, length in enumerate(shape) if length >= _ORDERED]
    if isinstance(solver.sigma, str) and solver.sigma_factor is None and solver.loss != "l2":
        knobs.append(Knob("width", longest))
    return knobs


class Knobs:
    """Turns one knob after the other: the same one again, the same way, while that helps.

    Parameters
    ----------
    knobs : sequence of Knob
    """

    def __init__(self, knobs: Sequence[Knob]) -> None:
        self._knobs = knobs
        self._queue = list(range(len(knobs)))  # the order in which they are turned
        self._up = [knob.name == "smooth" for knob in knobs]  # the way each is turned next
        self._kept = [0] * len(knobs)  # the way of the last turn that helped: 1 up, -1 down, 0 none yet
        self._reversals = [0] * len(knobs)  # how often that way has changed
        self._misses = [0] * len(knobs)  # turns in a row that did not help
        self._size = [0] * len(knobs)  # of the ring at the last turn

    def due(self, size: int, without: Sequence[str] = ()) -> dict[int, int]:
        """By mode, the knobs to turn in a sweep of a ring of so many parameters; empty if every knob rests."""
        chosen: dict[int, int] = {}
        for at in self._queue:
            knob = self._knobs[at]
            if len(chosen) < _AT_ONCE and knob.name not in without and not self._rests(at, size):
                chosen.setdefault(knob.mode, at)
        return chosen

    def turned(self, at: int, given: Penalties, size: int, *, exact: bool = False) -> Penalties | None:
        """Other penalties to try; None if a knob rests. Say with `answer` what they brought."""
        if size >= _REST * self._size[at]:
            self._misses[at] = self._kept[at] = self._reversals[at] = 0
        self._size[at] = size
        while not self._rests(at, size):
            penalties = self._knobs[at].turned(given, self._up[at], exact=exact)
            if penalties is not None:
                return penalties
            self._miss(at)
        return None

    def awake(self, name: str, size: int) -> bool:
        """Whether knobs of this name may be turned again, in a ring of so many parameters."""
        return any(knob.name == name and not self._rests(at, size) for at, knob in enumerate(self._knobs))

    def _rests(self, at: int, size: int) -> bool:
        return self._misses[at] >= _MISSES and size < _REST * self._size[at]

    def answer(self, at: int, given: Penalties, turned: Penalties, certainty: float) -> bool:
        """Whether to keep what `turned` gave, from how sure it is that it is better, in standard errors."""
        if certainty <= self._needed(at, given, turned):
            self._miss(at)
            return False
        way = 1 if self._up[at] else -1
        self._reversals[at] += self._kept[at] == -way
        self._kept[at] = way
        # To and fro: the best value is between the two, and the knob rests.
        self._misses[at] = _MISSES if self._reversals[at] > 1 else 0
        return True

    def _needed(self, at: int, given: Penalties, turned: Penalties) -> float:
        """Standard errors by which a turn has to be better."""
        knob = self._knobs[at]
        if knob.name == "ridge" and not self._up[at]:
            return _SURE
        old, new = (penalties.smooth[knob.mode] for penalties in (given, turned))
        return _SURE if new > old == 0 else -_LIKELY if _WEAK >= old > new else _LIKELY

    def _miss(self, at: int) -> None:
        self._misses[at] += 1
        self._up[at] = not self._up[at]
        self._queue.remove(at)
        self._queue.append(at)

    def state(self) -> list[float]:
        """All that changes, as numbers."""
        return [*map(float, self._queue + self._up + self._kept + self._reversals + self._misses + self._size)]

    def resume(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        count = len(self._knobs)
        lists = [list(map(int, state[n * count : (n + 1) * count])) for n in range(6)]
        self._queue, up, self._kept, self._reversals, self._misses, self._size = lists
        self._up = list(map(bool, up))


def _stronger(strength: float, up: bool, step: float, least: float) -> float:
    """The next larger strength, or the next smaller one, of which zero is the last."""
    if up:
        return max(step * strength, least)
    return strength / step if strength / step >= least else 0.0
