"""Runs with figures that a test sets one by one: the published means and intervals, but for what it changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foresolve.report.published import TABLE1, TABLE2, Published
from foresolve.report.records import Config, Protocol, Record
from foresolve.report.view import RunView
from reproduce.fakes import INFOS, PAPER_METHODS

SPLITS = 30
Key = tuple[str, int | None]
Means = Mapping[Key, float]


def sample(figure: Published) -> list[float]:
    """Numbers with this mean, half above it and half below, whose bootstrapped interval has about this half width."""
    spread = figure.half * math.sqrt(SPLITS) / 1.96
    return [figure.mean + (spread if split % 2 else -spread) for split in range(SPLITS)]


def published_run(
    domain: str,
    protocol: Protocol = "paper",
    *,
    means: Means | None = None,
    measures: Mapping[tuple[str, str], float] | None = None,
    r2: Mapping[str, float] | None = None,
    **config: Any,
) -> RunView:
    """The paper's own figures as a run: what each split has, and pictures with these correlations."""
    info = INFOS[domain]
    means, measures = means or {}, measures or {}
    records: list[Record] = []
    for (d, method, k), figure in TABLE1.items():
        if d == domain:
            values = sample(replace(figure, mean=means.get((method, k), figure.mean)))
            scores = {
                m: measures.get((method, m), f.mean) for (d, n, m), f in TABLE2.items() if (d, n) == (domain, method)
            }
            fractional = protocol == "paper" and info.fractional and method in PAPER_METHODS
            records += [
                Record(domain, split, method, k, value, value if fractional else None, 200.0, **scores)
                for split, value in enumerate(values)
            ]
    pictures = {
        method: correlated(value) for method, value in (r2 or {"NN1-Decision": 0.94, "NN1-2Stage": 0.5}).items()
    }
    chosen = Config(domain, protocol, ks=info.ks, methods=(*PAPER_METHODS, "Random"), **config)
    return RunView(chosen, {}, records, pictures if domain == "budget" else {}, info)


def correlated(r2: float) -> dict[str, np.ndarray]:
    """Row sums, and predictions whose squared correlation with them is this."""
    rng = np.random.default_rng(0)
    true, noise = rng.normal(size=(2, 400))
    true -= true.mean()
    noise -= noise.mean() + true * (noise @ true) / (true @ true)
    noise -= noise.mean()
    noise -= true * (noise @ true) / (true @ true)
    true, noise = true / np.linalg.norm(true), noise / np.linalg.norm(noise)
    predicted = math.sqrt(r2) * true + math.sqrt(1 - r2) * noise
    matrix = rng.random((20, 30))
    return {"theta": matrix, "theta_hat": matrix, "true_weight": true.reshape(20, 20),
            "predicted_weight": 13 + predicted.reshape(20, 20)}  # fmt: skip
