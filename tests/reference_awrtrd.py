"""AWRTRD as plain dense algebra, straight from the paper (corrected signs). Imports nothing from ringlet."""

import numpy as np

from oracles import subchain

WEIGHTS = {
    "correntropy": lambda e, s: np.exp(-(e**2) / (2 * s**2)),
    "cauchy": lambda e, s: 1 / (1 + (e / s) ** 2),
    "huber": lambda e, s: np.minimum(1, s / np.maximum(np.abs(e), 1e-300)),
    "l2": lambda e, s: np.ones_like(e),
}


def unfolding(x, k):
    order = [*range(k, x.ndim), *range(k)]
    return x.transpose(order).reshape(x.shape[k], -1)


def core_rows(core):
    return core.transpose(1, 0, 2).reshape(core.shape[1], -1)


def path_laplacian(slices):
    steps = np.diff(np.eye(slices), axis=0)
    return steps.T @ steps


def sweep(cores, x, observed, sigma, loss="correntropy", ridge=0.0, scaling="global", smooth=None):
    """One sweep over all cores, everything formed, float64."""
    cores = [np.asarray(core, dtype=np.float64) for core in cores]
    for k in range(len(cores)):
        a, _, b = cores[k].shape
        S, A = subchain(cores, k), core_rows(cores[k])
        X = np.nan_to_num(unfolding(x, k))
        P = unfolding(observed, k).astype(float)
        E = X - A @ S.T
        weight = WEIGHTS[loss](E, sigma) * P
        G = S.T @ S
        level = np.trace(G) / len(G)
        mean_weight = weight.sum() / P.sum()
        share = level * mean_weight * P.mean()
        shares = level * mean_weight * P.mean(axis=1, keepdims=True)  # of every slice
        strength = 0.0 if smooth is None else smooth[k]
        L = path_laplacian(len(A))
        d = (weight * E) @ S - ridge * shares * A - share * strength * L @ A
        shift = 1e-10 * np.linalg.norm(G) + ridge * level
        system = np.kron(np.eye(len(A)), G + shift * np.eye(len(G))) + strength * level * np.kron(L, np.eye(len(G)))
        h = np.linalg.solve(system, d.ravel()).reshape(d.shape) if scaling != "none" else d
        curvature = np.sum(weight * (h @ S.T) ** 2) + ridge * np.sum(shares * h**2)
        curvature += share * strength * np.sum(h * (L @ h))
        eta = np.sum(d * h) / curvature
        cores[k] = (A + eta * h).reshape(-1, a, b).transpose(1, 0, 2)
    return cores


def trals_sweep(cores, x):
    """One sweep of alternating least squares."""
    cores = [np.asarray(core, dtype=np.float64) for core in cores]
    for k in range(len(cores)):
        a, _, b = cores[k].shape
        rows = np.linalg.lstsq(subchain(cores, k), unfolding(x, k).T, rcond=None)[0].T
        cores[k] = rows.reshape(-1, a, b).transpose(1, 0, 2)
    return cores
