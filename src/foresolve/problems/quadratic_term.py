"""Quadratic forms in the structures that they come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.blocks import Block
from foresolve.solvers.projection.definiteness import DEFINITE, MOST_DENSE, definite, sparse_definite
from foresolve.solvers.projection.matrix_metrics import DenseMetric, LowRankMetric
from foresolve.solvers.projection.metric import DiagonalMetric, Metric
from foresolve.solvers.projection.sparse_metric import SparseMetric, SymmetricPattern

# Of the largest entry: a larger difference between the triangles of a matrix is a mistake.
ASYMMETRY = 1e-8
# With fewer variables a sparse matrix is filled in, and so is one on a GPU with fewer than that.
FEW, FEW_ON_GPU = 200, 3_000
# Factors for more than this share of the variables are multiplied out.
MANY_FACTORS = 0.5


@dataclass(frozen=True, eq=False)
class QuadraticTerm:
    r"""`Q`, positive semidefinite: a matrix, dense or by its entries, or :math:`\mathrm{diag}(d) + V V^\top`.

    Every tensor is shared or `(*batch, ...)`, float64, and attached to the autograd graph.

    Attributes
    ----------
    n: the number of variables.
    diagonal: `(*batch, n)`.
    factor: `V` `(*batch, n, k)`.
    matrix: `(*batch, n, n)`, symmetric.
    entries: `(*batch, nnz)` of a sparse matrix, at the places of `pattern`, both triangles.
    """

    n: int
    diagonal: Tensor | None = None
    factor: Tensor | None = None
    matrix: Tensor | None = None
    entries: Tensor | None = None
    pattern: SymmetricPattern | None = None

    # -- from what users have ----------------------------------------------------------------------------------------

    @classmethod
    def parse(cls, Q: Any, diagonal: Any, factor: Any) -> QuadraticTerm:
        """The arguments of `QuadraticProgram`, checked; that it is convex is checked where it is used."""
        if Q is not None and (diagonal is not None or factor is not None):
            raise checks.fail("Q", "given alone, or `diagonal` and `factor` instead", "both")
        if Q is not None:
            return cls._of_matrix(Q)
        if diagonal is None and factor is None:
            remedy = "Without a quadratic part, the problem is a `LinearProgram`"
            raise checks.fail("Q", "given, or `diagonal` and `factor`", "none of them", remedy)
        parts: dict[str, Any] = {}
        if diagonal is not None:
            parts["diagonal"] = checks.as_tensor("diagonal", diagonal).double()
            if parts["diagonal"].ndim == 0:
                raise checks.fail("diagonal", "(*batch, n)", "a single number", "Write it for each variable")
        if factor is not None:
            parts["factor"] = checks.as_tensor("factor", factor).double()
            if parts["factor"].ndim < 2:
                shape = tuple(parts["factor"].shape)
                raise checks.fail("factor", "(*batch, n, k)", f"shape {shape}", "One factor is `factor[:, None]`")
        for name, part in parts.items():
            checks.finite(name, part)
        sizes = {name: part.shape[-1 if name == "diagonal" else -2] for name, part in parts.items()}
        if len(set(sizes.values())) > 1:
            raise checks.fail("factor", f"of {sizes['diagonal']} rows, as `diagonal`", f"{sizes['factor']} rows")
        return cls(next(iter(sizes.values())), **parts)

    @classmethod
    def _of_matrix(cls, Q: Any) -> QuadraticTerm:
        block = Block("Q", Q)
        if block.m != block.n:
            remedy = "A diagonal is given as `diagonal=`, a factor as `factor=`"
            raise checks.fail("Q", "square, (*batch, n, n)", f"{block.m} x {block.n}", remedy)
        if block.dense is not None:
            matrix = block.dense.double()
            if torch.equal(matrix, matrix.mT):
                return cls(block.n, matrix=matrix.clone())
            _check_symmetric(matrix, matrix.mT)
            return cls(block.n, matrix=(matrix + matrix.mT) / 2)
        return cls._of_entries(block.n, block.index, block.values.double())

    @classmethod
    def _of_entries(cls, n: int, index: Tensor, values: Tensor) -> QuadraticTerm:
        """Entries that may lack their mirror images."""
        keys, mirrored = index[0] * n + index[1], index[1] * n + index[0]
        union = torch.unique(torch.cat([keys, mirrored]))
        full = values.new_zeros(*values.shape[:-1], len(union))
        one = full.index_copy(-1, torch.searchsorted(union, keys), values)
        other = full.index_copy(-1, torch.searchsorted(union, mirrored), values)
        _check_symmetric(one, other)
        pattern = SymmetricPattern(n, torch.stack([union // n, union % n]))
        return cls(n, entries=(one + other) / 2, pattern=pattern)

    # -- the form ----------------------------------------------------------------------------------------------------

    @property
    def _parts(self) -> dict[str, Tensor]:
        names = ("diagonal", "factor", "matrix", "entries")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @cached_property
    def batch_shape(self) -> torch.Size:
        """`()` where all instances share the form."""
        return checks.broadcast_batch({f"`{name}`": _batch(name, part) for name, part in self._parts.items()})

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return next(iter(self._parts.values())).device

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient may be asked for."""
        return any(part.requires_grad for part in self._parts.values())

    @cached_property
    def definite(self) -> Tensor:
        """Which instances have `x'Qx > 0` for every `x != 0`, `(1 or B,)` on the CPU."""
        if self.diagonal is not None and bool((self.diagonal.detach() > 0).all()):
            return torch.ones(1, dtype=torch.bool)
        if self.matrix is None and self.entries is None and self.factor is None:
            return torch.zeros(1, dtype=torch.bool)
        flat = self.flat(self.batch_shape)
        if self.large:
            forms = (flat.form(i) for i in range(self.batch_shape.numel()))
            return torch.tensor([sparse_definite(form, -DEFINITE) for form in forms])
        return definite(flat.dense().detach()).cpu()

    @property
    def large(self) -> bool:
        """Whether it is sparse, and too large to be stored with all its zeros."""
        return self.entries is not None and self.n > MOST_DENSE

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each part has for one instance."""
        return {name: prod(part.shape[len(_batch(name, part)) :]) for name, part in self._parts.items()}

    def with_numbers(self, numbers: Mapping[str, Tensor]) -> QuadraticTerm:
        """The same structure with other entries: for some parts, `(*batch, size)` row by row."""
        shapes = {name: part.shape[len(_batch(name, part)) :] for name, part in self._parts.items()}
        made = {name: part.reshape(*part.shape[:-1], *shapes[name]) for name, part in numbers.items()}
        if "matrix" in made:
            made["matrix"] = (made["matrix"] + made["matrix"].mT) / 2
        return replace(self, **made)

    def product(self, x: Tensor) -> Tensor:
        """`Q x`, `(*batch, n)`, in float64; differentiable in both."""
        x = x.double()
        total = x.new_zeros(())
        if self.diagonal is not None:
            total = total + self.diagonal * x
        if self.factor is not None:
            total = total + (self.factor @ (self.factor.mT @ x.unsqueeze(-1))).squeeze(-1)
        if self.matrix is not None:
            total = x @ self.matrix if self.matrix.ndim == 2 else (self.matrix @ x.unsqueeze(-1)).squeeze(-1)
        if self.entries is not None:
            assert self.pattern is not None
            row, column = self.pattern.index.to(x.device)
            terms = self.entries * x[..., column]
            total = terms.new_zeros(*terms.shape[:-1], self.n).index_add(-1, row, terms)
        return total

    def value(self, x: Tensor) -> Tensor:
        """`x'Qx / 2`, `(*batch,)`, in float64."""
        return (x.double() * self.product(x)).sum(-1) / 2

    def dense(self) -> Tensor:
        """`Q` with all its zeros, `(*batch, n, n)`; differentiable."""
        if self.matrix is not None:
            return self.matrix
        if self.entries is not None:
            assert self.pattern is not None
            row, column = self.pattern.index.to(self.entries.device)
            zeros = self.entries.new_zeros(*self.entries.shape[:-1], self.n * self.n)
            return zeros.index_copy(-1, row * self.n + column, self.entries).reshape(*zeros.shape[:-1], self.n, self.n)
        total = None if self.diagonal is None else torch.diag_embed(self.diagonal)
        if self.factor is not None:
            square = self.factor @ self.factor.mT
            total = square if total is None else total + square
        assert total is not None
        return total

    def form(self, i: int) -> scipy.sparse.csc_array:
        """That of instance `i` of a flat term, as SciPy sparse."""

        def own(part: Tensor) -> np.ndarray:
            return part[i if len(part) > 1 else 0].detach().cpu().numpy()

        if self.entries is not None:
            assert self.pattern is not None
            places = (self.pattern.row, self.pattern.column)
            return scipy.sparse.csc_array((own(self.entries), places), (self.n, self.n))
        if self.diagonal is not None and self.factor is None:
            return scipy.sparse.csc_array(scipy.sparse.diags_array(own(self.diagonal)))
        return scipy.sparse.csc_array(own(self.dense()))

    # -- for the solvers ---------------------------------------------------------------------------------------------

    def metric(self, batch: torch.Size, gamma: Tensor, *, leaning: bool = False) -> Metric:
        """`Q + 2 gamma I` for a flattened batch, in the structure that costs least; `gamma` `(1 or B,)`.

        `leaning` says that it is definite on the null space of the equality rows alone.
        """
        own = self.flat(batch)
        shift = 2 * gamma.unsqueeze(-1).expand(-1, self.n)
        if own.diagonal is not None:
            shift = shift + own.diagonal
        positive = not leaning and bool((shift.detach() > 0).all())
        if own.matrix is None and own.entries is None and own.factor is None and positive:
            return DiagonalMetric(shift)
        if own.factor is not None and positive and own.factor.shape[-1] <= MANY_FACTORS * self.n:
            return LowRankMetric(shift, own.factor)
        if own.entries is not None and not leaning:
            assert self.pattern is not None
            few = FEW if own.entries.device.type == "cpu" else FEW_ON_GPU
            if self.n > few:
                return SparseMetric(shift, own.entries, self.pattern)
        without_diagonal = replace(own, diagonal=None) if own.factor is not None else own
        if own.matrix is None and own.entries is None and own.factor is None:
            return DenseMetric(shift, shift.new_zeros(1, self.n, self.n), leaning=leaning)
        return DenseMetric(shift, without_diagonal.dense(), leaning=leaning)

    def detached(self) -> QuadraticTerm:
        """The same numbers, out of the autograd graph."""
        return replace(self, **{name: part.detach() for name, part in self._parts.items()})

    def flat(self, batch: torch.Size) -> QuadraticTerm:
        """With one dimension for a batch: `(B, ...)`, or `(1, ...)` where it is shared."""

        def flattened(name: str, part: Tensor) -> Tensor:
            own = _batch(name, part)
            inner = part.shape[len(own) :]
            return part.expand(*batch, *inner).reshape(batch.numel(), *inner) if own else part.unsqueeze(0)

        return replace(self, **{name: flattened(name, part) for name, part in self._parts.items()})

    # -- instances, devices, files -----------------------------------------------------------------------------------

    def select(self, index: Tensor) -> QuadraticTerm:
        """That of some instances `(B,)`, or of one; itself where all share it."""
        picked = {name: part[index] for name, part in self._parts.items() if _batch(name, part)}
        return replace(self, **picked) if picked else self

    def to(self, device: torch.device) -> QuadraticTerm:
        """The same on another device."""
        return replace(self, **{name: part.to(device) for name, part in self._parts.items()})

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        index = {} if self.pattern is None else {"index": self.pattern.index}
        return {"n": self.n, **self._parts, **index}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> QuadraticTerm:
        """What `config()` describes, checked entry by entry."""
        n = configs.size(config, "n")
        if "index" in config:
            index, values = configs.tensor(config, "index").long(), configs.tensor(config, "entries").double()
            if index.ndim != 2 or index.shape != (2, values.shape[-1]) or bool(((index < 0) | (index >= n)).any()):
                raise ValueError(f"`index` must be (2, entries) within ({n}, {n})")
            checks.finite("entries", values)
            return cls._of_entries(n, index, values)
        parts = {name: configs.tensor(config, name) for name in ("diagonal", "factor", "matrix") if name in config}
        term = cls.parse(parts.pop("matrix", None), parts.get("diagonal"), parts.get("factor"))
        if term.n != n:
            raise ValueError(f"the quadratic part must have {n} variables; it has {term.n}")
        return term


def _batch(name: str, part: Tensor) -> torch.Size:
    return part.shape[:-1] if name in {"diagonal", "entries"} else part.shape[:-2]


def _check_symmetric(one: Tensor, other: Tensor) -> None:
    gap = (one - other).detach().abs()
    size = one.detach().abs().amax() if one.numel() else one.new_zeros(())
    if gap.numel() and bool(gap.amax() > ASYMMETRY * size):
        got = f"entries that differ from their mirror images by up to {float(gap.amax()):.3g}"
        raise checks.fail("Q", "symmetric", got, "x'Qx is that of `(Q + Q.T) / 2`; one triangle alone is not Q")
