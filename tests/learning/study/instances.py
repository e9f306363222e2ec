"""Small data sets and settings for studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import foresolve
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.learning.study.contrast import Contrast, MethodRow
from foresolve.learning.study.methods import Family, MethodInfo
from foresolve.learning.study.result import Study
from foresolve.learning.study.studying import study

QUICK: dict[str, Any] = {"trials": 1, "epochs": 2, "budget": None, "hidden": (), "progress": False}


def paths(count: int = 160, degree: int = 6, seed: int = 0) -> DecisionDataset:
    """Costs of a small grid, positive and skewed."""
    return shortest_path_data(count, degree=degree, noise=0.5, grid=(3, 3), seed=seed)


def noise(count: int = 220, seed: int = 0) -> DecisionDataset:
    """Worths that features say nothing of."""
    generator = torch.Generator().manual_seed(seed)
    theta = torch.rand(count, 8, generator=generator) ** 3
    return DecisionDataset(torch.randn(count, 4, generator=generator), theta, foresolve.TopK(8, 3))


def dated(count: int = 120, seed: int = 0) -> DecisionDataset:
    """Daily costs that wander: yesterday's are a good guess, features say nothing."""
    pandas = pytest.importorskip("pandas")
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randn(count, 5, generator=generator).cumsum(0)
    days = pandas.date_range("2024-01-01", periods=count).astype(str)
    features = pandas.DataFrame({"day": days, "a": torch.randn(count, generator=generator).numpy()})
    theta = pandas.DataFrame((steps + 20).numpy(), columns=list("pqrst"))
    theta["day"] = days
    problem = foresolve.LinearProgram(A_eq=np.ones((1, 5)), b_eq=[2.0], bounds=(0, 1), sense="min", names=list("pqrst"))
    return DecisionDataset.from_frames(features, theta, problem, key="day", columns=["a"])


def info(name: str, family: Family = Family.TWO_STAGE, **facts: Any) -> MethodInfo:
    """A method by its name."""
    return MethodInfo(name, family, f"the method {name}", **facts)


def method_row(
    name: str, gained: float = 0.0, interval: tuple[float, float] | None = None, *, reference: str,
    family: Family = Family.DECISION_FOCUSED, regret: float = 10.0, p_value: float | None = None, **facts: Any,
) -> MethodRow:  # fmt: skip
    """A row of a comparison whose reference has regret 10 and value 20."""
    return MethodRow(
        name=name, reference=reference, gained=gained, interval=interval, p_value=p_value,
        method=info(name, family, **facts), value=10 + regret - gained, regret=regret - gained,
    )  # fmt: skip


def compared(reference: str, *rows: MethodRow, units: int = 100, sense: str = "min") -> Contrast:
    """A comparison of these rows."""
    return Contrast(
        reference=reference, confidence=0.95, instances=units, units=units, blocks="", sense=sense, rows=rows,  # type: ignore[arg-type]
    )  # fmt: skip


def quick(data: DecisionDataset | None, **changes: Any) -> Study:
    """A study of seconds."""
    settings = {"references": ["mean", "ridge", "network"], "methods": "spo+"} | QUICK | changes
    return study(data, **settings)
