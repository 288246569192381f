"""Does folding a photo into overlapping patches help? Fits two photos of scikit-image whole and folded.

    python benchmarks/folding.py > benchmarks/folding.jsonl

256 x 256 pixels, 10 % of the entries observed, of which none or a fifth is salt and pepper. One line of JSON a fit;
nothing here fails.
"""

import json
from time import process_time

import numpy as np
from skimage import data

import ringlet
from ringlet.experiments.runner import run_facts
from ringlet.report.metrics import psnr

_PATCHES = [ringlet.windows(16, 8), ringlet.windows(16, 8), None]
_PHOTOS = {"chelsea": (20, 100), "astronaut": (0, 100)}  # the corner of the part


def _damaged(photo: np.ndarray, wrong: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    ends = 255.0 * rng.integers(0, 2, photo.shape)
    x = np.where(rng.random(photo.shape) < wrong, ends, photo)
    return np.where(rng.random(photo.shape) < 0.1, x, np.nan).astype(np.float32)


def main() -> None:
    """Print PSNR and processor seconds."""
    for name, (row, column) in _PHOTOS.items():
        photo = getattr(data, name)()[row : row + 256, column : column + 256].astype(np.float32)
        for wrong in (0.2, 0.0):
            x = _damaged(photo, wrong)
            for form in ("whole", "patches of 16, every 8"):
                start = process_time()
                if form == "whole":
                    model = np.asarray(ringlet.decompose(x).ring)
                else:
                    ring = ringlet.decompose(ringlet.fold(x, _PATCHES, paired=True)).ring
                    model = ringlet.unfold(ring, _PATCHES, x.shape, paired=True)
                seconds = process_time() - start
                record = {"photo": name, "wrong": wrong, "form": form, "psnr": psnr(model, photo, 255.0)}
                print(json.dumps(record | {"seconds": seconds} | run_facts()), flush=True)


if __name__ == "__main__":
    main()
