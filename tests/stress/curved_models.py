"""One drawn quadratic program: what the library is given, and the same numbers for the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
import torch

import foresolve
from tests.stress.curved_exact import fractions
from tests.stress.models import Draw

DIMENSIONS = {"Q": 2, "diagonal": 1, "factor": 2}


@dataclass(frozen=True)
class Curve:
    """`Q` by its parts, each shared or `(*batch, ...)`: `Q` itself, or `diagonal` and `factor`, or one of them.

    Attributes
    ----------
    form: dense, sparse (SciPy, where it is shared) or torch.
    leaning: whether the program needs its equality rows to be strictly convex.
    """

    parts: dict[str, np.ndarray]
    form: str = "dense"
    leaning: bool = False

    @property
    def batch(self) -> tuple[int, ...]:
        return torch.broadcast_shapes(*(part.shape[: -DIMENSIONS[name]] for name, part in self.parts.items()))

    def flat(self, batch: Sequence[int]) -> dict[str, np.ndarray]:
        """One for each instance."""
        inner = {name: part.shape[part.ndim - DIMENSIONS[name] :] for name, part in self.parts.items()}
        return {
            name: np.broadcast_to(part, (*batch, *inner[name])).reshape(int(np.prod(batch)), *inner[name])
            for name, part in self.parts.items()
        }

    def exact(self, index: int, batch: Sequence[int], gamma: float = 0.0) -> np.ndarray:
        """`Q + 2 gamma I` of one instance, in fractions."""
        return made({name: fractions(part[index]) for name, part in self.flat(batch).items()}, gamma)

    def only(self, index: Sequence[int], batch: Sequence[int]) -> Curve:
        flat = self.flat(batch)
        return replace(self, parts={
            name: flat[name][np.asarray(index)] if part.ndim > DIMENSIONS[name] else part
            for name, part in self.parts.items()
        })  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        given: dict[str, Any] = dict(self.parts)
        if self.form == "torch":
            return {name: torch.from_numpy(part.copy()) for name, part in given.items()}
        if self.form == "sparse" and "Q" in given and given["Q"].ndim == 2:
            return {"Q": scipy.sparse.csr_array(given["Q"])}
        return given


def made(parts: dict[str, np.ndarray], gamma: Any = 0.0) -> np.ndarray:
    """`Q + 2 gamma I` from the parts of one instance, in the arithmetic that they have."""
    if "Q" in parts:
        total = parts["Q"].copy()
    else:
        n = len(next(iter(parts.values())))
        total = np.full((n, n), Fraction(0), dtype=object)
        if "factor" in parts:
            total = total + parts["factor"].dot(parts["factor"].T)
        if "diagonal" in parts:
            total[np.arange(n), np.arange(n)] += parts["diagonal"]
    total[np.arange(len(total)), np.arange(len(total))] += 2 * (Fraction(gamma) if total.dtype == object else gamma)
    return total


@dataclass(frozen=True)
class CurvedDraw(Draw):
    """A draw with a quadratic part."""

    curve: Curve = Curve({})

    def build(self) -> foresolve.QuadraticProgram:
        arguments = self.model.arguments(self.form) | self.curve.arguments()
        return foresolve.QuadraticProgram(**arguments, sense=self.sense)  # type: ignore[arg-type]

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(torch.broadcast_shapes(super().batch, self.curve.batch))

    def only(self, index: Sequence[int]) -> CurvedDraw:
        chosen = super().only(index)
        assert isinstance(chosen, CurvedDraw)
        return replace(chosen, curve=self.curve.only(index, self.batch))
