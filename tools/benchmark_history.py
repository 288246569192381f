"""Add a line to benchmarks/history.jsonl: quality and processor seconds of this version on a few small, fixed cases.

Lines can be compared if they were made on one machine. Quality hardly depends on it, seconds do.
"""

import json
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from skimage import data

import ringlet
from ringlet.report.metrics import psnr

_HISTORY = Path(__file__).parents[1] / "benchmarks" / "history.jsonl"


def _log() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    place, day, hour = np.ogrid[:30, :56, :24]
    size, swing = rng.gamma(6, 20, (30, 1, 1)), rng.uniform(0.2, 0.9, (30, 1, 1))
    truth = size * (1 + swing * np.sin((hour - 9) / 12 * np.pi) * (1 + 0.3 * np.cos(day / 7 * 2 * np.pi)))
    truth = truth * (1 + 0.03 * rng.standard_normal(truth.shape)) + 0 * place
    log = np.where(rng.random(truth.shape) < 0.05, 999.0, truth)
    return truth, np.where(rng.random(truth.shape) < 0.3, np.nan, log)


def _photo() -> tuple[np.ndarray, np.ndarray]:
    truth = data.coffee()[::3, ::3].astype(np.float32)
    rng = np.random.default_rng(1)
    damaged = np.where(rng.random(truth.shape) < 0.2, 255.0 * rng.integers(0, 2, truth.shape), truth)
    return truth, np.where(rng.random(truth.shape) < 0.5, np.nan, damaged).astype(np.float32)


def _waves() -> tuple[np.ndarray, np.ndarray]:
    truth = np.fromfunction(lambda i, j, k: np.cos(i / 9 + k / 14) * np.sin(j / 7), (60, 60, 40))
    rng = np.random.default_rng(2)
    return truth, truth + 0.05 * rng.standard_normal(truth.shape)


def _measured(truth: np.ndarray, damaged: np.ndarray, verb: str) -> dict[str, float]:
    start = time.process_time()
    estimate = ringlet.restore(damaged) if verb == "restore" else np.asarray(ringlet.decompose(damaged).ring)
    seconds = time.process_time() - start
    return {"psnr": round(psnr(estimate, truth, float(np.ptp(truth))), 2), "processor_seconds": round(seconds, 2)}


def main() -> None:
    """Measure all cases and append the line."""
    cases = {"log": _log(), "photo": _photo(), "waves": _waves()}
    line = {
        "version": ringlet.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "results": {
            f"{verb}/{name}": _measured(*case, verb)
            for name, case in cases.items()
            for verb in ("decompose", "restore")
        },
    }
    with _HISTORY.open("a", encoding="utf-8") as history:
        history.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=2))


if __name__ == "__main__":
    main()
