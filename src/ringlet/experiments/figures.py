"""The paper's figures from the rows of a summary, each as PNG and as SVG."""

from collections.abc import Sequence
from math import isfinite, log10
from pathlib import Path
from statistics import mean
from typing import Any

from ringlet.experiments.catalogue import EXPERIMENTS
from ringlet.experiments.complexity import AXES, FGMC, GROWTH_METHODS
from ringlet.experiments.gallery import Gallery
from ringlet.experiments.journal import Record
from ringlet.experiments.methods import METHODS
from ringlet.experiments.noise import NOISES
from ringlet.experiments.summary import Row
from ringlet.experiments.trial import OUT_OF_MEMORY
from ringlet.report.style import FRAME, INK, dress, new_figure
from ringlet.store.atomic import atomic_output

__all__ = ["draw_ablation", "draw_comparison", "draw_gallery", "draw_growth", "remove_gallery"]

_PALETTE = ("#a8b0b9", "#5b9bd5", "#3a9a86", "#e0a030", "#a26fb8", "#27527f", "#c82614")  # ours come last
_MARKERS = "osD^vPX*"
_SIZES = {"I": "mode length I", "r": "rank r", "N": "order N", "J": "samples J"}
_LONGEST_NAME = 22
_COLUMN, _CAPTION = 1.35, 0.42  # inches of a picture's width and of the words above it
_FEW_TENS = 2.2


def draw_comparison(rows: Sequence[Row], out: Path) -> list[Path]:
    """PSNR of every item, grouped by method, beside the mean run time on a log axis."""
    items, methods = list(dict.fromkeys(row.item for row in rows)), _methods(rows)
    colours = _colours(rows[0].experiment)
    figure = new_figure(max(11.0, 5.5 + 0.85 * len(items)), 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[max(1.6, 0.24 * len(items)), 1])
    for axes in (left, right):
        dress(axes)
        axes.grid(visible=False, axis="x")
    found = {(row.item, row.method): row for row in rows}
    common = _done_by_all(rows)
    tops = (row.psnr + (row.psnr_deviation or 0) for row in rows if row.psnr is not None and isfinite(row.psnr))
    top = max(tops, default=1.0)
    width = 0.84 / len(methods)
    for place, method in enumerate(methods):
        for number, item in enumerate(items):
            row = found.get((item, method))
            at = number + (place - (len(methods) - 1) / 2) * width
            if row is None:
                continue
            if row.psnr is None or not isfinite(row.psnr):
                _hatched(left, at, 0.06 * top, width)
                continue
            left.bar(at, row.psnr, 0.92 * width, color=colours[method])
            if row.psnr_deviation:
                left.errorbar(at, row.psnr, row.psnr_deviation, color=INK, linewidth=0.8, capsize=1.5)
        _time_bar(right, place, [row for row in rows if row.method == method], colours[method], common)
    left.set_ylim(0, 1.05 * top)
    left.set_ylabel("PSNR (dB)", color=INK)
    slanted = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if len(items) > 4 else {}
    left.set_xticks(range(len(items)), [_short(item) for item in items], **slanted)
    left.set_xlim(-0.6, len(items) - 0.4)
    left.tick_params(axis="x", length=0)
    _mark_noises(left, [next(row.noise for row in rows if row.item == item) for item in items])
    left.set_title(f"PSNR of every {EXPERIMENTS[rows[0].experiment].kind}", pad=22)
    _dress_times(right, [METHODS[method].label for method in methods])
    if len(common) < len(items) and any(row.processor_seconds is not None for row in rows):
        kind = EXPERIMENTS[rows[0].experiment].kind
        which = f"of {len(common)} {kind}{'' if len(common) == 1 else 's'}" if common else f"of different {kind}s"
        right.set_title(f"Mean processor time {which}", pad=22)
    _legend(figure, methods, colours, hatched=any(row.psnr is None for row in rows))
    return _save(figure, out / rows[0].experiment)


