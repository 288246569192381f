"""Torch tensors as sources. The library is not imported before a tensor of it is given."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentTypeError
from ringlet.sources.labels import PlainIndex, Quantity
from ringlet.sources.memory import ArraySource

__all__ = ["torch_source"]


@dataclass(frozen=True)
class TorchLabels:
    """Type and place of a tensor."""

    modes: int
    dtype: Any
    device: Any

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:  # noqa: ARG002
        """The values as a tensor on the same device, entries in the same dtype; without a gradient."""
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(values).reshape(values.shape))
        return tensor.to(self.device, self.dtype if quantity == "entries" else None)


def torch_source(given: Any, name: str = "data") -> ArraySource | None:
    """A source for a torch tensor; None for anything else. Gradients are left out. Errors refer to it as `name`.

    The entries are not copied, apart from those of bfloat16, which become float32, and of tensors on other devices.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(given, torch.Tensor):
        return None
    if given.layout != torch.strided:
        raise ArgumentTypeError(
            f"{name} is a torch tensor of layout {given.layout}; entries that are not stored could be zeros or "
            f"missing: give {name}.to_dense(), and mask= if they are missing"
        )
    if given.is_quantized:
        raise ArgumentTypeError(f"{name} is a quantized torch tensor; give {name}.dequantize()")
    plain = given.detach().cpu()
    try:
        array = (plain.float() if plain.dtype == torch.bfloat16 else plain).resolve_conj().resolve_neg().numpy()
    except TypeError:  # of dtypes that NumPy does not have
        raise ArgumentTypeError(f"{name} has dtype {given.dtype}, which NumPy lacks; give {name}.float()") from None
    return ArraySource(array, labels=TorchLabels(given.ndim, given.dtype, given.device))
