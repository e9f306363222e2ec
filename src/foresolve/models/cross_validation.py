"""The numbers that baselines choose for themselves: the error on rows that are left out, for each of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base.randomness import as_generator
from foresolve.models.table import CHUNK

RIDGES = tuple(10.0 ** (2 - i / 4) for i in range(49))  # 1e2 to 1e-10, in units of the largest squared singular value
NEIGHBORS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
LEAVES = (1, 2, 3, 5, 10, 20, 50)
LEFT_OUT = 4096  # rows that `NearestNeighbors` leaves out, one at a time, at most


def ridge_errors(left: Tensor, values: Tensor, outputs: Tensor, share: Tensor, ridges: Tensor) -> Tensor:
    r"""Sums of squared leave-one-out errors of a ridge regression, for each ridge.

    With :math:`U \, \mathrm{diag}(s) \, V'` the centered rows times the root of their weights, :math:`y` the outputs
    alike, and :math:`p_i` the row's share of all weight, the error of row `i`, predicted from the others, is

    .. math::
        \frac{y_i - \sum_k u_{ik} f_k \, (U'y)_k}{1 - p_i - \sum_k u_{ik}^2 f_k}, \qquad f_k = \frac{s_k^2}{s_k^2 + r}

    Both are written with :math:`1 - f_k`, so that they keep their digits where they are small.

    Parameters
    ----------
    left: :math:`U`, `(R, r)`, of singular values that are not zero.
    values: :math:`s`, `(r,)`.
    outputs: `(R, o)`.
    share: `(R,)`.
    ridges: `> 0`.
    """
    along = left.mT @ outputs
    beyond = outputs - left @ along
    squares = left.square()
    free = (1 - share - squares.sum(1)).clamp_min(0)
    tiny = torch.finfo(outputs.dtype).tiny
    errors = []
    for ridge in ridges:
        rest = ridge / (values.square() + ridge)
        residual = beyond + left @ (rest[:, None] * along)
        errors.append((residual / (free + squares @ rest).clamp_min(tiny)[:, None]).square().sum())
    return torch.stack(errors)


def best_ridge(left: Tensor, values: Tensor, outputs: Tensor, share: Tensor) -> float:
    """The ridge of the least leave-one-out error, on the grid `RIDGES`; 0 where no feature varies."""
    if len(values) == 0:
        return 0.0
    ridges = values.max().square() * torch.tensor(RIDGES, dtype=values.dtype, device=values.device)
    return float(ridges[ridge_errors(left, values, outputs, share, ridges).argmin()])


def neighbor_errors(rows: Tensor, outputs: Tensor, counts: list[int]) -> Tensor:
    """Mean squared errors of rows that are predicted by the mean of their nearest others, for each number of these.

    Of more than `LEFT_OUT` rows, as many are drawn; each still has all others for neighbors.
    """
    chosen = torch.randperm(len(rows), generator=as_generator("seed", 0))[:LEFT_OUT].to(rows.device)
    places = torch.tensor(counts, device=rows.device)
    total = outputs.new_zeros(len(counts))
    for part in chosen.split(max(1, CHUNK // max(len(rows), max(counts) * outputs.shape[1]))):
        distances = torch.cdist(rows[part], rows, compute_mode="donot_use_mm_for_euclid_dist")
        distances[torch.arange(len(part), device=rows.device), part] = torch.inf
        nearest = distances.topk(max(counts), largest=False).indices
        means = outputs[nearest].cumsum(1)[:, places - 1] / places[:, None]
        total += (means - outputs[part].unsqueeze(1)).square().sum((0, 2))
    return total / (len(chosen) * outputs.shape[1])


def best_neighbors(rows: Tensor, outputs: Tensor) -> int:
    """The number of neighbors of the least leave-one-out error, on the grid `NEIGHBORS`."""
    counts = [k for k in NEIGHBORS if k < len(rows)]
    return counts[int(neighbor_errors(rows, outputs, counts).argmin())] if counts else 1


def leaf_sizes(rows: int) -> list[int]:
    """The sizes of the grid `LEAVES` that leave a tree room for a split."""
    return [leaf for leaf in LEAVES if leaf == 1 or 2 * leaf <= rows]


def out_of_bag_error(forest: Any, x: np.ndarray, target: np.ndarray) -> float:
    """The sum of squared errors of a forest of scikit-learn, each row predicted by the trees that did not see it.

    Rows that every tree has seen do not count.
    """
    total, times = np.zeros_like(target), np.zeros(len(x))
    for tree, seen in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.ones(len(x), dtype=bool)
        out[seen] = False
        total[out] += tree.tree_.predict(x[out]).reshape(-1, target.shape[1])
        times[out] += 1
    known = times > 0
    return float(np.square(total[known] / times[known, None] - target[known]).sum())
