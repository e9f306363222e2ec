"""The idea in one picture: two routes, rain, and straight lines that cannot be right everywhere.

The short road floods: it is the faster one until it rains hard. A linear model of both travel times must be wrong
somewhere. Least squares is wrong where it matters, about which route to take; trained on decisions, the same model is
wrong elsewhere.

    python examples/two_routes.py [--figure two_routes.png]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

import foresolve

ROUTES = ("ring road", "short road")
WRONG, COLORS = "0.85", ("tab:green", "tab:purple")


def minutes(rain: Tensor) -> Tensor:
    """Travel times `(..., 2)` of both routes."""
    return torch.stack([20 + 6 * rain, 10 + 40 * rain**8], -1)


def generate(count: int, seed: int) -> foresolve.DecisionDataset:
    generator = torch.Generator().manual_seed(seed)
    rain = torch.rand(count, 1, generator=generator)
    theta = minutes(rain[:, 0]) + torch.randn(count, 2, generator=generator)
    choice = foresolve.LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[1.0], bounds=(0, 1), sense="min", names=list(ROUTES))
    return foresolve.DecisionDataset(rain, theta, choice)


def trained(loss: foresolve.Loss, train: foresolve.DecisionDataset, valid: foresolve.DecisionDataset) -> foresolve.MLP:
    model = foresolve.MLP(1, 2, hidden=(), seed=0)
    foresolve.fit(
        model, loss, train, valid, epochs=60, warm_start=None if isinstance(loss, foresolve.MSE) else "two-stage"
    )
    return model


def draw(models: dict[str, foresolve.MLP], reports: dict[str, foresolve.learning.Report], path: str) -> None:
    """Each model's lines over the truth; shaded is the rain for which it takes the slower route."""
    import matplotlib.pyplot as plt

    rain = torch.linspace(0, 1, 501)
    truth = minutes(rain)
    figure, axes = plt.subplots(1, len(models), figsize=(10, 3.8), sharey=True, layout="constrained")
    for ax, (name, model) in zip(axes, models.items()):
        with torch.no_grad():
            predicted = model(rain[:, None])
        wrong = predicted.argmin(-1) != truth.argmin(-1)
        ax.fill_between(rain, 0, 50, where=wrong.numpy(), color=WRONG, label="takes the slower route")
        for place, color in enumerate(COLORS):
            ax.plot(rain, truth[:, place], color=color, linewidth=2.5, label=f"{ROUTES[place]}, true")
            ax.plot(rain, predicted[:, place], color=color, linestyle="--", label=f"{ROUTES[place]}, predicted")
        report = reports[name]
        ax.set_title(f"{name}\nmean squared error {report.mse:.0f}, minutes lost a day {report.regret:.2f}")
        ax.set(xlabel="rain", ylim=(0, 50), xlim=(0, 1))
    axes[0].set_ylabel("minutes")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=144)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Two routes and rain: two-stage against decision-focused.")
    parser.add_argument("--figure", help="where to draw the picture")
    path = parser.parse_args().figure
    train, valid, test = generate(2000, seed=0).split(500, 500, 1000, seed=0)
    losses = {"two-stage: least squares": foresolve.MSE(), "decision-focused: SPO+": foresolve.SPOPlus()}
    models = {name: trained(loss, train, valid) for name, loss in losses.items()}
    reports = {name: foresolve.evaluate(model, test) for name, model in models.items()}
    print(foresolve.compare(reports))
    if path:
        draw(models, reports, path)


if __name__ == "__main__":
    main()
