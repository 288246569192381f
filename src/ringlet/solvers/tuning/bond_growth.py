"""Bonds grow from rung to rung of a path: those with the largest gain at held-out entries for their size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from ringlet.errors import BudgetError
from ringlet.ring.bond import canonical_bond
from ringlet.ring.chain import Core
from ringlet.ring.ranks import parameters
from ringlet.sampling import Purpose, stream
from ringlet.solvers.rank_choice import RankChoice, wider_rank
from ringlet.solvers.tuning.path_state import Path
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials

__all__ = ["BondGrowth", "equalise_bond", "sides", "widen", "with_features"]

_REFITS = 8  # sweeps after which narrower bonds of exact data must be as good
_RESTS = 2  # the same for fits that have to reach a target


@dataclass(frozen=True)
class BondGrowth:
    """Chooses the bonds of the next rung, and trims those of the last.

    Attributes
    ----------
    shape : tuple of int
    choice : RankChoice
    most : int
        Numbers that the ring may have at most.
    policy : TuningPolicy
    """

    shape: tuple[int, ...]
    choice: RankChoice
    most: int
    policy: TuningPolicy

    def next_rank(self, rank: tuple[int, ...]) -> tuple[int, ...]:
        """The path with all bonds wider that may grow."""
        options = self._wider_ranks(rank)
        return tuple([options[bond][bond] if bond in options else width for bond, width in enumerate(rank)])

    def grown(self, path: Path, number: int) -> Path:
        """The path with the ring of the next rung; unchanged, if no bond may grow or a larger ring is not allowed.

        Every bond that may grow is tried alone. The one with the largest gain for its size grows, and so do those with
        nearly the same gain. If none gains, the best one grows, because a path goes on. The gain of a sweep without
        wider bonds, as in the last one, is subtracted.
        """
        trials, now, found, promises = path.trials, path.now, {}, {}
        options = self._wider_ranks(now.state.plan.rank)
        try:
            for bond, rank in options.items():
                found[bond] = wider = self._with_bond(trials, now, bond, rank[bond], number)
                gained = trials.compare(wider, now).gain - max(path.at.gain, 0.0) * 2 / len(self.shape)
                promises[bond] = gained / log(wider.parameters / now.parameters)
            return path if not found else replace(path, now=self._together(trials, now, found, promises))
        except BudgetError:
            return path

    def _together(
        self, trials: Trials, now: Candidate, found: dict[int, Candidate], promises: dict[int, float]
    ) -> Candidate:
        """Widen all bonds that gain about as much as the best one."""
        best, *others = sorted(found, key=lambda bond: -promises[bond])
        cores, rank = found[best].state.cores, found[best].state.plan.rank
        for bond in others:
            together = (*rank[:bond], found[bond].state.plan.rank[bond], *rank[bond + 1 :])
            similar = promises[bond] > 0 and promises[bond] >= self.policy.similar_promise * promises[best]
            if similar and self._fits(together):
                cores, rank = tuple(with_features(cores, bond, found[bond].state.cores)), together
        return trials.with_cores(now, cores)

    def _with_bond(self, trials: Trials, now: Candidate, bond: int, width: int, number: int) -> Candidate:
        """One bond wider, by features that the residual has across it."""
        algorithm = trials.algorithm
        first, later = sides(bond, len(self.shape))
        rng = stream(algorithm.problem.seed, Purpose.GROWTH, number, bond)
        state = algorithm.with_cores(now.state, widen(now.state.cores, bond, width, rng))
        for mode, step in ((later, 0), (first, 0), (later, 1)):
            state = trials.updated(state, number, Trial.FEATURES + step, mode)
            state = algorithm.with_cores(state, equalise_bond(state.cores, bond, now.state.plan.rank[bond]))
        return trials.with_cores(now, state.cores)

    def _wider_ranks(self, rank: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
        """For every bond that may grow, the rank that this would give."""
        policy, options = self.policy, {}
        still = self.choice.still_bonds(len(self.shape))
        for bond, width in enumerate(rank):
            factor = policy.growth_factor if width >= policy.wide_bond else policy.small_growth_factor
            wider = None if bond in still else wider_rank(self.shape, rank, bond, factor, self._fits)
            if wider is not None:
                options[bond] = wider
        return options

    def _fits(self, rank: tuple[int, ...]) -> bool:
        """Whether a ring of this rank is small enough."""
        return parameters(self.shape, rank) <= self.most

    def trimmed(self, path: Path, number: int) -> Path:
        """The path without the weakest parts of bonds, if the error at held-out entries does not increase."""
        trials, best, kept = path.trials, path.now, path.now
        if not best.residuals.size:  # nothing is held out
            return path
        for bond in sorted(range(len(self.shape)), key=lambda bond: -best.state.plan.rank[bond]):
            missed, width = 0, kept.state.plan.rank[bond] - 1  # widest too narrow bond, and a candidate
            while missed < width:
                thinner = trials.with_cores(kept, _with_narrower_bond(kept.state.cores, bond, width))
                sweeps = _REFITS if trials.error(kept) < self.policy.exact else _RESTS if self.choice.psnr else 0
                if sweeps:  # they show it where nothing else is left of the data, or where nothing more is asked for
                    thinner = trials.swept(thinner.state, number, Trial.REFIT, sweeps)
                if self._worse(trials, thinner, best):
                    missed = width
                else:
                    kept = thinner
                width = (missed + kept.state.plan.rank[bond]) // 2
        if kept is best:
            return path
        swept = trials.swept(kept.state, number, Trial.GROWN)
        return path if self._worse(trials, swept, best) else replace(path, now=swept)

    def _worse(self, trials: Trials, thinner: Candidate, best: Candidate) -> bool:
        if self.choice.psnr is not None and trials.validator.psnr(best.state.cores, self.choice) >= self.choice.psnr:
            return (
                trials.validator.psnr(thinner.state.cores, self.choice) < self.choice.psnr
            )  # nothing more is asked for
        return trials.compare(thinner, best).gain < -self.policy.chance_db


def sides(bond: int, modes: int) -> tuple[int, int]:
    """The modes beside a bond, in the order in which a sweep updates their cores.

    Examples
    --------
    >>> sides(2, 3), sides(0, 3)
    ((1, 2), (0, 2))
    """
    first, later = sorted(((bond - 1) % modes, bond))
    return first, later


def widen(cores: Sequence[Core], bond: int, width: int, rng: np.random.Generator) -> list[Core]:
    """Cores of the same tensor with a wider bond.

    The first core gets random numbers of its own size, the later one zeros. Updates of the later, the first and again
    the later core then are power iterations that find the strongest directions of the residual across the bond.

    Examples
    --------
    >>> cores = [np.ones((2, 4, 3)), np.ones((3, 5, 2))]
    >>> [core.shape for core in widen(cores, 1, 4, np.random.default_rng(0))]
    [(2, 4, 4), (4, 5, 2)]
    """
    first, later = sides(bond, len(cores))
    wider, more = list(cores), width - cores[bond].shape[0]
    random = rng.standard_normal((more, *_bond_first(cores[first], bond, first).shape[1:]))
    wider[first] = _extended(cores[first], bond, first, random * np.sqrt(np.mean(np.square(cores[first]))))
    wider[later] = _extended(cores[later], bond, later, np.zeros((more, 1, 1)))
    return wider


def equalise_bond(cores: Sequence[Core], bond: int, start: int) -> list[Core]:
    """Cores of the same tensor: from index `start` of the bond on, both sides are of the same size.

    Penalties keep features small if they are small in the other core: without this, new ones would grow slowly.

    Examples
    --------
    >>> [float(core.max()) for core in equalise_bond([np.full((1, 2, 1), 4.0), np.ones((1, 2, 1))], 1, 0)]
    [2.0, 2.0]
    """
    changed = list(cores)
    sizes = {
        mode: np.sqrt(np.mean(np.square(_bond_first(cores[mode], bond, mode)[start:]), axis=(1, 2)))
        for mode in sides(bond, len(cores))
    }
    common = np.sqrt(np.prod(list(sizes.values()), axis=0))
    for mode, size in sizes.items():
        changed[mode] = cores[mode].copy()
        factors = np.divide(common, size, out=np.ones_like(size), where=common > 0)
        _bond_first(changed[mode], bond, mode)[start:] *= factors[:, None, None]
    return changed


def with_features(cores: Sequence[Core], bond: int, found: Sequence[Core]) -> list[Core]:
    """Cores of the same tensor with the bond as wide as in `found`.

    The later core gets its features from `found`, the first one zeros, because it is updated next.

    Examples
    --------
    >>> cores, found = [np.ones((2, 4, 3)), np.ones((3, 5, 2))], [np.ones((1, 4, 4)), np.ones((4, 5, 1))]
    >>> [core.shape for core in with_features(cores, 1, found)]
    [(2, 4, 4), (4, 5, 2)]
    """
    first, later = sides(bond, len(cores))
    wider = list(cores)
    features = _bond_first(found[later], bond, later)[cores[bond].shape[0] :]
    wider[first] = _extended(cores[first], bond, first, np.zeros((len(features), 1, 1)))
    wider[later] = _extended(cores[later], bond, later, features)
    return wider


def _with_narrower_bond(cores: Sequence[Core], bond: int, width: int) -> list[Core]:
    """Cores with one bond of this width, without its weakest directions."""
    cut = canonical_bond(cores, bond)
    cut[bond - 1] = cut[bond - 1][:, :, :width]
    cut[bond] = cut[bond][:width]
    return [core.astype(cores[0].dtype) for core in cut]


def _extended(core: Core, bond: int, mode: int, features: Core) -> Core:
    """The core with features appended along the bond; features without an entry are zero there."""
    core = _bond_first(core, bond, mode)
    more = np.zeros((len(features), *core.shape[1:]), core.dtype)
    more[:, :, : features.shape[2]] = features
    return _bond_first(np.concatenate([core, more]), bond, mode)


def _bond_first(core: Core, bond: int, mode: int) -> Core:
    """The core with the axis of the bond in front, or back in its place."""
    return core if mode == bond else core.swapaxes(0, 2)
