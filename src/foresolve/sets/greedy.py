"""Greedy sets: the gains that fit a set function, and the matroid's say in which items may join."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.laminar import UniformMatroid
from foresolve.sets.matroids.matroid import Matroid
from foresolve.solvers.arrays import Array, to_array, to_tensor
from foresolve.solvers.submodular.greedy import (
    Addable,
    CoverageMarginals,
    DenseMarginals,
    FacilityMarginals,
    Marginals,
    full_greedy,
    lazy_greedy,
)

# Numbers of parameters that are worked on at once: what lies in a processor's cache, and what a GPU has room for.
PART = {"cpu": 2**19, "cuda": 2**28}

# Functions (not classes derived from them, which may be others) whose gains have a formula.
FORMULAS: dict[type, type[DenseMarginals]] = {
    ProbabilisticCoverage: CoverageMarginals,
    FacilityLocation: FacilityMarginals,
}


def greedy(function: SetFunction, matroid: Matroid, theta: Tensor, batch: torch.Size) -> Tensor:
    """Bases `(B, n)`, boolean, that grow by the item of the largest gain; `theta` is `(*batch, *shape)`, detached.

    At least `1 - 1/e` of the best value under a cardinality, `1/2` for any matroid (Nemhauser, Wolsey, Fisher, 1978).
    """
    shape = theta.shape[theta.ndim - function.theta_dims :]
    flat = theta.expand(*batch, *shape).reshape(-1, *shape)
    if flat.shape[0] == 0:
        return torch.zeros(0, matroid.n, dtype=torch.bool, device=theta.device)
    formula = FORMULAS.get(type(function))
    if formula is None:
        found = [
            lazy_greedy(
                ValueMarginals(function.select(b, batch), one.double(), matroid.n), matroid.rank, addable_by(matroid)
            )
            for b, one in enumerate(flat)
        ]
        return torch.from_numpy(np.concatenate(found)).to(theta.device)
    weights = weight_rows(function, flat, batch)
    size = max(1, PART.get(theta.device.type, 2**28) // max(1, shape.numel()))
    sets = []
    for start in range(0, len(flat), size):
        part = slice(start, start + size)
        rows = weights[part] if len(weights) > 1 else weights
        marginals = formula(to_array(flat[part].double()), to_array(rows))
        method: Callable[..., Array] = full_greedy if theta.is_cuda else lazy_greedy
        sets.append(to_tensor(method(marginals, matroid.rank, addable_by(matroid))))
    return torch.cat(sets)


def weight_rows(function: SetFunction, theta: Tensor, batch: torch.Size) -> Tensor:
    """The weights of the targets, `(B or 1, targets)`, for flat `theta` `(B, n, targets)`."""
    weights = function.weights if isinstance(function, ProbabilisticCoverage) else None
    targets = theta.shape[-1]
    if weights is None:
        return torch.ones(1, targets, dtype=torch.float64, device=theta.device)
    return weights[None] if weights.ndim == 1 else weights.expand(*batch, targets).reshape(-1, targets)


class ValueMarginals(Marginals):
    """Gains of any set function as differences of its values, for one instance `theta` `(*shape)`."""

    count = 1

    def __init__(self, function: SetFunction, theta: Tensor, n: int) -> None:
        self.function, self.theta, self.n = function, theta, n
        self.mask = torch.zeros(n, dtype=torch.float64, device=theta.device)
        self._have = self._values(self.mask[None])

    def everything(self) -> np.ndarray:
        return self.some(np.zeros(self.n, dtype=np.int64), np.arange(self.n))[None]

    def some(self, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        index = torch.from_numpy(items).to(self.mask.device)
        return torch.cat([
            self._values(self.mask.expand(len(part), -1).scatter(1, part[:, None], 1.0)) - self._have
            for part in index.split(max(1, 2**22 // max(self.n, self.theta.numel())))
        ]).cpu().numpy()  # fmt: skip

    def add(self, items: np.ndarray) -> None:
        self.mask[int(items[0])] = 1.0
        self._have = self._values(self.mask[None])

    def _values(self, masks: Tensor) -> Tensor:
        return self.function.value(masks, self.theta.expand(len(masks), *self.theta.shape)).detach().double()


def addable_by(matroid: Matroid) -> Addable | None:
    """Which items the matroid lets join sets, for arrays of either kind; nothing where it lets all."""
    if isinstance(matroid, UniformMatroid):
        return None  # all items that are not in the set: greedy knows

    def addable(sets: Array) -> Array:
        if isinstance(sets, Tensor):
            return matroid.addable(sets)
        return matroid.addable(torch.from_numpy(sets).to(matroid.device)).cpu().numpy()

    return addable
