"""Linear and mixed-integer linear programs."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Never, Self

import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.base import Sense
from foresolve.problems.blocks import as_names, refuse_keywords
from foresolve.problems.constraints import Constraints
from foresolve.problems.feasibility import Feasibility, beyond, inspect
from foresolve.problems.imported import ImportedProgram
from foresolve.solvers.projection.matrix_metrics import DenseMetric
from foresolve.solvers.projection.polytope import Polytope


class SmoothedProgram(NamedTuple):
    """A smoothed program as a projection: of `point` `(B, n)` on a polytope, in its metric.

    `unit` `(1 or B,)` is what its multipliers are measured in.
    """

    point: Tensor
    polytope: Polytope
    unit: Tensor


class LinearProgram(ImportedProgram):
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
    bounds: `(lower, upper)`, each a number, `None` for no bound, or `(*batch, n)`; by default `(0, inf)`. A list of `n`
        `(min, max)` pairs, `(n, 2)` and `scipy.optimize.Bounds` are read as in SciPy.
    integrality: 0 (continuous) or 1 (integer), a number or `(n,)`; it matters to `solve`, layers relax it.
    sense: with "min", `theta` are costs and the objective is `-theta'x`.
    n: the number of variables, needed where nothing else determines it.
    names: of the variables.
    constraints: everything about the feasible set at once, instead of all of the above but `sense`: how problems whose
        rows have a structure are built.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0])
    >>> problem.solve(torch.tensor([[1.0, 3.0], [2.0, -1.0]]))
    tensor([[0., 1.],
            [1., 0.]])
    """

    def __init__(
        self,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = None,
        integrality: Any = None,
        sense: Sense = "max",
        *,
        n: int | None = None,
        names: Sequence[str] | None = None,
        constraints: Constraints | None = None,
        **unknown: Never,
    ) -> None:
        refuse_keywords(LinearProgram, unknown)
        if constraints is None:
            constraints = Constraints.parse(A_ub, b_ub, A_eq, b_eq, bounds, integrality, n)
        elif not isinstance(constraints, Constraints):
            remedy = "Rows of SciPy's LinearConstraint are taken by `LinearProgram.from_milp(constraints=...)`"
            raise checks.fail("constraints", "made by `Constraints.of`", type(constraints).__name__, remedy)
        elif any(part is not None for part in (A_ub, b_ub, A_eq, b_eq, bounds, integrality, n)):
            raise checks.fail("constraints", "given alone", "other arguments beside it")
        if not isinstance(sense, str) or sense not in ("max", "min"):
            raise checks.fail("sense", '"max" or "min"', repr(sense))
        self.sense = sense
        self.names = as_names(names, constraints.n)
        self._constrain(constraints)

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.constraints.n

    @property
    def requires_grad(self) -> bool:
        return self.constraints.requires_grad

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
        """`theta'x` for `sense="max"`, `-theta'x` for costs, and the term without `x`; `(*batch,)`."""
        theta, x = self.check_theta(theta), checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        checks.same_device("x", x, theta.device, "theta")
        checks.broadcast_batch({"`x`": x.shape[:-1], "`theta`": theta.shape[:-1]})
        value = (self.gain(theta) * x.to(theta.dtype)).sum(-1)
        return value if self.parameters is None else value + self.constant(theta)

    # -- feasibility ---------------------------------------------------------------------------------------------------

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions are feasible; if not, which row or bound is broken and by how much.

        `relaxed` leaves integrality aside, as layers do. What a row or bound is exceeded by through the rounding of `x`
        in its own dtype, `4 eps` of that row's terms `|C| |x|`, does not count.
        """
        self.require_fixed()
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        checks.same_device("x", x, self.device)
        eps = 4 * torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
        x = x.detach().double()
        batch = checks.broadcast_batch({"x": x.shape[:-1], "the problem": self.batch_shape})
        excess, equality = self.constraints.excess(x.expand(*batch, -1)), self.constraints.equality
        rows, own = eps * self.constraints.terms(x.expand(*batch, -1)), eps * x.abs()
        amounts = {
            "A_eq": beyond(rows[..., equality], excess[..., equality].abs()),
            "A_ub": beyond(rows[..., ~equality], excess[..., ~equality]),
            "lower": beyond(own, self.lower.detach() - x),
            "upper": beyond(own, x - self.upper.detach()),
            "integrality": beyond(own, (x - x.round()).abs() * self.integrality.to(x)),
        }
        if relaxed:
            del amounts["integrality"]
        return inspect(amounts, tol, batch, self._label)

    def row_name(self, index: int) -> str:
        """What a message calls row `index` of `constraints.rows`: its block, its place there, its name."""
        equality = self.constraints.equality.cpu()
        kind = "A_eq" if bool(equality[index]) else "A_ub"
        place = int((equality[:index] == equality[index]).sum())
        name = self._name(kind, place)
        return f"{kind} row {place}{f' ({name})' if name else ''}"

    def _label(self, kind: str, index: int) -> str:
        """What a report calls a constraint: by the variable's own name, where it has one."""
        return self.names[index] if self.names and kind not in {"A_ub", "A_eq"} else self._name(kind, index)

    def _name(self, kind: str, index: int) -> str:
        """What a report calls row or variable `index`; subclasses know better."""
        return ""

    # -- for layers --------------------------------------------------------------------------------------------------

    def smoothed(self, gain: Tensor, gamma: Tensor, batch: torch.Size) -> SmoothedProgram:
        """`max gain'x - gamma |x|^2` as a projection; `gain` `(B, n)` of a flattened `batch`, `gamma` `(1 or B,)`.

        The norm is that of `smoothed_columns`; where some are left out, the equality rows make the decision unique.
        """
        if bool((gamma == 0).any()):
            remedy = "At test time use `problem.solve(theta)`, the decision without smoothing"
            raise checks.fail("gamma", "> 0 for a linear objective", "0", remedy)
        unit, polytope = 2 * gamma, self.polytope(batch).expand(len(gain))
        if self.smoothed_columns is None:
            return SmoothedProgram(gain / unit.unsqueeze(-1), polytope, unit)
        shift = unit.unsqueeze(-1) * self.smoothed_columns.to(gain)
        metric = DenseMetric(shift, shift.new_zeros(1, self.n, self.n), leaning=True)
        return SmoothedProgram(gain, replace(polytope, metric=metric), gamma.new_ones(1))

    # -- access ------------------------------------------------------------------------------------------------------

    def polytope(self, batch: torch.Size) -> Polytope:
        """The feasible set for a flattened batch, data attached to the autograd graph."""
        self.require_fixed()
        return self.constraints.polytope(batch)

    @property
    def lower(self) -> Tensor:
        """The lower bounds, `(n,)` or `(*batch, n)`."""
        return self.constraints.lower

    @property
    def upper(self) -> Tensor:
        """The upper bounds, `(n,)` or `(*batch, n)`."""
        return self.constraints.upper

    @property
    def integrality(self) -> Tensor:
        """Which variables are integer, `(n,)`."""
        return self.constraints.integrality

    @property
    def A_ub(self) -> scipy.sparse.csr_array | list[scipy.sparse.csr_array]:
        """The inequality rows as SciPy sparse (a list where there is one set per instance)."""
        return self.constraints.matrices(~self.constraints.equality)

    @property
    def A_eq(self) -> scipy.sparse.csr_array | list[scipy.sparse.csr_array]:
        """The equality rows as SciPy sparse (a list where there is one set per instance)."""
        return self.constraints.matrices(self.constraints.equality)

    @property
    def b_ub(self) -> Tensor:
        """The right-hand sides of the inequalities."""
        return self._rhs[..., ~self.constraints.equality]

    @property
    def b_eq(self) -> Tensor:
        """The right-hand sides of the equalities."""
        return self._rhs[..., self.constraints.equality]

    @property
    def _rhs(self) -> Tensor:
        if self.parameters is not None and self.parameters.rhs is not None:
            self.require_fixed()
        return self.constraints.rhs

    def __repr__(self) -> str:
        integer = f", {int(self.integrality.sum())} integer" if bool(self.integrality.any()) else ""
        equalities = int(self.constraints.equality.sum())
        batch = f", batch {tuple(self.batch_shape)}" if self.batch_shape else ""
        batch += "" if self.parameters is None else f", {self.parameters.size} parameters"
        return (
            f"{type(self).__name__}({self.n} variables{integer}, {equalities} equalities, "
            f"{self.constraints.rows.m - equalities} inequalities{batch}, sense={self.sense!r})"
        )

    # -- instances, devices, files -----------------------------------------------------------------------------------

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`, or of one (an index without dimension); itself where all share it."""
        if not self.batch_shape:
            return self
        if len(self.batch_shape) > 1:
            raise checks.fail(
                "problem", "a batch of one dimension, to select from", f"a batch {tuple(self.batch_shape)}"
            )
        chosen, index = copy.copy(self), index.to(self.device)
        chosen._select_parts(index)
        chosen._constrain(self.constraints.select(index) if self.constraints.batch_shape else self.constraints)
        return chosen

    def _moved(self, device: torch.device) -> Self:
        moved = copy.copy(self)
        moved._move_parts(device)
        moved._constrain(self.constraints.to(device))
        return moved

    def _select_parts(self, index: Tensor) -> None:
        """Of a copy: what is per instance beside the constraints."""
        self.parameters = None if self.parameters is None else self.parameters.select(index)

    def _move_parts(self, device: torch.device) -> None:
        """Of a copy: what lives on a device beside the constraints."""
        self.parameters = None if self.parameters is None else self.parameters.to(device)
        self.nominal = None if self.nominal is None else self.nominal.to(device)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached: native models are built again where they are needed."""
        return {
            name: value for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }  # fmt: skip

    def _settings(self) -> configs.Config:
        return self.constraints.config() | {"sense": self.sense}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(constraints=Constraints.from_config(settings), sense=settings["sense"], names=settings["names"])
