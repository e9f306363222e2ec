"""Train one method of PyEPO on the same instances.

The loop is that of PyEPO's documentation: its optDataset, its losses, Adam; its OR-Tools backend (GLOP), one process.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import torch

from benchmarks.learning.catalogue import BATCH, EPOCHS, GRID, RATE, TRAIN

warnings.simplefilter("ignore")

import pyepo  # noqa: E402
from pyepo.model.ort import shortestPathModel  # noqa: E402


def loss_of(method: str, model: Any, dataset: Any) -> Any:
    func = pyepo.func
    return {
        "MSE": lambda: torch.nn.MSELoss(),
        "SPOPlus": lambda: func.SPOPlus(model, processes=1),
        "FenchelYoung perturbed 3": lambda: func.perturbedFenchelYoung(model, n_samples=3, sigma=1.0, processes=1),
        "FenchelYoung perturbed 10": lambda: func.perturbedFenchelYoung(model, n_samples=10, sigma=1.0, processes=1),
        "Decision blackbox": lambda: func.blackboxOpt(model, lambd=10, processes=1),
        "NCE": lambda: func.noiseContrastiveEstimation(model, processes=1, solve_ratio=1.0, dataset=dataset),
    }[method]()


def step(method: str, loss: Any, predicted: torch.Tensor, batch: Any) -> torch.Tensor:
    _, costs, decisions, objectives = batch
    if method == "MSE":
        return loss(predicted, costs)
    if method == "SPOPlus":
        return loss(predicted, costs, decisions, objectives)
    if method == "Decision blackbox":
        return ((loss(predicted) * costs).sum(-1)).mean()
    return loss(predicted, decisions)


def train(method: str, seed: int, saved: dict[str, np.ndarray]) -> dict[str, Any]:
    optmodel = shortestPathModel(grid=GRID)
    ours = {tuple(arc): i for i, arc in enumerate(saved["arcs"].tolist())}
    order = [ours[tuple(arc)] for arc in optmodel.arcs]
    features, costs = saved["features"].astype(np.float32), saved["costs"][:, order].astype(np.float32)
    begin = time.perf_counter()
    training = pyepo.data.dataset.optDataset(optmodel, features[:TRAIN], costs[:TRAIN])
    test = pyepo.data.dataset.optDataset(optmodel, features[TRAIN:], costs[TRAIN:])
    prepared = time.perf_counter() - begin
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    loader = torch.utils.data.DataLoader(training, batch_size=BATCH, shuffle=True, generator=generator)
    model = torch.nn.Linear(features.shape[1], costs.shape[1])
    loss, optimizer = loss_of(method, optmodel, training), torch.optim.Adam(model.parameters(), lr=RATE)
    seconds = []
    for _ in range(EPOCHS):
        begin = time.perf_counter()
        for batch in loader:
            value = step(method, loss, model(batch[0]), batch)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - begin)
    check = torch.utils.data.DataLoader(test, batch_size=TRAIN, shuffle=False)
    return {
        "prepare_s": prepared,
        "regret": float(pyepo.metric.regret(model, optmodel, check)),
        "first_epoch_s": seconds[0],
        "epoch_s": float(np.median(seconds)),
    }
