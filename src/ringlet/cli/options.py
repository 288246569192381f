"""Options that several commands share, each defined once, and the values they take."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import reduce, wraps
from math import nan
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from ringlet.api import default_solver
from ringlet.cli.paths import GivenPath
from ringlet.errors import ArgumentError, OutputExistsError
from ringlet.restoration.inputs import ReadOptions
from ringlet.robust import DEFAULT_FACTORS, LOSSES
from ringlet.solvers.rank_choice import budget, target
from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD, RobustRing
from ringlet.store.checkpoint import check_place, holds_checkpoint

__all__ = [
    "FIXED_RANK",
    "INTEGERS",
    "RANK_HELP",
    "RANK_OR_AUTO",
    "SHAPE",
    "CheckpointOptions",
    "SolverOptions",
    "checkpoint_options",
    "data_options",
    "force_option",
    "json_option",
    "quiet_option",
    "seed_option",
    "solver_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


class _Integers(click.ParamType[Any]):
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


class _NumberOr(click.ParamType[Any]):
    """A number, or one of a few words."""

    def __init__(self, name: str, words: dict[str, Any]) -> None:
        self.name, self._words = name, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self._words:
            return self._words[value]
        for kind in (int, float):  # int first: large whole numbers stay exact
            try:
                return kind(value)
            except ValueError:
                continue
        self.fail(f"{value!r} is neither a number nor one of: {', '.join(self._words)}", param, ctx)


_NUMBER = r"(?:\d+\.?\d*|\.\d+)"


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


FIXED_RANK = _Integers("fixed rank", "20 or 20,20,3", single=True)
RANK_OR_AUTO = _Rank()
RANK_HELP = (
    "One number for all bonds, the bond before every mode (20,20,3), the largest ring (1MB), or a quality (35dB). "
    "auto increases the bonds while the error at held-out entries decreases."
)
INTEGERS = _Integers("list of whole numbers", "5000,10000", single=False)
SHAPE = _Integers("shape", "1920,1080,3,50", single=False)


@dataclass(frozen=True)
class SolverOptions:
    """How to fit."""

    solver: Literal["auto", "awrtrd", "sawrtrd"]
    samples: int | None
    sweeps: int
    tol: float
    loss: Literal["correntropy", "cauchy", "huber", "l2"]
    sigma: Literal["iqr", "maxabs", "trusted"] | float
    ridge: Literal["auto"] | float
    smooth: Literal["auto"] | float
    threads: int | None
    memory: str | None

    def build(self, shape: tuple[int, ...]) -> RobustRing:
        """Make the solver for a tensor of this shape."""
        settings: dict[str, Any] = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("solver", "samples")
        }
        if self.samples is not None:
            if self.solver == "awrtrd":
                raise click.UsageError("--samples is for sawrtrd; awrtrd looks at all entries")
            return SAWRTRD(samples=self.samples, **settings)
        kinds: dict[str, type[RobustRing]] = {
            "awrtrd": AWRTRD,
            "sawrtrd": SAWRTRD,
            "auto": type(default_solver(shape)),
        }
        return kinds[self.solver](**settings)


@dataclass(frozen=True)
class CheckpointOptions:
    """Where a fit is saved while it runs, and whether it may go on from there."""

    checkpoint: Path | None
    every: int | None
    resume: bool

    def check(self) -> None:
        """Refuse options that cannot be meant, before any work."""
        if self.checkpoint is None:
            if self.resume or self.every is not None:
                raise click.UsageError(f"{'--resume' if self.resume else '--every'} needs --checkpoint PATH")
        elif not holds_checkpoint(self.checkpoint):
            check_place(self.checkpoint)
            if self.resume:
                click.echo(f"note: {self.checkpoint} holds no fit yet; starting from the first sweep", err=True)
        elif not self.resume:
            raise OutputExistsError(
                f"{self.checkpoint} holds a fit that was begun; go on with it by --resume, or delete it, "
                "or choose another path"
            )


def _gathered(name: str, kind: type, options: list[Decorator[Any]]) -> Decorator[Any]:
    """Give a command some options as one argument, an instance of `kind`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in fields(kind)}
            return function(**{name: kind(**own)}, **given)

        return reduce(lambda decorated, option: option(decorated), reversed(options), command)

    return decorate


