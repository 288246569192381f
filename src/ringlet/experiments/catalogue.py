"""The five experiments with photos and videos: items, noise, methods and settings of every one, as lists of trials."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlet.experiments.items import Item, Kind, chosen_items
from ringlet.experiments.journal import identity_key
from ringlet.experiments.methods import (
    ABLATION,
    COMPLETIONS,
    DECOMPOSITIONS,
    METHODS,
    SAMPLES,
    chosen_methods,
    settings_for,
)
from ringlet.experiments.noise import noise_of
from ringlet.experiments.trial import Trial

__all__ = ["ABLATION_SAMPLES", "EXPERIMENTS", "Experiment", "TrialOptions", "trials"]

ABLATION_SAMPLES = (5_000, 10_000, 20_000, 30_000, 40_000)
_OBSERVED = 0.3  # of the entries, where there is something to complete
_PREFERRED = "flamingo"  # the video of the paper's ablation


@dataclass(frozen=True)
class Experiment:
    """An experiment: methods and the kind of data they are compared on.

    Attributes
    ----------
    name : str
        Name on the command line and in records.
    title : str
        Title in figures.
    kind : {"photo", "video"}
    methods : tuple of str
    observed : float
        Share of the entries.
    """

    name: str
    title: str
    kind: Kind
    methods: tuple[str, ...]
    observed: float


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("ablation", "Ablation: video completion over the sample size", "video", ABLATION, _OBSERVED),
        Experiment("image-decomposition", "Decomposition of noisy photos", "photo", DECOMPOSITIONS, 1.0),
        Experiment("video-decomposition", "Decomposition of noisy videos", "video", DECOMPOSITIONS, 1.0),
        Experiment("image-completion", "Completion of noisy photos, 30 % observed", "photo", COMPLETIONS, _OBSERVED),
        Experiment("video-completion", "Completion of noisy videos, 30 % observed", "video", COMPLETIONS, _OBSERVED),
    )
}


@dataclass(frozen=True)
class TrialOptions:
    """Which trials of an experiment are run, and how they are scored.

    Attributes
    ----------
    runs : int
        Number of runs, each with its own noise and masks.
    sweeps : int or None
        Maximum for every method; None: its own default, and its own tolerance.
    methods, items : tuple of str
        Only these; empty: all.
    samples : tuple of int
        Sample sizes J of the ablation.
    clip : bool
        Score estimates clipped to the data's range.
    """

    runs: int = 2
    sweeps: int | None = 30
    methods: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    samples: tuple[int, ...] = ABLATION_SAMPLES
    clip: bool = False


def trials(experiment: Experiment, items: Sequence[Item], options: TrialOptions) -> list[Trial]:
    """All trials of an experiment: the first run of everything comes before the second of anything."""
    # Noise depends on the position among all items, so that a selection of items does not change it.
    noises = {item.name: noise_of(place, len(items)) for place, item in enumerate(items)}
    ablation = experiment.name == "ablation"
    if ablation:
        noises = dict.fromkeys(noises, "salt-and-pepper")
    if options.items:
        items = chosen_items(list(items), options.items)
    elif ablation:
        items = [next((item for item in items if _PREFERRED in item.name.lower()), items[0])]
    methods = chosen_methods(experiment.methods, options.methods) if options.methods else experiment.methods
    listed = (
        Trial(
            experiment=experiment.name,
            item=item,
            method=name,
            run=run,
            noise=noises[item.name],
            observed=experiment.observed,
            settings=settings_for(METHODS[name], item, samples=samples, sweeps=options.sweeps),
            clip=options.clip,
        )
        for run in range(1, options.runs + 1)
        for item in items
        for samples in (options.samples if ablation else (SAMPLES,))
        for name in methods
    )
    return list({identity_key(trial.identity): trial for trial in listed}.values())  # small items need few samples