def draw_ablation(rows: Sequence[Row], out: Path) -> list[Path]:
    """PSNR and time over the sample size; several items are averaged."""
    colours = dict(zip(EXPERIMENTS["ablation"].methods, (_PALETTE[i] for i in (6, 0, 3, 1, 2)), strict=True))
    figure = new_figure(11, 4.4)
    left, right = figure.subplots(1, 2)
    for axes, quantity, label in ((left, "psnr", "PSNR (dB)"), (right, "processor_seconds", "processor time (s)")):
        dress(axes)
        for number, method in enumerate(_methods(rows)):
            sizes = sorted({row.samples for row in rows if row.method == method and row.samples})
            values = [
                _mean(quantity, [row for row in rows if row.method == method and row.samples == s]) for s in sizes
            ]
            style = {"color": colours[method], "marker": _MARKERS[number], "zorder": 3 if method == "SAWRTRD" else 2}
            axes.plot(sizes, values, linewidth=2, markersize=5, label=METHODS[method].label, **style)
        axes.set_xlabel("sample size J", color=INK)
        axes.set_ylabel(label, color=INK)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    right.set_yscale("log")
    _plain_numbers(right)
    left.set_title("PSNR")
    right.set_title("Processor time")
    asked = [row.samples for row in rows if row.samples]
    for axes in (left, right):
        axes.set_xlim(0, 1.05 * max(asked, default=1))
    undone = [row for row in rows if row.psnr is None]
    if undone:
        arms = ", ".join(METHODS[method].label for method in _methods(undone))
        words = f"not run at some or all J: {arms} ({_why(undone)})"
        figure.supxlabel(words, size=9, color=INK)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, labelcolor=INK)
    return _save(figure, out / "ablation")


def draw_gallery(galleries: Sequence[Gallery], experiment: str, out: Path) -> list[Path]:
    """Cropped recovered pictures side by side, an item a row, with their PSNR."""
    columns = max(len(gallery.pictures) for gallery in galleries)
    shown = [[picture.pixels() for picture in gallery.pictures] for gallery in galleries]
    heights = [_COLUMN * line[0].shape[0] / line[0].shape[1] + _CAPTION for line in shown]
    figure = new_figure((_COLUMN + 0.2) * columns, sum(heights) + 0.2)
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.05)
    grid = figure.subplots(len(galleries), columns, squeeze=False, height_ratios=heights)
    for line, gallery, pictures in zip(grid, galleries, shown, strict=True):
        for axes in line:
            axes.set_axis_off()
        for axes, picture, pixels in zip(line, gallery.pictures, pictures, strict=False):
            axes.imshow(pixels, interpolation="lanczos")
            axes.set_title(f"{picture.label}\n{picture.note}", size=7.5, color=INK)
    return _save(figure, _gallery_stem(experiment, out))


def remove_gallery(experiment: str, out: Path) -> None:
    """Remove files that `draw_gallery` wrote earlier."""
    for path in _paths(_gallery_stem(experiment, out)):
        path.unlink(missing_ok=True)


def draw_growth(records: Sequence[Record], out: Path) -> list[Path]:
    """Time and memory over every size, both axes logarithmic; FGMC, measured at other sizes, by itself."""
    gram = [record for record in records if record["method"] == FGMC]
    methods = [record for record in records if record["method"] != FGMC]
    drawn = []
    if methods:
        drawn += _draw_growth(methods, out / "complexity")
    if gram:
        drawn += _draw_growth(gram, out / "complexity-fgmc")
    return drawn


def _draw_growth(records: Sequence[Record], stem: Path) -> list[Path]:
    colours = _colours("image-decomposition") | {FGMC: INK}
    shown = [axis for axis in AXES if any(record["item"] == axis for record in records)]
    figure = new_figure(max(6.0, 3.3 * len(shown)), 6.2)
    grid = figure.subplots(2, len(shown), squeeze=False)
    handles = {}
    for column, size in enumerate(shown):
        for axes, quantity, unit in ((grid[0, column], "seconds", 1.0), (grid[1, column], "memory", 1e6)):
            dress(axes)
            axes.set(xscale="log", yscale="log")
            for record in (one for one in records if one["item"] == size):
                name, sizes = record["method"], record["settings"]["sizes"]
                style = {"color": colours[name], "marker": _MARKERS[GROWTH_METHODS.index(name)]}
                values = [value / unit for value in record[quantity]]
                (handles[name],) = axes.plot(sizes, values, markersize=4.5, linewidth=1.6, label=name, **style)
                axes.set_xticks(sizes, [f"{one:,}" for one in sizes])
            axes.set_xticks([], minor=True)
            axes.set_xlabel(_SIZES[size], color=INK)
            _plain_numbers(axes)
    grid[0, 0].set_ylabel("processor time (s)", color=INK)
    grid[1, 0].set_ylabel("memory beside the data (MB)", color=INK)
    chosen = [handles[name] for name in GROWTH_METHODS if name in handles]
    figure.legend(handles=chosen, loc="outside upper center", ncols=len(chosen), frameon=False, labelcolor=INK)
    return _save(figure, stem)


def _methods(rows: Sequence[Row]) -> list[str]:
    present = {row.method for row in rows}
    return [method for method in EXPERIMENTS[rows[0].experiment].methods if method in present]


def _colours(experiment: str) -> dict[str, str]:
    return dict(zip(EXPERIMENTS[experiment].methods, _PALETTE, strict=True))


