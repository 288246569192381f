"""Write the golden files of this version: `.ring` files and a checkpoint, which all later versions must read.

They are made once for every release, into tests/store/golden/VERSION, from cores that need no random numbers.
"""

import shutil
from pathlib import Path

import numpy as np

import ringlet

_FOLDER = Path(__file__).parents[1] / "tests" / "store" / "golden" / ringlet.__version__


def _ring(dtype: type) -> ringlet.TensorRing:
    shapes = ((2, 4, 3), (3, 5, 2), (2, 3, 2))
    cores = [np.cos(np.arange(np.prod(shape), dtype=dtype)).reshape(shape) for shape in shapes]
    return ringlet.TensorRing(cores, names=("time", "place", "höhe"), units="°C")


def main() -> None:
    """Write all files of this version anew."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    ring = _ring(np.float32)
    ring.save(_FOLDER / "float32.ring", force=True)
    _ring(np.float64).save(_FOLDER / "float64.ring", force=True)
    for precision in ("float16", "int8"):
        ring.save(_FOLDER / f"{precision}.ring", precision=precision, force=True)
    np.save(_FOLDER / "dense.npy", np.asarray(_ring(np.float64)))
    x = np.fromfunction(lambda i, j, k: np.sin(i) * np.cos(j) + k, (6, 5, 4))
    x[1, 2] = np.nan
    solver = ringlet.AWRTRD(smooth=0.0, sweeps=4, tol=0, threads=1)
    ringlet.decompose(x, 2, solver=solver, checkpoint=_FOLDER / "run.ckpt")
    print(f"written: {_FOLDER}")


if __name__ == "__main__":
    main()
