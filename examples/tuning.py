"""What the examples share: settings of every method chosen on validation data, then one look at the test data."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

import foresolve

Model = Callable[[torch.Tensor], torch.Tensor]
Chosen = TypeVar("Chosen", bound=Model)
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
            trained, options = model(), {"epochs": rounds, "batch_size": batch_size, "lr": lr, "patience": rounds}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", foresolve.NoImprovementWarning)  # one of several; the best is taken
                foresolve.fit(trained, make(), train, valid, **options)
            tried.append((foresolve.evaluate(trained, valid, metrics=False).normalized_regret, setting, lr, trained))
        regret, setting, lr, best = min(tried, key=lambda entry: entry[0])
        reports[name] = foresolve.evaluate(best, test, metrics=False)
        seconds = time.perf_counter() - began
        print(f"{name}: {setting}, learning rate {lr:g}, validation regret {100 * regret:.2f} %, {seconds:.0f} s")
    return foresolve.compare(reports)


def rates(setting: str, make: Callable[[], foresolve.Loss], *values: float) -> list[Candidate]:
    """One candidate for each learning rate."""
    return [(setting, make, lr) for lr in values]


def choose(name: str, candidates: Iterable[tuple[str, Chosen]], regret: Callable[[Chosen], float]) -> Chosen:
    """The candidate of the smallest regret, that on validation data; prints which."""
    began = time.perf_counter()
    tried = [(regret(model), setting, model) for setting, model in candidates]
    best, setting, model = min(tried, key=lambda entry: entry[0])
    print(f"{name}: {setting}, validation regret {100 * best:.2f} %, {time.perf_counter() - began:.1f} s", flush=True)
    return model


def trained(
    start: torch.nn.Module,
    candidates: Sequence[Candidate],
    train: foresolve.DecisionDataset,
    valid: foresolve.DecisionDataset,
    *,
    epochs: int,
    **options: Any,
) -> Iterator[tuple[str, torch.nn.Module]]:
    """A model as it is, and trained on from there with each candidate's loss; the best epoch on `valid` is kept."""
    yield "as it started", start
    for setting, make, lr in candidates:
        model = copy.deepcopy(start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", foresolve.NoImprovementWarning)  # one candidate of several
            foresolve.fit(model, make(), train, valid, epochs=epochs, lr=lr, patience=epochs, **options)
        yield f"{setting}, learning rate {lr:g}", model


def by_weeks(reports: Mapping[str, foresolve.learning.Report], reference: str, unit: str, *, form: str = ",.2f") -> str:
    """A table for dated instances: what a day is worth, its share of the best, and differences to the reference.

    Days that follow each other are alike, so that whole weeks are resampled for the intervals (95 %).
    """
    width, lines = max(map(len, reports)), []
    base = reports[reference].instances["value"]
    weeks = np.arange(len(base) // 7 * 7).reshape(-1, 7)
    drawn = np.random.default_rng(0).integers(len(weeks), size=(2000, len(weeks)))
    for name, report in reports.items():
        differences = report.instances["value"] - base
        low, high = np.quantile(differences[weeks].mean(-1)[drawn].mean(-1), (0.025, 0.975))
        less = "" if name == reference else f"{differences.mean():+{form}} [{low:+{form}}, {high:+{form}}]"
        share = f"{report.value:10{form}} {report.normalized_regret:10.2%}"
        lines.append(f"{name:<{width}} {share}   {less}".rstrip())
    return "\n".join([f"{'':<{width}} {unit:>10} {'regret':>10}   less {reference}, 95 %", *lines])
