"""Quadratic forms that are fitted to samples of a function, for many instances at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# Of Adam, on factors whose natural size is about 1 / sqrt(d).
RATE = 0.05


@dataclass(frozen=True)
class LocalLosses:
    r"""`|L e|^2 + ridge |e|^2` for each of `B` instances, in float64.

    Attributes
    ----------
    factors: `(B, sides, d)` for diagonal `L`, `(B, sides, d, rank)` for its columns; of two sides the first is that of
        positive errors, the second that of negative ones.
    ridge: `(B,)`.
    """

    factors: Tensor
    ridge: Tensor

    def __call__(self, errors: Tensor) -> Tensor:
        """Values `(*batch, B)` of errors `(*batch, B, d)`."""
        sides = split_signs(errors, self.factors.shape[1])
        if self.factors.ndim == 3:
            form = (sides * self.factors).square().sum((-2, -1))
        else:
            form = torch.einsum("...bsd,bsdr->...br", sides, self.factors).square().sum(-1)
        return form + self.ridge * errors.square().sum(-1)

    def select(self, index: Tensor) -> LocalLosses:
        """The forms of some instances."""
        return LocalLosses(self.factors[index], self.ridge[index])

    def join(self, more: LocalLosses) -> LocalLosses:
        """Join these with more."""
        return LocalLosses(torch.cat([self.factors, more.factors]), torch.cat([self.ridge, more.ridge]))

    def to(self, device: torch.device) -> LocalLosses:
        """The same on another device."""
        return LocalLosses(self.factors.to(device), self.ridge.to(device))


def fit_local(
    errors: Tensor,
    targets: Tensor,
    *,
    directed: bool,
    rank: int | None,
    ridge: float,
    steps: int,
    generator: torch.Generator,
) -> LocalLosses:
    """Least squares for `targets` `(K, B)` at `errors` `(K, B, d)`; diagonal factors where `rank` is `None`.

    Each instance is fitted for itself, in units of its mean target; where that is zero, so is the form. All start
    alike, where the mean of the form is about that of the targets.
    """
    dims = errors.shape[-1]
    mean = targets.mean(0).clamp_min(0.0)
    scaled = torch.where(mean > 0, targets / torch.where(mean > 0, mean, 1.0), 0.0)
    spread = errors.square().sum(-1).mean(0)
    spread = torch.where(spread > 0, spread, 1.0)
    sides, scaled_ridge = 2 if directed else 1, ridge / spread
    if rank is None:
        start = (torch.ones(sides, dims).to(errors) / spread.sqrt()[:, None, None]).contiguous()
        factors = _descend(start, _diagonal_misfit(errors, scaled, scaled_ridge, sides), steps)
    else:
        start = torch.randn(sides, dims, rank, generator=generator).to(errors)
        start = start / (rank * spread).sqrt()[:, None, None, None]

        def misfit(factors: Tensor) -> Tensor:
            return (LocalLosses(factors, scaled_ridge)(errors) - scaled).square().mean(0).sum()

        factors = _descend(start, misfit, steps)

    size = mean.sqrt().reshape(-1, *(1,) * (factors.ndim - 1))
    return LocalLosses(factors * size, scaled_ridge * mean)


def split_signs(errors: Tensor, sides: int) -> Tensor:
    """`(*batch, d)` as `(*batch, sides, d)`: as it is, or its positive and its negative part."""
    rows = errors.unsqueeze(-2)
    return rows if sides == 1 else torch.cat([rows.clamp_min(0.0), rows.clamp_max(0.0)], -2)


def _diagonal_misfit(errors: Tensor, targets: Tensor, ridge: Tensor, sides: int) -> Callable[[Tensor], Tensor]:
    """The misfit of diagonal factors `u` up to a constant: quadratic in `u^2`, so that samples are seen only once."""
    squares = split_signs(errors, sides).square().flatten(2).transpose(0, 1)
    rest = (targets - ridge * errors.square().sum(-1)).T.unsqueeze(-1)
    gram = squares.mT @ squares / len(targets)
    moment = (squares.mT @ rest).squeeze(-1) / len(targets)

    def misfit(factors: Tensor) -> Tensor:
        weights = factors.square().flatten(1)
        return (((gram @ weights.unsqueeze(-1)).squeeze(-1) - 2 * moment) * weights).sum()

    return misfit


def _descend(start: Tensor, misfit: Callable[[Tensor], Tensor], steps: int) -> Tensor:
    """Adam, with a rate that falls to zero; instances do not meet, since it scales each entry separately."""
    with torch.enable_grad():
        factors = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([factors], lr=RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            (factors.grad,) = torch.autograd.grad(misfit(factors), factors)
            optimizer.step()
            schedule.step()
    return factors.detach()
