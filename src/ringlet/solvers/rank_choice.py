"""Ranks that a fit has to find: what a caller may ask for, the first bonds, and the largest ring."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, prod

from ringlet.amounts import parse_bytes
from ringlet.checks import check_flag, check_number
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring.ranks import bond_limits, parameters

__all__ = ["RankChoice", "background", "budget", "target", "wider_rank"]

_SMALLER = 5  # times: an automatic ring has at most this part of the data's numbers,
_TARGET_SMALLER = 2  # and this part if it has to reach a target, or if the data are tiny
_TINY = 1000  # entries: a fifth of them would describe almost nothing
_HEADER = 4096  # bytes of a stored ring beside its numbers
_START = 3  # bonds that a fit begins with
_LEAST_STEP = 1.1  # a bond that can grow by less than this factor does not grow: a trial costs much and gains little


@dataclass(frozen=True)
class RankChoice:
    """A rank that the fit has to find.

    Attributes
    ----------
    bytes : int or None
        Largest stored ring.
    psnr : float or None
        Wanted quality over all entries, in decibels.
    trusted : bool
        Whether only trusted entries count for it.
    still : int or None
        A mode whose two bonds stay 1: slices along it differ by a factor only.
    parameters : int or None
        Most numbers in the ring, if neither of these decides.
    """

    bytes: int | None = None
    psnr: float | None = None
    trusted: bool = False
    still: int | None = None
    parameters: int | None = None

    @classmethod
    def of(cls, rank: object) -> "RankChoice | None":
        """The choice that `rank` asks for; None if it is a rank itself."""
        if isinstance(rank, RankChoice):
            return rank
        if not isinstance(rank, str):
            return None
        if rank != "auto":
            raise ArgumentTypeError(
                f"rank={rank!r} is text; give 'auto', an int, one int per mode, ringlet.budget('1MB'), "
                "ringlet.target(psnr=35) or ringlet.background()"
            )
        return cls()

    def __repr__(self) -> str:
        """The choice as a caller writes it."""
        if self.bytes is not None:
            return f"budget({self.bytes})"
        if self.still is not None:
            return f"background(mode={self.still})"
        trusted = ", trusted=True" if self.trusted else ""
        return "'auto'" if self.psnr is None else f"target(psnr={self.psnr}{trusted})"

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
        thin = min(2 * sum(shape), entries * 3 // 4)  # few channels: twice the smallest ring, if smaller
        return max(entries // smaller, thin)

    def still_bonds(self, order: int) -> tuple[int, ...]:
        """The two bonds of a mode along which nothing changes, which stay 1; empty without such a mode.

        Examples
        --------
        >>> background(-1).still_bonds(4), target(psnr=30).still_bonds(4)
        ((3, 0), ())
        """
        return () if self.still is None else (self.still % order, (self.still + 1) % order)

    def start_rank(self, shape: Sequence[int], most: int) -> tuple[int, ...]:
        """The first, small bonds, of a ring of at most `most` numbers.

        Examples
        --------
        >>> RankChoice().start_rank((512, 512, 3), 10**6)
        (3, 3, 3)
        """
        for bond in range(_START, 1, -1):
            rank = self._even_rank(shape, bond)
            if parameters(shape, rank) <= most:
                return rank
        return (1,) * len(shape)

    def largest_rank(self, shape: Sequence[int], most: int) -> tuple[int, ...]:
        """The rank with about equal bonds, as wide as their neighbours allow, of a ring of at most `most` numbers.

        Examples
        --------
        >>> RankChoice().largest_rank((100, 100, 3), 6000), RankChoice().largest_rank((960, 12), 2304)
        ((6, 5, 5), (2, 1))
        """
        bond, rank = 1, (1,) * len(shape)
        while True:
            wider = self._even_rank(shape, bond + 1)
            if wider == rank or parameters(shape, wider) > most:
                break
            bond, rank = bond + 1, wider
        still = self.still_bonds(len(shape))
        for k in (k for k in range(len(shape)) if k not in still):  # the rest is enough for single bonds
            one = (*rank[:k], rank[k] + 1, *rank[k + 1 :])
            if parameters(shape, one) <= most:
                rank = bond_limits(shape, one)
        return rank

    def _even_rank(self, shape: Sequence[int], bond: int) -> tuple[int, ...]:
        still = self.still_bonds(len(shape))
        return bond_limits(shape, [1 if k in still else bond for k in range(len(shape))])


def wider_rank(
    shape: Sequence[int], rank: Sequence[int], bond: int, factor: float, fits: Callable[[tuple[int, ...]], bool]
) -> tuple[int, ...] | None:
    """The rank with one bond wider, as far as its neighbours and `fits` allow; None if it can hardly grow.

    Examples
    --------
    >>> wider_rank((512, 512, 3), (3, 10, 3), 1, 2.0, lambda rank: True)
    (3, 20, 3)
    >>> wider_rank((512, 512, 3), (9, 10, 3), 0, 2.0, lambda rank: True)           # colours carry no more
    >>> wider_rank((50, 50, 50), (5, 20, 5), 1, 2.0, lambda rank: parameters((50, 50, 50), rank) <= 12_250)
    (5, 22, 5)
    """
    before, now, after = rank[:bond], rank[bond], rank[bond + 1 :]
    width = bond_limits(shape, (*before, max(now + 1, ceil(factor * now)), *after))[bond]
    while width > now and not fits((*before, width, *after)):
        width -= 1
    return (*before, width, *after) if width >= _LEAST_STEP * now else None


def budget(amount: int | str) -> RankChoice:
    """Choose the rank by held-out entries, within a size of the stored ring; an argument for `rank=`.

    Parameters
    ----------
    amount : int or str
        Largest size of the ring in bytes, or e.g. ``"1MB"``.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.random.default_rng(0).standard_normal((60, 50, 40))
    >>> ringlet.decompose(x, rank=ringlet.budget("20kB")).ring.nbytes < 20_000
    True
    """
    return RankChoice(bytes=parse_bytes(amount, "amount"))


def background(mode: int = -1) -> RankChoice:
    """Choose a rank that holds only what stays the same along a mode, e.g. in time; an argument for `rank=`.

    The two bonds of that mode stay 1; the others are chosen as for ``rank="auto"``. In a video of a still camera the
    ring is the empty scene, and `Fit.outliers` marks what moves.

    Parameters
    ----------
    mode : int
        The mode of time; by default the last one.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> scene = np.add.outer(np.arange(12.0), np.cos(np.arange(10.0)))
    >>> video = np.repeat(scene[:, :, np.newaxis], 8, axis=2)
    >>> video[3, 2:6, 4] = 99.0                 # something passes by
    >>> ringlet.decompose(video, ringlet.background()).ring.rank[::2]
    (1, 1)
    """
    check_number("mode", mode, whole=True)
    return RankChoice(still=int(mode))


def target(*, psnr: float, trusted: bool = False) -> RankChoice:
    """Choose the smallest rank that reaches a quality; an argument for `rank=`.

    Parameters
    ----------
    psnr : float
        Peak signal-to-noise ratio of all entries in decibels: that of the ring at observed entries, and at missing ones
        an estimate by held-out entries. The peak is the data's range, gross outliers left out.
    trusted : bool
        True: wrong entries do not count. By default all observed entries do.

    Examples
    --------
    >>> import ringlet
    >>> ringlet.target(psnr=35).psnr
    35
    """
    check_number("psnr", psnr, above=0)
    check_flag("trusted", trusted)
    return RankChoice(psnr=psnr, trusted=bool(trusted))
