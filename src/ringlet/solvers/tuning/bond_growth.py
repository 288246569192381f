"""Bonds that grow during a fit while the validation error falls, and are trimmed where they are not used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log, log10

from ringlet.errors import BudgetError
from ringlet.ring.bond import canonical_bond
from ringlet.ring.chain import Core
from ringlet.ring.ranks import parameters
from ringlet.sampling import Purpose, stream
from ringlet.solvers.base import Problem
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.tuning.bond_expansion import equalise_bond, sides, still_bonds, widen, wider_rank, with_features
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials
from ringlet.solvers.tuning.tuned_parameters import Tuning

__all__ = ["BondGrowth", "GrowthState", "with_narrower_bond"]

_STEP, _WIDE = 2.0, 8  # the factor by which bonds of this width and more grow,
_SMALL_STEP = 1.3  # and that of narrower ones, and of all after a growth that gained nothing
_SETTLED = 0.1  # dB a sweep: below, a rank has shown what it can do
_FAST = 0.7  # dB a sweep: above, it is too early to see
_SETTLING_ROUNDS = 3
_LARGE = 0.3  # dB: a growth that gains more is followed by the next at once
_SIMILAR = 0.7  # bonds that promise this part of what the best one does grow together with it,
_UNLIKE, _SHORT = 4, 8  # and those that are 4 times narrower, unless beside a mode of fewer than 8 slices
_HARDLY = 1.1  # and all that gain while the ring is larger by less than this factor: chance decides among small ones
_WORTH = 0.05  # dB that wider bonds have to gain,
_SPARED = 0.05  # and narrower ones may lose
_EXACT = 1e-4  # validation error, in data ranges, of data that a ring describes exactly
_REFITS = 8  # sweeps in which narrower bonds have to show that they do, too
_SLOWING = 0.7  # a plain sweep gains this part of what the one before gained
_SURE, _LIKELY = 2.0, 1.0  # standard errors
_FAILURES = 2  # growths in a row that gained nothing, with the same penalties, that end it


@dataclass(frozen=True)
class GrowthState:
    """The state of the growth of bonds.

    Attributes
    ----------
    most : int
        Numbers that the ring may have at most.
    ended : bool
        Bonds grow no more.
    failures : int
        Growths in a row that gained nothing, with the same penalties.
    failed : bool
        The last growth gained nothing.
    rounds : int
        Slow rounds since the last growth.
    eager : bool
        The last growth gained much.
    """

    most: int
    ended: bool
    failures: int = 0
    failed: bool = False
    rounds: int = 0
    eager: bool = True


class BondGrowth:
    """Decides when and where bonds grow.

    Parameters
    ----------
    problem : Problem
        Without a choice of ranks no bond grows.
    most : int
        Numbers that the ring may have at most.
    """

    def __init__(self, problem: Problem, most: int) -> None:
        self._shape = problem.source.shape
        self._seed = problem.seed
        choice = problem.choice or RankChoice()
        self._psnr, self._trusted = choice.psnr, choice.trusted
        self._still = () if choice.still is None else still_bonds(choice.still, len(self._shape))
        self.state = GrowthState(most, ended=problem.choice is None)

    def begin_again(self) -> None:
        """Let bonds grow again: with other penalties they may gain more."""
        self.state = replace(self.state, ended=False, failed=False, failures=0)

    def grown(self, trials: Trials, best: Candidate, gain: float, number: int, tuned: Tuning) -> Candidate:
        """The same or a wider ring, after a sweep that gained `gain` decibels; growth may end with that.

        Bonds must not make up for penalties, and growths that gained nothing may gain something with other penalties.
        """
        if tuned is Tuning.HELPED:
            self.state = replace(self.state, failures=0)
        options = self._wider_ranks(trials, best)
        unsettled = best.report.settling or gain > _FAST  # too early to see what bonds bring, or which are not used
        if self.state.failures >= _FAILURES or (not options and not unsettled):
            self.state = replace(self.state, ended=True)
            return best
        if unsettled or not self._ripe(gain, tuned):
            return best
        try:
            wider = self._tried(trials, best, options, max(0.0, gain), number)
        except BudgetError:  # no room for a larger ring
            self.state = replace(self.state, most=best.parameters)
            return best
        self.state = replace(self.state, rounds=0)
        return wider

    def reached(self, trials: Trials, best: Candidate) -> bool:
        """Whether a target was given and the ring is as good on held-out entries."""
        return self._psnr is not None and self.psnr(trials, best) >= self._psnr

    def psnr(self, trials: Trials, best: Candidate) -> float:
        """Of the held-out entries, or of those that are trusted; the peak is the data's range."""
        validator = trials.validator
        error = (validator.error if self._trusted else validator.plain_error)(best.residuals)
        return inf if error == 0.0 else -20 * log10(error)

    def next_rank(self, trials: Trials, best: Candidate) -> tuple[int, ...] | None:
        """All bonds wider that may be; None once growth has ended."""
        if self.state.ended:
            return None
        options = self._wider_ranks(trials, best)
        return tuple([options[bond][bond] if bond in options else width for bond, width in enumerate(best.state.rank)])

    def _ripe(self, gain: float, tuned: Tuning) -> bool:
        """Whether the rank has shown what it can do."""
        if self.state.failed:
            return tuned is Tuning.DONE
        self.state = replace(self.state, rounds=self.state.rounds + 1)
        if self.state.eager:
            return self.state.rounds >= 2 * _SETTLING_ROUNDS or (tuned >= Tuning.IN_VAIN and gain < _LARGE)
        return gain < _SETTLED or self.state.rounds >= _SETTLING_ROUNDS

    def _tried(
        self, trials: Trials, best: Candidate, options: dict[int, tuple[int, ...]], gain: float, number: int
    ) -> Candidate:
        """Wider bonds where they promise most, if they gain enough; else the ring as it was."""
        found = {bond: self._with_bond(trials, best, bond, rank[bond], number) for bond, rank in options.items()}
        chosen, wider = self._promising(trials, best, found, gain), best
        if chosen:
            cores: Sequence[Core] = found[chosen[0]].state.cores
            for bond in chosen[1:]:
                cores = with_features(cores, bond, found[bond].state.cores)
            wider = trials.swept(trials.algorithm.with_cores(best.state, cores), number, Trial.GROWN)
        verdict = trials.compare(wider, best)
        gains = verdict.certainty > _SURE and verdict.gain > _WORTH
        enough = gains and verdict.gain > _WORTH + (_SLOWING + _SLOWING**2) * gain  # or else it is too early
        failures = 0 if gains else self.state.failures + 1
        eager = enough and verdict.gain > _LARGE
        self.state = replace(self.state, failures=failures, failed=not gains, eager=eager)
        return wider if enough else best

    def _with_bond(self, trials: Trials, best: Candidate, bond: int, width: int, number: int) -> Candidate:
        """One bond wider, by features that the residual has across it."""
        algorithm = trials.algorithm
        first, later = sides(bond, len(self._shape))
        rng = stream(self._seed, Purpose.GROWTH, number, bond)
        state = algorithm.with_cores(best.state, widen(best.state.cores, bond, width, rng))
        for mode, step in ((later, 0), (first, 0), (later, 1)):
            state = trials.updated(state, number, Trial.FEATURES + step, mode)
            state = algorithm.with_cores(state, equalise_bond(state.cores, bond, best.state.rank[bond]))
        return trials.with_cores(best, state.cores)

    def _promising(self, trials: Trials, best: Candidate, found: dict[int, Candidate], gain: float) -> list[int]:
        """The bond that gains most for its size, and those that grow with it; none if none gains."""
        shape = self._shape
        promises = {}
        for bond, wider in found.items():
            gained = trials.compare(wider, best).gain
            gained -= gain * 2 / len(shape)  # what the updates bring without it
            promises[bond] = gained / log(wider.parameters / best.parameters)
        most, *others = sorted(found, key=lambda bond: -promises[bond])
        if promises[most] <= 0:
            return []
        chosen, rank = [most], found[most].state.rank
        for bond in others:
            together = (*rank[:bond], found[bond].state.rank[bond], *rank[bond + 1 :])
            similar = promises[bond] >= _SIMILAR * promises[most]
            hardly = promises[bond] > 0 and parameters(shape, rank) < _HARDLY * best.parameters
            narrow = min(shape[bond - 1], shape[bond]) >= _SHORT and _UNLIKE * rank[bond] < max(rank)
            if (similar or hardly or narrow) and parameters(shape, together) <= self.state.most:
                chosen.append(bond)
                rank = together
        return chosen

    def _wider_ranks(self, trials: Trials, best: Candidate) -> dict[int, tuple[int, ...]]:
        """For every bond that may grow, the rank that this would give."""
        if self.reached(trials, best):
            return {}
        options = {}
        for bond, width in enumerate(best.state.rank):
            if bond in self._still:
                continue
            factor = _STEP if width >= _WIDE and not self.state.failures else _SMALL_STEP
            wider = wider_rank(self._shape, best.state.rank, bond, factor, self.state.most)
            if wider is not None:
                options[bond] = wider
        return options

    def trimmed(self, trials: Trials, best: Candidate, number: int) -> Candidate:
        """The ring without the weakest parts of bonds, as far as the validation error does not rise."""
        kept = best
        if not best.residuals.size:  # nothing is held out
            return best
        for bond in sorted(range(len(self._shape)), key=lambda bond: -best.state.rank[bond]):
            missed, width = 0, kept.state.rank[bond] - 1  # the widest bond that is too narrow, and one that may be
            while missed < width:
                narrower = self._with_narrower_bond(trials, kept, bond, width, number)
                if self._worse(trials, narrower, best):
                    missed = width
                else:
                    kept = narrower
                width = (missed + kept.state.rank[bond]) // 2
        if kept is best:
            return best
        swept = trials.swept(kept.state, number, Trial.GROWN)
        return best if self._worse(trials, swept, best) else swept

    def _with_narrower_bond(self, trials: Trials, best: Candidate, bond: int, width: int, number: int) -> Candidate:
        """One bond narrower; of exact data it is the ring that sweeps lead to from there.

        A ring that is too wide may use all of its bonds, and still a narrower one is as good. Only where nothing else
        is left of the data can a few sweeps show it.
        """
        narrower = trials.with_cores(best, with_narrower_bond(best.state.cores, bond, width))
        if trials.error(best) < _EXACT:
            for step in range(_REFITS):
                narrower = trials.swept(narrower.state, number, Trial.REFIT + step)
        return narrower

    def _worse(self, trials: Trials, narrower: Candidate, best: Candidate) -> bool:
        if self.reached(trials, best):  # nothing more was asked for
            return not self.reached(trials, narrower)
        verdict = trials.compare(narrower, best)
        return verdict.gain - _LIKELY * verdict.doubt < -_SPARED


def with_narrower_bond(cores: Sequence[Core], bond: int, width: int) -> list[Core]:
    """Cores with one bond of this width: its weakest directions are left out."""
    cut = canonical_bond(cores, bond)
    cut[bond - 1] = cut[bond - 1][:, :, :width]
    cut[bond] = cut[bond][:width]
    return [core.astype(cores[0].dtype) for core in cut]
