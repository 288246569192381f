"""Arrays of other libraries than NumPy: PyTorch, CuPy, JAX and all that follow the array API standard."""

from ringlet.arrays.memory import Device, DeviceMemory, device_room, is_out_of_memory
from ringlet.arrays.place import Place, host_array, is_foreign, like_given, named_place, namespace, place_of

__all__ = [
    "Device",
    "DeviceMemory",
    "Place",
    "device_room",
    "host_array",
    "is_foreign",
    "is_out_of_memory",
    "like_given",
    "named_place",
    "namespace",
    "place_of",
]
