"""Policies and files of features for the tests of this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.policy import Policy
from foresolve.models.baselines import LinearRegression
from foresolve.problems.top_k import TopK

ITEMS = ["tea", "milk", "rum", "salt"]
TOP = TopK(4, 2, names=ITEMS)
KEYS = ["shop", "day"]


def wide(count: int, seed: int = 0) -> pd.DataFrame:
    """A row for each instance; keys of two columns, one of which looks like numbers."""
    rng = np.random.default_rng(seed)
    shops = [f"{place:05d}" for place in range(count)]
    return pd.DataFrame({
        "shop": shops, "day": "2024-03-01", "weekday": rng.choice(["mon", "tue", "wed"], count),
        "rain": rng.random(count), "wind": rng.normal(size=count),
    })  # fmt: skip


def long(count: int, seed: int = 0) -> pd.DataFrame:
    """A row for each instance and item, in an order of its own for each instance."""
    rng = np.random.default_rng(seed)
    items = np.concatenate([rng.permutation(ITEMS) for _ in range(count)])
    return pd.DataFrame({
        "week": np.repeat(np.arange(count), len(ITEMS)), "item": items, "price": rng.random(len(items)),
        "stock": rng.integers(0, 9, len(items)),
    })  # fmt: skip


def wide_policy(**options: Any) -> Policy:
    """A regression on the features of `wide`."""
    features = wide(60)
    theta = pd.DataFrame(np.random.default_rng(9).random((60, 4)), columns=ITEMS)
    theta[KEYS] = features[KEYS]
    data = DecisionDataset.from_frames(features, theta, TOP, key=KEYS, dates=False, **options)
    return Policy(LinearRegression(1.0).fit(data), TOP, train=data)


def dated(count: int, seed: int = 0) -> pd.DataFrame:
    """Like `wide`, a row for each day, and half of the rain is missing."""
    table = wide(count, seed).drop(columns="shop")
    table["day"] = pd.date_range("2024-06-01", periods=count).strftime("%Y-%m-%d")
    return table.assign(rain=table["rain"].where(np.random.default_rng(seed).random(count) < 0.5))


def dated_policy() -> Policy:
    """A regression that takes the last known for what is missing."""
    features = dated(60).assign(day=pd.date_range("2024-01-01", periods=60), rain=np.linspace(0, 1, 60))
    theta = pd.DataFrame(np.random.default_rng(9).random((60, 4)), columns=ITEMS).assign(day=features["day"])
    data = DecisionDataset.from_frames(features, theta, TOP, key="day", missing="previous")
    return Policy(LinearRegression(1.0).fit(data), TOP, train=data)


def long_policy() -> Policy:
    """A regression on the features of `long`."""
    table = long(60)
    table["worth"] = table["price"] + np.random.default_rng(9).random(len(table))
    data = DecisionDataset.from_frames(table, problem=TOP, key="week", variable="item", value="worth", dates=False)
    return Policy(LinearRegression(1.0).fit(data), TOP, train=data)


def written(table: pd.DataFrame, path: Path) -> Path:
    """A frame as the file that its name says; Parquet in small groups of rows."""
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False, row_group_size=37)
    else:
        table.to_csv(path, index=False)
    return path
