"""What a fit may adjust while it runs, penalties and kernel width, and the turns that try other values of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["Knob", "Knobs", "Penalties"]

_RIDGE_STEP, _RIDGE_LEAST, _RIDGE_MOST = 3.0, 1e-4, 1.0
_SMOOTH_STEP, _SMOOTH_LEAST, _SMOOTH_MOST = 3.0, 0.009, 30.0
_SMOOTH_FIRST = 0.03  # the first strength that is tried where there is none
_WIDTH_STEP, _WIDTH_LEAST, _WIDTH_MOST = 1.4, 0.25, 2.0
_MISSES = 2  # turns in a row, one each way, after which a knob rests
_REST = 1.5  # until the ring has grown by this factor


@dataclass(frozen=True)
class Penalties:
    """Strengths relative to the mean diagonal of the Gram matrix, and a factor of the kernel width.

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


@dataclass(frozen=True)
class Knob:
    """One thing that can be turned up and down.

    Attributes
    ----------
    name : {"ridge", "smooth", "width"}
    modes : tuple of int
        For "smooth", the modes that it acts on.
    """

    name: str
    modes: tuple[int, ...] = ()

    def turned(self, given: Penalties, up: bool) -> Penalties | None:
        """The next larger or smaller value, or None at the end of the range.

        Examples
        --------
        >>> Knob("smooth", (1,)).turned(Penalties(0.1, (0.0, 0.0)), up=True).smooth
        (0.0, 0.03)
        >>> Knob("smooth", (1,)).turned(Penalties(0.1, (0.0, 0.0)), up=False) is None
        True
        """
        if self.name == "smooth":
            smooth = tuple(
                _smoother(strength, up) if mode in self.modes else strength
                for mode, strength in enumerate(given.smooth)
            )
            return None if smooth == given.smooth else replace(given, smooth=smooth)
        if self.name == "ridge":
            ridge = (given.ridge or _RIDGE_LEAST) * (_RIDGE_STEP if up else 1 / _RIDGE_STEP)
            return replace(given, ridge=ridge) if _RIDGE_LEAST <= ridge <= _RIDGE_MOST else None
        width = given.width * (_WIDTH_STEP if up else 1 / _WIDTH_STEP)
        return replace(given, width=width) if _WIDTH_LEAST <= width <= _WIDTH_MOST else None


class Knobs:
    """Turns one knob after the other: the same one again, the same way, while that helps.

    Parameters
    ----------
    knobs : sequence of Knob
    """

    def __init__(self, knobs: Sequence[Knob]) -> None:
        self._knobs = knobs
        self._at = 0
        self._up = [knob.name != "width" for knob in knobs]  # the way each is turned next
        self._misses = [0] * len(knobs)  # turns in a row that did not help
        self._size = [0] * len(knobs)  # of the ring at the last turn

    def __len__(self) -> int:
        return len(self._knobs)

    def turned(self, given: Penalties, size: int, without: Sequence[str] = ()) -> Penalties | None:
        """Other penalties to try on a ring of so many parameters; None if every knob rests.

        Say with `answer` whether they helped before the next call.
        """
        for _ in self._knobs:
            at = self._at
            if not self._rests(at, size) and self._knobs[at].name not in without:
                self._size[at] = size
                for _ in range(2):
                    penalties = self._knobs[at].turned(given, self._up[at])
                    if penalties is not None:
                        return penalties
                    self._answer(at, helped=False)
            self._at = (at + 1) % len(self._knobs)
        return None

    def all_rest(self, size: int) -> bool:
        """Whether every knob has been turned both ways in vain on a ring of about this size."""
        return all(self._rests(at, size) for at in range(len(self._knobs)))

    def _rests(self, at: int, size: int) -> bool:
        return self._misses[at] >= _MISSES and size < _REST * self._size[at]

    def answer(self, *, helped: bool) -> None:
        """Tell whether what `turned` gave last was better."""
        self._answer(self._at, helped=helped)
        if not helped:
            self._at = (self._at + 1) % len(self._knobs)

    def _answer(self, at: int, *, helped: bool) -> None:
        self._misses[at] = 0 if helped else self._misses[at] + 1
        self._up[at] ^= not helped

    def state(self) -> list[float]:
        """All that changes, as numbers."""
        return [self._at, *map(float, self._up), *map(float, self._misses), *map(float, self._size)]

    def resume(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        count = len(self._knobs)
        self._at = int(state[0])
        self._up = [bool(value) for value in state[1 : 1 + count]]
        self._misses = [int(value) for value in state[1 + count : 1 + 2 * count]]
        self._size = [int(value) for value in state[1 + 2 * count :]]


def _smoother(strength: float, up: bool) -> float:
    if up:
        return min(strength * _SMOOTH_STEP, _SMOOTH_MOST) if strength else _SMOOTH_FIRST
    weaker = strength / _SMOOTH_STEP
    return weaker if weaker >= _SMOOTH_LEAST else 0.0
