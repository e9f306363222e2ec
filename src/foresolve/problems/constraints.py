"""Rows, bounds and integrality: what every linear problem is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.blocks import Block, as_integrality, common_device, count_variables, right_hand_side, stack
from foresolve.problems.bounds import as_bound, ordered, split_bounds
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.sparse_rows import SparseRows

SHARED = torch.Size()  # the batch shape of what all instances share


@dataclass(frozen=True, eq=False)
class Constraints:
    """`{x : C x = rhs where equality, C x <= rhs elsewhere, lower <= x <= upper, x_j integer where integrality}`.

    Made by `Constraints.of` and `Constraints.parse`, which check. Every tensor is shared or `(*batch, ...)`, and
    attached to the autograd graph.

    Attributes
    ----------
    rows: `C`, which may know its structure; where instances have a matrix each, their batch is flattened in it.
    matrix_batch: the batch shape of the rows.
    rhs: `(*batch, m)`.
    equality: `(m,)`.
    lower, upper: `(*batch, n)`.
    integrality: `(n,)`.
    implied_upper: whether the rows imply the upper bounds; solvers are then spared them, half their work.

    Examples
    --------
    >>> import foresolve
    >>> constraints = foresolve.Knapsack(weights=[3, 4, 5], capacity=8).constraints
    >>> constraints.rhs, constraints.upper
    (tensor([8.], dtype=torch.float64), tensor([1., 1., 1.], dtype=torch.float64))
    """

    rows: Rows
    matrix_batch: torch.Size
    rhs: Tensor
    equality: Tensor
    lower: Tensor
    upper: Tensor
    integrality: Tensor
    implied_upper: bool = False

    @classmethod
    def of(
        cls,
        rows: Rows,
        rhs: Tensor,
        equality: Tensor,
        bounds: tuple[Any, Any],
        integrality: Any = None,
        *,
        matrix_batch: torch.Size = SHARED,
        implied_upper: bool = False,
    ) -> Constraints:
        """From rows that know their structure; `bounds` and `integrality` as for `LinearProgram`."""
        sides = zip(("lower", "upper"), bounds)
        lower, upper = ordered(*(as_bound(name, side, rows.n, equality.device) for name, side in sides))
        flags = as_integrality(integrality, rows.n)
        return cls(rows, matrix_batch, rhs, equality, lower, upper, flags, implied_upper)

    @classmethod
    def parse(
        cls, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any, integrality: Any, n: int | None
    ) -> Constraints:
        """From what users have; the arguments of `LinearProgram`."""
        checks.outside_transforms("a problem")
        matrices = {"A_ub": A_ub, "A_eq": A_eq}  # in the order of the arguments: the first that is wrong is named
        parsed = {name: Block(name, matrix) for name, matrix in matrices.items() if matrix is not None}
        blocks = {name: parsed[name] for name in ("A_eq", "A_ub") if name in parsed}
        sides = {"A_eq": ("b_eq", b_eq), "A_ub": ("b_ub", b_ub)}
        for matrix, (name, side) in sides.items():
            if (side is None) != (matrix not in blocks):
                missing, given = (name, matrix) if side is None else (matrix, name)
                raise checks.fail(missing, f"given together with `{given}`", "None")
        lower, upper = split_bounds(bounds)
        size = count_variables(n, blocks, lower, upper)
        rhs = {sides[name][0]: right_hand_side(*sides[name], block) for name, block in blocks.items()}
        values = {name: block.values for name, block in blocks.items()}
        device = common_device(values | rhs | {"lower": lower, "upper": upper})
        shapes = {name: block.batch for name, block in blocks.items()}
        batch = checks.broadcast_batch(shapes | {name: side.shape[:-1] for name, side in rhs.items()})
        joined = [side.double().expand(*batch, -1) for side in rhs.values()]
        equality = torch.zeros(sum(block.m for block in blocks.values()), dtype=torch.bool, device=device)
        equality[: blocks["A_eq"].m if "A_eq" in blocks else 0] = True
        return cls.of(
            stack(list(blocks.values()), size, device),
            torch.cat(joined, -1) if joined else torch.zeros(0, dtype=torch.float64, device=device),
            equality,
            (lower, upper),
            integrality,
            matrix_batch=torch.broadcast_shapes(*shapes.values()) if blocks else batch,
        )

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.rows.n

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient may be asked for."""
        return any(part.requires_grad for part in (self.rows.values, self.rhs, self.lower, self.upper))

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.equality.device

    @cached_property
    def batch_shape(self) -> torch.Size:
        """That of everything together; `()` where all instances share it."""
        tensors = {"b": self.rhs, "lower": self.lower, "upper": self.upper}
        shapes = {name: tensor.shape[:-1] for name, tensor in tensors.items()}
        return checks.broadcast_batch({"A": self.matrix_batch} | shapes)

    @cached_property
    def _working_upper(self) -> Tensor:
        return torch.where(self.upper > self.lower, torch.inf, self.upper) if self.implied_upper else self.upper

    # -- numbers -----------------------------------------------------------------------------------------------------

    def polytope(self, batch: torch.Size) -> Polytope:
        """The feasible set, integrality aside, for a flattened batch; attached to the autograd graph."""

        def flat(tensor: Tensor) -> Tensor:
            tensor = tensor.double()
            size = tensor.shape[-1]
            return tensor.expand(*batch, -1).reshape(batch.numel(), size) if tensor.ndim > 1 else tensor[None]

        rows = self.rows
        if self.matrix_batch and self.matrix_batch != batch:
            inner = rows.values.shape[1:]
            rows = rows.with_values(
                rows.values.reshape(*self.matrix_batch, *inner).expand(*batch, *inner).reshape(batch.numel(), *inner)
            )
        return Polytope(rows, flat(self.rhs), self.equality, flat(self.lower), flat(self._working_upper))

    def excess(self, x: Tensor) -> Tensor:
        """`C x - rhs`, `(*batch, m)`, for `x` `(*batch, n)`; out of the autograd graph."""
        return self._products(x) - self.rhs.detach()

    def terms(self, x: Tensor) -> Tensor:
        """`|C| |x|`, `(*batch, m)`: what the rounding of `x` is measured by, row by row."""
        return self._products(x.abs(), torch.abs)

    def _products(self, x: Tensor, of: Callable[[Tensor], Tensor] = torch.clone) -> Tensor:
        rows = self.polytope(x.shape[:-1]).rows
        products = rows.with_values(of(rows.values.detach())).apply(x.reshape(prod(x.shape[:-1]), self.n))
        return products.reshape(*x.shape[:-1], self.rows.m)

    def matrices(self, mask: Tensor) -> scipy.sparse.csr_array | list[scipy.sparse.csr_array]:
        """Some of the rows as SciPy sparse (a list where there is one set per instance)."""
        wanted = mask.cpu().numpy()
        if not self.matrix_batch:
            return self.rows.scipy()[wanted]
        return [self.rows.scipy(i)[wanted] for i in range(self.matrix_batch.numel())]

    def dense(self) -> Tensor:
        """`C` with all its zeros, `(*batch, m, n)`."""
        rows = self._entries()
        if isinstance(rows, DenseRows):
            return rows.values.reshape(*self.matrix_batch, rows.m, self.n)
        row, column = rows.pattern.index.to(self.device)
        zeros = rows.values.new_zeros(*rows.values.shape[:-1], rows.m * self.n)
        return zeros.index_copy(-1, row * self.n + column, rows.values).reshape(*self.matrix_batch, rows.m, self.n)

    def _entries(self) -> DenseRows | SparseRows:
        """The rows, by their entries where they know a structure of their own."""
        if isinstance(self.rows, DenseRows | SparseRows):
            return self.rows
        entries = scipy.sparse.coo_array(self.rows.scipy())
        index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
        return SparseRows(self.rows.m, self.n, index, torch.from_numpy(entries.data).to(self.device))

    # -- instances, devices, files -----------------------------------------------------------------------------------

    def select(self, index: Tensor) -> Constraints:
        """Those of some instances `(B,)`, or of one (an index without dimension); the batch has one dimension."""
        count = self.batch_shape.numel()

        def pick(tensor: Tensor) -> Tensor:
            return tensor.expand(count, -1)[index] if tensor.ndim > 1 else tensor

        chosen = replace(self, rhs=pick(self.rhs), lower=pick(self.lower), upper=pick(self.upper))
        if not self.matrix_batch:
            return chosen
        values = self.rows.values
        rows = self.rows.with_values(values.expand(count, *values.shape[1:])[index])
        return replace(chosen, rows=rows, matrix_batch=index.shape)

    def to(self, device: torch.device) -> Constraints:
        """The same on another device."""
        names = ("rows", "rhs", "equality", "lower", "upper", "integrality")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})

    def config(self) -> configs.Config:
        """As JSON and tensors; rows that are neither dense nor sparse lose their structure."""
        rows = self._entries()
        names = ("rhs", "equality", "lower", "upper", "integrality", "implied_upper")
        return {name: getattr(self, name) for name in names} | {
            "values": rows.values,
            "index": rows.pattern.index if isinstance(rows, SparseRows) else None,
            "matrix_batch": list(self.matrix_batch),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Constraints:
        """What `config()` describes, checked entry by entry: a file may claim anything."""
        parts = {name: configs.tensor(config, name) for name in ("rhs", "equality", "lower", "upper", "integrality")}
        rhs, equality, bounds = parts["rhs"].double(), parts["equality"].bool(), (parts["lower"], parts["upper"])
        if any(part.ndim == 0 for part in parts.values()):
            raise ValueError("every tensor must have a dimension")
        m, n = rhs.shape[-1], bounds[0].shape[-1]
        batch = torch.Size([configs.whole("matrix_batch", size) for size in config["matrix_batch"]])
        values = configs.tensor(config, "values").double()
        index = None if config["index"] is None else configs.tensor(config, "index").long()
        if index is not None:
            _check_index(index, m, n)
        shape = (*((prod(batch),) if batch else ()), *((m, n) if index is None else index.shape[1:]))
        if values.shape != shape or equality.shape != (m,):
            raise ValueError(f"`values` must be {shape} and `equality` ({m},)")
        rows = DenseRows(values) if index is None else SparseRows(m, n, index, values)
        checks.finite("values", values)
        checks.finite("rhs", rhs)
        implied = config["implied_upper"] is True
        return cls.of(rows, rhs, equality, bounds, parts["integrality"], matrix_batch=batch, implied_upper=implied)


def _check_index(index: Tensor, m: int, n: int) -> None:
    """Positions of entries `(2, nnz)` within `(m, n)`: native code reads them later without looking."""
    if index.ndim != 2 or len(index) != 2:
        raise ValueError(f"`index` must be (2, entries); got {tuple(index.shape)}")
    limits = torch.tensor([[m], [n]])
    if bool(((index < 0) | (index >= limits)).any()):
        raise ValueError(f"`index` must lie within {m} rows and {n} variables")
