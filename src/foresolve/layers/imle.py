"""Implicit maximum likelihood: the difference of two perturbed decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve._base.randomness import Seed, Seeded
from foresolve.layers.base import Layer, expanded
from foresolve.problems.base import Problem

TERMS = 10  # of the sum of gammas, as in the paper
FARTHEST = 100.0  # of alpha: so far out the target is the best decision for -g, and a longer step changes nothing


class IMLE(Seeded, Layer):
    r"""Mean perturbed decisions; backward, how they differ from those of a distribution with a lower loss.

    With :math:`c` the gains (:math:`\theta`, or :math:`-\theta` for costs), :math:`g = \partial L / \partial x`, and
    the same noise on both sides,

    .. math::
        x(c) = \frac{1}{S} \sum_s x^*(c + \epsilon_s), \qquad \frac{\partial L}{\partial c} =
        \frac{1}{\lambda S} \sum_s \bigl( x^*(c + \epsilon_s) - x^*(c - \lambda g + \epsilon_s) \bigr)

    The noise is a sum of gammas: :math:`\kappa` of them add up to a Gumbel variable of scale :math:`\tau`, so that the
    decisions with :math:`\kappa` ones follow a Gibbs distribution of temperature :math:`\tau` more nearly than with
    Gumbel noise on each entry,

    .. math::
        \epsilon = \frac{\tau}{\kappa} \Bigl( \sum_{i=1}^{10} \mathrm{Gamma}(1 / \kappa, \kappa / i) - \log 10 \Bigr)
        - \text{its mean}

    The paper leaves the mean in; without it, the noise does not favor decisions with many ones. Without noise it is
    `BlackboxInterpolation`. The gradient is a finite difference of the perturbed decision in the direction of `g`, of
    length `lam`, hence biased; it does not agree with `PerturbedAdditive`'s but for a small `lam` and many samples.

    Works with: linear objectives, any solver.

    Parameters
    ----------
    samples: draws per instance and call; all go through one batched solve.
    temperature: the scale of the noise, in units of `theta`.
    lam: how far the target distribution lies, in units of `theta` over `g`; a loss that is averaged over a batch has
        gradients smaller by the size of the batch, and `lam` must make up for that (`AdaptiveIMLE` does so).
    kappa: about how many ones a decision has.
    symmetric: the difference between :math:`c + \lambda g` and :math:`c - \lambda g`, over :math:`2 \lambda`: less
        biased, twice the solves.
    seed: of the layer's own generator, or a `torch.Generator` to draw from, which runs on from call to call; its state
        is in the `state_dict`.

    Shapes
    ------
    `theta` is `(*batch, n)`; the result has its dtype and device.

    References
    ----------
    Niepert, Minervini and Franceschi, *Implicit MLE: Backpropagating through Discrete Exponential Family Distributions*
    (NeurIPS 2021).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import IMLE
    >>> theta = torch.tensor([1.0, 0.9, 0.2], requires_grad=True)
    >>> x = IMLE(samples=20, lam=1.0, kappa=1.0)(theta, foresolve.TopK(3, k=1))
    >>> x.sum().isclose(torch.tensor(1.0)).item(), bool(x.max() < 1)
    (True, True)
    >>> loss = -(x * torch.tensor([0.0, 1.0, 0.0])).sum()
    >>> loss.backward()
    >>> bool(theta.grad[1] < 0)
    True
    """

    needs = ("linear", "fixed")

    def __init__(
        self,
        samples: int = 10,
        temperature: float = 1.0,
        lam: float = 10.0,
        kappa: float = 5.0,
        *,
        symmetric: bool = False,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        self._seed(seed)
        self.samples = checks.positive_int("samples", samples)
        self.temperature = checks.positive("temperature", temperature)
        self.lam, self.kappa = checks.positive("lam", lam), checks.positive("kappa", kappa)
        self.symmetric = bool(symmetric)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Mean perturbed decisions `(*batch, n)`."""
        full = expanded(theta, problem)
        # Parameters are perturbed, and gains as they follow; so that noise raises gains, it lowers costs.
        perturbed = problem.gain(full.detach() + problem.signed(self.noise(full)))
        return apply(_Difference, problem.gain(full), perturbed, self, problem).to(theta.dtype)

    def noise(self, theta: Tensor) -> Tensor:
        """A centered sum of gammas `(samples, *theta.shape)`."""
        # torch draws gammas from the global generator alone; NumPy's, seeded from ours, keeps the state in one place.
        start = torch.randint(2**62, (), generator=self.generator, device=self.generator.device)
        rng = np.random.default_rng(int(start))
        shape = (self.samples, *theta.shape)
        total = np.full(shape, -sum(1 / i for i in range(1, TERMS + 1)) / self.kappa)
        for i in range(1, TERMS + 1):
            total += rng.standard_gamma(1 / self.kappa, shape) / i
        return torch.from_numpy(self.temperature * total).to(theta.device)

    def step(self, c: Tensor, g: Tensor) -> Tensor:
        """`lambda` for each instance, `(*batch, 1)`."""
        return torch.full_like(g[..., :1], self.lam)

    def difference(self, c: Tensor, perturbed: Tensor, x: Tensor, g: Tensor, problem: Problem) -> Tensor:
        """The gradient `(*batch, n)`: how the decisions `x` for perturbed gains differ from those of the target."""
        step = self.step(c, g)
        if self.symmetric:
            ahead, behind = problem.argmax(torch.stack([perturbed + step * g, perturbed - step * g])).mean(1)
            return (ahead - behind) / (2 * step)
        return (x - problem.argmax(perturbed - step * g).mean(0)) / step

    def extra_repr(self) -> str:
        noise = f"samples={self.samples}, temperature={self.temperature:g}, kappa={self.kappa:g}"
        return f"{noise}, lam={self.lam:g}, symmetric={self.symmetric}"


