"""Tables as users have them, and a policy that was trained on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foresolve.data import DecisionDataset
from foresolve.learning import Policy
from foresolve.models import LinearRegression
from foresolve.problems import TopK

NAMES = ["tea", "milk", "rum", "salt"]
PROBLEM = TopK(4, 2, names=NAMES)


class Tables(NamedTuple):
    """Features and what was true, by day."""

    features: pd.DataFrame
    theta: pd.DataFrame


def tables(count: int = 400, seed: int = 0, *, shift: float = 0.0, trend: float = 0.0) -> Tables:
    """`shift` moves the rain, `trend` what the truth is beside the features."""
    rng = np.random.default_rng(seed)
    days = (np.datetime64("2021-01-01") + np.arange(count)).astype(str)
    rain, wind = rng.gamma(2.0, 1.0, count) + shift, rng.normal(size=count)
    weekday = np.array(["mon", "tue", "wed"])[np.arange(count) % 3]
    weights = np.random.default_rng(99).normal(size=(3, len(NAMES)))
    theta = np.stack([rain, wind, weekday == "tue"], 1) @ weights + 0.5 * rng.normal(size=(count, len(NAMES)))
    theta += trend * np.array([1.0, -1.0, 0.0, 0.0])
    features = pd.DataFrame({"day": days, "weekday": weekday, "rain": rain, "wind": wind})
    return Tables(features, pd.DataFrame(theta, columns=NAMES).assign(day=days)[["day", *NAMES]])


def as_data(of: Tables) -> DecisionDataset:
    return DecisionDataset.from_frames(*of, PROBLEM, key="day", encode={"day": "ignore"})


def made(seed: int = 0, *, held_out: bool = True, **options: Any) -> Policy:
    """A ridge regression with what it was trained and checked on."""
    train, valid = as_data(tables(seed=seed)).split(0.6)
    model = LinearRegression(1.0).fit(train)
    return Policy(model, PROBLEM, train=train, valid=valid if held_out else None, **options)
