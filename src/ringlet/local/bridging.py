"""Gaps of a kind that no held-out entry has, such as wide holes: they get a surface, as far as it can be trusted.

The error of the ring inside a hole cannot be measured, because nothing is known there. At held-out entries the ring and
the surface can be compared. If the surface is nearer to these, it is assumed to be nearer in holes, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringlet.local.gap_kinds import KINDS
from ringlet.local.neighbours import Array32

__all__ = ["Bridge", "learn_bridge"]

_FEW = 100  # a kind of gap is bridged if it has fewer hidden entries than this,
_SCARCE = 0.2  # and if its share of the hidden entries is below this part of its share of the missing ones
_RARE = 0.01  # share of the gaps; if fewer are of such kinds, they are filled as the others


@dataclass(frozen=True, eq=False)
class Bridge:
    """The share of the surface in gaps.

    Attributes
    ----------
    kinds : bool array
        The kinds of gaps that get the surface.
    share : float
        From 0 (the ring) to 1 (the surface).
    """

    kinds: NDArray[np.bool_]
    share: float


def learn_bridge(
    missing: Sequence[NDArray[np.uint8]],
    hidden: Sequence[NDArray[np.uint8]],
    surface: Sequence[Array32],
    residuals: Sequence[Array32],
) -> Bridge | None:
    """Compare the kinds of missing and of hidden entries; None if hardly any kind lacks hidden ones.

    Parameters
    ----------
    missing, hidden : sequences of arrays
        Kinds of the entries.
    surface, residuals : sequences of arrays
        At the hidden entries, less the ring.

    Examples
    --------
    >>> missing, hidden = np.array([0, 0, 7], np.uint8), np.full(200, 7, np.uint8)
    >>> laid = np.linspace(-1, 1, 200, dtype=np.float32)
    >>> bridge = learn_bridge([missing], [hidden], [laid], [0.8 * laid])
    >>> bool(bridge.kinds[0]), bool(bridge.kinds[7]), round(bridge.share, 2)
    (True, False, 0.8)
    """
    wanted, there = (np.bincount(np.concatenate(parts), minlength=KINDS) for parts in (missing, hidden))
    shares = there / max(there.sum(), 1), wanted / max(wanted.sum(), 1)
    bridged = (there < _FEW) & (shares[0] < _SCARCE * shares[1])
    if wanted[bridged].sum() <= _RARE * wanted.sum():
        return None
    laid, right = (np.concatenate(parts).astype(np.float64) for parts in (surface, residuals))
    size = float(laid @ laid)
    return Bridge(np.asarray(bridged), min(max(float(laid @ right) / size, 0.0), 1.0) if size else 0.0)
