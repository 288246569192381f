"""Where entries come from."""

from ringlet.sources.base import Block, Source
from ringlet.sources.memory import ArraySource, as_source
from ringlet.sources.surveys import Survey, survey

__all__ = ["ArraySource", "Block", "Source", "Survey", "as_source", "survey"]
