"""What smoothing costs and gives: `python -m benchmarks.defaults.smoothing [--page docs/smoothing.md]`.

At the predictions of a two-stage model, for shares that smoothed decisions keep under the truth: how many instances
pass a gradient, how much the gradient differs from batch to batch, and how far the exact regret falls along it.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

import foresolve
from benchmarks.defaults.methods import FENCHEL_YOUNG, PERTURBED, SPO, losses, own_layer, prediction_loss
from benchmarks.defaults.run import FIRST_SEED, find
from benchmarks.defaults.tables import filled
from foresolve import DecisionDataset, DecisionLoss, Loss
from foresolve._base.table import Table
from foresolve.errors import ForesolveWarning

SHARES = (0.5, 0.7, 0.85, 0.95, 0.98, 0.995, 0.9999)
SETTINGS = (
    "path 5x5, degree 6", "path 12x12, degree 6", "cells 12x12", "knapsack 1-D", "matching 12x12",
    "top 10 of 50, skewed", "battery", "budget", "facility location",
)  # fmt: skip
BATCH, BATCHES = 32, 16
STEPS = tuple(10 ** (i / 4) for i in range(-12, 5))  # lengths, in units of the root mean square of the weights


class Slope:
    """The gradient of a loss at a model's weights, on batches drawn from training data."""

    def __init__(self, model: nn.Module, loss: Loss, train: DecisionDataset, seed: int) -> None:
        self.model = model
        draws = torch.Generator().manual_seed(seed)
        self.gradients = torch.stack([self._at(loss, train, draws) for _ in range(BATCHES)])
        self.mean = self.gradients.mean(0)

    def _at(self, loss: Loss, train: DecisionDataset, draws: torch.Generator) -> Tensor:
        batch = train[torch.randint(len(train), (BATCH,), generator=draws)]
        self.model.zero_grad()
        loss(self.model(batch.features), batch).mean().backward()
        return torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None]).double()

    @property
    def noise(self) -> float:
        """The standard deviation of a batch's gradient over the norm of the expected one, infinite where unseen."""
        variance = float((self.gradients - self.mean).square().sum(1).mean()) * BATCHES / (BATCHES - 1)
        signal = float(self.mean.square().sum()) - variance / BATCHES
        return (variance / signal) ** 0.5 if signal > 0 else float("inf")

    def gain(self, data: DecisionDataset) -> float:
        """By how much the regret of exact decisions falls at best along the mean gradient, in percentage points."""
        size = float(torch.cat([p.detach().flatten() for p in self.model.parameters()]).square().mean().sqrt())
        direction = self.mean / self.mean.abs().max().clamp_min(1e-300)
        before = best = regret(self.model, data)
        for step in STEPS:
            moved, place = copy.deepcopy(self.model), 0
            with torch.no_grad():
                for p in moved.parameters():
                    p -= (step * size * direction[place : place + p.numel()]).reshape(p.shape).to(p)
                    place += p.numel()
            best = min(best, regret(moved, data))
        return 100 * (before - best)


def regret(model: nn.Module, data: DecisionDataset) -> float:
    return foresolve.evaluate(model, data, metrics=False, bootstrap=0).normalized_regret


def rows(name: str) -> list[tuple[str, ...]]:
    """One for each share, and one for each loss that has no such choice."""
    setting = find(name)
    train, valid, _ = setting.split(FIRST_SEED)
    model = setting.model(train, FIRST_SEED)
    foresolve.fit(model, prediction_loss(model), train, valid, seed=FIRST_SEED, progress=False)
    found = []
    for share in SHARES:
        loss = DecisionLoss(own_layer(train))
        loss.keep = share  # type: ignore[assignment]
        loss.prepare(train)
        with torch.no_grad():
            solution = loss.layer.solve(model(valid.features), valid.problem)
        slope = Slope(model, loss, train, FIRST_SEED)
        figures = (f"{float(solution.kept.mean()):.3f}", f"{solution.passing:.2f}", f"{slope.noise:.2f}")
        found.append((f"DecisionLoss, {share:g}", *figures, f"{slope.gain(valid):.2f}"))
    for method, make in losses(train, model).items():
        if method in (FENCHEL_YOUNG, SPO, PERTURBED):
            loss = make()
            loss.prepare(train)
            slope = Slope(model, loss, train, FIRST_SEED)
            found.append((method, "", "", f"{slope.noise:.2f}", f"{slope.gain(valid):.2f}"))
    return [(name if i == 0 else "", *row) for i, row in enumerate(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="a page to put the table into, such as docs/smoothing.md")
    page = parser.parse_args().page
    torch.set_num_threads(1)
    found: list[tuple[str, ...]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForesolveWarning)  # sharp decisions pass no gradient: that is the point
        for name in SETTINGS:
            found += rows(name)
            print(name, flush=True)
    headers = ("setting", "loss, share kept under the truth", "kept at predictions", "passing", "noise", "gain, points")
    table = Table(headers, found)
    print(table.markdown())
    if page is not None:
        page.write_text(filled(page.read_text(encoding="utf-8"), "smoothing", table.markdown()), encoding="utf-8")


if __name__ == "__main__":
    main()