data_options = _gathered(
    "data",
    ReadOptions,
    [
        click.option(
            "--mask",
            type=GivenPath(),
            metavar="FILE",
            help="Which entries are known: an array in a file or store, 1 = known; or a picture, black = missing.",
        ),
        click.option(
            "--missing",
            type=_NumberOr("missing", {"nan": nan}),
            metavar="nan|VALUE",
            help="Entries that equal VALUE are missing, e.g. 0. NaN always is.",
        ),
        click.option("--key", metavar="NAME", help="Which array of a file or store of several."),
        click.option(
            "--cache",
            type=GivenPath(),
            metavar="DIR",
            help="Keep the decoded frames of a video or a folder of frames there, for the next time. By default frames "
            "that take more than 1 GB are kept beside it.",
        ),
    ],
)

checkpoint_options = _gathered(
    "kept",
    CheckpointOptions,
    [
        click.option(
            "--checkpoint",
            type=GivenPath(),
            metavar="DIR",
            help="Save the fit there while it runs, so that --resume can continue it after an interruption.",
        ),
        click.option("--every", type=int, metavar="N", help="Save after every N sweeps.  [default: 1]"),
        click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it holds this fit."),
    ],
)

_defaults = default_solver((1, 1))

solver_options = _gathered(
    "solver",
    SolverOptions,
    [
        click.option(
            "--solver",
            type=click.Choice(["auto", "awrtrd", "sawrtrd"]),
            default="auto",
            show_default=True,
            help="awrtrd looks at all entries in a sweep, sawrtrd at random subtensors; auto goes by size.",
        ),
        click.option(
            "--samples",
            type=int,
            metavar="J",
            help=f"Columns that sawrtrd draws for a core update.  [default: {SAWRTRD().samples}]",
        ),
        click.option(
            "--sweeps",
            type=int,
            metavar="N",
            default=_defaults.sweeps,
            show_default=True,
            help="Largest number of sweeps.",
        ),
        click.option(
            "--tol",
            type=float,
            metavar="T",
            default=_defaults.tol,
            show_default=True,
            help="Stop when the relative change stays below it; 0 runs all sweeps.",
        ),
        click.option(
            "--loss",
            type=click.Choice(list(LOSSES)),
            default=_defaults.loss,
            show_default=True,
            help="Loss function. All but l2, which is least squares, give outliers a small weight.",
        ),
        click.option(
            "--sigma",
            type=_NumberOr("sigma", {rule: rule for rule in DEFAULT_FACTORS}),
            metavar="RULE|NUMBER",
            default=_defaults.sigma,
            show_default=True,
            help="Kernel width: a rule that adapts it (iqr, maxabs, trusted), or a width in the data's units.",
        ),
        click.option(
            "--ridge",
            type=_NumberOr("ridge", {"auto": "auto"}),
            metavar="auto|NUMBER",
            default=_defaults.ridge,
            show_default=True,
            help="Penalty on the size of the cores; auto increases it where few entries are known.",
        ),
        click.option(
            "--smooth",
            type=_NumberOr("smooth", {"auto": "auto"}),
            metavar="auto|NUMBER",
            default=_defaults.smooth,
            show_default=True,
            help="Penalty on differences between neighbours; auto finds one for every mode, 0 if it has no order.",
        ),
        click.option("--threads", type=int, metavar="N", help="By default all cores. Never changes the result."),
        click.option(
            "--memory",
            metavar="SIZE",
            help="Budget for working memory, e.g. 2GB. It includes what is held of stores, but not data in memory.",
        ),
    ],
)

seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="The same seed and data give the same bits."
)
force_option = click.option("--force", is_flag=True, help="Replace output files that exist.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but warnings and errors.")
