"""Options that several commands share, each defined once."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce, wraps
from math import nan
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from ringlet.amounts import parse_seconds
from ringlet.api import default_solver
from ringlet.cli.paths import GivenPath
from ringlet.cli.values import RANK_OR_AUTO, NumberOr
from ringlet.errors import OutputExistsError
from ringlet.restoration.inputs import ReadOptions
from ringlet.robust import DEFAULT_FACTORS, LOSSES
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD
from ringlet.store.checkpoint import check_place, holds_checkpoint

__all__ = [
    "CheckpointOptions",
    "SolverOptions",
    "checkpoint_options",
    "data_options",
    "force_option",
    "gathered",
    "json_option",
    "quiet_option",
    "rank_option",
    "seed_option",
    "solver_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


@dataclass(frozen=True)
class SolverOptions:
    """How to fit."""

    solver: Literal["auto", "awrtrd", "sawrtrd"]
    samples: int | None
    sweeps: int
    tol: float
    loss: str
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
    """Where a fit is saved while it runs, whether it may continue from there, and how long it may take."""

    checkpoint: Path | None
    every: int | None
    resume: bool
    time: float | str | None

    def check(self) -> None:
        """Refuse options that cannot be meant, before any work."""
        if self.time is not None:
            parse_seconds(self.time)
        if self.checkpoint is None:
            if self.resume or self.every is not None:
                raise click.UsageError(f"{'--resume' if self.resume else '--every'} needs --checkpoint PATH")
        elif not holds_checkpoint(self.checkpoint):
            check_place(self.checkpoint)
            if self.resume:
                click.echo(f"note: {self.checkpoint} holds no fit yet; starting from the first sweep", err=True)
        elif not self.resume:
            raise OutputExistsError(
                f"{self.checkpoint} holds a fit that was begun; continue it with --resume, or delete it, "
                "or choose another path"
            )


def gathered(name: str, kind: type, options: list[Decorator[Any]]) -> Decorator[Any]:
    """Give a command some options as one argument, an instance of `kind`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in fields(kind)}
            return function(**{name: kind(**own)}, **given)

        return reduce(lambda decorated, option: option(decorated), reversed(options), command)

    return decorate


data_options = gathered(
    "data",
    ReadOptions,
    [
        click.option(
            "--mask",
            type=GivenPath(),
            metavar="FILE",
            help="File that marks known entries: an array or store, 1 = known; or a picture, dark pixels = missing.",
        ),
        click.option(
            "--missing",
            type=NumberOr("missing", {"nan": nan}),
            metavar="nan|VALUE",
            help="Treat entries equal to VALUE as missing, e.g. 0. NaN is always missing.",
        ),
        click.option(
            "--key",
            metavar="NAME",
            help="Name of the array, if a file or store has several. For a long table: the columns that are the modes, "
            "joined by commas, e.g. sensor,day,hour.",
        ),
        click.option(
            "--cache",
            type=GivenPath(),
            metavar="DIR",
            help="Folder for the decoded frames of a video or a folder of frames; the next fit reads them from there. "
            "By default only frames of more than 1 GB are stored, beside the video.",
        ),
        click.option(
            "--max-size",
            metavar="SIZE",
            help="Refuse an array, picture or chunk that needs more memory than this.  "
            "[default: a quarter of the machine's]",
        ),
        click.option("--follow-links", is_flag=True, help="Also read data that a store keeps in other files."),
        click.option(
            "--absent",
            type=click.Choice(["fill", "missing"]),
            default="fill",
            show_default=True,
            help="Value of chunks that are not in the store: its fill value, or missing.",
        ),
    ],
)

checkpoint_options = gathered(
    "kept",
    CheckpointOptions,
    [
        click.option(
            "--checkpoint",
            type=GivenPath(),
            metavar="DIR",
            help="Save the fit in this folder after every sweep; --resume continues it after an interruption.",
        ),
        click.option(
            "--every", type=int, metavar="N", help="With --checkpoint: save after every N sweeps.  [default: 1]"
        ),
        click.option(
            "--resume", is_flag=True, help="Continue the fit saved in --checkpoint; without one, start a new fit."
        ),
        click.option(
            "--time", metavar="TIME", help="Stop the fit after this time, e.g. 60s or 5min, with the best ring so far."
        ),
    ],
)

_defaults = default_solver((1, 1))

solver_options = gathered(
    "solver",
    SolverOptions,
    [
        click.option(
            "--solver",
            type=click.Choice(["auto", "awrtrd", "sawrtrd"]),
            default="auto",
            show_default=True,
            help="awrtrd uses all entries in every sweep, sawrtrd random subtensors; auto chooses by size.",
        ),
        click.option(
            "--samples",
            type=int,
            metavar="J",
            help=f"Number of columns that sawrtrd samples for a core update.  [default: {SAWRTRD().samples}]",
        ),
        click.option(
            "--sweeps",
            type=int,
            metavar="N",
            default=_defaults.sweeps,
            show_default=True,
            help="Maximum number of sweeps.",
        ),
        click.option(
            "--tol",
            type=float,
            metavar="T",
            default=_defaults.tol,
            show_default=True,
            help="Stop when the relative change of the ring stays below T; 0 runs all sweeps.",
        ),
        click.option(
            "--loss",
            type=click.Choice(["learned", *LOSSES]),
            default=_defaults.loss,
            show_default=True,
            help="How outliers are recognised: learned compares entries with their neighbours; correntropy, cauchy and "
            "huber weigh each entry by its residual; l2 is least squares, which trusts all entries.",
        ),
        click.option(
            "--sigma",
            type=NumberOr("sigma", {rule: rule for rule in DEFAULT_FACTORS}),
            metavar="RULE|NUMBER",
            default=_defaults.sigma,
            show_default=True,
            help="Kernel width: a rule that adapts it (iqr, maxabs, trusted), or a number in the data's units.",
        ),
        click.option(
            "--ridge",
            type=NumberOr("ridge", {"auto": "auto"}),
            metavar="auto|NUMBER",
            default=_defaults.ridge,
            show_default=True,
            help="Penalty on the size of the cores; auto uses a larger one if few entries are known.",
        ),
        click.option(
            "--smooth",
            type=NumberOr("smooth", {"auto": "auto"}),
            metavar="auto|NUMBER",
            default=_defaults.smooth,
            show_default=True,
            help="Penalty on differences between neighbouring slices; auto chooses one for every mode, 0 uses none.",
        ),
        click.option(
            "--threads",
            type=int,
            metavar="N",
            help="Number of threads; the result does not depend on it.  [default: all cores]",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="Limit of the working memory, e.g. 2GB. Parts of a store that are read count; data in memory do not.",
        ),
    ],
)

rank_option = click.option(
    "--rank",
    type=RANK_OR_AUTO,
    default="auto",
    show_default=True,
    metavar="auto|R|R,R,..|SIZE|PSNR",
    help="One number for all bonds (20), the bond before every mode (20,20,3), a limit for the size of the ring (1MB), "
    "or a quality to reach (35dB). auto increases the bonds while the error at held-out entries decreases.",
)
seed_option = click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of all random draws; the same seed and data give the same bits.",
)
force_option = click.option("--force", is_flag=True, help="Replace existing output files.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")
quiet_option = click.option("--quiet", is_flag=True, help="Print only warnings and errors.")
