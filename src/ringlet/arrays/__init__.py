"""Arrays of other libraries than NumPy: PyTorch, CuPy, JAX and all that follow the array API standard."""

from ringlet.arrays.memory import Device, DeviceMemory, device_room, is_out_of_memory
from ringlet.arrays.place import Place, host_array, is_foreign, like_given, named_place, namespace, place_of
from ringlet.arrays.sending import Sender
from ringlet.arrays.tracing import held_arrays, traced

__all__ = [
    "Device",
    "DeviceMemory",
    "Place",
    "Sender",
    "device_room",
    "held_arrays",
    "host_array",
    "is_foreign",
    "is_out_of_memory",
    "like_given",
    "named_place",
    "namespace",
    "place_of",
    "traced",
]
