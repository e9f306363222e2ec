"""Tables as users have them, for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import foresolve

ROADS = pd.DataFrame(
    {
        "road": ["r1", "r2", "r3", "r4", "r5"],
        "from": ["A", "A", "B", "C", "B"],
        "to": ["B", "C", "D", "D", "C"],
    }
)


def road_problem() -> foresolve.ShortestPath:
    return foresolve.ShortestPath.from_frame(ROADS, "A", "D", name="road")


def days(count: int = 30, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features by date, with text, and the minutes of each road, wide."""
    rng = np.random.default_rng(seed)
    dates = pd.date_range("2023-01-01", periods=count)
    date = dates.strftime("%Y-%m-%d")
    features = pd.DataFrame({"date": date, "weekday": dates.day_name(), "rain": rng.random(count)})
    minutes = pd.DataFrame(1 + rng.random((count, 5)), columns=ROADS["road"].tolist())
    minutes.insert(0, "date", date)
    return features, minutes


def long(minutes: pd.DataFrame) -> pd.DataFrame:
    return minutes.melt("date", var_name="road", value_name="minutes")


def read(features: Any, theta: Any, **options: Any) -> foresolve.DecisionDataset:
    return foresolve.DecisionDataset.from_frames(features, theta, road_problem(), **{"key": "date", **options})
