"""The ten methods that the paper compares with, one file each."""

from ringlet.baselines.l1snn import L1SNN
from ringlet.baselines.l1tnn import L1TNN
from ringlet.baselines.l1trnn import L1TRNN
from ringlet.baselines.lptrc import LpTRC
from ringlet.baselines.tntv import TNTV

__all__ = [
    "L1SNN",
    "L1TNN",
    "L1TRNN",
    "TNTV",
    "LpTRC",
]
