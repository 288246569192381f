"""Places to put arrays: pretended devices of the strict library of the array API, and those that are installed."""

import pytest


@pytest.fixture(params=["strict", "no_float64", "torch"])
def put(request):
    """A function that puts a NumPy array on a device of another library."""
    if request.param == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        return lambda array: torch.from_numpy(array.copy())
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1" if request.param == "strict" else "no_float64")
    return lambda array: xp.asarray(array.copy(), device=device)
