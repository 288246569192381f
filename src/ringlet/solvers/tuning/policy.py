"""The numbers and ideas that decide an automatic fit, in one place."""

from dataclasses import dataclass

__all__ = ["TuningPolicy"]


@dataclass(frozen=True)
class TuningPolicy:
    """The ideas that automatic fits use, and the numbers that decide.

    Attributes
    ----------
    hole_guides : bool
        A few missing entries in large holes get values from their coarse surroundings: rings are undetermined there.
    holds_out_together : bool
        If entries are missing together, such as the colours of a pixel, some are held out together: single ones are
        easier to predict than missing ones.
    coarse_start : bool
        Fits of large, smooth data start from the ring of their block medians, in which the search is much cheaper.
    coarse_from_entries : int
        Data with at least this number of entries are large.
    coarse_room : float
        The medians must fit this number of times into a memory budget.
    restarts : bool
        Fits of a given rank that stall in a swamp are started again from other random cores.
    trims_bonds : bool
        The last ring loses parts of its bonds if the error at held-out entries does not increase.
    tunes_width : bool
        Kernels get the width with the least error at held-out entries: no rule suits all kinds of errors.
    chooses_least_squares : bool
        Held-out entries decide between least squares and a kernel for entries that are not judged: rare peaks are no
        errors.
    readmits : bool
        Doubted entries count again if the ring is then no worse at all held-out entries: what a small ring cannot fit
        looks wrong, and a larger one could not learn it if it were left out.
    begins_again : bool
        Small data get another path from a small ring, without the entries that the first one doubts: a small ring that
        has learned wrong entries believes them.
    least_doubted : float
        Share of the observed entries that have to be doubted for it: one or two of many are rare events.
    paths : int
        Of small data, at most.
    another_path_db : float
        A path that is better than the one before by this much is followed by another one: what was so wrong may not be
        right yet.
    counting_sweeps : int
        Sweeps that compare two ways to count entries.
    no_worse : float
        Standard errors by which it may be worse.
    likely : float
        Standard errors by which the ring of another path has to be better.
    sure : float
        Standard errors by which an unlikely choice has to be better than the usual one: the ring of block medians than
        a constant, a kernel of all entries than least squares of those that are believed. A trial of another way to
        count entries ends when it lacks more than this.
    growth_factor : float
        By which a bond of a rung may be wider than before: the ring about doubles from rung to rung.
    small_growth_factor : float
        The same for bonds narrower than `wide_bond`, which one step would carry too far.
    wide_bond : int
        Width from which a bond grows by `growth_factor`.
    similar_promise : float
        Bonds that promise this part of what the best one does, for their size, grow together with it.
    rung_settled_db : float
        A rung ends with a sweep that lowers the validation error by less.
    rung_sweeps : int
        Most sweeps of a rung: the next rung gains more in the same time.
    fast_rung_sweeps : int
        A rung continues up to this number of sweeps while each lowers the validation error by `rung_goes_on_db`. For
        exact data this is needed to find the smallest ring that describes them.
    rung_goes_on_db : float
    cheap_rung_sweeps : int
        The same of rungs that cost little, and of the first, in which kernels narrow; these end only with a sweep that
        gains less than `chance_db`, so that no larger ring makes up for missing sweeps.
    cheap_part : float
        A rung is cheap if the largest ring has this many times its numbers.
    chance_db : float
        Validation errors that differ by less differ by chance. A rung is better than the best one if its error is lower
        by more: a larger ring has to justify its size. Trimming bonds may cost as much. The last ring is swept on
        while its error falls by more.
    patience : int
        Rungs in a row that are not better, which end the path, and sweeps in a row that are not, which end the last
        ring: one may be chance.
    too_fast_db : float
        While a sweep lowers the validation error by more, it is too early to see which penalties help.
    first_ridge : float
        First strength of a tuned ridge: raising it is decided more reliably than lowering it.
    rejudging_db : float
        Entries are judged again when the validation error has fallen by this much: a better ring judges better.
    judged_at_once : int
        Data with no more entries are judged at once, if memory allows; others tile by tile.
    judging_seconds : float
        Large data are not judged if that takes longer than the fit may: about this time for an entry.
    last_judging_entries : int
        Data with no more entries are small: they are judged once more at the end of a path, swept on until they settle
        again, and may have another path. More entries are judged just before the last sweeps: restored entries use this
        judgement. There penalties are tried again as soon as the best rung is taken up, not when it has settled.
    first_sweeps : int
        Sweeps of a given rank after which a kernel has narrowed far enough to be compared with least squares.
    judgements : int
        Number of judgements at a given rank; a ring fitted to the trusted entries makes the second one.
    retuning_db : float
        Penalties are tried again at the end if the validation error has fallen by this much since they were last.
    least_squares_gain_db : float
        Least squares replace a kernel, of entries that have not been judged, if they are better by this much: gross
        errors would make them far worse, and rare peaks are no errors.
    exact : float
        Validation error, in data ranges, of data that a ring describes exactly: the path ends.
    closing_sweeps : int
        Sweeps with all entries, at the end: held-out entries count there, too.
    """

    hole_guides: bool = True
    holds_out_together: bool = True
    coarse_start: bool = True
    coarse_from_entries: int = 1 << 21
    coarse_room: float = 8.0
    restarts: bool = True
    trims_bonds: bool = True
    tunes_width: bool = True
    chooses_least_squares: bool = True
    readmits: bool = True
    begins_again: bool = True
    counting_sweeps: int = 3
    no_worse: float = 1.0
    likely: float = 1.0
    sure: float = 2.0
    growth_factor: float = 2.0
    small_growth_factor: float = 1.3
    wide_bond: int = 8
    similar_promise: float = 0.5
    rung_settled_db: float = 0.15
    rung_sweeps: int = 5
    fast_rung_sweeps: int = 30
    rung_goes_on_db: float = 0.3
    cheap_rung_sweeps: int = 16
    cheap_part: float = 8.0
    chance_db: float = 0.05
    patience: int = 2
    too_fast_db: float = 0.7
    first_ridge: float = 0.01
    rejudging_db: float = 6.0
    judged_at_once: int = 1 << 23
    judging_seconds: float = 3e-6
    last_judging_entries: int = 1 << 18
    first_sweeps: int = 6
    judgements: int = 2
    least_doubted: float = 1e-3
    paths: int = 3
    another_path_db: float = 1.0
    retuning_db: float = 1.0
    least_squares_gain_db: float = 0.5
    exact: float = 2e-5
    closing_sweeps: int = 2
