"""Options of restored data, with the values "auto", "always" and "never"."""

from typing import Literal, TypeAlias

import numpy as np

from ringlet.checks import check_one_of
from ringlet.errors import ArgumentError
from ringlet.local.answer import Choice
from ringlet.local.refining import Denoiser

__all__ = ["Option", "Refinement", "as_choice", "check_refinement"]

Option: TypeAlias = Choice | bool
Refinement: TypeAlias = Literal["patches"] | Denoiser | None


def as_choice(name: str, value: Option) -> Choice:
    """Check an option; True means "always", False "never".

    Examples
    --------
    >>> as_choice("keep", True), as_choice("keep", "auto")
    ('always', 'auto')
    """
    if isinstance(value, bool | np.bool_):
        return "always" if value else "never"
    check_one_of(name, value, ("auto", "always", "never"))
    return value


def check_refinement(refine: Refinement) -> None:
    """Raise an ArgumentError unless it is None, "patches" or a function."""
    if not (refine is None or callable(refine) or (isinstance(refine, str) and refine == "patches")):
        raise ArgumentError(f"refine={refine!r} is not allowed; give None, 'patches' or a function of an array")
