"""Plans that follow a predicted target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.affine import Affine
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.weight_drawing import TargetDrawing
from foresolve.problems.quadratic import QuadraticProgram


class Tracking(TargetDrawing, QuadraticProgram):
    r"""Follow a predicted target as closely as constraints allow.

    .. math::
        \max_x \; -\tfrac{1}{2} \sum_i w_i \, (M x - \theta)_i^2 - \tfrac{1}{2} \sum_j r_j x_j^2 \quad \text{s.t.} \quad
        A_{eq} x = b_{eq}, \; A_{ub} x \le b_{ub}, \; \ell \le x \le u

    `theta` `(*batch, p)` is the target of the outputs :math:`M x`: generators that follow a load within their ramps,
    stocks that follow demand, a portfolio that follows an index. The objective is minus the weighted squared miss.

    Parameters
    ----------
    A_ub, b_ub, A_eq, b_eq, bounds, n, names: as for `LinearProgram`; bounds are `(0, inf)` unless given.
    outputs: :math:`M` `(p, n)`; by default the variables themselves follow the target.
    weights: :math:`w > 0`, a number or `(p,)`.
    effort: :math:`r \ge 0`, a number or `(n,)`.
    theta_names: of the targets.

    Examples
    --------
    One plant follows a load; it can change by 1 between two hours.

    >>> import torch
    >>> from foresolve.problems import Tracking
    >>> ramps = [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    >>> problem = Tracking(ramps, [1.0, 1.0, 1.0, 1.0])
    >>> load = torch.tensor([1.0, 2.5, 5.5])
    >>> x = problem.solve(load)
    >>> x, problem.objective(x, load)
    (tensor([2., 3., 4.]), tensor(-1.7500))
    """

    def __init__(
        self,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = None,
        *,
        outputs: Any = None,
        weights: Any = 1.0,
        effort: Any = 0.0,
        n: int | None = None,
        names: Sequence[str] | None = None,
        theta_names: Sequence[str] | None = None,
        constraints: Constraints | None = None,
    ) -> None:
        if constraints is None:
            if outputs is not None and n is None:
                n = checks.as_tensor("outputs", outputs).shape[-1]
            constraints = Constraints.parse(A_ub, b_ub, A_eq, b_eq, bounds, None, n)
        n = constraints.n
        self.outputs = None if outputs is None else checks.as_tensor("outputs", outputs).double()
        if self.outputs is not None and (self.outputs.ndim != 2 or self.outputs.shape[1] != n):
            raise checks.fail("outputs", f"(p, {n})", str(tuple(self.outputs.shape)))
        p = n if self.outputs is None else len(self.outputs)
        self.target_weights = _each("weights", weights, p)
        if not bool((self.target_weights > 0).all()):
            raise checks.fail("weights", "> 0", f"{float(self.target_weights.min()):g}")
        self.effort = _each("effort", effort, n)
        if bool((self.effort < 0).any()):
            raise checks.fail("effort", ">= 0", f"{float(self.effort.min()):g}")
        if self.outputs is None:
            super().__init__(diagonal=self.target_weights + self.effort, constraints=constraints, names=names)
            slopes = torch.diag(self.target_weights)
        else:
            factor = self.outputs.T * self.target_weights.sqrt()
            super().__init__(diagonal=self.effort, factor=factor, constraints=constraints, names=names)
            slopes = self.outputs.T * self.target_weights
        if theta_names is None and self.outputs is None:
            theta_names = None if self.names is None else [str(name) for name in self.names]
        twin = self.parametrized(Affine(slopes), names=theta_names)
        self.parameters, self.batch_shape = twin.parameters, twin.batch_shape

    def constant(self, theta: Tensor) -> Tensor:
        r"""The term of the objective without `x`, :math:`-\frac{1}{2} \sum_i w_i \theta_i^2`, `(*batch,)`."""
        return -(self.target_weights.to(theta) * theta.square()).sum(-1) / 2

    def follow(self, x: Tensor) -> Tensor:
        """The outputs `(*batch, p)` of decisions."""
        checks.last_dim("x", x, self.n)
        return x if self.outputs is None else x @ self.outputs.T.to(x)

    def _move_parts(self, device: torch.device) -> None:
        super()._move_parts(device)
        self.outputs = None if self.outputs is None else self.outputs.to(device)
        self.target_weights, self.effort = self.target_weights.to(device), self.effort.to(device)

    def _settings(self) -> configs.Config:
        return self.constraints.config() | {
            "outputs": self.outputs, "weights": self.target_weights, "effort": self.effort,
            "theta_names": None if self.theta_names is None else list(self.theta_names),
        }  # fmt: skip

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        own = {name: settings[name] for name in ("outputs", "weights", "effort", "theta_names", "names")}
        return cls(constraints=Constraints.from_config(settings), **own)


def _each(name: str, value: Any, n: int) -> Tensor:
    tensor = checks.as_tensor(name, value).double()
    tensor = tensor.expand(n) if tensor.ndim == 0 else tensor
    if tensor.shape != (n,):
        raise checks.fail(name, f"a number or ({n},)", str(tuple(tensor.shape)))
    checks.finite(name, tensor)
    return tensor
