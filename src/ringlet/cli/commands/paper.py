"""`ringlet paper`: the experiments of the paper, one word each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import click

from ringlet.amounts import format_bytes, parse_bytes
from ringlet.cli.options import json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import print_json, print_table
from ringlet.cli.values import INTEGERS
from ringlet.errors import ArgumentError, DataWarning, OutputError, warn
from ringlet.execution.memory import machine_memory
from ringlet.experiments.catalogue import ABLATION_SAMPLES, EXPERIMENTS, TrialOptions, trials
from ringlet.experiments.complexity import AXES, GROWTH_METHODS, growth, series
from ringlet.experiments.items import builtin_photos, builtin_videos, photos_in, videos_in
from ringlet.experiments.journal import Journal, Record, read_records, settled_key
from ringlet.experiments.methods import METHODS, chosen_methods
from ringlet.experiments.outcome import draw_outcome
from ringlet.experiments.runner import Progress, Task, run_tasks
from ringlet.experiments.summary import Row, check_records, latest, summarise
from ringlet.report.style import import_matplotlib

__all__ = ["command"]

_NAMES = (*EXPERIMENTS, "complexity", "all")
_SHARE = 0.8  # of the machine's memory: what a trial may take when no budget is given
_UNKNOWN = 1 << 40  # where the system does not tell how much it has, nothing is refused


def _words(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names joined by commas."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if value else ()


def _sweeps(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """A number, or None for the word `own`."""
    if value == "own":
        return None
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a positive number nor the word own", ctx, param)


def _samples(ctx: click.Context, param: click.Parameter, value: tuple[int, ...]) -> tuple[int, ...]:
    if min(value) < 1:
        raise click.BadParameter(f"{min(value)} is not allowed: sample sizes are positive", ctx, param)
    return tuple(dict.fromkeys(value))


def _budget(ctx: click.Context, param: click.Parameter, value: str | None) -> int:
    if value is None:
        return int(_SHARE * (machine_memory() or _UNKNOWN))
    try:
        return parse_bytes(value, "budget")
    except ArgumentError as error:
        raise click.BadParameter(str(error), ctx, param) from error


_folder = GivenPath(file_okay=False)


@click.command(name="paper")
@click.argument("name", metavar="EXPERIMENT", type=click.Choice(_NAMES))
@click.option(
    "--images", type=_folder, metavar="DIR", help="Folder of photos.  [default: photos of scikit-image, scaled down]"
)
@click.option(
    "--videos", type=_folder, metavar="DIR", help="Folder of videos: files, or folders of frames.  [default: generated]"
)
@click.option("--out", type=_folder, default=Path("paper-results"), show_default=True, help="Output folder.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Number of runs, each with its own noise and masks.",
)
@click.option(
    "--sweeps",
    default="30",
    show_default=True,
    metavar="N|own",
    callback=_sweeps,
    help="Maximum number of sweeps for all methods, or the default of each method.",
)
@click.option("--methods", metavar="A,B,...", callback=_words, help="Run only these methods.  [default: all]")
@click.option(
    "--items",
    metavar="A,B,...",
    callback=_words,
    help="Use only these photos or videos; for complexity, these sizes.  [default: all]",
)
@click.option(
    "--samples",
    type=INTEGERS,
    default=",".join(map(str, ABLATION_SAMPLES)),
    show_default=True,
    metavar="J,J,...",
    callback=_samples,
    help="Sample sizes of the ablation.",
)
@click.option(
    "--budget",
    metavar="SIZE",
    callback=_budget,
    help="Memory of a trial, data included, e.g. 8GB.  [default: four fifths of the machine's]",
)
@click.option("--clip", is_flag=True, help="Clip estimates to the data's range before scoring.")
@click.option("--retry", is_flag=True, help="Repeat trials that failed.")
@click.option("--redraw", is_flag=True, help="Run nothing; draw figures and page from results.jsonl.")
@click.option(
    "--pictures/--no-pictures", default=True, help="Show recovered pictures in figures and page, or leave them out."
)
@json_option
def command(
    name: str,
    images: Path | None,
    videos: Path | None,
    out: Path,
    budget: int,
    retry: bool,
    redraw: bool,
    pictures: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run an experiment of the paper, and write tables, figures and a page.

    EXPERIMENT is ablation, image-decomposition, video-decomposition, image-completion, video-completion, complexity,
    or all. Without --images and --videos a small version runs, in minutes. The command can be stopped at any time: run
    again, it skips trials that are in results.jsonl of the output folder.
    """
    import_matplotlib()  # before the work, not after it
    path, tasks = out / "results.jsonl", list[Task]()
    if redraw:
        records = read_records(path)
        check_records(records, path)
        if not records:
            raise ArgumentError(f"there is nothing to draw: {path} is missing or empty")
    else:
        _check_folders(name, images, videos)
        tasks = _tasks(name, images, videos, TrialOptions(**options))
        _make_folder(out)
        with Journal.open(path) as journal:
            check_records(journal.records, path)
            try:
                with _reporter() as report:
                    run_tasks(tasks, journal, out, budget, retry=retry, report=report)
            except KeyboardInterrupt:
                click.echo("the same command continues; with --redraw it draws what is done", err=True)
                raise
            records = journal.records
    records = latest(records, {settled_key(task.identity) for task in tasks})
    written = draw_outcome(records, out, pictures=pictures)
    if as_json:
        print_json(_content(records, out, written))
    else:
        _show(name, records, out)


