"""The score-function estimator."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import held_fixed
from foresolve._base.randomness import Seed, Seeded
from foresolve.data.batch import Batch
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem


class ScoreFunction(Seeded, Loss):
    r"""SFGE: the expected regret of a prediction with added Gaussian noise.

    .. math::
        \ell(\hat\theta) = \mathbb{E}_{y \sim N(\hat\theta, \sigma^2 I)} \big[ r(y) \big], \qquad
        \nabla \ell = \mathbb{E} \big[ (r(y) - b) \, (y - \hat\theta) / \sigma^2 \big], \qquad
        r(y) = f(x^*, \theta) - f(x(y), \theta).

    Both are estimated, without bias, from the same `samples` draws of `y`; the baseline `b` of a draw is the mean
    regret of the others. Nothing but decisions and their values is asked for: no derivative of the objective, no
    optimality (Silvestri, Berden, Mandi, Mahmutogullari, Mulamba, De Filippo, Guns and Lombardi, *Score Function
    Gradient Estimation to Widen the Applicability of Decision-Focused Learning*, 2023).

    Parameters
    ----------
    sigma: the standard deviation of the noise, in units of `theta`: the larger, the smoother, and the more biased to
        predictions that are safe. It may be changed at any time.
    samples: solves for each instance and step, in one call; the variance of the gradient falls as its inverse.
    bounds: `(low, high)`, where `theta` must stay within limits: draws beyond are put on the limit before they are
        solved; the gradient stays unbiased. Those of the problem, `problem.theta_bounds`, hold too.
    seed: of the noise, or a `torch.Generator`; its state is in the `state_dict`.

    Works with: any oracle and any objective.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import ScoreFunction
    >>> theta_hat = torch.tensor([[2.0, 1.0]], requires_grad=True)
    >>> batch = foresolve.Batch(None, torch.tensor([[1.0, 3.0]]), foresolve.TopK(2, 1))
    >>> loss = ScoreFunction(sigma=1.0, samples=100)(theta_hat, batch)
    >>> loss.backward()
    >>> bool(0 < loss < 2), theta_hat.grad.sign()  # the regret is 2 where the first is chosen
    (True, tensor([[ 1., -1.]]))
    """

    needs = ("fixed",)
    uses_best = True

    def __init__(
        self, sigma: float = 1.0, samples: int = 10, *, bounds: tuple[float, float] | None = None, seed: Seed = 0
    ) -> None:
        super().__init__()
        self._seed(seed)
        self.sigma = sigma
        self.samples = checks.positive_int("samples", samples)
        self.bounds = as_bounds(bounds)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return self._sigma

    @sigma.setter
    def sigma(self, value: float) -> None:
        self._sigma = checks.positive("sigma", value)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        problem, center = batch.problem, held_fixed(theta_hat)[0].double()
        best = batch.best()[1].double()
        # Drawn where the generator is, whatever the device, so that a seed means the same everywhere.
        place = {"generator": self.generator, "device": self.generator.device}
        noise = torch.randn(self.samples, *theta_hat.shape, dtype=torch.float64, **place).to(theta_hat.device)
        with torch.no_grad():
            draws = center + self.sigma * noise
            x = problem.decide(clamped(draws, self.bounds, problem))[0]
            regret = best - problem.objective(x, batch.theta.double().expand_as(draws)).double()
            value = regret.mean(0)
            # r_s less the mean of the others is S / (S - 1) times r_s less the mean of all.
            advantage = regret if self.samples == 1 else (regret - value) * self.samples / (self.samples - 1)
            slope = (advantage.reshape(advantage.shape + (1,) * (theta_hat.ndim - 1)) * noise).mean(0) / self.sigma
        linear = (slope * (center - center.detach())).flatten(1).sum(-1)
        return (value + linear).to(theta_hat.dtype)

    def extra_repr(self) -> str:
        return f"sigma={self.sigma:g}, samples={self.samples}, bounds={self.bounds}"


def clamped(theta: Tensor, bounds: tuple[float, float] | None, problem: Problem) -> Tensor:
    """Draws put within the bounds given to the loss, if any, and within those of the problem."""
    return problem.clamp_theta(theta if bounds is None else theta.clamp(*bounds))


def as_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """`(low, high)` with `low < high`, or `None`."""
    if bounds is None:
        return None
    try:
        low, high = (float(limit) for limit in bounds)
    except (TypeError, ValueError) as error:
        raise checks.fail("bounds", "(low, high) or None", repr(bounds)) from error
    if not low < high:
        raise checks.fail("bounds", "(low, high) with low < high", repr(bounds))
    return low, high
