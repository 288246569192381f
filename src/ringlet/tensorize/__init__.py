"""Tensors of a higher order made from the same entries, and back. Knows arrays and the errors, nothing of rings."""