@dataclass(frozen=True)
class _Choice:
    """An experiment that may be run: what methods and items it has, and how its tasks are made."""

    methods: Sequence[str]
    items: Sequence[str]
    build: Callable[[TrialOptions], Sequence[Task]]


def _tasks(name: str, images: Path | None, videos: Path | None, options: TrialOptions) -> list[Task]:
    """All that is asked for; whatever is wrong with it shows here, before any work."""
    if name != "all":
        tasks: list[Task] = list(_choice(name, images, videos).build(options))
        if not tasks:
            raise ArgumentError(
                f"{name} has no --items {','.join(options.items)} of --methods {','.join(options.methods)}"
            )
        return tasks
    choices = [_choice(one, images, videos) for one in _NAMES if one != "all"]
    methods = dict.fromkeys(method for choice in choices for method in choice.methods)
    asked = chosen_methods(methods, options.methods)  # which refuses names that no experiment has
    items = dict.fromkeys(item for choice in choices for item in choice.items)
    for item in options.items:
        if item not in items:
            raise ArgumentError(f"items={item!r} is not known; allowed are {', '.join(items)}")
    tasks = []
    for choice in choices:
        own = replace(
            options,
            methods=tuple(method for method in asked if method in choice.methods),
            items=tuple(item for item in options.items if item in choice.items),
        )
        if bool(own.methods) == bool(options.methods) and bool(own.items) == bool(options.items):
            tasks += choice.build(own)
    if not tasks:
        raise ArgumentError(
            f"no experiment has both --methods {','.join(options.methods)} and --items {','.join(options.items)}"
        )
    return tasks


def _check_folders(name: str, images: Path | None, videos: Path | None) -> None:
    """Refuse what is no folder; one that the experiment does not look at may be a mistake, too."""
    kind = EXPERIMENTS[name].kind if name in EXPERIMENTS else None
    for option, given, other in (("--images", images, "video"), ("--videos", videos, "photo")):
        if given is not None and not given.is_dir():
            raise ArgumentError(f"{option} {given} is not a folder")
        if given is not None and (kind == other or name == "complexity"):
            warn(f"{option} {given} is not used by {name}", DataWarning)


def _choice(name: str, images: Path | None, videos: Path | None) -> _Choice:
    if name == "complexity":
        return _Choice(GROWTH_METHODS, AXES, lambda options: series(options.methods, options.items))
    experiment = EXPERIMENTS[name]
    if experiment.kind == "photo":
        items = builtin_photos() if images is None else photos_in(images)
    else:
        items = builtin_videos() if videos is None else videos_in(videos)
    return _Choice(
        experiment.methods, [item.name for item in items], lambda options: trials(experiment, items, options)
    )


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the directory {out}: {error.strerror or error}") from error


# What is seen meanwhile and afterwards.


