"""Measure how many wrong entries a fit finds, and how many right ones it doubts.

    python benchmarks/anomalies.py --data DIR [--part tensors|oracle|photos|draws] > benchmarks/anomalies.jsonl

tensors: `decompose(x).outliers(fdr=0.05)` on the arrays in the folders of DIR and on two generated ones, three draws.
Entries are moved by 3, 5 or 10 local standard deviations, replaced by -9999, stuck at one value (a part of a slice of
the first mode) or dead (fibres of the last mode at the smallest value). A local standard deviation is that of the
residuals of a fit of the undamaged tensor. What that fit already calls an outlier is not damaged and not counted.
oracle: the same entries off by 3, 5 and 10 deviations, found by one who has the fit of the undamaged tensor and its
local scale, and who knows the best limit for z-scores: the greatest recall at a precision of 0.92.
photos: pictures of scikit-image and scikit-learn at half size, 20 % salt and pepper, complete and 30 % observed:
entries with `weights()` below 0.5.
draws: the same pictures, 120 pixels on the shorter side, 40 % salt and pepper, five draws: PSNR in dB.

One line of JSON a fit; nothing here fails.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ringlet
from ringlet.bench.impute.samples import MeasuredTensor, builtin_tensors, tensors_in
from ringlet.bench.quality.cases import half_of
from ringlet.bench.quality.pictures import SCIKIT_IMAGE, SCIKIT_LEARN, scaled
from ringlet.experiments.runner import run_facts
from ringlet.report.metrics import psnr

FDR = 0.05
PRECISION = 0.92  # that the oracle has to keep
MOST_ENTRIES = 30_000  # of a tensor: of others the middle is taken
LARGEST = 10**9
SHARES = (0.02, 0.05, 0.035)  # of the entries that are damaged, by seed
SIZES = {"3 sigma": 3.0, "5 sigma": 5.0, "10 sigma": 10.0}
DAMAGES = (*SIZES, "-9999", "stuck", "dead")
FAR = 0.1  # of the range: wrong entries that are off by more should be doubted


def main() -> None:
    """Print records."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder with folders of arrays; without it, generated tensors only")
    parser.add_argument("--part", choices=("tensors", "oracle", "photos", "draws"), action="append")
    parser.add_argument("--only", default="", help="names of tensors or pictures that hold this")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    parts = options.part or ["tensors", "oracle", "photos", "draws"]
    measured = [] if options.data is None else tensors_in(options.data, LARGEST, {})
    for tensor in (*measured, *builtin_tensors()):
        if options.only in tensor.name:
            for part, measure in (("tensors", _of_tensor), ("oracle", _of_oracle)):
                if part in parts:
                    _print(part, measure(tensor, options.seeds))
    for name, read in {**SCIKIT_IMAGE, **SCIKIT_LEARN}.items():
        if options.only in name:
            for part, of_picture in (("photos", _of_photo), ("draws", _of_draws)):
                if part in parts:
                    _print(part, of_picture(name, read()))


def _print(part: str, records: Iterator[dict[str, Any]]) -> None:
    for record in records:
        print(json.dumps({"part": part} | record | run_facts()), flush=True)