def _mean(quantity: str, rows: Sequence[Row]) -> float:
    values = [getattr(row, quantity) for row in rows if getattr(row, quantity) is not None]
    return mean(values) if values else float("nan")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _hatched(axes: Any, at: float, height: float, width: float) -> None:
    axes.bar(at, height, 0.92 * width, color="white", edgecolor=FRAME, hatch="////", linewidth=0.6)


def _done_by_all(rows: Sequence[Row]) -> set[str]:
    """Items that all methods with any result have done: their times can be compared."""
    done: dict[str, set[str]] = {}
    for row in rows:
        if row.processor_seconds is not None:
            done.setdefault(row.method, set()).add(row.item)
    return set.intersection(*done.values()) if done else set()


def _time_bar(axes: Any, place: int, rows: Sequence[Row], colour: str, common: set[str]) -> None:
    """A bar with the mean time over the common items written above it; hatched if no item could be run."""
    seconds = _mean("processor_seconds", [row for row in rows if row.item in common] if common else rows)
    if all(row.processor_seconds is None for row in rows):
        _hatched(axes, place, 1.0, 0.8)
        axes.text(
            place,
            0.04,
            f" {_why(rows)}",
            rotation=90,
            ha="center",
            va="bottom",
            size=8,
            color=INK,
            transform=axes.get_xaxis_transform(),
            bbox={"color": "white", "pad": 1.0},
        )
        return
    axes.bar(place, seconds, 0.8, color=colour)
    text = f"{seconds:.2g}" if seconds < 99.5 else f"{seconds:.0f}"
    axes.annotate(text, (place, seconds), (0, 2), textcoords="offset points", ha="center", size=8, color=INK)


def _why(rows: Sequence[Row]) -> str:
    """Short reason why no item could be run."""
    needs = [row.status.removeprefix(OUT_OF_MEMORY) for row in rows if row.status.startswith(OUT_OF_MEMORY)]
    return f"out of memory: needs {needs[0]}" if needs else "failed"


def _dress_times(axes: Any, labels: Sequence[str]) -> None:
    axes.set_yscale("log")
    heights = [patch.get_height() for patch in axes.patches if not patch.get_hatch()]
    low, high = min(heights, default=0.1), max(heights, default=10.0)
    bottom, top = 10 ** (log10(low) - 0.5), 10 ** (log10(high) + 0.4)
    axes.set_ylim(bottom, top)
    for patch in axes.patches:
        if patch.get_hatch():
            patch.set_height(top)  # as tall as the frame: longer than anything that could be measured
    axes.set_ylabel("mean processor time (s)", color=INK)
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    _plain_numbers(axes)
    axes.set_title("Mean processor time", pad=22)


def _mark_noises(axes: Any, noises: Sequence[str]) -> None:
    """Name the noise above its items."""
    for noise in dict.fromkeys(noises):
        places = [place for place, one in enumerate(noises) if one == noise]
        middle = (places[0] + places[-1]) / 2
        axes.text(
            middle,
            1.01,
            NOISES[noise],
            ha="center",
            va="bottom",
            size=9,
            color=INK,
            style="italic",
            transform=axes.get_xaxis_transform(),
        )
        if places[0]:
            axes.axvline(places[0] - 0.5, color=FRAME, linewidth=1, linestyle=(0, (4, 3)))


def _legend(figure: Any, methods: Sequence[str], colours: dict[str, str], *, hatched: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colours[method], label=METHODS[method].label) for method in methods]
    if hatched:
        handles.append(Patch(facecolor="white", edgecolor=FRAME, hatch="////", label="could not be run"))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        labelcolor=INK,
        columnspacing=1.2,
        handlelength=1.2,
    )


def _plain_numbers(axes: Any) -> None:
    """Label a logarithmic axis with plain numbers; also with 2 and 5 where there are few powers of ten."""
    low, high = axes.get_ylim()
    between = "25" if log10(high / low) < _FEW_TENS else ""
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in between else "")


def _save(figure: Any, stem: Path) -> list[Path]:
    import matplotlib

    for path in _paths(stem):
        suffix = path.suffix[1:]
        with matplotlib.rc_context({"svg.hashsalt": "ringlet"}), atomic_output(path) as temporary:
            figure.savefig(temporary, format=suffix, metadata={"Date": None} if suffix == "svg" else None)
        figure.set_layout_engine("none")  # it is laid out once
    return _paths(stem)


def _paths(stem: Path) -> list[Path]:
    return [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]


def _gallery_stem(experiment: str, out: Path) -> Path:
    return out / f"{experiment}-pictures"
