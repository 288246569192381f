"""The cases of `same_bits.py`, by name."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from same_bits_fits import (
    AUTOMATIC,
    CLIP,
    FLOAT,
    KNOWN,
    LARGE,
    PICTURE,
    SOLVERS,
    TIGHT,
    TIGHT_STORED,
    Case,
    baseline,
    clip,
    completed,
    extended,
    fit,
    fitted,
    known,
    long,
    random_ring,
    resumed,
    stored,
    waves,
)

__all__ = ["TWINS", "all_cases"]

# Cases that must have the same bits within one tree, too.
TWINS = (
    ("AWRTRD clip, threads 1", "AWRTRD clip, threads 2"),
    ("SAWRTRD large, threads 1", "SAWRTRD large, threads 2"),
    ("AWRTRD long", "AWRTRD long, cluster"),
    ("AWRTRD zarr in regions", "AWRTRD zarr in regions, cluster"),
    ("AWRTRD zarr", "AWRTRD zarr, one thread"),
    ("AWRTRD zarr", "AWRTRD hdf5"),
    ("SAWRTRD zarr", "SAWRTRD hdf5"),
    ("AWRTRD for a checkpoint", "AWRTRD resumed"),
    ("SAWRTRD for a checkpoint", "SAWRTRD resumed"),
    ("AWRTRD auto, from block medians", "AWRTRD auto, one thread"),
    ("AWRTRD auto", "AWRTRD auto, resumed"),
    ("AWRTRD auto", "AWRTRD auto, resumed late"),
)


def all_cases() -> dict[str, Case]:
    """By name."""
    return settings() | kinds_of_data() | stores() | continued() | baselines() | automatic()


def clipped(name: str, **options: Any) -> Case:
    """A fit of the clip in memory."""
    return Case(lambda _: clip(name, **options))


def started(name: str, begin: int, rank: Any, **options: Any) -> Case:
    """A fit that starts from the ring of another, of rank `begin`."""
    return Case(lambda _: fit(name, FLOAT, rank, init=fit(name, PICTURE, begin).ring, **options))


def settings() -> dict[str, Case]:
    """Every choice of every field."""
    cases = {f"{name}": fitted(name, FLOAT, mask=KNOWN) for name in SOLVERS}
    for name, loss in product(SOLVERS, ("cauchy", "huber", "l2")):
        cases[f"{name} loss {loss}"] = fitted(name, FLOAT, mask=KNOWN, loss=loss)
    for sigma, factor in {"maxabs": 5.0, "trusted": 2.0, 20.0: None, np.inf: None}.items():
        cases[f"SAWRTRD sigma {sigma}"] = fitted("SAWRTRD", FLOAT, mask=KNOWN, sigma=sigma, sigma_factor=factor)
    cases["AWRTRD sigma trusted"] = fitted("AWRTRD", FLOAT, sigma="trusted", sigma_factor=2.0)
    cases["AWRTRD sigma_min 0.02"] = fitted("AWRTRD", FLOAT, sigma_min=0.02)
    for name, scaling in product(SOLVERS, ("local", "none")):
        cases[f"{name} scaling {scaling}"] = fitted(name, FLOAT, scaling=scaling)
    for sampling in ("uniform-subtensor", "uniform-rows", "leverage-rows"):
        cases[f"SAWRTRD sampling {sampling}"] = fitted("SAWRTRD", FLOAT, mask=KNOWN, sampling=sampling)
    cases["SAWRTRD sampling uniform-rows scaling local"] = fitted(
        "SAWRTRD", FLOAT, sampling="uniform-rows", scaling="local"
    )
    cases["SAWRTRD sampling uniform-rows, many"] = fitted("SAWRTRD", FLOAT, sampling="uniform-rows", samples=200)
    for name, ridge in product(SOLVERS, (0.0, 0.1)):
        cases[f"{name} ridge {ridge}"] = fitted(name, FLOAT, mask=KNOWN, ridge=ridge)
    for name, (label, smooth) in product(SOLVERS, {"0.5": 0.5, "by mode": {0: 1.0, 2: 0.1}}.items()):
        cases[f"{name} smooth {label}"] = fitted(name, FLOAT, mask=KNOWN, smooth=smooth)
    cases |= {f"{name} complete": completed(name) for name in SOLVERS}
    cases["SAWRTRD until it converges"] = fitted("SAWRTRD", FLOAT, sweeps=60, tol=1e-2)
    return cases


def kinds_of_data() -> dict[str, Case]:
    """Masks, dtypes, orders, empty slices, ranges, starts, blocks and threads."""
    holes = np.where(KNOWN, FLOAT, np.nan)
    masked = np.ma.MaskedArray(FLOAT, mask=~KNOWN)
    empty = KNOWN.copy()
    empty[5], empty[:, 3] = False, False
    cases = {f"{name} NaN": fitted(name, holes) for name in SOLVERS}
    cases["SAWRTRD numpy.ma"] = fitted("SAWRTRD", masked)
    cases["SAWRTRD mask and NaN"] = fitted("SAWRTRD", holes, mask=known(FLOAT.shape, 0.9))
    for name in SOLVERS:
        cases[f"{name} empty slices"] = fitted(name, FLOAT, mask=empty)
        cases[f"{name} far from zero"] = fitted(name, FLOAT + 1e5, mask=KNOWN, ridge=0.1)
    for name, dtype in product(SOLVERS, ("u1", "i2", "f4")):
        cases[f"{name} dtype {dtype}"] = fitted(name, FLOAT.astype(dtype))
    cases["SAWRTRD float32 data in float64"] = fitted("SAWRTRD", FLOAT.astype("f4"), dtype="f8")
    for name, shape in product(SOLVERS, ((30, 24), (12, 10, 3, 8), (5, 4, 4, 3, 4, 3))):
        cases[f"{name} order {len(shape)}"] = fitted(name, waves(shape), 2, mask=known(shape, 0.8))
    cases["AWRTRD long"] = long(in_store=False, on_cluster=False)
    cases["AWRTRD long, cluster"] = long(in_store=False, on_cluster=True)
    for threads in (1, 2):
        cases[f"AWRTRD clip, threads {threads}"] = clipped("AWRTRD", threads=threads)
        # Passes over smaller sketches are a single piece of work, which one thread does anyway.
        cases[f"SAWRTRD large, threads {threads}"] = fitted("SAWRTRD", LARGE, 5, samples=2000, threads=threads)
    cases["AWRTRD unequal bonds"] = fitted("AWRTRD", FLOAT, (2, 5, 3))
    cases["SAWRTRD clip"] = clipped("SAWRTRD")
    for name in SOLVERS:
        cases[f"{name} init"] = started(name, 3, 3)
        cases[f"{name} clip, bonds up to 17"] = clipped(name, rank=(17, 17, 3, 4), sweeps=2)  # a Gram matrix in tiles
        cases[f"{name} clip, memory"] = clipped(name, memory=TIGHT[name])
        cases[f"{name} clip, mask and smooth"] = clipped(name, mask=known(CLIP.shape, 0.3), smooth=0.2)
    return cases


def stores() -> dict[str, Case]:
    """Data on disk, by chunks and regardless of them, with and without a budget."""
    cases = {}
    for kind, name in product(("zarr", "hdf5"), SOLVERS):
        cases[f"{name} {kind}"] = stored(kind, name)
        cases[f"{name} {kind}, memory"] = stored(kind, name, memory=TIGHT_STORED[name])
        if name == "SAWRTRD":
            cases[f"{name} {kind}, uniform"] = stored(kind, name, sampling="uniform-subtensor")
    cases["SAWRTRD zarr, mask"] = stored("zarr", "SAWRTRD", mask=known(CLIP.shape, 0.5))
    cases["AWRTRD zarr in regions"] = long(in_store=True, on_cluster=False)
    cases["AWRTRD zarr in regions, cluster"] = long(in_store=True, on_cluster=True)
    cases["AWRTRD zarr, one thread"] = stored("zarr", "AWRTRD", threads=1)
    return cases


def continued() -> dict[str, Case]:
    """Fits that go on: from a checkpoint, or with further slices."""
    cases = {}
    for name in SOLVERS:
        cases[f"{name} for a checkpoint"] = fitted(name, PICTURE, mask=KNOWN, sweeps=7)
        cases[f"{name} resumed"] = resumed(name, 3, 3, sweeps=7)
        cases[f"{name} extended by one"] = extended(name)
    cases |= {
        "AWRTRD extended by four": extended("AWRTRD", slices=4),
        "SAWRTRD extended by four, missing": extended("SAWRTRD", slices=4, share=0.6),
        "AWRTRD extended, smooth": extended("AWRTRD", slices=2, smooth=0.5),
        "AWRTRD extended, smooth, missing": extended("AWRTRD", slices=3, smooth=0.5, ridge=0.1, share=0.6),
        "AWRTRD extended, forget": extended("AWRTRD", slices=2, forget=0.1),
        "AWRTRD extended, no refresh": extended("AWRTRD", slices=2, refresh=0),
        "AWRTRD extended by what is all missing": extended("AWRTRD", slices=2, share=0.0),
        "SAWRTRD extended along mode 0": extended("SAWRTRD", slices=3, mode=0),
    }
    return cases


def baselines() -> dict[str, Case]:
    """The ten, with missing entries where they handle these."""
    stop: dict[str, Any] = {"sweeps": 6, "tol": 0.0}
    cases = {name: baseline(name, ring=True) for name in ("TRSVD", "RandomizedTRSVD")}
    cases |= {name: baseline(name, ring=True, **stop) for name in ("TRALS", "RandomizedTRALS")}
    cases["SampledTRALS"] = baseline("SampledTRALS", ring=True, samples=50, **stop)
    cases["SampledTRALS exact"] = baseline("SampledTRALS", ring=True, samples=50, sampling="exact-leverage", **stop)
    for label, mask in {"": None, ", mask": KNOWN}.items():
        for name in ("L1SNN", "L1TNN", "L1TRNN", "TNTV"):
            cases[f"{name}{label}"] = baseline(name, ring=False, mask=mask, **stop)
        cases[f"LpTRC{label}"] = baseline("LpTRC", ring=True, mask=mask, ridge="auto", method="irls", **stop)
    cases["LpTRC admm"] = baseline("LpTRC", ring=True, mask=KNOWN, ridge=0.1, method="admm", **stop)
    return cases


def automatic() -> dict[str, Case]:
    """Ranks, penalties and kernels that held-out entries choose."""
    video = np.rint(waves((16, 14, 3, 8), wrong=0.2)).astype(np.uint8)

    def chosen(name: str, data: Any = PICTURE, rank: Any = "auto", **fields: Any) -> Case:
        return fitted(name, data, rank, **({"mask": known(data.shape)} | AUTOMATIC | fields))

    def within(verb: str, **given: Any) -> Case:
        def run(_: Path) -> Any:
            import ringlet

            return fit("AWRTRD", PICTURE, getattr(ringlet, verb)(**given), mask=KNOWN, **AUTOMATIC)

        return Case(run)

    cases = {f"{name} auto": chosen(name) for name in SOLVERS}
    cases |= {f"{name} auto, order 4": chosen(name, video) for name in SOLVERS}
    for seed in (1, 2, 3):  # the first begins to grow again; the others start anew, with and without success
        cases[f"AWRTRD auto, random ring {seed}"] = chosen("AWRTRD", random_ring(seed), mask=None)
        cases[f"AWRTRD given rank, random ring {seed}"] = chosen("AWRTRD", random_ring(seed), 3, mask=None)
    hole = np.ones((48, 40, 3), bool)
    hole[12:30, 9:27] = False
    cases |= {
        "AWRTRD auto, from block medians": chosen("AWRTRD", LARGE, mask=None, sweeps=2),
        "AWRTRD auto, large hole": chosen("AWRTRD", waves(hole.shape), mask=hole),
        "AWRTRD auto, float64, complete": chosen("AWRTRD", FLOAT, mask=None),
        "AWRTRD auto, given penalties and kernel": chosen("AWRTRD", smooth=0.1, ridge=0.05, sigma_factor=2.5),
        "AWRTRD auto, sigma trusted": chosen("AWRTRD", sigma="trusted"),
        "AWRTRD auto, one thread": chosen("AWRTRD", LARGE, mask=None, sweeps=2, threads=1),
        "AWRTRD auto, memory": chosen("AWRTRD", video, memory="385kB"),  # bonds cannot grow as far as without
        "AWRTRD auto, resumed": resumed("AWRTRD", "auto", 9, **AUTOMATIC),
        "AWRTRD auto, resumed late": resumed("AWRTRD", "auto", 16, **AUTOMATIC),  # when it sees all entries
        "AWRTRD auto, extended": extended("AWRTRD", rank="auto", **AUTOMATIC),
        "AWRTRD auto, init": started("AWRTRD", 2, "auto", mask=KNOWN, **AUTOMATIC),
        "AWRTRD budget": within("budget", amount="6kB"),
        "AWRTRD target": within("target", psnr=22),
        "AWRTRD given rank, smooth auto": chosen("AWRTRD", rank=3),
        "SAWRTRD given rank, smooth auto": chosen("SAWRTRD", rank=3),
        "SAWRTRD auto, zarr": stored("zarr", "SAWRTRD", rank="auto", **AUTOMATIC | {"sweeps": 12}),
    }
    return cases
