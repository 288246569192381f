"""The order of the examples in the gallery: the most common jobs first."""

_ORDER = (
    "sensor_log",
    "satellite_gaps",
    "anomalies",
    "spectral_cube",
    "photo",
    "video",
    "still_camera",
    "stream",
    "pipeline",
    "fold",
    "compress",
    "larger_than_memory",
    "cluster",
    "paper",
)


def place(file_name: str) -> int:
    """Place of an example by its file name; one that is not listed is an error."""
    return _ORDER.index(file_name.removesuffix(".py"))
