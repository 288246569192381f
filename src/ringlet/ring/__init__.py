"""Tensor rings and their algebra. Pure mathematics, without data sources, solvers or files."""

from ringlet.ring.gram import GramChain, transfer_matrix
from ringlet.ring.tensor_ring import TensorRing

__all__ = ["GramChain", "TensorRing", "transfer_matrix"]
