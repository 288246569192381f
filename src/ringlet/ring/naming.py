"""Names of modes: the same names in another order are an error, even where all sizes agree."""

from collections.abc import Hashable, Sequence

from ringlet.errors import ArgumentError

__all__ = ["check_order"]


def check_order(what: str, given: Sequence[Hashable] | None, whole: str, wanted: Sequence[Hashable] | None) -> None:
    """Raise an error if a mode has the name of another mode of the whole; new names are ignored.

    Parameters
    ----------
    what, whole : str
        What the modes belong to, for the message.
    given, wanted : sequence of names, or None

    Examples
    --------
    >>> check_order("mask", ("y", "x"), "data", ("y", "time"))
    >>> check_order("mask", ("x", "y"), "data", ("y", "x"))
    Traceback (most recent call last):
    ...
    ringlet.errors.ArgumentError: mask has the modes (x, y), but data has (y, x); transpose it
    """
    places = {name: place for place, name in enumerate(wanted or ())}
    if any(places.get(name, place) != place for place, name in enumerate(given or ())):
        raise ArgumentError(f"{what} has the modes {_listed(given)}, but {whole} has {_listed(wanted)}; transpose it")


def _listed(names: Sequence[Hashable] | None) -> str:
    return f"({', '.join(map(str, names or ()))})"