def _undamaged(tensor: MeasuredTensor) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The tensor, local standard deviations, which entries count, and z-scores, all by a fit of it as it is."""
    clean = _middle(np.asarray(tensor.read(), np.float64))
    fit = ringlet.decompose(clean)
    zscores, residuals = fit.zscores(), fit.residuals()
    sigma = np.divide(residuals, zscores, out=np.zeros_like(residuals), where=zscores != 0)
    sigma = np.where(sigma > 0, sigma, np.nanmedian(sigma[sigma > 0]))
    return clean, sigma, np.isfinite(clean) & ~fit.outliers(fdr=FDR), zscores


def _of_oracle(tensor: MeasuredTensor, seeds: int) -> Iterator[dict[str, Any]]:
    clean, sigma, counted, zscores = _undamaged(tensor)
    for damage in SIZES:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            x, wrong = _damaged(clean, sigma, damage, SHARES[seed % len(SHARES)], counted, rng)
            sizes = np.abs(zscores + (x - clean) / sigma)[counted]
            hits = wrong[counted][np.argsort(-sizes)]
            found = np.cumsum(hits)
            enough = found >= PRECISION * np.arange(1, hits.size + 1)
            recall = float(found[enough].max() / hits.sum()) if enough.any() else 0.0
            yield {"tensor": tensor.name, "damage": damage, "seed": seed, "wrong": int(hits.sum()), "recall": recall}


def _of_tensor(tensor: MeasuredTensor, seeds: int) -> Iterator[dict[str, Any]]:
    clean, sigma, counted, _ = _undamaged(tensor)
    for damage in DAMAGES:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            x, wrong = _damaged(clean, sigma, damage, SHARES[seed % len(SHARES)], counted, rng)
            found = ringlet.decompose(x).outliers(fdr=FDR) & counted
            hits = int(np.count_nonzero(found & wrong))
            yield {
                "tensor": tensor.name,
                "shape": list(clean.shape),
                "damage": damage,
                "seed": seed,
                "half": half_of(f"{tensor.name}-{damage}"),
                "wrong": int(wrong.sum()),
                "found": int(found.sum()),
                "precision": hits / max(int(found.sum()), 1),
                "recall": hits / max(int(wrong.sum()), 1),
                "counted": float(counted.sum() / np.isfinite(clean).sum()),
            }


def _middle(tensor: np.ndarray) -> np.ndarray:
    """The middle half of the longest mode, until the tensor is small enough."""
    while tensor.size > MOST_ENTRIES:
        lengths = [
            length // 2 if mode == np.argmax(tensor.shape) else length for mode, length in enumerate(tensor.shape)
        ]
        starts = [(whole - part) // 2 for whole, part in zip(tensor.shape, lengths, strict=True)]
        tensor = tensor[tuple(slice(start, start + part) for start, part in zip(starts, lengths, strict=True))]
    return tensor


def _damaged(
    clean: np.ndarray, sigma: np.ndarray, damage: str, share: float, counted: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The damaged tensor, and which of its entries are not as they were."""
    x, chosen = clean.copy(), counted & (rng.random(clean.shape) < share)
    if damage in SIZES:
        x[chosen] += SIZES[damage] * sigma[chosen] * rng.choice([-1, 1], chosen.sum())
    elif damage == "-9999":
        x[chosen] = -9999
    elif damage == "dead":
        x[np.broadcast_to(rng.random((*clean.shape[:-1], 1)) < share, clean.shape)] = np.nanmin(clean)
    else:  # stuck: as many slices of the first mode as give the share
        part = clean.shape[1] // 3
        for one in rng.choice(len(clean), max(1, round(share * 3 * len(clean))), replace=False):
            start = int(rng.integers(0, clean.shape[1] - part + 1))
            inside = x[one, start : start + part]
            inside[:] = next(iter(inside[np.isfinite(inside)]), 0.0)
    x[np.isnan(clean)] = np.nan
    return x, (x != clean) & counted


def _of_photo(name: str, picture: np.ndarray) -> Iterator[dict[str, Any]]:
    truth = scaled(picture, min(picture.shape[:2]) // 2)
    for observed in (1.0, 0.3):
        x, known = _salt_and_pepper(truth, 0.2, observed, 0)
        doubted = ringlet.decompose(x, mask=known).weights() < 0.5
        wrong = known & (x != truth)
        far = wrong & (np.abs(x.astype(float) - truth) > FAR * 255)
        yield {
            "photo": name,
            "shape": list(truth.shape),
            "observed": observed,
            "doubted": float(doubted[known & ~wrong].mean()),
            "caught": float(doubted[far].mean()),
        }


def _of_draws(name: str, picture: np.ndarray) -> Iterator[dict[str, Any]]:
    truth = scaled(picture, 120)
    for observed in (1.0, 0.3):
        for seed in range(5):
            x, known = _salt_and_pepper(truth, 0.4, observed, seed)
            fit = ringlet.decompose(x, mask=known)
            found = {"ring": np.asarray(fit.ring), "restored": fit.restored()}
            scores = {key: psnr(one.astype(float), truth.astype(float), 255.0) for key, one in found.items()}
            yield {"photo": name, "shape": list(truth.shape), "observed": observed, "seed": seed} | scores


def _salt_and_pepper(truth: np.ndarray, share: float, observed: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    wrong = rng.random(truth.shape) < share
    x = np.where(wrong, rng.choice(np.array([0, 255], np.uint8), truth.shape), truth)
    return x, rng.random(truth.shape) < observed


if __name__ == "__main__":
    sys.exit(main())
