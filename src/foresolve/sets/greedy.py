"""Greedy sets: a function's increments, and the matroid's say in which items may join."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.sparse import is_sparse
from foresolve.sets.matroids.laminar import UniformMatroid
from foresolve.sets.matroids.matroid import Matroid
from foresolve.solvers.arrays import Array, to_tensor
from foresolve.solvers.submodular.greedy import Addable, full_greedy, lazy_greedy
from foresolve.solvers.submodular.increments import Increments

# Numbers of parameters that are worked on at once: what lies in a processor's cache, and what a GPU has room for.
PART = {"cpu": 2**19, "cuda": 2**28}


def greedy(function: SetFunction, matroid: Matroid, theta: Tensor) -> Tensor:
    """Bases `(B, n)`, boolean, that grow by the item of the largest gain; `theta` is `(B, *shape)` or sparse.

    At least `1 - 1/e` of the best value under a cardinality, `1/2` for any matroid (Nemhauser, Wolsey, Fisher, 1978).
    """
    if is_sparse(theta):
        return _grow(function.increments(theta, matroid.n), matroid).to(theta.device)
    size = max(1, PART.get(theta.device.type, 2**28) // max(1, theta.shape[1:].numel()))
    sets, done = [torch.zeros(0, matroid.n, dtype=torch.bool, device=theta.device)], 0
    while done < len(theta):
        part = slice(done, done + size)
        increments = function.select(part, theta.shape[:1]).increments(theta[part], matroid.n)
        sets.append(_grow(increments, matroid).to(theta.device))
        done += increments.count
    return torch.cat(sets)


def _grow(increments: Increments, matroid: Matroid) -> Tensor:
    method = full_greedy if isinstance(increments.empty, Tensor) else lazy_greedy
    return to_tensor(method(increments, matroid.rank, addable_by(matroid)))


def addable_by(matroid: Matroid) -> Addable | None:
    """A function that tells which items the matroid lets join sets, for either kind of array; `None` if it lets all."""
    if isinstance(matroid, UniformMatroid):
        return None  # all items that are not in the set: greedy knows

    def addable(sets: Array) -> Array:
        if isinstance(sets, Tensor):
            return matroid.addable(sets)
        return matroid.addable(torch.from_numpy(sets).to(matroid.device)).cpu().numpy()

    return addable
