"""Where entries come from."""

from ringlet.sources.base import Block, Chunks, Source
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.conversion import as_source
from ringlet.sources.memory import ArraySource
from ringlet.sources.surveys import Survey, look_over, survey

__all__ = ["ArraySource", "Block", "ChunkedSource", "Chunks", "Source", "Survey", "as_source", "look_over", "survey"]
