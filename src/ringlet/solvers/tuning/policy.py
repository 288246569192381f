"""What an automatic fit may do, as one policy: which ideas it uses, and from where on."""

from dataclasses import dataclass

__all__ = ["TuningPolicy"]


@dataclass(frozen=True)
class TuningPolicy:
    """Which ideas automatic fits use.

    Attributes
    ----------
    hole_guides : bool
        A few missing entries in large holes get values from their coarse surroundings: rings are undetermined there.
    holds_out_together : bool
        Where entries are missing together, as the colours of a pixel, some are held out together: single ones would be
        easier to predict than those that are missing.
    coarse_from_entries : int
        Data of at least this number of entries begin at the ring of their block medians, which costs little.
    coarse_room : float
        That many times the medians must fit into a memory budget.
    rule_width_after_growth : bool
        A ring that has grown is tried at the rule's kernel width again: a small ring may take content for wrong.
    restarts : bool
        Fits of a given rank that stand still in a swamp begin anew.
    least_squares_gain_db : float
        Least squares are tried at the end, and kept if they gain this much: rare peaks are no outliers.
    """

    hole_guides: bool = True
    holds_out_together: bool = True
    coarse_from_entries: int = 1 << 21
    coarse_room: float = 8.0
    rule_width_after_growth: bool = True
    restarts: bool = True
    least_squares_gain_db: float = 0.5
