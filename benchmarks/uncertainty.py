"""Do nominal 90 % intervals of `fit.uncertainty` cover that share of hidden entries? Fits real tensors.

    python benchmarks/uncertainty.py FILE.npz ...

Every file has the key `tensor` and, where entries are missing, `observed`. Nothing here fails.
"""

import sys
from pathlib import Path

import numpy as np

import ringlet

_MOST_ENTRIES = 60_000  # larger tensors are thinned out, so that a fit takes seconds
_NOMINAL = 1.645  # standard errors, for 90 %


def _thinned(array: np.ndarray) -> np.ndarray:
    while array.size > _MOST_ENTRIES:
        longest = int(np.argmax(array.shape))
        array = array[tuple(slice(None, None, 2 if mode == longest else 1) for mode in range(array.ndim))]
    return array


def _hidden(shape: tuple[int, ...], kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "random":
        return rng.random(shape) < 0.3
    rates = [rng.uniform(0.1, 1.3, length) for length in shape]
    return rng.random(shape) < np.clip(np.prod(np.meshgrid(*rates, indexing="ij"), axis=0), 0, 0.97)


def main() -> None:
    """Print the coverage of nominal 90 % intervals, for entries hidden at random and unevenly."""
    for path in map(Path, sys.argv[1:]):
        with np.load(path) as file:
            truth = _thinned(file["tensor"]).astype(np.float64)
            known = _thinned(file["observed"]) if "observed" in file else np.ones(truth.shape, bool)
        for kind in ("random", "uneven"):
            hidden = _hidden(truth.shape, kind) & known
            fit = ringlet.decompose(np.where(known & ~hidden, truth, np.nan))
            error = np.abs(truth - np.asarray(fit.ring))[hidden]
            covered = np.mean(error <= _NOMINAL * fit.uncertainty()[hidden])
            rms = np.sqrt(np.mean(error**2))
            print(f"{path.stem:24s} {kind:7s} covered {covered:.3f}, validation {fit.validation:.4g}, hidden {rms:.4g}")


if __name__ == "__main__":
    main()
