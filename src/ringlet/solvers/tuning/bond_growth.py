"""Bonds that grow during a fit where held-out entries say that it pays, and are trimmed where they are not used."""

from collections.abc import Sequence
from dataclasses import replace
from math import log, log10

from ringlet.errors import BudgetError
from ringlet.ring.bond import canonical_bond
from ringlet.ring.chain import Core
from ringlet.sampling import Purpose, stream
from ringlet.solvers.problem import Problem
from ringlet.solvers.rank_choice import parameters, wider_rank
from ringlet.solvers.tuning.bond_expansion import evened, sides, widen, with_features
from ringlet.solvers.tuning.trials import Stand, Trials
from ringlet.solvers.tuning.tuned_parameters import Tuning

__all__ = ["BondGrowth"]

_STEP, _WIDE = 2.0, 8  # the factor by which bonds of this width and more grow,
_SMALL_STEP = 1.3  # and that of narrower ones, and of all after a growth that gained nothing
_SETTLED = 0.1  # dB a sweep: below, a rank has shown what it can do
_FAST = 0.7  # dB a sweep: above, it is too early to tell
_SETTLING_ROUNDS = 3
_LARGE = 0.3  # dB: a growth that gains more is followed by the next at once
_SIMILAR = 0.7  # bonds that promise this part of what the best one does grow together with it,
_UNLIKE, _SHORT = 4, 8  # and those that are so many times narrower, unless beside a mode of fewer slices
_HARDLY = 1.1  # and all that gain while the ring is larger by less than this factor: so few may promise by chance
_WORTH = 0.05  # dB that wider bonds have to gain,
_SPARED = 0.05  # and narrower ones may lose
_EXACT = 1e-4  # held-out error, in data ranges, of data that a ring describes exactly: narrower bonds get so many
_REFITS, _FIRST_REFIT = 8, 4  # sweeps to show that they do, too; and the number of the first among a round's trials
_SLOWING = 0.7  # a plain sweep gains this part of what the one before gained
_SURE, _LIKELY = 2.0, 1.0  # standard errors
_FAILURES = 2  # so many growths in a row that gained nothing, with the same penalties, end it


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
        self._failures = 0  # growths in a row that gained nothing, with the same penalties
        self.failed = False  # the last growth gained nothing
        self._rounds = 0  # slow ones since the last growth
        self.eager = True  # the last growth gained much

    def state(self) -> list[float]:
        """All that changes, as numbers."""
        return [self._most, self.ended, self._failures, self.failed, self._rounds, self.eager]

    def resume(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        self._most, ended, self._failures, failed, self._rounds, eager = map(int, state)
        self.ended, self.failed, self.eager = bool(ended), bool(failed), bool(eager)

    def begin_again(self) -> None:
        """Other bonds may pay now."""
        self.ended = self.failed = False
        self._failures = 0

    def grown(self, stand: Stand, gain: float, number: int, tuned: Tuning) -> Stand:
        """The same or a wider ring, after a sweep that gained so many decibels; growth may end with that.

        Bonds must not make up for penalties, and growths that gained nothing may do so with other ones.
        """
        if tuned is Tuning.HELPED:
            self._failures = 0
        options = self._wider_ranks(stand)
        unsettled = stand.report.settling or gain > _FAST  # too early to tell what bonds bring, or which are not used
        if self._failures >= _FAILURES or (not options and not unsettled):
            self.ended = True
            return stand
        if unsettled or not self._ripe(gain, tuned):
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

    def _ripe(self, gain: float, tuned: Tuning) -> bool:
        """Whether the rank has shown what it can do."""
        if self.failed:
            return tuned is Tuning.DONE
        self._rounds += 1
        if self.eager:
            return self._rounds >= 2 * _SETTLING_ROUNDS or (tuned >= Tuning.IN_VAIN and gain < _LARGE)
        return gain < _SETTLED or self._rounds >= _SETTLING_ROUNDS

    def _tried(self, stand: Stand, options: dict[int, tuple[int, ...]], gain: float, number: int) -> Stand:
        """Wider bonds where they promise most, if they pay; else the ring as it was."""
        found = {bond: self._with_bond(stand, bond, rank[bond], number) for bond, rank in options.items()}
        wider = self._joined(stand, found, self._promising(stand, found, gain), number)
        verdict = self._trials.compare(wider, stand)
        gains = verdict.certainty > _SURE and verdict.gain > _WORTH
        paid = gains and verdict.gain > _WORTH + (_SLOWING + _SLOWING**2) * gain  # or else it is too early
        self._failures = 0 if gains else self._failures + 1
        self.failed = not gains
        self.eager = paid and verdict.gain > _LARGE
        return wider if paid else stand

    def _joined(self, stand: Stand, found: dict[int, Stand], chosen: Sequence[int], number: int) -> Stand:
        """Where a sweep leads with all chosen bonds as wide as they were found; the same without any."""
        if not chosen:
            return stand
        best, *others = chosen
        cores: Sequence[Core] = found[best].position.cores
        for bond in others:
            cores = with_features(cores, bond, found[bond].position.cores)
        return self._trials.swept(replace(stand.position, cores=tuple(cores)), number, 3)

    def _with_bond(self, stand: Stand, bond: int, width: int, number: int) -> Stand:
        """One bond wider, by features that the residual has across it."""
        first, later = sides(bond, len(self._shape))
        rng = stream(self._seed, Purpose.GROWTH, number, bond)
        position = replace(stand.position, cores=tuple(widen(stand.position.cores, bond, width, rng)))
        for mode, step in ((later, 1), (first, 1), (later, 2)):
            position = self._trials.updated(position, number, step, mode)
            position = replace(position, cores=tuple(evened(position.cores, bond, stand.rank[bond])))
        return self._trials.at(stand, position.cores)

    def _promising(self, stand: Stand, found: dict[int, Stand], gain: float) -> list[int]:
        """The bond that gains most for its size, and those that grow with it; none if none gains."""
        shape = self._shape
        promises = {}
        for bond, wider in found.items():
            gained = self._trials.compare(wider, stand).gain
            gained -= gain * 2 / len(shape)  # what the updates bring without it
            promises[bond] = gained / log(wider.parameters / stand.parameters)
        best, *others = sorted(found, key=lambda bond: -promises[bond])
        if promises[best] <= 0:
            return []
        chosen, rank = [best], found[best].rank
        for bond in others:
            together = (*rank[:bond], found[bond].rank[bond], *rank[bond + 1 :])
            similar = promises[bond] >= _SIMILAR * promises[best]
            hardly = promises[bond] > 0 and parameters(shape, rank) < _HARDLY * stand.parameters
            narrow = min(shape[bond - 1], shape[bond]) >= _SHORT and _UNLIKE * rank[bond] < max(rank)
            if (similar or hardly or narrow) and parameters(shape, together) <= self._most:
                chosen.append(bond)
                rank = together
        return chosen

    def _wider_ranks(self, stand: Stand) -> dict[int, tuple[int, ...]]:
        """For every bond that may grow, the rank that this would give."""
        if self.reached(stand):
            return {}
        steps = [_STEP if width >= _WIDE and not self._failures else _SMALL_STEP for width in stand.rank]
        options = {bond: wider_rank(self._shape, stand.rank, bond, step, self._most) for bond, step in enumerate(steps)}
        return {bond: wider for bond, wider in options.items() if wider is not None}

    def trimmed(self, stand: Stand, number: int) -> Stand:
        """The ring without the weakest parts of bonds, as far as the held-out entries do not miss them."""
        kept = stand
        if not stand.residuals.size:  # nobody to ask
            return stand
        for bond in sorted(range(len(self._shape)), key=lambda bond: -stand.rank[bond]):
            missed, width = 0, kept.rank[bond] - 1  # the widest bond that is too narrow, and one that may be
            while missed < width:
                narrower = self._with_narrower_bond(kept, bond, width, number)
                if self._misses(narrower, stand):
                    missed = width
                else:
                    kept = narrower
                width = (missed + kept.rank[bond]) // 2
        if kept is stand:
            return stand
        swept = self._trials.swept(kept.position, number, 3)
        return stand if self._misses(swept, stand) else swept

    def _with_narrower_bond(self, stand: Stand, bond: int, width: int, number: int) -> Stand:
        """One bond narrower; of exact data it is the ring that sweeps lead to from there.

        A ring that is too wide may use all of its bonds, and still a narrower one is as good. Only where nothing else
        is left of the data can a few sweeps tell.
        """
        narrower = self._trials.at(stand, _cut(stand.position.cores, bond, width))
        if self._trials.error(stand) < _EXACT:
            for step in range(_FIRST_REFIT, _FIRST_REFIT + _REFITS):
                narrower = self._trials.swept(narrower.position, number, step)
        return narrower

    def _misses(self, narrower: Stand, stand: Stand) -> bool:
        if self.reached(stand):  # nothing more was asked for
            return not self.reached(narrower)
        verdict = self._trials.compare(narrower, stand)
        return verdict.gain - _LIKELY * verdict.doubt < -_SPARED


def _cut(cores: Sequence[Core], bond: int, width: int) -> list[Core]:
    """Cores with one bond of this width: its weakest directions are left out."""
    cut = canonical_bond(cores, bond)
    cut[bond - 1] = cut[bond - 1][:, :, :width]
    cut[bond] = cut[bond][:width]
    return [core.astype(cores[0].dtype) for core in cut]
