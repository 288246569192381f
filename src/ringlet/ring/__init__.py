"""Tensor rings and their algebra. Pure mathematics, without data sources, solvers or files."""

from ringlet.ring.tensor_ring import TensorRing
from ringlet.ring.transfer import GramChain, transfer_matrix

__all__ = ["GramChain", "TensorRing", "transfer_matrix"]
