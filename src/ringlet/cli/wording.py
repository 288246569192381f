"""Ringlet's messages name Python's arguments; here they become the options that are typed."""

import re
from collections.abc import Iterable

import click

__all__ = ["as_typed", "visible"]

# Of an argument its name and value; paths such as runs/rank=3.npy are none.
_ARGUMENT = re.compile(
    r"""(?<!\S) (?P<name>\w+) =
        (?P<value> True | -?(nan | inf | [\d.]+(e[-+]?\d+)?) | '[^']*' | \([\d,\ -]*\) | budget\(\d+\)
                   | \(a\ long\ number\))
        (?= [;:,.)]* (\s|$))""",
    re.VERBOSE,
)

# A name that a message begins with.
_SUBJECT = re.compile(r"^(?P<name>\w+)(?= (entries must|is a number of) )")

# Control characters, and those that turn the direction of writing: a terminal would obey them.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Show control characters, which names in files may hold, in place of sending them; new lines stay.

    Examples
    --------
    >>> visible("red \x1b[31m")
    'red \\x1b[31m'
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def as_typed(message: str, params: Iterable[click.Parameter]) -> str:
    """Say a message in terms of a command's options.

    Examples
    --------
    >>> options = [click.Option([name]) for name in ("--rank", "--force", "--memory")]
    >>> as_typed("give one bond per mode, e.g. rank=(20, 20, 3)", options)
    'give one bond per mode, e.g. --rank 20,20,3'
    >>> as_typed("rank=nan is not allowed", options)
    '--rank nan is not allowed'
    >>> as_typed("rank is a number of about 400 digits", options)
    '--rank is a number of about 400 digits'
    >>> as_typed("memory='lots' is no amount, dtype='int8' is no option; overwrite with force=True", options)
    "--memory lots is no amount, dtype='int8' is no option; overwrite with --force"
    """
    options: dict[str | None, str] = {param.name: param.opts[-1] for param in params if isinstance(param, click.Option)}

    def typed(found: re.Match[str]) -> str:
        option, value = options.get(found["name"]), found["value"]
        if option is None:
            return found[0]
        if value == "True":
            return option
        if value.startswith("budget"):
            value = f"{value[7:-1]}B"
        elif value.startswith("(") and value[1:2] != "a":
            value = value.strip("(,)").replace(" ", "")
        return f"{option} {value}".replace("'", "")

    message = _SUBJECT.sub(lambda found: options.get(found["name"], found["name"]), message)
    return _ARGUMENT.sub(typed, message)
