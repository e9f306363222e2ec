"""How long does an epoch of SPO+ take over 1,000 maps of 12 x 12 cells with 8 moves? `python benchmarks/terrain.py`.

A small convolutional network prices the cells of generated terrain; SPO+ asks for the best flow under costs that are
often negative. Printed: seconds of an epoch of each loss, all included, the first epoch left out; and what of it the
network and the data loader take, from an epoch with the mean squared error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import foresolve
from foresolve.data import terrain_data


def network() -> torch.nn.Module:
    """Costs of cells that may be negative at first, as those of any plain network."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 8, stride=8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 1, 1),
        torch.nn.Flatten(),
    )


def seconds(loss: foresolve.Loss, data: foresolve.DecisionDataset, epochs: int) -> list[float]:
    """Of each epoch but the first."""
    model, took = network(), []
    for _ in range(epochs + 1):
        began = time.perf_counter()
        foresolve.fit(model, loss, data, epochs=1, batch_size=32, lr=0.003)
        took.append(time.perf_counter() - began)
    return took[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--maps", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    data = terrain_data(options.maps, seed=0)
    data = foresolve.DecisionDataset(data.features.float() / 255, data.theta, data.problem)
    began = time.perf_counter()
    data.solve()
    print(f"best paths of {options.maps} maps: {time.perf_counter() - began:.2f} s, {torch.get_num_threads()} threads")
    losses: dict[str, Callable[[], foresolve.Loss]] = {
        "mean squared error": foresolve.MSE,
        "SPO+": foresolve.SPOPlus,
        "perturbed Fenchel-Young, 1 sample": lambda: foresolve.losses.FenchelYoung(
            foresolve.layers.PerturbedAdditive(sigma=0.5, samples=1)
        ),
    }
    for name, loss in losses.items():
        times = seconds(loss(), data, options.epochs)
        print(f"{name}: {min(times):.2f} to {max(times):.2f} s an epoch")


if __name__ == "__main__":
    main()
