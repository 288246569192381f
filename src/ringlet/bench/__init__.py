"""Benchmarks: ratios taken in one run. They report speed and never fail."""
