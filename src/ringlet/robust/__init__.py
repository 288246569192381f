"""Losses and kernel widths: how outliers are down-weighted."""

from ringlet.robust.kernel import Kernel
from ringlet.robust.losses import LOSSES, Loss
from ringlet.robust.widths import DEFAULT_FACTORS, kernel_width

__all__ = ["DEFAULT_FACTORS", "LOSSES", "Kernel", "Loss", "kernel_width"]
