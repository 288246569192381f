"""A stream of frames appended one by one, against a fit of all frames at once, in one run.

Times are processor time, summed over threads: a ratio should not depend on other work on the machine.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.errors import ArgumentError
from ringlet.experiments.noise import TrialSeed, add_noise, generator, observed_entries
from ringlet.report.metrics import psnr
from ringlet.results.fit import Fit
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.sources import as_source

__all__ = ["FIRST", "FRAMES", "ExtensionResult", "measure_extension", "moving_video", "read_video"]

FIRST, FRAMES = 30, 50  # frames fitted before the first is appended, and frames in all
_SHARES = (1.0, 0.3)
Result = TypeVar("Result")


@dataclass(frozen=True)
class ExtensionResult:
    """What was measured at one share of observed entries, with a fifth of them salt and pepper.

    Attributes
    ----------
    observed : float
    appended, whole : float
        PSNR in dB over all frames, against the true ones: frames appended one by one; a fit of all at once.
    frame, refit : float
        Seconds to append a frame (median) and of a new fit (mean of the fits of the first frames and of all).
    early, late : float
        Seconds to append one of the first five frames, and one of the last five (medians).
    """

    observed: float
    appended: float
    whole: float
    frame: float
    refit: float
    early: float
    late: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the differences and ratios."""
        return asdict(self) | {
            "below_whole": self.whole - self.appended,
            "refit_over_frame": self.refit / self.frame,
            "late_over_early": self.late / self.early,
        }


def measure_extension(
    video: NDArray[np.uint8], *, rank: tuple[int, ...] = (20, 20, 3, 9), first: int = FIRST, sweeps: int = 30
) -> list[ExtensionResult]:
    """Append all frames after the first ones, and fit all at once: everything observed, and 30 % of it."""
    return [_measure(video, share, rank, first, sweeps) for share in _SHARES]


def _measure(video: NDArray[np.uint8], share: float, rank: tuple[int, ...], first: int, sweeps: int) -> ExtensionResult:
    data, observed = _damaged(video, share)
    solver = SAWRTRD(sweeps=sweeps, smooth=0.0)

    def fit_of(count: int) -> tuple[Fit, float]:
        mask = None if observed is None else observed[..., :count]
        return _timed(partial(decompose, data[..., :count], rank, solver=solver, mask=mask))

    fit, refit_first = fit_of(first)
    seconds = []
    for frame in range(first, video.shape[3]):
        place = slice(frame, frame + 1)
        mask = None if observed is None else observed[..., place]
        fit, spent = _timed(partial(fit.extend, data[..., place], mask=mask))
        seconds.append(spent)
    whole, refit_all = fit_of(video.shape[3])
    return ExtensionResult(
        share,
        psnr(np.asarray(fit.ring), video, 255),
        psnr(np.asarray(whole.ring), video, 255),
        median(seconds),
        (refit_first + refit_all) / 2,
        median(seconds[:5]),
        median(seconds[-5:]),
    )


def read_video(path: Path) -> NDArray[np.uint8]:
    """The first frames of a video or of a folder of frames, as (height, width, 3, frame)."""
    source = as_source(path)
    if len(source.shape) != 4 or source.shape[3] <= FIRST:
        raise ArgumentError(
            f"{path} has shape {source.shape}; give a video (height, width, colour, frame) of more than {FIRST} frames"
        )
    block = (*(slice(0, length) for length in source.shape[:-1]), slice(0, min(source.shape[-1], FRAMES)))
    return np.asarray(source.read(block)[0])


def moving_video(shape: tuple[int, int, int, int] = (90, 120, 3, 80)) -> NDArray[np.uint8]:
    """A generated scene: the camera pans slowly over a landscape of waves, and two discs cross it."""
    height, width, _, frames = shape
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    video = np.empty(shape, np.uint8)
    for t in range(frames):
        x = columns + 0.6 * t
        for colour in range(3):
            scene = 120 + 40 * np.sin(rows / (7 + colour) + x / 31) + 30 * np.cos(x / 11 - rows / 19 + colour)
            for speed, height_share in ((1.7, 0.3), (-1.1, 0.7)):
                centre = (width / 2 + speed * t) % width
                scene[(rows - height_share * height) ** 2 + (columns - centre) ** 2 < 80] = 60 + 60 * colour
            video[:, :, colour, t] = np.clip(scene, 0, 255)
    return video


def _damaged(video: NDArray[np.uint8], share: float) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """A fifth of the observed entries salt and pepper; and which are observed."""
    observed = None if share == 1.0 else observed_entries(video.shape, share, generator("stream", 1, TrialSeed.MASK))
    scaled = np.ascontiguousarray(video, np.float32) / np.float32(255)
    add_noise(scaled, "salt-and-pepper", generator("stream", 1, TrialSeed.NOISE), observed)
    return np.rint(scaled * np.float32(255)).astype(np.uint8), observed


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = process_time()
    result = work()
    return result, process_time() - start
