"""Random matroids, points of their polytopes, and an independent solver for the projection."""

from __future__ import annotations

import itertools
from typing import Any

import clarabel
import numpy as np
import scipy.sparse
import torch
from hypothesis import assume
from hypothesis import strategies as st
from torch import Tensor

from foresolve.sets import GraphicMatroid, LaminarMatroid, Matroid, PartitionMatroid, PolyhedralMatroid, UniformMatroid

KINDS = ("uniform", "partition", "laminar")


def draw_matroid(kind: str, seed: int, most: int = 9) -> Any:
    """Capacities from 0 to above the size of their set; groups may be empty, nested sets equal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    if kind == "uniform":
        return UniformMatroid(n, int(rng.integers(0, n + 1)))
    if kind == "partition":
        groups = int(rng.integers(1, n + 2))
        return PartitionMatroid(rng.integers(0, groups, n), rng.integers(0, 4, groups))
    if kind == "graphic":
        return GraphicMatroid(rng.integers(0, 5, (n, 2)), 5)
    sets = family(rng, rng.permutation(n), 0)
    return LaminarMatroid(n, sets, [int(rng.integers(0, len(s) + 2)) for s in sets])


def family(rng: np.random.Generator, items: np.ndarray, depth: int) -> list[np.ndarray]:
    sets = [items] if rng.random() < 0.7 else []
    if depth < 3 and len(items) > 1:
        parts = int(rng.integers(1, 4))
        label = rng.integers(0, parts + 1, len(items))  # the last label: in no part
        sets += [s for part in range(parts) for s in family(rng, items[label == part], depth + 1)]
    return sets


@st.composite
def matroids(strategy, kinds: tuple[str, ...] = KINDS, most: int = 9) -> Matroid:
    return draw_matroid(strategy(st.sampled_from(kinds)), strategy(st.integers(0, 100_000)), most)


def draw_targets(seed: int, shape: tuple[int, ...], ties: bool = False, scale: float = 1.0) -> Tensor:
    """What to project; with ties, multiples of 1/4, so that prices coincide and coordinates end on bounds."""
    y = np.random.default_rng(seed).normal(0.4, scale, shape)
    return torch.from_numpy(np.round(4 * y) / 4 if ties else y)


def draw_point(matroid: Matroid, seed: int, batch: int = 3, base: bool = True) -> Tensor:
    """Points of the base polytope, or of the independence polytope: means of a few independent sets."""
    rng = np.random.default_rng(seed)
    sets = [matroid.maximize(torch.from_numpy(rng.normal(size=(batch, matroid.n))), base=base) for _ in range(4)]
    weights = torch.from_numpy(rng.dirichlet(np.ones(4), batch))
    return (torch.stack(sets, 1) * weights[..., None]).sum(1)


def subsets(n: int) -> Tensor:
    """All sets of `n` items, `(2**n, n)`."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), dtype=torch.float64)


def nearest(matroid: PolyhedralMatroid, y: Tensor, base: bool) -> Tensor:
    """The projection of each row of `y`, by Clarabel; an instance that it does not solve to the end is not used."""
    n, (A, b) = matroid.n, matroid.rows()
    rows = [np.ones((int(base), n)), A.toarray(), np.eye(n), -np.eye(n)]
    sides = [np.full(int(base), float(matroid.rank)), b, np.ones(n), np.zeros(n)]
    cones = [clarabel.ZeroConeT(int(base)), clarabel.NonnegativeConeT(sum(map(len, sides[1:])))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-13)
    quadratic, matrix = scipy.sparse.csc_matrix(np.eye(n)), scipy.sparse.csc_matrix(np.concatenate(rows))
    projections = []
    for row in y.numpy():
        solution = clarabel.DefaultSolver(quadratic, -row, matrix, np.concatenate(sides), cones, settings).solve()
        assume(str(solution.status) in {"Solved", "AlmostSolved"})
        projections.append(solution.x)
    return torch.tensor(np.array(projections))
