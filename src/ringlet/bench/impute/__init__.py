"""Filling in outages of measured tensors: `decompose(x)` against the methods that people use for it today."""
