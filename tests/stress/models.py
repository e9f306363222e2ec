"""One drawn linear problem with its parameters: what the library is given, and the same numbers for the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

import foresolve
from tests.stress.exact import Polytope

NAMES = ("A_ub", "b_ub", "A_eq", "b_eq", "lower", "upper")
DIMENSIONS = {"A_ub": 2, "b_ub": 1, "A_eq": 2, "b_eq": 1, "lower": 1, "upper": 1}


@dataclass(frozen=True)
class Model:
    """The feasible set in NumPy arrays, each shared or `(*batch, ...)`."""

    A_ub: np.ndarray
    b_ub: np.ndarray
    A_eq: np.ndarray
    b_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integrality: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.lower.shape[-1]

    def changed(self, **parts: np.ndarray) -> Model:
        return replace(self, **parts)

    def instance(self, index: int, batch: Sequence[int]) -> Polytope:
        """The polytope of one instance of a flattened batch."""
        parts = {}
        for name in NAMES:
            array = getattr(self, name)
            own = array.shape[array.ndim - DIMENSIONS[name] :]
            parts[name] = np.broadcast_to(array, (*batch, *own)).reshape(int(np.prod(batch)), *own)[index]
        C = np.concatenate([parts["A_eq"], parts["A_ub"]])
        equality = np.arange(len(C)) < len(parts["A_eq"])
        rhs = np.concatenate([parts["b_eq"], parts["b_ub"]])
        return Polytope(C, rhs, equality, parts["lower"], parts["upper"])

    @classmethod
    def of(cls, problem: foresolve.LinearProgram) -> Model:
        """The rows of a problem from the catalogue, shared by all instances."""
        matrices = {name: getattr(problem, name).toarray() for name in ("A_ub", "A_eq")}
        tensors = {name: getattr(problem, name).detach().numpy() for name in ("b_ub", "b_eq", "lower", "upper")}
        integrality = problem.integrality.numpy()
        n = problem.n
        bounds = {name: np.broadcast_to(tensors[name], (*tensors[name].shape[:-1], n)) for name in ("lower", "upper")}
        return cls(**{**matrices, **tensors, **bounds}, integrality=integrality if integrality.any() else None)

    def arguments(self, form: str = "dense") -> dict[str, Any]:
        """What a user would write: `form` is dense, sparse (SciPy) or torch."""
        given: dict[str, Any] = {}
        for kind in ("ub", "eq"):
            matrix, side = getattr(self, f"A_{kind}"), getattr(self, f"b_{kind}")
            if matrix.shape[-2] == 0:
                continue
            if form == "sparse" and matrix.ndim == 2:
                matrix = scipy.sparse.csr_array(matrix)
            elif form == "torch":
                matrix, side = torch.from_numpy(matrix.copy()), torch.from_numpy(side.copy())
            given |= {f"A_{kind}": matrix, f"b_{kind}": side}
        return given | {"bounds": (self.lower, self.upper), "integrality": self.integrality, "n": self.n}


@dataclass(frozen=True)
class Draw:
    """One call of the library: a problem, parameters `(*batch, n)`, a smoothing (`None`: the layer's own)."""

    model: Model
    theta: Tensor
    gamma: float | None
    cotangent: Tensor
    problem: foresolve.LinearProgram | None = None
    form: str = "dense"
    sense: str = "max"
    parts: tuple[str, ...] = ("forward", "gradient", "exact")
    facts: dict[str, Any] = field(default_factory=dict)

    def build(self) -> foresolve.LinearProgram:
        """The problem; made anew from the arrays where no problem of the catalogue came with the draw."""
        if self.problem is not None:
            return self.problem
        return foresolve.LinearProgram(**self.model.arguments(self.form), sense=self.sense)  # type: ignore[arg-type]

    @property
    def batch(self) -> tuple[int, ...]:
        shapes = [self.theta.shape[:-1]]
        shapes += [getattr(self.model, name).shape[: -DIMENSIONS[name]] for name in NAMES]
        return tuple(torch.broadcast_shapes(*shapes))

    @property
    def count(self) -> int:
        return int(np.prod(self.batch))

    @property
    def minimizes(self) -> bool:
        return (self.sense if self.problem is None else self.problem.sense) == "min"

    def gains(self) -> np.ndarray:
        """`(B, n)`: what is maximized, exactly as given."""
        theta = self.theta.detach().double().numpy()
        flat = np.broadcast_to(theta, (*self.batch, theta.shape[-1])).reshape(self.count, self.model.n)
        return -flat if self.minimizes else flat

    def cotangents(self) -> np.ndarray:
        return self.cotangent.detach().double().numpy().reshape(self.count, self.model.n)

    def only(self, index: Sequence[int]) -> Draw:
        """The draw of some instances, as a batch of one dimension."""
        chosen = np.asarray(index)
        changes = {}
        for name in NAMES:
            array = getattr(self.model, name)
            own = array.shape[array.ndim - DIMENSIONS[name] :]
            if array.ndim > DIMENSIONS[name]:
                changes[name] = np.broadcast_to(array, (*self.batch, *own)).reshape(self.count, *own)[chosen]
        theta = self.theta.detach().expand(*self.batch, -1).reshape(self.count, self.model.n)[chosen]
        cotangent = self.cotangent.reshape(self.count, self.model.n)[chosen]
        return replace(self, model=self.model.changed(**changes), theta=theta, cotangent=cotangent)
