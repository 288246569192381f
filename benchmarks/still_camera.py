"""What moves before a still camera: `rank=ringlet.background()` against the median over time and OpenCV's MOG2.

    python benchmarks/still_camera.py VIDEO [--frames N] [--every K] > benchmarks/still-camera.jsonl

The reference is the median of every pixel over all frames of the file; what differs from it by more than a threshold in
any colour is foreground. That threshold is Otsu's, from the histogram of the differences. Reference and methods see the
same frames, every K-th pixel of them in both directions. Single pixels are removed from all foregrounds alike, by a
median over 3 x 3 pixels. Scores are intersections over unions of foregrounds, over all frames. MOG2 needs OpenCV
(opencv-python-headless), and is left out without it.
One line of JSON a method; nothing here fails.
"""

import argparse
import json
from pathlib import Path
from time import process_time

import numpy as np
from scipy.ndimage import median_filter
from skimage.filters import threshold_otsu

import ringlet
from ringlet.experiments.runner import run_facts
from ringlet.sources.files import load


def _foreground(difference: np.ndarray, threshold: float) -> np.ndarray:
    """Pixels (height, width, frame) that differ in any colour; without single ones."""
    return median_filter((difference > threshold).any(axis=2).astype(np.uint8), size=(3, 3, 1)) > 0


def _score(found: np.ndarray, reference: np.ndarray) -> float:
    return np.count_nonzero(found & reference) / max(1, np.count_nonzero(found | reference))


def _mog2(video: np.ndarray) -> np.ndarray | None:
    """OpenCV's background subtraction, which sees the frames twice: it learns in the first pass."""
    try:
        import cv2
    except ImportError:
        return None
    subtractor = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
    frames = [np.ascontiguousarray(video[..., frame]) for frame in range(video.shape[-1])]
    for frame in frames:
        subtractor.apply(frame)
    masks = np.stack([subtractor.apply(frame) > 0 for frame in frames], axis=-1)
    return median_filter(masks.astype(np.uint8), size=(3, 3, 1)) > 0


def main() -> None:
    """Print intersection over union and processor seconds of every method."""
    parser = argparse.ArgumentParser()
    parser.add_argument("video", type=Path)
    parser.add_argument("--frames", type=int, default=50)
    parser.add_argument("--every", type=int, default=2, help="pixels, in both directions")
    options = parser.parse_args()
    every = load(options.video).array[:: options.every, :: options.every]
    video = np.ascontiguousarray(every[..., : options.frames])
    still = np.median(every, axis=-1, keepdims=True)
    difference = np.abs(video - still)
    threshold = float(threshold_otsu(difference.max(axis=2)))
    reference = _foreground(difference, threshold)
    facts = {"video": options.video.stem, "shape": video.shape, "threshold": threshold, "foreground": reference.mean()}

    def report(name: str, found: np.ndarray, seconds: float) -> None:
        record = {"method": name, "intersection_over_union": _score(found, reference), "seconds": seconds}
        print(json.dumps(record | facts | run_facts()), flush=True)

    start = process_time()
    median = np.median(video, axis=-1, keepdims=True)
    report("median over these frames", _foreground(np.abs(video - median), threshold), process_time() - start)
    for name, rank in (("ringlet.background()", ringlet.background()), ("(1, 100, 3, 1)", (1, 100, 3, 1))):
        start = process_time()
        fit = ringlet.decompose(video, rank)
        seconds = process_time() - start
        model = np.asarray(fit.ring)
        report(f"`rank={name}`, ended at {fit.ring.rank}", _foreground(np.abs(video - model), threshold), seconds)
    start = process_time()
    found = _mog2(video)
    if found is not None:
        report("OpenCV's MOG2, second pass over the frames", found, process_time() - start)


if __name__ == "__main__":
    main()
