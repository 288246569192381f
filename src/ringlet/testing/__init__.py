"""Hypothesis strategies for programs that use Ringlet: rings, indices, and tensors with gaps and gross errors.

Needs the extra `testing`.
"""

from ringlet.errors import MissingDependencyError

try:
    from ringlet.testing.strategies import DamagedTensor, damaged_tensors, indices, ring_cores, rings
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "hypothesis":
        raise
    raise MissingDependencyError('ringlet.testing needs Hypothesis: pip install "ringlet[testing]"') from error

__all__ = ["DamagedTensor", "damaged_tensors", "indices", "ring_cores", "rings"]
