"""Ranks chosen by the data: what a caller may ask for, how bonds grow, and how large they may become."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from ringlet.amounts import parse_bytes
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.ring.ranks import bond_limits

__all__ = ["RankChoice", "budget", "parameters", "start_rank", "support", "target", "wider_rank"]

_SMALLER = 5  # an automatic ring has at least so many times fewer numbers than the data
_TARGET_SMALLER = 2  # and one that has to reach a target, or is of
_TINY = 1000  # entries and fewer: a fifth of these would hold next to nothing
_HEADER = 4096  # bytes of a stored ring beside its numbers
_START = 3
_LEAST_STEP = 1.1  # a bond that may not grow by this factor does not grow: it would cost a trial and bring little


@dataclass(frozen=True)
class RankChoice:
    """A rank that the fit is to find.

    Attributes
    ----------
    bytes : int or None
        Largest stored ring.
    psnr : float or None
        Enough on held-out entries, in decibels.
    parameters : int or None
        Most numbers in the ring, where neither of these says it.
    """

    bytes: int | None = None
    psnr: float | None = None
    parameters: int | None = None

    def __repr__(self) -> str:
        """As a caller writes it."""
        if self.bytes is not None:
            return f"budget({self.bytes})"
        return "'auto'" if self.psnr is None else f"target(psnr={self.psnr})"

    def most_parameters(self, shape: Sequence[int], itemsize: int) -> int:
        """Numbers that the ring may have at most."""
        if self.bytes is not None:
            least = _HEADER + sum(shape) * itemsize  # all bonds 1
            if self.bytes < least:
                raise ArgumentError(
                    f"rank={self!r} is too small for shape {tuple(shape)}; the smallest ring takes {least} "
                    "bytes on disk"
                )
            return (self.bytes - _HEADER) // itemsize
        if self.parameters is not None:
            return self.parameters
        entries = prod(shape)
        smaller = _SMALLER if self.psnr is None and entries > _TINY else _TARGET_SMALLER
        thin = min(2 * sum(shape), entries * 3 // 4)  # few channels: twice the smallest ring, if that is smaller at all
        return max(entries // smaller, thin)


def budget(amount: int | str) -> RankChoice:
    """A rank as large as pays off, within this size of the stored ring; for `rank=`.

    Parameters
    ----------
    amount : int or str
        Bytes, or e.g. ``"1MB"``.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.random.default_rng(0).standard_normal((60, 50, 40))
    >>> ringlet.decompose(x, rank=ringlet.budget("20kB")).ring.nbytes < 20_000
    True
    """
    return RankChoice(bytes=parse_bytes(amount, "amount"))


def target(*, psnr: float) -> RankChoice:
    """The smallest rank that reaches a quality on held-out entries; for `rank=`.

    Parameters
    ----------
    psnr : float
        Peak signal-to-noise ratio in decibels. The peak is the data's range, gross outliers left out, and wrong
        entries do not count.

    Examples
    --------
    >>> import ringlet
    >>> ringlet.target(psnr=35).psnr
    35
    """
    check_number("psnr", psnr, above=0)
    return RankChoice(psnr=psnr)


def parameters(shape: Sequence[int], rank: Sequence[int]) -> int:
    """Numbers in the cores.

    Examples
    --------
    >>> parameters((10, 20), (2, 3))
    180
    """
    return sum(rank[mode] * length * rank[(mode + 1) % len(shape)] for mode, length in enumerate(shape))


def support(shape: Sequence[int], rank: Sequence[int], observed: int) -> list[tuple[int, float]]:
    """For every core, the unknowns of a slice and the observed entries that speak for it, on average.

    Examples
    --------
    >>> support((100, 50, 3), (9, 5, 3), 1500)
    [(45, 15.0), (15, 30.0), (27, 500.0)]
    """
    limits = bond_limits(shape, rank)
    return [(limits[mode] * limits[(mode + 1) % len(shape)], observed / length) for mode, length in enumerate(shape)]


def start_rank(shape: Sequence[int], most: int) -> tuple[int, ...]:
    """Small bonds to begin with.

    Examples
    --------
    >>> start_rank((512, 512, 3), 10**6)
    (3, 3, 3)
    """
    for bond in range(_START, 1, -1):
        rank = bond_limits(shape, (bond,) * len(shape))
        if parameters(shape, rank) <= most:
            return rank
    return (1,) * len(shape)


def wider_rank(
    shape: Sequence[int], rank: Sequence[int], bond: int, factor: float, most: int
) -> tuple[int, ...] | None:
    """The rank with one bond wider, as far as its neighbours and the allowed size carry it; None if hardly at all.

    Examples
    --------
    >>> wider_rank((512, 512, 3), (3, 10, 3), 1, 2.0, 10**6), wider_rank((512, 512, 3), (9, 10, 3), 0, 2.0, 10**6)
    ((3, 20, 3), None)
    >>> wider_rank((50, 50, 50), (5, 20, 5), 1, 2.0, 12_250), wider_rank((50, 50, 50), (5, 20, 5), 1, 2.0, 12_249)
    ((5, 22, 5), None)
    """

    def with_bond(width: int) -> tuple[int, ...]:
        return (*rank[:bond], width, *rank[bond + 1 :])

    wanted = with_bond(max(rank[bond] + 1, ceil(factor * rank[bond])))
    width = bond_limits(shape, wanted)[bond]
    while width > rank[bond] and parameters(shape, with_bond(width)) > most:
        width -= 1
    return with_bond(width) if width >= _LEAST_STEP * rank[bond] else None
