"""Linear and mixed-integer linear programs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem
from foresolve.problems.constraints import (
    Block,
    as_bound,
    as_integrality,
    common_device,
    count_variables,
    right_hand_side,
    split_bounds,
    stack,
)
from foresolve.problems.feasibility import Feasibility, inspect
from foresolve.problems.mps import read_mps
from foresolve.solvers.exact.highs import HighsPool
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import Rows

Sense = Literal["max", "min"]


class LinearProgram(Problem):
    r"""`max theta'x` (or `min`, see `sense`) over a polytope, with optional integer variables.

    .. math::
        \max_x \; \theta^\top x \quad \text{s.t.} \quad A_{eq} x = b_{eq},\; A_{ub} x \le b_{ub},\;
        \ell \le x \le u,\; x_j \in \mathbb{Z} \text{ where integrality}_j = 1

    The names and meanings are those of SciPy's `linprog` and `milp`. Matrices may be NumPy, SciPy sparse, torch
    dense or torch sparse; every argument may be shared by all instances or carry leading batch dimensions, and
    tensors that require grad receive gradients from a layer (predicted constraints).

    Parameters
    ----------
    A_ub, b_ub: `(*batch, m_ub, n)` and `(*batch, m_ub)`.
    A_eq, b_eq: `(*batch, m_eq, n)` and `(*batch, m_eq)`.
    bounds: `(lower, upper)`, each a number, `None` for no bound, or `(*batch, n)`; a list of `n` `(min, max)` pairs and
        `scipy.optimize.Bounds` are understood too.
    integrality: 0 (continuous) or 1 (integer), a number or `(n,)`; it matters to `solve`, layers relax it.
    sense: with "min", `theta` are costs and the objective is `-theta'x`.
    n: the number of variables, where nothing else tells it.
    names: names of the variables, for messages.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0])
    >>> problem.solve(torch.tensor([[1.0, 3.0], [2.0, -1.0]]))
    tensor([[0., 1.],
            [1., 0.]])
    """

    exact = True
    linear = True

    def __init__(
        self,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = (0, np.inf),
        integrality: Any = None,
        sense: Sense = "max",
        *,
        n: int | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        blocks = {name: Block(name, a) for name, a in (("A_eq", A_eq), ("A_ub", A_ub)) if a is not None}
        sides = {"b_eq": b_eq, "b_ub": b_ub}
        for name, side in sides.items():
            if (side is None) != ("A" + name[1:] not in blocks):
                missing = name if side is None else "A" + name[1:]
                raise checks.InvalidInputError(f"`{missing}` is missing: A and b of a block come together")
        lower, upper = split_bounds(bounds)
        size = count_variables(n, blocks, lower, upper)
        rhs = [right_hand_side(name, sides[name], blocks["A" + name[1:]]) for name in ("b_eq", "b_ub")
               if "A" + name[1:] in blocks]  # fmt: skip
        device = common_device(blocks, rhs, lower, upper)
        batch = checks.broadcast_batch({name: block.batch for name, block in blocks.items()}
                                       | {f"b{i}": side.shape[:-1] for i, side in enumerate(rhs)})  # fmt: skip
        joined = torch.cat([side.double().expand(*batch, -1) for side in rhs], -1) if rhs else None
        equality = torch.zeros(sum(block.m for block in blocks.values()), dtype=torch.bool, device=device)
        equality[: blocks["A_eq"].m if "A_eq" in blocks else 0] = True
        rows = stack(list(blocks.values()), size, device)
        matrix_batch = torch.broadcast_shapes(*(block.batch for block in blocks.values())) if blocks else torch.Size()
        self._set(rows, matrix_batch, joined, equality, (lower, upper), integrality, sense, names)

    def _set(
        self,
        rows: Rows,
        matrix_batch: torch.Size,
        rhs: Tensor | None,
        equality: Tensor,
        bounds: tuple[Any, Any],
        integrality: Any = None,
        sense: Sense = "max",
        names: Sequence[str] | None = None,
        implied_upper: bool = False,
    ) -> None:
        """Store checked constraints; catalogue problems call this with rows that know their structure.

        Where the rows imply the upper bounds (`implied_upper`), solvers are spared them: half their work.
        """
        if sense not in ("max", "min"):
            raise checks.fail("sense", '"max" or "min"', repr(sense))
        self.sense = sense
        self.names = None if names is None else tuple(names)
        if self.names is not None and len(self.names) != rows.n:
            raise checks.fail("names", f"a name for each of the {rows.n} variables", f"{len(self.names)} names")
        self.device = equality.device
        self._rows, self._matrix_batch, self._equality = rows, matrix_batch, equality
        self._rhs = torch.zeros(rows.m, dtype=torch.float64, device=self.device) if rhs is None else rhs
        self.lower, self.upper = (as_bound(name, b, rows.n, self.device) for name, b in zip(("lower", "upper"), bounds))
        if bool((self.lower > self.upper).any()):
            where = (self.lower > self.upper).nonzero()[0].tolist()
            low, high = torch.broadcast_tensors(self.lower, self.upper)
            found = f"{low[tuple(where)].item()} > {high[tuple(where)].item()} at {where}"
            raise checks.fail("bounds", "lower <= upper", found)
        self._working_upper = (
            torch.where(self.upper > self.lower, torch.inf, self.upper) if implied_upper else self.upper
        )
        self.integrality = as_integrality(integrality, rows.n)
        self.batch_shape = checks.broadcast_batch(
            {
                "A": matrix_batch,
                "b": self._rhs.shape[:-1],
                "lower": self.lower.shape[:-1],
                "upper": self.upper.shape[:-1],
            }
        )
        self._pool: HighsPool | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return self._rows.n

    @property
    def traits(self) -> frozenset[str]:
        """What the problem offers: rows and bounds, and 0/1 variables if all integer ones are."""
        return super().traits | {"rows"} | ({"binary"} if self._binary else set())

    @cached_property
    def _binary(self) -> bool:
        """Whether all integer variables are 0/1; worked out once, for every training step asks."""
        integer = self.integrality.bool().to(self.device)
        return bool(((self.lower >= 0) & (self.upper <= 1) | ~integer).all())

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """`theta'x` for `sense="max"`, `-theta'x` for costs; `(*batch,)`."""
        self.check_theta(theta)
        checks.last_dim("x", x, self.n)
        return (self.gain(theta) * x.to(theta.dtype)).sum(-1)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def argmax(self, gains: Tensor) -> Tensor:
        """`argmax_x gains' x`, exact and discrete, in the dtype and on the device of `gains`.

        Raises `InfeasibleError` or `UnboundedError` that name the instances.
        """
        gains = checks.as_tensor("gains", gains)
        checks.last_dim("gains", gains, self.n)
        checks.finite("gains", gains)
        batch = checks.broadcast_batch({"`gains`": gains.shape[:-1], "the problem": self.batch_shape})
        flat = gains.detach().double().expand(*batch, -1).reshape(-1, self.n)
        return self._decide(flat, batch).to(gains).reshape(*batch, self.n)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        """Best decisions for `(B, n)` gains; catalogue problems override this with their own algorithm."""
        return self._highs(gains, batch)

    def _highs(self, gains: Tensor, batch: torch.Size) -> Tensor:
        """By HiGHS, whatever the structure. `_pool` holds models, never answers: each call starts afresh."""
        if self._pool is None:
            integer = self.integrality.cpu().numpy() if bool(self.integrality.any()) else None
            self._pool = HighsPool(self.polytope(self.batch_shape).to(torch.device("cpu")).numeric(), integer)
        own = np.arange(self.batch_shape.numel()).reshape(self.batch_shape)
        model_of = np.broadcast_to(own, tuple(batch)).reshape(-1)
        return torch.from_numpy(self._pool.solve(gains.cpu().numpy(), model_of, batch))

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions are feasible; if not, which row or bound is broken and by how much.

        `relaxed` leaves integrality aside, as layers do.
        """
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        checks.same_device("x", x, self.device)
        x = x.detach().double()
        batch = checks.broadcast_batch({"x": x.shape[:-1], "the problem": self.batch_shape})
        excess = self._products(x.expand(*batch, -1)) - self._rhs.detach()
        amounts = {
            "A_eq": excess[..., self._equality].abs(),
            "A_ub": excess[..., ~self._equality],
            "lower": self.lower.detach() - x,
            "upper": x - self.upper.detach(),
            "integrality": (x - x.round()).abs() * self.integrality.to(x),
        }
        if relaxed:
            del amounts["integrality"]
        return inspect(amounts, tol, batch, self._name)

    # -- access ------------------------------------------------------------------------------------------------------

    def polytope(self, batch: torch.Size) -> Polytope:
        """The feasible set for a flattened batch, data attached to the autograd graph."""

        def flat(tensor: Tensor) -> Tensor:
            tensor = tensor.double()
            size = tensor.shape[-1]
            return tensor.expand(*batch, -1).reshape(-1, size) if tensor.ndim > 1 else tensor[None]

        rows = self._rows
        if self._matrix_batch and self._matrix_batch != batch:
            inner = rows.values.shape[1:]
            rows = rows.with_values(
                rows.values.reshape(*self._matrix_batch, *inner).expand(*batch, *inner).reshape(-1, *inner)
            )
        return Polytope(rows, flat(self._rhs), self._equality, flat(self.lower), flat(self._working_upper))

    @property
    def A_ub(self) -> scipy.sparse.csr_array | list[scipy.sparse.csr_array]:
        """The inequality rows as SciPy sparse (a list where there is one set per instance)."""
        return self._matrices(~self._equality)

    @property
    def A_eq(self) -> scipy.sparse.csr_array | list[scipy.sparse.csr_array]:
        """The equality rows as SciPy sparse (a list where there is one set per instance)."""
        return self._matrices(self._equality)

    @property
    def b_ub(self) -> Tensor:
        """The right-hand sides of the inequalities."""
        return self._rhs[..., ~self._equality]

    @property
    def b_eq(self) -> Tensor:
        """The right-hand sides of the equalities."""
        return self._rhs[..., self._equality]

    def _moved(self, device: torch.device) -> Self:
        moved = copy.copy(self)
        moved.device = device
        for name in ("_rows", "_rhs", "_equality", "lower", "upper", "_working_upper", "integrality"):
            setattr(moved, name, getattr(self, name).to(device))
        return moved

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`, or of one (an index without dimension); itself where all share it."""
        if not self.batch_shape:
            return self
        if len(self.batch_shape) > 1:
            raise checks.fail(
                "problem", "a batch of one dimension, to select from", f"a batch {tuple(self.batch_shape)}"
            )
        count, index = self.batch_shape.numel(), index.to(self.device)
        chosen = copy.copy(self)
        for name in ("_rhs", "lower", "upper", "_working_upper"):
            tensor = getattr(self, name)
            setattr(chosen, name, tensor.expand(count, -1)[index] if tensor.ndim > 1 else tensor)
        if self._matrix_batch:
            values = self._rows.values
            chosen._rows = self._rows.with_values(values.expand(count, *values.shape[1:])[index])
            chosen._matrix_batch = index.shape
        chosen.batch_shape = index.shape
        return chosen

    @classmethod
    def from_mps(cls, path: str | Path, sense: Sense | None = None) -> LinearProgram:
        """The model in an MPS (or LP) file, read by HiGHS; integer columns are kept for `solve`.

        The file's objective is the attribute `coefficients`, its constant `offset` is dropped from `objective`; the
        file's own sense is taken unless `sense` is given. Ranged rows become two inequalities.
        """
        model = read_mps(Path(path))
        problem = LinearProgram(
            **model.constraints, bounds=(model.lower, model.upper), integrality=model.integrality,
            sense=sense or ("max" if model.maximize else "min"), n=len(model.coefficients), names=model.names,
        )  # fmt: skip
        problem.coefficients = torch.from_numpy(model.coefficients)
        problem.offset = model.offset
        return problem

    coefficients: Tensor | None = None
    offset: float = 0.0

    def __repr__(self) -> str:
        integer = f", {int(self.integrality.sum())} integer" if bool(self.integrality.any()) else ""
        equalities = int(self._equality.sum())
        batch = f", batch {tuple(self.batch_shape)}" if self.batch_shape else ""
        return (
            f"{type(self).__name__}({self.n} variables{integer}, {equalities} equalities, "
            f"{self._rows.m - equalities} inequalities{batch}, sense={self.sense!r})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pool": None}  # native models are rebuilt where they are needed

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _products(self, x: Tensor) -> Tensor:
        polytope = self.polytope(x.shape[:-1])
        flat = polytope.rows.with_values(polytope.rows.values.detach()).apply(x.reshape(-1, self.n))
        return flat.reshape(*x.shape[:-1], self._rows.m)

    def _matrices(self, mask: Tensor) -> Any:
        keep = mask.cpu().numpy()
        count = self._matrix_batch.numel() if self._matrix_batch else 1
        matrices = [self._rows.scipy(i)[keep] for i in range(count)]
        return matrices if self._matrix_batch else matrices[0]

    def _name(self, kind: str, index: int) -> str:
        return self.names[index] if self.names and kind not in {"A_ub", "A_eq"} else ""
