"""Losses, kernels and their widths: how outliers get small weights."""

from ringlet.robust.kernel import LOSSES, Kernel, Loss
from ringlet.robust.widths import DEFAULT_FACTORS, PilotStats, WidthRule, kernel_width

__all__ = ["DEFAULT_FACTORS", "LOSSES", "Kernel", "Loss", "PilotStats", "WidthRule", "kernel_width"]