class AdaptiveIMLE(IMLE):
    r"""I-MLE whose step adapts until gradients are as dense as asked for.

    For each instance :math:`\lambda = \alpha \|c\| / \|g\|`: the target moves by the share :math:`\alpha` of the gains,
    whatever the scale of loss and batch. Each backward pass updates a running mean of how many entries of an instance's
    gradient are not zero, and raises :math:`\alpha` by `rate` where that is below `target`, else lowers it.
    :math:`\alpha` and the running mean are in `state_dict()`.

    A step that is too short changes no decision, and the gradient is exactly zero: hundreds of updates by `rate` would
    pass without learning. So until the first gradient that is not zero, :math:`\alpha` is doubled within a backward
    pass that finds none, at the price of a solve each; it stays where a decision changes. Where none does even for
    :math:`\alpha = 100`, the decisions are already the best for the loss, the gradient of zero is right, and
    :math:`\alpha` is left as it was. Single instances may have a gradient of zero at any time.

    Works with: linear objectives, any solver.

    Parameters
    ----------
    alpha: where the share starts, or its search.
    target: the mean number of non-zero entries of an instance's gradient to aim at.
    rate, decay: the step of `alpha`, and the weight that the running mean gives to its past.
    samples, temperature, kappa, symmetric, seed: as `IMLE`.

    References
    ----------
    Minervini, Franceschi and Niepert, *Adaptive Perturbation-Based Gradient Estimation for Discrete Latent Variable
    Models* (AAAI 2023).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import AdaptiveIMLE
    >>> theta = torch.tensor([1.0, 0.9, 0.2], requires_grad=True)
    >>> layer = AdaptiveIMLE(samples=20, kappa=1.0)
    >>> loss = -(layer(theta, foresolve.TopK(3, k=1)) * torch.tensor([0.0, 1.0, 0.0])).sum()
    >>> loss.backward()
    >>> bool(theta.grad[1] < 0)
    True
    """

    alpha: Tensor
    density: Tensor

    def __init__(
        self,
        samples: int = 10,
        temperature: float = 1.0,
        kappa: float = 5.0,
        *,
        alpha: float = 0.1,
        target: float = 1.0,
        rate: float = 1e-3,
        decay: float = 0.9,
        symmetric: bool = False,
        seed: Seed = 0,
    ) -> None:
        super().__init__(samples, temperature, 1.0, kappa, symmetric=symmetric, seed=seed)
        self.target, self.rate = checks.positive("target", target), checks.positive("rate", rate)
        self.decay = checks.between("decay", decay, "[0, 1)")
        self.register_buffer("alpha", torch.tensor(checks.positive("alpha", alpha), dtype=torch.float64))
        self.register_buffer("density", torch.tensor(0.0, dtype=torch.float64))  # of nothing, so far

    def step(self, c: Tensor, g: Tensor) -> Tensor:
        """`alpha |c| / |g|`; 1 where either vanishes."""
        size, slope = c.norm(dim=-1, keepdim=True), g.norm(dim=-1, keepdim=True)
        sound = (size > 0) & (slope > 0)
        return torch.where(sound, self.alpha.to(c) * size / torch.where(sound, slope, 1.0), 1.0)

    def difference(self, c: Tensor, perturbed: Tensor, x: Tensor, g: Tensor, problem: Problem) -> Tensor:
        """The gradient `(*batch, n)`, after which `alpha` and the running density are others."""
        gradient = super().difference(c, perturbed, x, g, problem)
        if gradient.numel() == 0:
            return gradient
        if not bool(self.density) and bool(g.any()):
            gradient = self._search(gradient, c, perturbed, x, g, problem)
        count = (gradient != 0).sum(-1).double().mean().to(self.density)
        self.density.mul_(self.decay).add_((1 - self.decay) * count)
        move = torch.where(self.density <= self.target, self.rate, -self.rate)
        self.alpha.add_(move.to(self.alpha)).clamp_(min=self.rate)
        return gradient

    def _search(self, gradient: Tensor, c: Tensor, perturbed: Tensor, x: Tensor, g: Tensor, problem: Problem) -> Tensor:
        """The gradient for the first `alpha`, of those doubled, that changes a decision; that `alpha` stays."""
        start = self.alpha.clone()
        while not bool(gradient.any()) and float(self.alpha) < FARTHEST:
            self.alpha.mul_(2)
            gradient = super().difference(c, perturbed, x, g, problem)
        if not bool(gradient.any()):
            self.alpha.copy_(start)
        return gradient

    def extra_repr(self) -> str:
        noise = f"samples={self.samples}, temperature={self.temperature:g}, kappa={self.kappa:g}"
        return f"{noise}, target={self.target:g}, rate={self.rate:g}, decay={self.decay:g}, symmetric={self.symmetric}"


class _Difference(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, c: Tensor, perturbed: Tensor, layer: IMLE, problem: Problem) -> Tensor:
        x = problem.argmax(perturbed).mean(0)
        ctx.layer, ctx.problem = layer, problem
        ctx.save_for_backward(c, perturbed, x)
        return x.clone()

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        (c, perturbed, x), (g,), layer, problem = ctx.saved_tensors, grads, ctx.layer, ctx.problem
        return layer.difference(c, perturbed, x, g, problem), None, None, None
