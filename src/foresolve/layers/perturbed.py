"""The mean decision under random perturbations of the parameters."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, held_fixed, sliceable
from foresolve._base.randomness import Seed, Seeded
from foresolve.layers.base import Layer, Shortfall
from foresolve.problems.base import Problem
from foresolve.problems.traits import require_constant

UNBOUNDED = (-math.inf, math.inf)
VarianceReduction = Literal["none", "control", "leave-one-out", "antithetic"]


class PerturbedLayer(Seeded, Layer):
    """What the perturbed layers share: one batched solve for all samples, and the score identity.

    For `Z` standard normal and a perturbation `p(theta, Z)`, `x = E[solve(p(theta, Z))]` has, for an incoming `g`, the
    gradient `E[(g'solve(p(theta, Z)) - b) s(theta, Z)]` with `s` the score, the derivative in `theta` of the
    log-density of the perturbed parameters. As `E[s] = 0`, any `b` that does not depend on `Z` leaves the mean alone.
    """

    def __init__(
        self,
        samples: int,
        sigma: float,
        variance_reduction: VarianceReduction | None,
        bounds: tuple[float, float] | None,
        seed: Seed,
    ) -> None:
        super().__init__()
        self._seed(seed)
        self.samples = checks.positive_int("samples", samples)
        self.sigma = checks.positive("sigma", sigma)
        if variance_reduction is None:
            odd: VarianceReduction = "control" if self.samples == 1 else "leave-one-out"
            variance_reduction = odd if self.samples % 2 else "antithetic"
        checks.one_of("variance_reduction", variance_reduction, get_args(VarianceReduction))
        if variance_reduction == "antithetic" and self.samples % 2:
            remedy = 'Or pass variance_reduction="leave-one-out"'
            raise checks.fail("samples", "even for antithetic pairs", str(samples), remedy)
        if variance_reduction == "leave-one-out" and self.samples == 1:
            raise checks.fail("samples", "at least 2 to leave one out", str(samples), 'Or pass "control"')
        self.variance_reduction = variance_reduction
        if bounds is not None and not bounds[0] < bounds[1]:
            raise checks.fail("bounds", "(lower, upper) with lower < upper", str(bounds))
        self.bounds = bounds

    def check_problem(self, problem: Problem) -> None:
        """Refuse constraints of which a gradient is asked for: draws of `theta` tell nothing of it."""
        super().check_problem(problem)
        require_constant(problem, type(self).__name__)

    @abstractmethod
    def perturb(self, theta: Tensor, z: Tensor) -> Tensor:
        """The parameters that standard normal `z` `(samples, *batch, *shape)` lead to, before the bounds."""

    @abstractmethod
    def score(self, theta: Tensor, z: Tensor) -> Tensor:
        """The gradient in `theta` of the log-likelihood of the perturbed parameters, as a function of `z`."""

    def draw(self, theta: Tensor) -> Tensor:
        """Standard normal samples `(samples, *theta.shape)`, float64; pairs of opposites where they are antithetic."""
        paired = self.variance_reduction == "antithetic"
        shape = (self.samples // 2 if paired else self.samples, *theta.shape)
        z = torch.randn(shape, generator=self.generator, dtype=torch.float64, device=self.generator.device)
        z = z.to(theta.device)
        return torch.cat([z, -z]) if paired else z

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Mean decisions `(*batch, n)`, differentiable."""
        full = _expanded(theta, problem)
        return apply(_Mean, full, self.draw(full), self, problem).to(theta.dtype)

    def sample(self, theta: Tensor, problem: Problem) -> tuple[Tensor, Tensor]:
        """Perturbed parameters `(samples, *batch, *shape)`, differentiable, and decisions `(samples, *batch, n)`."""
        self.check_problem(problem)
        full = _expanded(theta, problem)
        points = self._bounded(self.perturb(full, self.draw(full)), problem)
        return points, problem.maximizer(points.detach()).double()

    def fenchel_young(self) -> Shortfall:
        """`mean_s max_x c_s' (x - y)` over perturbed gains: what is maximized is conjugate to a penalty of 0 at `y`."""
        if self.bounds is not None:
            raise checks.fail("layer", "without bounds: clamped noise has no convex loss", f"bounds={self.bounds}")
        return self._shortfall

    def _shortfall(self, theta: Tensor, y: Tensor, problem: Problem, truth: Tensor | None) -> Tensor:
        (theta,) = held_fixed(theta)
        points, x = self.sample(theta, problem)
        return (problem.gain(points) * (x - y)).sum(-1).mean(0)

    def extra_repr(self) -> str:
        bounds = "" if self.bounds is None else f", bounds={self.bounds}"
        return f"samples={self.samples}, sigma={self.sigma:g}, variance_reduction={self.variance_reduction!r}{bounds}"

    def _bounded(self, points: Tensor, problem: Problem) -> Tensor:
        # The score identity holds for any function of the perturbed parameters, so for the solver behind a clamp too.
        return problem.clamp_theta(points if self.bounds is None else points.clamp(*self.bounds))


