"""Ranks that a fit is to find: what a caller may ask for, and how large the ring may become."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ringlet.amounts import parse_bytes
from ringlet.checks import check_flag, check_number
from ringlet.errors import ArgumentError, ArgumentTypeError

__all__ = ["RankChoice", "background", "budget", "target"]

_SMALLER = 5  # times: an automatic ring has at most this part of the data's numbers,
_TARGET_SMALLER = 2  # and this part where it has to reach a target, or where the data are tiny
_TINY = 1000  # entries: a fifth of them would hold next to nothing
_HEADER = 4096  # bytes of a stored ring beside its numbers


@dataclass(frozen=True)
class RankChoice:
    """A rank that the fit is to find.

    Attributes
    ----------
    bytes : int or None
        Largest stored ring.
    psnr : float or None
        Enough over all entries, in decibels.
    trusted : bool
        Only trusted entries count towards it.
    still : int or None
        A mode whose two bonds stay 1: the tensor does not change along it but for a factor.
    parameters : int or None
        Most numbers in the ring, where neither of these says it.
    """

    bytes: int | None = None
    psnr: float | None = None
    trusted: bool = False
    still: int | None = None
    parameters: int | None = None

    @classmethod
    def of(cls, rank: object) -> "RankChoice | None":
        """What `rank` asks to be found; None if it is a rank itself."""
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
        """As a caller writes it."""
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
        thin = min(2 * sum(shape), entries * 3 // 4)  # few channels: twice the smallest ring, if that is smaller at all
        return max(entries // smaller, thin)


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
