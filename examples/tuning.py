"""What the examples share: settings of every method chosen on validation data, then one look at the test data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import torch

import foresolve

Candidate = tuple[str, Callable[[], foresolve.Loss], float]  # what it is, how to make the loss, the learning rate


def tune(
    methods: Mapping[str, Sequence[Candidate]],
    model: Callable[[], torch.nn.Module],
    train: foresolve.DecisionDataset,
    valid: foresolve.DecisionDataset,
    test: foresolve.DecisionDataset,
    *,
    epochs: int,
    more_epochs: Mapping[str, int] | None = None,
    batch_size: int = 25,
) -> foresolve.learning.Comparison:
    """Train every candidate of every method from the same weights; keep the best on `valid`, epoch included.

    `more_epochs` gives cheap methods the time they need: prediction losses learn slower per step, and cost less.
    """
    reports = {}
    for name, candidates in methods.items():
        began, tried = time.perf_counter(), []
        rounds = (more_epochs or {}).get(name, epochs)
        for setting, make, lr in candidates:
            trained = model()
            foresolve.fit(trained, make(), train, valid, epochs=rounds, batch_size=batch_size, lr=lr, patience=rounds)
            tried.append((foresolve.evaluate(trained, valid, metrics=False).normalized_regret, setting, lr, trained))
        regret, setting, lr, best = min(tried, key=lambda entry: entry[0])
        reports[name] = foresolve.evaluate(best, test, metrics=False)
        seconds = time.perf_counter() - began
        print(f"{name}: {setting}, learning rate {lr:g}, validation regret {100 * regret:.2f} %, {seconds:.0f} s")
    return foresolve.compare(reports)


def rates(setting: str, make: Callable[[], foresolve.Loss], *values: float) -> list[Candidate]:
    """One candidate for each learning rate."""
    return [(setting, make, lr) for lr in values]
