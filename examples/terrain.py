"""The cheapest way through a map of which there is only a picture: a small network prices the cells.

Maps are generated (12 x 12 cells of 8 x 8 pixels, 8 moves, costs on cells, the start included), after the Warcraft maps
of Vlastelica et al. (2020); `foresolve.data.load_warcraft` reads the published ones where they are at hand. SPO+ and
the perturbed Fenchel-Young loss ask for the best path under shifted costs, often negative ones, with cycles that pay:
they take the best flow then. The Fenchel-Young loss sees the best paths alone, never what cells cost.

    python examples/terrain.py
    python examples/terrain.py --figure terrain.png      # draws the paths (needs matplotlib)
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable

import torch
from torch import Tensor

import foresolve
from foresolve.data import terrain_data


class CellCosts(torch.nn.Module):
    """From pictures `(B, 3, 8 H, 8 W)` to positive costs of cells `(B, H W)`: what a cell and its neighbors show."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.AvgPool2d(4),
            torch.nn.Conv2d(3, channels, 2, stride=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(channels, channels, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(channels, 1, 1),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        scores = self.layers(pictures.float() / 64 - 2).flatten(1)
        return torch.nn.functional.softplus(scores + 4.0)  # from about the mean cost on


def untrained() -> CellCosts:
    """The same weights for every method."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return CellCosts()


class Training:
    """Learning rates and epochs are chosen on validation data, with the same care for every method."""

    def __init__(self) -> None:
        self.train, self.valid, self.test = terrain_data(600, seed=0).solve().split(200, 100, 300, seed=0)
        self.models: dict[str, CellCosts] = {}

    def add(
        self, name: str, loss: Callable[[], foresolve.Loss], start: CellCosts, epochs: int, lrs: tuple[float, ...]
    ) -> None:
        """Train from the weights of `start`, with each learning rate; keep the best epoch of the best."""
        began, tried = time.perf_counter(), []
        for lr in lrs:
            model = copy.deepcopy(start)
            foresolve.fit(model, loss(), self.train, self.valid, epochs=epochs, batch_size=25, lr=lr, patience=epochs)
            tried.append((foresolve.evaluate(model, self.valid, metrics=False).normalized_regret, lr, model))
        regret, lr, self.models[name] = min(tried, key=lambda entry: entry[0])
        seconds = time.perf_counter() - began
        print(f"{name}: learning rate {lr:g}, validation regret {100 * regret:.2f} %, {seconds:.0f} s")

    def compared(self) -> foresolve.learning.Comparison:
        """Their regret on maps that none of them has seen."""
        return foresolve.compare(
            {name: foresolve.evaluate(model, self.test, metrics=False) for name, model in self.models.items()}
        )


def draw(path: str, data: foresolve.DecisionDataset, models: dict[str, CellCosts], count: int = 3) -> None:
    """A row for each map: the picture with the best path, then the costs that each method predicts, with its path."""
    from matplotlib.figure import Figure

    problem = data.problem
    height, width = problem.shape
    figure = Figure(figsize=(2.6 * (len(models) + 1), 2.8 * count), layout="constrained")
    axes = figure.subplots(count, len(models) + 1, squeeze=False)
    for i, row in enumerate(axes):
        pictures, theta = data.features[i : i + 1], data.theta[i]
        row[0].imshow(pictures[0].permute(1, 2, 0), extent=(-0.5, width - 0.5, height - 0.5, -0.5))
        panels = {"best path": problem.solve(theta)}
        for ax, (name, model) in zip(row[1:], models.items(), strict=True):
            with torch.no_grad():
                costs = model(pictures)[0]
            ax.imshow(costs.reshape(height, width), cmap="Greys", vmin=0, vmax=1.3 * costs.max())  # each in its unit
            panels[name], _ = problem.decide(costs)
        for ax, (name, x) in zip(row, panels.items(), strict=True):
            cells = [divmod(node, width) for node in problem.path(x)]
            for color, size in (("white", 5), ("crimson", 2.5)):
                ax.plot([j for _, j in cells], [i for i, _ in cells], color=color, linewidth=size)
            ax.set_title(f"{name}: costs {-problem.objective(x, theta):.1f}", fontsize=9)
            ax.set_axis_off()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", help="where to draw the paths; nowhere by default")
    figure = parser.parse_args().figure

    def fenchel_young() -> foresolve.Loss:
        return foresolve.losses.FenchelYoung(foresolve.layers.PerturbedAdditive(sigma=0.5, samples=2))

    training = Training()
    training.add("two-stage", foresolve.MSE, untrained(), 80, (0.01, 0.03))
    training.add("SPO+", foresolve.SPOPlus, untrained(), 15, (0.01, 0.03))
    training.add("paths alone", fenchel_young, untrained(), 15, (0.005, 0.01))
    training.add("two-stage, SPO+", foresolve.SPOPlus, training.models["two-stage"], 10, (0.003, 0.01))
    print(training.compared())
    if figure:
        draw(figure, training.test, training.models)


if __name__ == "__main__":
    main()
