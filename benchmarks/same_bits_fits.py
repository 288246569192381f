"""The fits that `same_bits_cases.py` lists: small generated data, and every setting named on which bits depend.

Only public names are used, because the two source trees differ inside. Ringlet is imported when a case runs, so that
the list of cases can be read without it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AUTOMATIC",
    "CLIP",
    "FLOAT",
    "KNOWN",
    "LARGE",
    "PICTURE",
    "SOLVERS",
    "TIGHT",
    "TIGHT_STORED",
    "Case",
    "baseline",
    "clip",
    "completed",
    "extended",
    "fit",
    "fitted",
    "known",
    "long",
    "random_ring",
    "resumed",
    "stored",
    "waves",
]

# Defaults of the two trees may come to differ, so none is relied upon. Two threads on any machine.
COMMON: dict[str, Any] = {
    "sweeps": 4,
    "tol": 0.0,
    "loss": "correntropy",
    "sigma": "iqr",
    "sigma_factor": 2.5,
    "sigma_min": 0.15,
    "ridge": "auto",
    "smooth": 0.0,
    "scaling": "global",
    "dtype": None,
    "memory": None,
    "threads": 2,
}
SKETCH: dict[str, Any] = {"samples": 40, "sampling": "subtensor"}
# Held-out entries choose the kernel's factor, too, where none is given.
AUTOMATIC: dict[str, Any] = {"sweeps": 80, "tol": 1e-3, "sigma_factor": None, "smooth": "auto"}
# Bytes that the plan can keep to, but only with smaller blocks than it takes without a budget.
TIGHT = {"AWRTRD": "12.5MB", "SAWRTRD": "2.9MB"}
TIGHT_STORED = {"AWRTRD": "16MB", "SAWRTRD": "6.3MB"}
SOLVERS = ("AWRTRD", "SAWRTRD")


@dataclass(frozen=True)
class Case:
    """A fit.

    Attributes
    ----------
    run : callable
        Takes an empty folder of its own, gives a Fit or an Estimate.
    block : index
        Of the entries whose weights and restored values are compared; None: those of `complete` may have none.
    """

    run: Callable[[Path], Any]
    block: Any = ...


def waves(shape: Sequence[int], *, wrong: float = 0.1) -> NDArray[np.float64]:
    """A smooth tensor within 0 and 255, with noise and a share of wrong entries."""
    rng = np.random.default_rng(len(shape))
    grid = np.ogrid[tuple(slice(length) for length in shape)]
    phase = sum(axis / (4 + 2 * mode) for mode, axis in enumerate(grid))
    other = sum((-1) ** mode * axis / (7 + mode) for mode, axis in enumerate(grid))
    clean = 128 + 60 * np.sin(phase) + 40 * np.cos(other) + rng.normal(0, 2, shape)
    clean = np.where(rng.random(shape) < wrong, rng.integers(0, 256, shape), clean)
    return np.asarray(np.clip(clean, 0, 255))


def known(shape: Sequence[int], share: float = 0.5) -> NDArray[np.bool_]:
    """A mask; True = observed."""
    return np.random.default_rng(7).random(shape) < share


def random_ring(seed: int) -> NDArray[np.float64]:
    """A ring of random cores of rank 3, dense: nothing about it is smooth."""
    rng = np.random.default_rng(seed)
    cores = [rng.standard_normal((3, length, 3)) for length in (12, 11, 10)]
    return np.asarray(np.einsum("aib,bjc,cka->ijk", *cores))


FLOAT = waves((24, 20, 3))
PICTURE = np.rint(waves((24, 20, 3), wrong=0.2)).astype(np.uint8)
CLIP = np.rint(waves((160, 120, 3, 6))).astype(np.uint8)  # enough for several blocks a pass, hence for two threads
LARGE = np.rint(waves((840, 840, 3))).astype(np.uint8)  # enough for an automatic fit to begin with block medians
KNOWN = known(PICTURE.shape)


def solver(name: str, **fields: Any) -> Any:
    """AWRTRD or SAWRTRD with all its fields, of which some may be given."""
    import ringlet

    return getattr(ringlet, name)(**(COMMON | (SKETCH if name == "SAWRTRD" else {}) | fields))


def fit(name: str, data: Any, rank: Any = 3, **options: Any) -> Any:
    """`decompose` by AWRTRD or SAWRTRD; `mask`, `init` and `executor` go to it, other options to the solver."""
    import ringlet

    given = {key: options.pop(key, None) for key in ("mask", "init", "executor")}
    return ringlet.decompose(data, rank, solver=solver(name, **options), seed=1, **given)


def clip(name: str, data: Any = CLIP, rank: Any = (8, 8, 3, 4), **options: Any) -> Any:
    """A fit of the clip, which needs a larger sketch."""
    return fit(name, data, rank, **({"samples": 300} if name == "SAWRTRD" else {}), **options)


def fitted(name: str, data: Any, rank: Any = 3, **options: Any) -> Case:
    """The case of such a fit."""
    return Case(lambda _: fit(name, data, rank, **options))


@contextmanager
def cluster(folder: Path) -> Iterator[Any]:
    """An executor of two workers within the process."""
    import dask
    from distributed import Client, LocalCluster

    import ringlet

    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        dask.config.set(temporary_directory=str(folder)),
        LocalCluster(**settings) as workers,
        Client(workers) as client,
    ):
        yield ringlet.DaskExecutor(client)


def long(*, in_store: bool, on_cluster: bool) -> Case:
    """A fit of an array that is worth sending to a cluster, and in a store is read in two regions."""

    def run(folder: Path) -> Any:
        data: Any = np.repeat(LARGE[..., np.newaxis], 5, axis=3)
        if in_store:
            data = _zarr(folder, data, (210, 210, 3, 5))
        with cluster(folder) if on_cluster else nullcontext() as executor:
            return fit("AWRTRD", data, (6, 6, 3, 2), executor=executor, sweeps=1)

    return Case(run)


def stored(kind: str, name: str, **options: Any) -> Case:
    """A fit of the clip in a zarr or HDF5 store."""

    def run(folder: Path) -> Any:
        chunks = (40, 40, 3, 2)
        if kind == "zarr":
            return clip(name, _zarr(folder, CLIP, chunks), **options)
        import h5py

        with h5py.File(folder / "clip.h5", "w") as file:
            return _Loaded.of(clip(name, file.create_dataset("clip", data=CLIP, chunks=chunks), **options))

    return Case(run)


def _zarr(folder: Path, data: NDArray[Any], chunks: tuple[int, ...]) -> Any:
    import zarr

    array = zarr.create_array(folder / "data.zarr", shape=data.shape, chunks=chunks, dtype=data.dtype)
    array[...] = data
    return array


@dataclass(frozen=True)
class _Loaded:
    """A fit of a file that is closed since: what is compared was read before."""

    ring: Any
    all_weights: NDArray[Any]
    all_restored: NDArray[Any]

    @classmethod
    def of(cls, result: Any) -> "_Loaded":
        return cls(result.ring, result.weights(...), result.restored(...))

    def weights(self, _: Any) -> NDArray[Any]:
        return self.all_weights

    def restored(self, _: Any) -> NDArray[Any]:
        return self.all_restored


def resumed(name: str, rank: Any, after: int, **fields: Any) -> Case:
    """A fit that its callback ends after some sweeps, and that goes on from its checkpoint."""

    def run(folder: Path) -> Any:
        import ringlet

        common: dict[str, Any] = {
            "solver": solver(name, **fields),
            "mask": KNOWN,
            "seed": 1,
            "checkpoint": folder / "checkpoint",
        }
        first = ringlet.decompose(PICTURE, rank, callback=lambda state: state.sweep == after, **common)
        if len(first.history) != after:
            raise RuntimeError(f"the fit ended after {len(first.history)} sweeps, before it could be interrupted")
        return ringlet.decompose(PICTURE, rank, **common)

    return Case(run)


EXTENDING = ("refresh", "forget")


def extended(name: str, *, slices: int = 1, mode: int = -1, share: float = 1.0, **options: Any) -> Case:
    """A fit that is given further slices, of which a share is observed.

    `refresh` and `forget` go to `extend`, other options to the fit.
    """
    data = np.moveaxis(waves((20, 15, 12)), -1, mode)
    settings = {"refresh": 2, "forget": 0.0} | {key: options.pop(key) for key in EXTENDING if key in options}
    cut = [slice(None)] * 3
    cut[mode] = slice(12 - slices)
    past = tuple(cut)
    cut[mode] = slice(12 - slices, None)
    new = tuple(cut)

    def run(_: Path) -> Any:
        mask = None if share == 1 else known(data[new].shape, share)
        return fit(name, data[past], **options).extend(data[new], mode, mask=mask, seed=2, **settings)

    return Case(run, new)


def baseline(name: str, *, ring: bool, mask: Any = None, **fields: Any) -> Case:
    """One of the ten other methods."""

    def run(_: Path) -> Any:
        import ringlet

        method = getattr(ringlet.baselines, name)(threads=2, **fields)
        if ring:
            return ringlet.decompose(FLOAT, 3, solver=method, mask=mask, seed=1)
        return ringlet.complete(FLOAT, solver=method, mask=mask, seed=1)

    return Case(run, ... if ring else None)


def completed(name: str) -> Case:
    """A ring solver in the verb for dense estimates."""

    def run(_: Path) -> Any:
        import ringlet

        return ringlet.complete(FLOAT, solver=solver(name), rank=3, mask=KNOWN, seed=1)

    return Case(run, None)
