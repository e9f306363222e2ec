"""The published recipe for submodular problems, kept for its tables."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.layers.base import Layer
from foresolve.problems.base import Problem
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.climb import Step, climb
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import Matroid
from foresolve.solvers.submodular.waterfill import Segments, waterfill


class WilderMultilinear(Layer):
    r"""The recipe of Wilder, Dilkina and Tambe (AAAI 2019): a few ascent steps, a cap, a ridge. **A heuristic.**

    Forward: `steps` steps of projected gradient ascent with Nesterov momentum on the multilinear extension `F`, from
    zero, over `sum x = k`, `0 <= x <= cap`. It does not converge, and is not meant to: at a local maximum of `F` no
    gradient would be left. Backward: `x` is treated as if it were a maximum of `F`; with `g` the constraints
    `(sum x - k, x - cap, -x)`, `G` their derivatives and `lambda` their multipliers, the system

    .. math::
        \left( \begin{pmatrix} -H & G^\top \\ \mathrm{diag}(\lambda) G & \mathrm{diag}(g) \end{pmatrix}
        + \text{ridge} \cdot I \right) \begin{pmatrix} dx \\ d\lambda \end{pmatrix} =
        \begin{pmatrix} \frac{\partial}{\partial \theta} \nabla_x F \, d\theta \\ 0 \end{pmatrix}

    is solved for `dx`. **The multipliers are the published ones, not those of the KKT conditions.** With `price` the
    mean of the gradient `grad F` over the coordinates between the bounds (0 where there is none), they are `price` for
    the sum, and `grad_i F - price` for a coordinate at a bound, *either* bound. By stationarity (`grad F` is the sum of
    the multipliers times `G`) that of `-x_i <= 0` would be `price - grad_i F`, which is positive at a maximum. But the
    ridge stands where the system of the KKT conditions has a zero: eliminating `d lambda` leaves

    .. math:: \left( \text{ridge} - \frac{\lambda_i}{\text{ridge}} \right) dx_i

    on the diagonal of a coordinate at a bound. A multiplier of 1 then gives -99.99, and the derivative of every
    coordinate at zero is turned around; the published -1 gives 100.01, a small derivative of the right sign. Where few
    coordinates are between the bounds, those at zero are nearly all that is left of the gradient, and learning depends
    on this sign. The multipliers come from the gradient *before* the last ascent step, everything else from the point
    after it, as published.

    Without the Hessian (the published one keeps a single target, which is close to none) the ridge alone makes the
    system regular, and on the coordinates between the bounds the result is nearly that of
    `MultilinearRelaxation(gamma=ridge / 2)` with `H = 0`, taken at a point that is not its solution: right in sign for
    most coordinates, wrong in size. Finite differences do not agree with it. Use `MultilinearRelaxation` unless you
    want the published numbers.

    Parameters
    ----------
    steps, rate, momentum: of the ascent.
    cap: the upper bound of each coordinate, below 1 to keep coordinates fractional; `cap * n` must be at least `k`.
    ridge: added to the diagonal of the system.
    hessian: whether `H` enters the system.

    Shapes
    ------
    As `MultilinearRelaxation`; the matroid must be uniform.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import WilderMultilinear
    >>> problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, k=1))
    >>> theta = torch.tensor([[0.9, 0.0], [0.8, 0.1], [0.0, 0.5]], requires_grad=True)
    >>> x = WilderMultilinear()(theta, problem)
    >>> bool(x.max() <= 0.95)
    True
    """

    needs = ("set function", "uniform")

    def __init__(
        self,
        *,
        steps: int = 10,
        rate: float = 0.1,
        momentum: float = 0.9,
        cap: float = 0.95,
        ridge: float = 0.01,
        hessian: bool = False,
    ) -> None:
        super().__init__()
        self.steps, self.rate = checks.positive_int("steps", steps), checks.positive("rate", rate)
        self.momentum, self.cap = checks.between("momentum", momentum, "[0, 1)"), checks.between("cap", cap, "(0, 1]")
        self.ridge, self.hessian = checks.positive("ridge", ridge), bool(hessian)

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that lacks what the layer needs, or whose budget does not fit below the cap."""
        super().check_problem(problem)
        matroid = cast(SubmodularProblem, problem).matroid
        if self.cap * matroid.n < matroid.rank:
            raise checks.fail("cap", f"at least k / n = {matroid.rank / matroid.n:g}", f"{self.cap:g}")

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Unconverged decisions `(*batch, n)` with the published gradient."""
        submodular = cast(SubmodularProblem, problem)
        matroid = submodular.matroid
        flat, batch = problem.flatten(theta)
        x = apply(_Recipe, flat, self, submodular.function_of(batch), matroid)
        return x.reshape(*batch, matroid.n).to(theta.dtype)

    def extra_repr(self) -> str:
        ascent = f"steps={self.steps}, rate={self.rate}, momentum={self.momentum}"
        return f"{ascent}, cap={self.cap}, ridge={self.ridge}, hessian={self.hessian}"

    def _ascend(self, theta: Tensor, function: SetFunction, matroid: Matroid) -> _Ascent:
        """SGD with Nesterov momentum, as torch has it, and a projection after each step."""
        x = theta.new_zeros(theta.shape[0], matroid.n)
        return climb(_Nesterov(self, theta, function, matroid), _Ascent(x, x, x), self.steps)

    def _adjoint(self, ascent: _Ascent, local: Local, v: Tensor) -> Tensor:
        """`w` with `v' dx = w' d(grad F)`.

        Without `d lambda` it reads `(D - c 1 1' - H) dx = d(grad F)`, with `c = lambda_sum / ridge` and `D` the ridge,
        less `lambda / ridge` at a bound. The matrix is symmetric; without `H` it is inverted by Sherman and Morrison.
        """
        x, gradient = ascent.x, ascent.gradient
        inside = (x > 0) & (x < self.cap)
        count = inside.sum(-1, keepdim=True)
        price = torch.where(inside, gradient, 0.0).sum(-1, keepdim=True) / count.clamp_min(1)
        multiplier = torch.where(inside, 0.0, gradient - price)
        diagonal, c = self.ridge - multiplier / self.ridge, price / self.ridge
        if not self.hessian:
            ones = (1 / diagonal).sum(-1, keepdim=True)
            return (v + c * (v / diagonal).sum(-1, keepdim=True) / (1 - c * ones)) / diagonal
        every = torch.arange(x.shape[-1], device=x.device).expand_as(x)
        matrix = torch.diag_embed(diagonal) - c.unsqueeze(-1) - local.hessian(every)
        # One at a time: batched LU is unreliable in some builds of torch.
        return torch.stack([torch.linalg.solve(a, b) for a, b in zip(matrix, v)]) if len(v) else v


class _Ascent(NamedTuple):
    """Points and velocities `(B, n)`, and the gradient from which the last step was taken."""

    x: Tensor
    velocity: Tensor
    gradient: Tensor


class _Nesterov(Step[_Ascent]):
    """A step of points and velocities."""

    def __init__(self, layer: WilderMultilinear, theta: Tensor, function: SetFunction, matroid: Matroid) -> None:
        self.layer, self.theta, self.function = layer, theta, function
        self.segments = Segments.of(np.zeros(matroid.n), 1).to(theta.device)
        self.total = theta.new_tensor([matroid.rank])

    def __call__(self, state: _Ascent, k: int) -> _Ascent:
        layer = self.layer
        gradient = self.function.local(state.x, self.theta).gradient
        velocity = layer.momentum * state.velocity + gradient
        goal = state.x + layer.rate * (gradient + layer.momentum * velocity)
        _, x = waterfill(goal, torch.full_like(goal, layer.cap), self.segments, self.total)
        return _Ascent(x, velocity, gradient)


class _Recipe(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: Tensor, layer: WilderMultilinear, function: SetFunction, matroid: Matroid) -> Tensor:
        ascent = layer._ascend(theta, function, matroid)
        ctx.layer, ctx.ascent, ctx.local = layer, ascent, function.local(ascent.x, theta)
        ctx.save_for_backward(theta)
        return ascent.x.clone()  # a copy: the node must not hold its own output

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        return ctx.local.cross(ctx.layer._adjoint(ctx.ascent, ctx.local, grads[0])), None, None, None
