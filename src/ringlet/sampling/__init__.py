"""How many and which indices a core update uses."""

from ringlet.sampling.chunk_draws import ChunkDraw, draw_entries
from ringlet.sampling.draws import (
    Purpose,
    SamplingRule,
    draw_rows,
    draw_subtensor,
    leverage_distribution,
    merge_rows,
    sample_sizes,
    stream,
    subset,
)
from ringlet.sampling.exact_leverage import draw_leverage_rows

__all__ = [
    "ChunkDraw",
    "Purpose",
    "SamplingRule",
    "draw_entries",
    "draw_leverage_rows",
    "draw_rows",
    "draw_subtensor",
    "leverage_distribution",
    "merge_rows",
    "sample_sizes",
    "stream",
    "subset",
]
