"""Saddle point systems of every metric, beside a dense solve of what they state."""

from __future__ import annotations

import numpy as np
import torch

from foresolve.solvers.projection.matrix_metrics import DenseMetric, LowRankMetric
from foresolve.solvers.projection.metric import IDENTITY, DiagonalMetric, Metric
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.saddle import SaddleTerms
from foresolve.solvers.projection.sparse_metric import SparseMetric, SymmetricPattern
from foresolve.solvers.projection.sparse_rows import SparseRows

KINDS = ("identity", "diagonal", "low rank", "dense", "sparse")


def metric_of(kind: str, seed: int, n: int, batch: int = 1) -> tuple[Metric, np.ndarray]:
    """A metric in NumPy, shared where `batch` is 1, and its matrices `(batch, n, n)`."""
    rng = np.random.default_rng(seed)
    shift = 0.5 + rng.random((batch, n))
    full = np.stack([np.diag(row) for row in shift])
    if kind == "identity":
        return IDENTITY, np.stack([np.eye(n)] * batch)
    if kind == "diagonal":
        return DiagonalMetric(shift), full
    if kind == "low rank":
        factor = rng.standard_normal((batch, n, 2))
        return LowRankMetric(shift, factor), full + factor @ factor.swapaxes(-1, -2)
    root = rng.standard_normal((batch, n, n)) * (1.0 if kind == "dense" else rng.random((n, n)) < 0.15)
    square = root @ root.swapaxes(-1, -2)
    if kind == "dense":
        return DenseMetric(shift, square), full + square
    place = np.stack(np.nonzero((square != 0).any(0)))
    pattern = SymmetricPattern(n, torch.from_numpy(place))
    return SparseMetric(shift, square[:, place[0], place[1]], pattern), full + square


def rows_of(seed: int, m: int, n: int, *, sparse: bool = False, batch: int = 0) -> tuple[Rows, np.ndarray]:
    """Rows and the same with all zeros, `(1 or batch, m, n)`."""
    rng = np.random.default_rng(seed + 100)
    keep = rng.random((m, n)) < 0.6
    values = rng.standard_normal((batch, m, n) if batch else (m, n)) * keep
    filled = values if batch else values[None]
    if not sparse:
        return DenseRows(values), filled
    place = np.stack(np.nonzero(keep))
    return SparseRows(m, n, torch.from_numpy(place), values[..., place[0], place[1]]), filled


def terms_of(
    seed: int, rows: Rows, batch: int, *, masked: bool, weighted: bool, free_share: float = 0.7
) -> SaddleTerms:
    rng = np.random.default_rng(seed + 200)
    free = (rng.random((batch, rows.n)) < free_share).astype(float)
    weight = rng.random((batch, rows.n)) * 3 if weighted else None
    mask = (rng.random((batch, rows.m)) < 0.7).astype(float) if masked else None
    return SaddleTerms(rows, free, 0.1 + rng.random((batch, rows.m)), weight, mask)


def right_side(seed: int, terms: SaddleTerms) -> tuple[np.ndarray, np.ndarray]:
    """`r` and `p`; of rows that do not count nothing is asked."""
    rng = np.random.default_rng(seed + 300)
    r, p = rng.standard_normal(terms.free.shape), rng.standard_normal(terms.e.shape)
    return r, p if terms.mask is None else p * terms.mask


def dense_step(
    H: np.ndarray, C: np.ndarray, terms: SaddleTerms, r: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`(H + w)_FF dx + C_F' dy = r_F,  C_F dx - e dy = p,  dx = 0 off F`, instance by instance."""
    dx, dy = np.zeros_like(r), np.zeros_like(p)
    for b in range(len(r)):
        free = np.flatnonzero(terms.free[b])
        own, rows = H[b if len(H) > 1 else 0], C[b if len(C) > 1 else 0]
        rows = rows if terms.mask is None else rows * terms.mask[b][:, None]
        own = own if terms.weight is None else own + np.diag(terms.weight[b])
        top = np.concatenate([own[np.ix_(free, free)], rows[:, free].T], 1)
        bottom = np.concatenate([rows[:, free], -np.diag(terms.e[b])], 1)
        solution = np.linalg.solve(np.concatenate([top, bottom]), np.concatenate([r[b, free], p[b]]))
        dx[b, free], dy[b] = solution[: len(free)], solution[len(free) :]
    return dx, dy
