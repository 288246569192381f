"""Losses, kernels and their widths: how outliers get small weights."""

from ringlet.robust.kernel import DEFAULT_FACTORS, LOSSES, NARROWING, Kernel, Loss, PilotStats, WidthRule

__all__ = ["DEFAULT_FACTORS", "LOSSES", "NARROWING", "Kernel", "Loss", "PilotStats", "WidthRule"]
