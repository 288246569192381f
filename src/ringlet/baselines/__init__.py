"""The ten methods that the paper compares with, one file each."""

from ringlet.baselines.randomized_trals import RandomizedTRALS
from ringlet.baselines.randomized_trsvd import RandomizedTRSVD
from ringlet.baselines.sampled_trals import SampledTRALS
from ringlet.baselines.trals import TRALS
from ringlet.baselines.trsvd import TRSVD

__all__ = ["TRALS", "TRSVD", "RandomizedTRALS", "RandomizedTRSVD", "SampledTRALS"]