@contextmanager
def _reporter() -> Iterator[Callable[[Progress], None]]:
    """A function that shows progress on stderr: one living line in a terminal, and a line for every finished trial."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("") as status:

        def report(progress: Progress) -> None:
            task = progress.task
            place = f"{progress.number}/{progress.total}  {task['experiment']}  {task['item']}  {task['method']}"
            if samples := task["settings"].get("samples"):
                place += f"  J {samples:,}" if task["experiment"] == "ablation" else ""
            place += f"  run {task['run']}"
            if progress.record is not None:
                words = f"{place}  {_found(progress.record)}" if console.is_terminal else f"  {_found(progress.record)}"
                console.print(words, soft_wrap=True, markup=False)
            elif console.is_terminal:
                status.update(f"{place}  {_time_left(progress.seconds_left)}")
            else:
                console.print(f"{place}  {_time_left(progress.seconds_left)}", soft_wrap=True, markup=False)

        yield report


def _found(record: dict[str, Any]) -> str:
    if record["status"] != "ok":
        return str(record["status"])
    if "psnr" in record:
        return f"{record['psnr']:.2f} dB in {record['seconds']:.3g} s"
    return f"measured in {record['trial_seconds']:.3g} s"


def _time_left(seconds: float | None) -> str:
    """Time for people.

    Examples
    --------
    >>> _time_left(40), _time_left(400), _time_left(40_000), _time_left(None)
    ('about 40 s left', 'about 7 min left', 'about 11.1 h left', 'time left: not known yet')
    """
    if seconds is None:
        return "time left: not known yet"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


def _show(name: str, records: Sequence[Record], out: Path) -> None:
    rows = summarise(records)
    for experiment in EXPERIMENTS.values():
        mine = [row for row in rows if row.experiment == experiment.name and name in (experiment.name, "all")]
        if mine:
            click.echo(experiment.title)
            print_table(
                ("method", "J", "PSNR dB", "SSIM", "seconds", "memory", "items", "not run"),
                [
                    _line(method, samples, [row for row in mine if (_varied(row), row.method) == (samples, method)])
                    for samples, method in dict.fromkeys((_varied(row), row.method) for row in _by_method(mine))
                ],
                text=(0, 7),
            )
    slopes = growth(_measured(records))
    if slopes and name in ("complexity", "all"):
        click.echo("Slopes of log time and log memory, with 95 % confidence intervals")
        print_table(
            ("method", "size", "paper", "paper here", "time", "memory"),
            [
                (one.method, one.axis, one.paper, f"{one.paper_slope:.2f}", str(one.time), str(one.memory))
                for one in slopes
            ],
            text=(0, 1),
        )
    click.echo(f"Look at {out / 'index.html'}; figures, tables and results.jsonl are beside it.")


def _by_method(rows: Sequence[Row]) -> list[Row]:
    """As the experiment lists its methods; of the ablation, one sample size after the other."""
    order = EXPERIMENTS[rows[0].experiment].methods
    return sorted(rows, key=lambda row: (_varied(row) or 0, order.index(row.method)))


def _varied(row: Row) -> int | None:
    """The sample size, where it is what is compared; elsewhere it goes by the item."""
    return row.samples if row.experiment == "ablation" else None


def _line(method: str, samples: int | None, rows: Sequence[Row]) -> tuple[str, ...]:
    done = [row for row in rows if row.psnr is not None]

    def average(name: str, form: str) -> str:
        return form.format(mean(getattr(row, name) for row in done)) if done else ""

    return (
        METHODS[method].label,
        "" if samples is None else f"{samples:,}",
        average("psnr", "{:.2f}"),
        average("ssim", "{:.3f}"),
        average("seconds", "{:.3g}"),
        format_bytes(max(row.peak_memory or 0 for row in done)) if done else "",
        f"{len(done)} of {len(rows)}",
        "; ".join(dict.fromkeys(row.status for row in rows if row.status != "ok")),
    )


def _measured(records: Sequence[Record]) -> list[Record]:
    return [one for one in latest(records) if one["experiment"] == "complexity" and one["status"] == "ok"]


def _content(records: Sequence[Record], out: Path, written: Sequence[Path]) -> dict[str, Any]:
    return {
        "results": str(out / "results.jsonl"),
        "records": len(records),
        "summary": [asdict(row) for row in summarise(records)],
        "growth": [asdict(row) for row in growth(_measured(records))],
        "outputs": [str(path) for path in written],
    }
