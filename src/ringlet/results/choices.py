"""Options that take "auto", "always" or "never"."""

from typing import TypeAlias

import numpy as np

from ringlet.checks import check_one_of
from ringlet.local.answer import Choice

__all__ = ["Option", "as_choice"]

Option: TypeAlias = Choice | bool


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
