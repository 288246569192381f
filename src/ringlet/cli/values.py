"""Values that options take, as they are typed: numbers, lists of them, ranks."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ringlet.errors import ArgumentError
from ringlet.solvers.rank_choice import budget, target

__all__ = ["INTEGERS", "RANK_OR_AUTO", "SHAPE", "NumberOr"]

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # no generic class before click 8.4

_NUMBER = r"(?:\d+\.?\d*|\.\d+)"


class _Integers(_ParamType):
    """Whole numbers joined by commas; a single one stays an int where that has a meaning."""

    def __init__(self, name: str, example: str, *, single: bool) -> None:
        self.name, self._example, self._single = name, example, single

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            numbers = tuple(int(number) for number in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a {self.name}; write e.g. {self._example}", param, ctx)
        return numbers[0] if self._single and len(numbers) == 1 else numbers


class NumberOr(_ParamType):
    """A number, or one of a few words."""

    def __init__(self, name: str, words: dict[str, Any]) -> None:
        self.name, self._words = name, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Give the number, or what the word stands for."""
        if value in self._words:
            return self._words[value]
        for kind in (int, float):  # int first: large whole numbers stay exact
            try:
                return kind(value)
            except ValueError:
                continue
        self.fail(f"{value!r} is neither a number nor one of: {', '.join(self._words)}", param, ctx)


class _Rank(_Integers):
    """A rank, or how to find one: auto, the size of the ring, or a quality."""

    def __init__(self) -> None:
        super().__init__("rank", "auto, 20, 20,20,3, 1MB or 35dB", single=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value.lower() == "auto":
            return "auto"
        with suppress(ArgumentError):  # no such quality or size: said below
            if decibels := re.fullmatch(rf"({_NUMBER})\s*db", value, re.IGNORECASE):
                return target(psnr=float(decibels[1]))
            if re.fullmatch(rf"{_NUMBER}\s*([kmgt]i?)?b", value, re.IGNORECASE):
                return budget(value)
        return super().convert(value, param, ctx)


RANK_OR_AUTO = _Rank()
INTEGERS = _Integers("list of whole numbers", "5000,10000", single=False)
SHAPE = _Integers("shape", "1920,1080,3,50", single=False)
