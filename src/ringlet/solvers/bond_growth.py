"""Bonds that grow during a fit where held-out entries say that it pays, and are trimmed where they are not used."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, log, log2, log10

from ringlet.errors import BudgetError
from ringlet.ring.bond import canonical_bond
from ringlet.ring.chain import Core
from ringlet.sampling import Purpose, stream
from ringlet.solvers.problem import Problem
from ringlet.solvers.rank_growth import parameters, wider_rank
from ringlet.solvers.trials import Stand, Trials
from ringlet.solvers.widening import evened, sides, widen, with_features

__all__ = ["BondGrowth"]

_SETTLED = 0.1  # dB a sweep: below, a rank has shown what it can do
_FAST = 0.7  # dB a sweep: above, it is too early to tell what bonds bring
_SETTLING_ROUNDS = 3
_LARGE = 0.3  # dB: a growth that gains more is followed by the next at once
_SIMILAR = 0.7  # bonds that promise this part of what the best one does grow together with it,
_UNLIKE, _SHORT = 4, 8  # and those that are so many times narrower, unless beside a mode of fewer slices
_WORTH = 0.05  # dB that wider bonds have to gain, and narrower ones may lose
_SLOWING = 0.7  # a plain sweep gains this part of what the one before gained
_SURE, _LIKELY = 2.0, 1.0  # standard errors
_FAILURES = 4  # so many growths in a row that gained nothing end it, or fewer of a large ring
_TRIMMED = 2 / 3  # a bond is tried at this part of its width


class BondGrowth:
    """Decides when and where bonds grow.

    Parameters
    ----------
    trials : Trials
    problem : Problem
        With a choice of ranks.
    most : int
        Numbers that the ring may have at most.
    """

    def __init__(self, trials: Trials, problem: Problem, most: int) -> None:
        self._trials = trials
        self._shape = problem.source.shape
        self._seed = problem.seed
        self._psnr = None if problem.choice is None else problem.choice.psnr
        self._most = most
        self.ended = False
        self._again = False  # whether it has begun anew already
        self._failures = 0  # growths in a row that gained nothing
        self._rounds = 0  # slow ones since the last growth
        self.eager = True  # the last growth gained much

    def state(self) -> list[float]:
        """All that changes, as numbers."""
        return [self._most, self.ended, self._again, self._failures, self._rounds, self.eager]

    def resume(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        self._most, ended, again, self._failures, self._rounds, eager = map(int, state)
        self.ended, self._again, self.eager = bool(ended), bool(again), bool(eager)

    def begin_again(self, stand: Stand) -> bool:
        """Begin to grow anew, once."""
        if self._again or not self._wider_ranks(stand):
            return False
        self.ended, self._again, self._failures = False, True, 0
        return True

    def grown(self, stand: Stand, gain: float, number: int, *, ready: bool) -> Stand:
        """The same or a wider ring, after a sweep that gained so many decibels; growth may end with that.

        It is ready when penalties cannot be better at this rank: bonds must not make up for them, and growths that
        gained nothing may do so with other ones.
        """
        options = self._wider_ranks(stand)
        if (ready and self._failures >= self._patience(stand)) or not options:
            self.ended = True
            return stand
        if not self._ripe(stand, gain, ready):
            return stand
        try:
            wider = self._tried(stand, options, max(0.0, gain), number)
        except BudgetError:  # no room for a larger ring
            self._most = stand.parameters
            return stand
        self._rounds = 0
        return wider

    def reached(self, stand: Stand) -> bool:
        """Whether a target was given and the ring is as good on held-out entries."""
        return self._psnr is not None and self.psnr(stand) >= self._psnr

    def psnr(self, stand: Stand) -> float:
        """Of the held-out entries; the peak is the data's range."""
        return -20 * log10(self._trials.error(stand))

    def next_rank(self, stand: Stand) -> tuple[int, ...]:
        """All bonds wider that may be."""
        options = self._wider_ranks(stand)
        return tuple(options[bond][bond] if bond in options else width for bond, width in enumerate(stand.rank))

    def _ripe(self, stand: Stand, gain: float, ready: bool) -> bool:
        """Whether the rank has shown what it can do."""
        if stand.report.settling or gain > _FAST:
            return False
        self._rounds += 1
        if self.eager:
            return self._rounds >= 2 * _SETTLING_ROUNDS or (ready and gain < _LARGE)
        settled = gain < _SETTLED and (self._rounds > 1 or not self._failures)
        return settled or self._rounds >= _SETTLING_ROUNDS

    def _patience(self, stand: Stand) -> int:
        """Growths in a row that may fail: many of a small ring, where they cost little, one of a large one."""
        return min(max(1, int(log2(max(1.0, self._most / stand.parameters)))), _FAILURES)

    def _tried(self, stand: Stand, options: dict[int, tuple[int, ...]], gain: float, number: int) -> Stand:
        """Wider bonds where they promise most, if they pay; else the ring as it was."""
        found = {bond: self._with_bond(stand, bond, rank[bond], number) for bond, rank in options.items()}
        best, *others = self._promising(stand, found, gain)
        cores: Sequence[Core] = found[best].position.cores
        for bond in others:
            cores = with_features(cores, bond, found[bond].position.cores)
        wider = self._trials.swept(replace(stand.position, cores=tuple(cores)), number, 3)
        verdict = self._trials.compare(wider, stand)
        gains = verdict.certainty > _SURE and verdict.gain > _WORTH
        paid = gains and verdict.gain > _WORTH + (_SLOWING + _SLOWING**2) * gain  # or else it is too early
        self._failures = 0 if gains else self._failures + 1
        self.eager = paid and verdict.gain > _LARGE
        return wider if paid else stand

    def _with_bond(self, stand: Stand, bond: int, width: int, number: int) -> Stand:
        """One bond wider, by features that the residual has across it."""
        first, later = sides(bond, len(self._shape))
        rng = stream(self._seed, Purpose.GROWTH, number, bond)
        cores: Sequence[Core] = widen(stand.position.cores, bond, width, rng)
        for mode, step in ((later, 1), (first, 1), (later, 2)):
            wider = self._trials.swept(replace(stand.position, cores=tuple(cores)), number, step, [mode])
            cores = evened(wider.position.cores, bond, stand.rank[bond])
        return replace(wider, position=replace(wider.position, cores=tuple(cores)))

    def _promising(self, stand: Stand, found: dict[int, Stand], gain: float) -> list[int]:
        """The bond that gains most for its size, and those that grow with it."""
        shape = self._shape
        promises = {}
        for bond, wider in found.items():
            gained = self._trials.compare(wider, stand).gain
            gained -= gain * 2 / len(shape)  # what the updates bring without it
            promises[bond] = gained / log(wider.parameters / stand.parameters)
        best, *others = sorted(found, key=lambda bond: -promises[bond])
        chosen, rank = [best], found[best].rank
        for bond in others:
            together = (*rank[:bond], found[bond].rank[bond], *rank[bond + 1 :])
            similar = promises[bond] >= _SIMILAR * promises[best] > 0
            narrow = min(shape[bond - 1], shape[bond]) >= _SHORT and _UNLIKE * rank[bond] < max(rank)
            if (similar or narrow) and parameters(shape, together) <= self._most:
                chosen.append(bond)
                rank = together
        return chosen

    def _wider_ranks(self, stand: Stand) -> dict[int, tuple[int, ...]]:
        """For every bond that may grow, the rank that this would give."""
        if self.reached(stand):
            return {}
        options = {bond: wider_rank(self._shape, stand.rank, bond, self._most) for bond in range(len(self._shape))}
        return {bond: wider for bond, wider in options.items() if wider is not None}

    def trimmed(self, stand: Stand, number: int) -> Stand:
        """The ring without the weakest parts of bonds, as far as the held-out entries do not miss them."""
        kept = stand
        for bond in sorted(range(len(self._shape)), key=lambda bond: -stand.rank[bond]):
            while kept.rank[bond] > 1:
                narrower = self._trials.at(kept, _cut(kept.position.cores, bond))
                if self._misses(narrower, stand):
                    break
                kept = narrower
        if kept is stand:
            return stand
        swept = self._trials.swept(kept.position, number, 3)
        return stand if self._misses(swept, stand) else swept

    def _misses(self, narrower: Stand, stand: Stand) -> bool:
        verdict = self._trials.compare(narrower, stand)
        worse = verdict.gain - _LIKELY * verdict.doubt < -_WORTH
        return worse or (self.reached(stand) and not self.reached(narrower))


def _cut(cores: Sequence[Core], bond: int) -> list[Core]:
    """Cores with one bond narrower by a third, at least by one: its weakest directions are left out."""
    width = min(ceil(_TRIMMED * cores[bond].shape[0]), cores[bond].shape[0] - 1)
    cut = canonical_bond(cores, bond)
    cut[bond - 1] = cut[bond - 1][:, :, :width]
    cut[bond] = cut[bond][:width]
    return [core.astype(cores[0].dtype) for core in cut]
