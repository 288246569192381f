"""Where entries come from."""

from ringlet.sources.base import Block, Chunks, Source
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.conversion import as_source, source_in_place
from ringlet.sources.device_arrays import DeviceSource
from ringlet.sources.memory import ArraySource
from ringlet.sources.surveys import Survey, look_over, survey

__all__ = [
    "ArraySource",
    "Block",
    "ChunkedSource",
    "Chunks",
    "DeviceSource",
    "Source",
    "Survey",
    "as_source",
    "look_over",
    "source_in_place",
    "survey",
]
