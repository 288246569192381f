"""The ten methods that the paper compares with, one file each."""

from ringlet.baselines.l1snn import L1SNN
from ringlet.baselines.l1tnn import L1TNN
from ringlet.baselines.l1trnn import L1TRNN
from ringlet.baselines.lptrc import LpTRC
from ringlet.baselines.randomized_trals import RandomizedTRALS
from ringlet.baselines.randomized_trsvd import RandomizedTRSVD
from ringlet.baselines.sampled_trals import SampledTRALS
from ringlet.baselines.tntv import TNTV
from ringlet.baselines.trals import TRALS
from ringlet.baselines.trsvd import TRSVD

__all__ = [
    "L1SNN",
    "L1TNN",
    "L1TRNN",
    "TNTV",
    "TRALS",
    "TRSVD",
    "LpTRC",
    "RandomizedTRALS",
    "RandomizedTRSVD",
    "SampledTRALS",
]
