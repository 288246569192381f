"""Fits of a given rank that stand still far from what the rank could do: recognised, and begun anew."""

from collections.abc import Sequence
from dataclasses import replace

from ringlet.errors import BudgetError
from ringlet.ring.chain import Core
from ringlet.ring.ranks import bond_limits
from ringlet.sampling import Purpose, stream
from ringlet.solvers.sawrtrd.algorithm import Position, RobustRun
from ringlet.solvers.tuning.bond_expansion import widen
from ringlet.solvers.tuning.trials import Stand, Trials
from ringlet.solvers.tuning.tuned_parameters import Penalties

__all__ = ["Restarts"]

_WIDEST = 8  # bonds up to which it is looked for: wider ones find their way, and sweeps of them cost more
_PROBING, _FIRST_TRIAL = 6, 4  # sweeps with wider bonds, and the number of the first of them among a round's trials
_SWAMP = 4.0  # dB that these gain if the fit stood still in a swamp
_ATTEMPTS, _SWEEPS = 6, 12  # fresh starts, and the sweeps that each gets to show that it leads elsewhere:
_REACHED = 1 / 3  # it has to gain this part of what wider bonds did


class Restarts:
    """Looks once whether a fit stands still in a swamp, and if so tries other starts.

    In a swamp every core is about the best one for the others, but the ring is far from the best one. Bonds that are
    wider by one lead out of it in a few sweeps, whereas a ring that has shown what its rank can do gains little by
    them. The given rank does not allow to go on with those, but other random starts lead elsewhere.

    Parameters
    ----------
    trials : Trials
    run : RobustRun
    seed : int
    penalties : Penalties
        Those that the fit began with.
    """

    def __init__(self, trials: Trials, run: RobustRun, seed: int, penalties: Penalties) -> None:
        self._trials = trials
        self._run = run
        self._seed = seed
        self._penalties = penalties
        self.done = False

    def elsewhere(self, stand: Stand, number: int) -> Stand | None:
        """A better place to go on from, if the fit stood still in a swamp; looked for once."""
        self.done = True
        wider = self._widened(stand)
        if wider is None:
            return None
        try:
            gain = self._gain(stand, self._swept(wider, number, _FIRST_TRIAL, _PROBING))
        except BudgetError:  # no room for a larger ring
            return None
        if gain < _SWAMP:
            return None
        for attempt in range(1, _ATTEMPTS + 1):
            start = self._run.fresh_start(stand.rank, self._penalties, attempt)
            found = self._swept(start, number, _FIRST_TRIAL + _PROBING + attempt * _SWEEPS, _SWEEPS)
            if self._gain(stand, found) > _REACHED * gain:
                return found
        return None

    def _swept(self, position: Position, number: int, first: int, sweeps: int) -> Stand:
        for step in range(first, first + sweeps):
            stand = self._trials.swept(position, number, step)
            position = stand.position
        return stand

    def _gain(self, old: Stand, new: Stand) -> float:
        return self._trials.compare(new, old).gain

    def _widened(self, stand: Stand) -> Position | None:
        """The same ring with every bond wider by one that may be; None if there are none, or they are wide already."""
        cores: Sequence[Core] = stand.position.cores
        shape = [core.shape[1] for core in cores]
        limits = bond_limits(shape, [bond + 1 for bond in stand.rank])
        if max(stand.rank) > _WIDEST or limits == stand.rank:
            return None
        for bond, (width, limit) in enumerate(zip(stand.rank, limits, strict=True)):
            if limit > width:
                cores = widen(cores, bond, limit, stream(self._seed, Purpose.GROWTH, 0, bond))
        return replace(stand.position, cores=tuple(cores))
