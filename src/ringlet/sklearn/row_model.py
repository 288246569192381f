"""Rows of a table as samples of a Gaussian: a subspace, which a ring has found, and noise in every column.

A row is ``centre + basis @ c + noise``. The coefficients c of a new row are estimated by themselves, from its known
entries, so that the result for a row does not depend on the other rows that are given with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring import TensorRing
from ringlet.ring.chain import merge

__all__ = ["RowModel", "row_model"]

Array64: TypeAlias = NDArray[np.float64]

_NEGLIGIBLE = 1e-6  # singular values of the basis relative to the largest
_LEAST_NOISE = 1e-3  # of the spread of a column: below it the coefficients of incomplete rows are ill-conditioned
_OUTLYING = 3.0  # robust standard deviations: rows beyond do not count for the covariance
_COVARIANCE_ROUNDS = 5
_PRIOR_ROWS = 1.0  # what the diagonal counts in the covariance: also few rows give one that can be inverted
_WEIGHT_ROUNDS = 12  # of reweighting the entries of a row
_NARROWING = 0.5  # of the kernel in a round
_KERNEL_WIDTH = 3.0  # noise levels at which an entry loses weight
_BATCH_NUMBERS = 1 << 22  # in the normal equations that are solved at once


@dataclass(frozen=True, eq=False)
class RowModel:
    """The distribution of the rows of a table of p columns.

    Attributes
    ----------
    basis : array of shape (p, q)
        Orthonormal.
    mean : array of shape (q,)
        Of the coefficients.
    precision : array of shape (q, q)
        Inverse covariance of the coefficients.
    noise : array of shape (p,)
        Standard deviation in every column.
    """

    basis: Array64
    mean: Array64
    precision: Array64
    noise: Array64

    def estimate(self, rows: Array64) -> Array64:
        """All entries of rows from those that are known (not NaN); gross errors get little weight."""
        result = np.empty_like(rows)
        for part in self._batches(rows):
            known = ~np.isnan(rows[part])
            values = np.where(known, rows[part], 0.0)
            fitted = np.broadcast_to(self.mean @ self.basis.T, values.shape)
            for number in range(_WEIGHT_ROUNDS):  # the kernel narrows from the spread of the columns to their noise
                width = _KERNEL_WIDTH * np.maximum(self.noise, self._spread * _NARROWING**number)
                weights = known * np.exp(-0.5 * ((values - fitted) / width) ** 2)
                fitted = self._coefficients(values, weights) @ self.basis.T
            result[part] = fitted
        return result

    def distances(self, rows: Array64) -> Array64:
        """Squared Mahalanobis distance of every row per known entry; 1 is usual, and rows without any entry have 0."""
        result = np.empty(len(rows))
        for part in self._batches(rows):
            known = ~np.isnan(rows[part])
            values = np.where(known, rows[part], 0.0)
            coefficients = self._coefficients(values, known.astype(np.float64))
            residuals = np.where(known, values - coefficients @ self.basis.T, 0.0) / self.noise
            apart = coefficients - self.mean
            squares = np.sum(residuals**2, axis=1) + np.einsum("iq,qr,ir->i", apart, self.precision, apart)
            result[part] = squares / np.maximum(np.count_nonzero(known, axis=1), 1)
        return result

    @cached_property
    def _spread(self) -> Array64:
        """Standard deviation of every column."""
        signal = np.einsum("pq,qr,pr->p", self.basis, np.linalg.inv(self.precision), self.basis)
        return np.asarray(np.sqrt(np.maximum(signal, 0.0) + self.noise**2))

    def _coefficients(self, values: Array64, weights: Array64) -> Array64:
        """Maximum a posteriori, by the normal equations of every row."""
        q = self.mean.size
        weighted = weights / self.noise**2
        products = (self.basis[:, :, np.newaxis] * self.basis[:, np.newaxis, :]).reshape(-1, q * q)
        normal = (weighted @ products).reshape(-1, q, q) + self.precision
        right = (weighted * values) @ self.basis + self.precision @ self.mean
        return np.asarray(np.linalg.solve(normal, right[..., np.newaxis])[..., 0])

    def _batches(self, rows: Array64) -> Iterator[slice]:
        step = max(1, _BATCH_NUMBERS // max(self.mean.size**2, rows.shape[1]))
        return (slice(start, start + step) for start in range(0, len(rows), step))


def row_model(ring: TensorRing, noise: Array64) -> RowModel:
    """The distribution of the rows of a fitted table, from the ring whose mode 0 they are.

    Parameters
    ----------
    ring : TensorRing
        Of shape (n, ...); the other modes together are the columns.
    noise : array of shape (p,)
        Scale of the residuals in every column.
    """
    first, *others = ring.cores
    rest = merge(others)
    columns = rest.astype(np.float64).transpose(1, 2, 0).reshape(rest.shape[1], -1)  # (p, r_0 r_1)
    rows = first.astype(np.float64).transpose(1, 0, 2).reshape(first.shape[1], -1)  # (n, r_0 r_1)
    left, sizes, right = np.linalg.svd(columns, full_matrices=False)
    kept = max(1, int(np.count_nonzero(sizes > _NEGLIGIBLE * sizes[0])))
    basis = left[:, :kept]
    coefficients = rows @ (right[:kept].T * sizes[:kept])
    mean, covariance = _robust_covariance(coefficients)
    spread = np.sqrt(np.einsum("pq,qr,pr->p", basis, covariance, basis))
    least = _LEAST_NOISE * max(float(spread.max()), np.finfo(np.float64).tiny)
    precision: Array64 = np.linalg.inv(covariance).astype(np.float64)
    return RowModel(basis, mean, precision, np.maximum(noise, np.maximum(_LEAST_NOISE * spread, least)))


def _robust_covariance(coefficients: Array64) -> tuple[Array64, Array64]:
    """Mean and covariance of the rows that are not far from the others."""
    count, order = coefficients.shape
    chosen = np.ones(count, bool)
    mean = np.median(coefficients, axis=0)
    spread = 1.4826 * np.median(np.abs(coefficients - mean), axis=0)
    covariance = np.diag(np.where(spread > 0, spread, np.std(coefficients, axis=0)) ** 2)
    least = max(float(np.trace(covariance)) / order, 1e-12 * float(np.mean(coefficients**2)), np.finfo(np.float64).tiny)
    for _ in range(_COVARIANCE_ROUNDS):
        covariance = covariance + 1e-9 * least * np.eye(order)
        apart = coefficients - mean
        logs = np.log(np.maximum(np.einsum("iq,iq->i", apart @ np.linalg.inv(covariance), apart), 1e-12))
        middle = np.median(logs)
        chosen = logs <= middle + _OUTLYING * max(1.4826 * float(np.median(np.abs(logs - middle))), 0.3)
        mean = coefficients[chosen].mean(axis=0)
        apart = coefficients[chosen] - mean
        diagonal = np.diag(np.mean(apart**2, axis=0))
        covariance = (apart.T @ apart + _PRIOR_ROWS * diagonal) / (len(apart) + _PRIOR_ROWS)
    return mean, covariance + 1e-9 * least * np.eye(order)