class PerturbedAdditive(PerturbedLayer):
    r"""The mean decision under Gaussian noise: every parameter moves it, so gradients pass.

    .. math::
        x(\theta) = \mathbb{E} \, [\, x^*(\theta + \sigma Z) \,], \quad Z \sim N(0, I), \qquad
        \frac{\partial L}{\partial \theta} = \frac{1}{\sigma} \, \mathbb{E} \, [\, (g^\top x^*(\theta + \sigma Z)) \, Z
        \,], \quad g = \frac{\partial L}{\partial x}

    with :math:`x^*` the problem's solver; both means are taken over the same `samples` draws, which go through one
    batched solve. The decision lies in the convex hull of the feasible set. The gradient is an unbiased estimate of
    that of the expectation (not the derivative of the finite mean, which is zero).

    Works with: any problem and solver whose parameters may be perturbed; `FenchelYoung` needs a linear objective.

    Parameters
    ----------
    samples: draws per instance and call.
    sigma: the standard deviation of the noise, in units of `theta`. It may be changed at any time.
    variance_reduction: of the gradient. None biases it; all help where :math:`g^\top x` is far from zero on average, as
        objective values are.

        - "antithetic": pairs :math:`\pm Z`, so that :math:`\frac{1}{2 \sigma} g^\top (x^*(\theta + \sigma Z) -
          x^*(\theta - \sigma Z)) Z` is averaged; `samples` must be even. The default then.
        - "leave-one-out": the mean of :math:`g^\top x^*` over the other samples is subtracted. The default for odd
          `samples`.
        - "control": :math:`g^\top x^*(\theta)` is subtracted; one more solve for each instance, in the same call. It
          helps most where the noise seldom changes the decision. The default for one sample.
        - "none".
    bounds: perturbed parameters are clamped to `(lower, upper)`, for a solver that refuses others (costs that must not
        be negative); the gradient is that of the clamped mean. Those of the problem, `problem.theta_bounds`, hold too.
    seed: of the layer's own generator, or a `torch.Generator` to draw from, which runs on from call to call; its state
        is in the `state_dict`.

    Shapes
    ------
    `theta` is `(*batch, *shape)`; the result `(*batch, n)` in its dtype and on its device. Numbers are float64 inside.

    References
    ----------
    Berthet, Blondel, Teboul, Cuturi, Vert and Bach, *Learning with Differentiable Perturbed Optimizers* (NeurIPS 2020).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import PerturbedAdditive
    >>> theta = torch.tensor([0.5, 0.4, 0.1], requires_grad=True)
    >>> x = PerturbedAdditive(samples=100, sigma=0.5)(theta, foresolve.TopK(3, 1))
    >>> x.sum().item()
    1.0
    """

    def __init__(
        self,
        samples: int = 10,
        sigma: float = 1.0,
        *,
        variance_reduction: VarianceReduction | None = None,
        bounds: tuple[float, float] | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(samples, sigma, variance_reduction, bounds, seed)

    def perturb(self, theta: Tensor, z: Tensor) -> Tensor:
        """`theta + sigma z`."""
        return theta + self.sigma * z

    def score(self, theta: Tensor, z: Tensor) -> Tensor:
        """`z / sigma`."""
        return z / self.sigma


class PerturbedMultiplicative(PerturbedLayer):
    r"""The mean decision under log-normal factors of mean one, which leave every parameter its sign.

    .. math::
        x(\theta) = \mathbb{E} \, [\, x^*(\theta \odot e^{\sigma Z - \sigma^2 / 2}) \,], \quad Z \sim N(0, I), \qquad
        \frac{\partial L}{\partial \theta} = \frac{1}{\sigma \theta} \odot \mathbb{E} \, [\, (g^\top x^*(\ldots)) \, Z
        \,]

    For parameters whose sign is known, such as costs of roads. It is the additive layer in
    :math:`\log |\theta|`, hence the division; a parameter that is 0 is refused, for no noise moves it.

    Works with: any problem and solver whose parameters may be perturbed; `FenchelYoung` needs a linear objective.

    Parameters, shapes: as `PerturbedAdditive`, with `sigma` without a unit.

    References
    ----------
    Dalle, Baty, Bouvier and Parmentier, *Learning with Combinatorial Optimization Layers: a Probabilistic Approach*
    (2022).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import PerturbedMultiplicative
    >>> costs = torch.tensor([1.0, 1.1, 3.0], requires_grad=True)
    >>> problem = foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[1.0], bounds=(0, 1), sense="min")
    >>> x = PerturbedMultiplicative(samples=100, sigma=0.3)(costs, problem)
    >>> bool(x[0] > x[2]), bool((x > 0)[:2].all())
    (True, True)
    """

    def __init__(
        self,
        samples: int = 10,
        sigma: float = 0.5,
        *,
        variance_reduction: VarianceReduction | None = None,
        bounds: tuple[float, float] | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(samples, sigma, variance_reduction, bounds, seed)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Mean decisions `(*batch, n)`, differentiable."""
        if torch.is_grad_enabled() and theta.requires_grad and bool((theta == 0).any()):
            where = (theta == 0).nonzero()[0].tolist()
            remedy = "Keep predictions away from 0, for example by softplus(.) + 1e-3"
            raise checks.fail("theta", "free of zeros, where factors have no gradient", f"0 at {where}", remedy)
        return super().forward(theta, problem)

    def perturb(self, theta: Tensor, z: Tensor) -> Tensor:
        """`theta exp(sigma z - sigma^2 / 2)`."""
        return theta * (self.sigma * z - self.sigma**2 / 2).exp()

    def score(self, theta: Tensor, z: Tensor) -> Tensor:
        """`z / (sigma theta)`."""
        return z / (self.sigma * theta)


def _expanded(theta: Tensor, problem: Problem) -> Tensor:
    """`theta` in float64 with the batch dimensions of the problem too, so that samples can be stacked in front.

    Not `problem.flatten`: predictions may lie beyond the problem's bounds, for it is their draws that are clamped.
    """
    theta = checks.as_tensor("theta", theta)
    checks.same_device("theta", theta, problem.device)
    checks.last_dims("theta", theta, problem.theta_shape)
    checks.finite("theta", theta)
    batch = problem.batch_for(theta)
    return theta.double().expand(*batch, *theta.shape[theta.ndim - len(problem.theta_shape) :])


class _Mean(torch.autograd.Function):
    """The mean of the solver's decisions, with the score identity for a derivative."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, z: Tensor, layer: PerturbedLayer, problem: Problem) -> Tensor:
        points = layer._bounded(layer.perturb(theta, z), problem)
        control = layer.variance_reduction == "control" and ctx.needs_input_grad[0]
        if control:
            points = torch.cat([layer._bounded(theta, problem)[None], points])
        x = problem.maximizer(points).double()
        ctx.layer, ctx.control = layer, control
        ctx.save_for_backward(theta, z, x)
        return x[control:].mean(0)

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        theta, z, x = ctx.saved_tensors
        worth = (x * grads[0]).sum(-1)
        if ctx.control:
            worth = worth[1:] - worth[:1]
        elif ctx.layer.variance_reduction == "leave-one-out":
            worth = (worth - worth.mean(0)) * len(worth) / (len(worth) - 1)
        worth = worth.reshape(*worth.shape, *(1,) * (z.ndim - worth.ndim))
        return ctx.layer.score(theta, (worth * z).mean(0)), None, None, None
