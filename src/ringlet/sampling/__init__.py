"""How many and which indices a core update looks at."""

from ringlet.sampling.draws import draw_rows, draw_subtensor, leverage_distribution, subset
from ringlet.sampling.seeds import Purpose, stream
from ringlet.sampling.sizes import sample_sizes

__all__ = [
    "Purpose",
    "draw_rows",
    "draw_subtensor",
    "leverage_distribution",
    "sample_sizes",
    "stream",
    "subset",
]
