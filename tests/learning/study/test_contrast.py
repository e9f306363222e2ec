from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.evaluation import evaluate
from foresolve.learning.study.contrast import Contrast, contrast, reach
from learning.instances import top_k_data


def reports(*noise: float) -> dict[str, object]:
    data = top_k_data(60)
    draw = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    guesses = {f"noise {level}": data.theta + level * draw for level in noise}
    return {name: evaluate(lambda a, g=guess: g[: len(a)], data, bootstrap=0) for name, guess in guesses.items()}


def compared(block: np.ndarray | int | None = None) -> Contrast:
    seen = reports(0.5, 0.0, 1.0, 3.0)
    roles = dict.fromkeys(seen, "decision-focused") | {"noise 0.5": "reference", "noise 3.0": "reference"}
    return contrast(seen, roles, "noise 0.5", lambda value: value, block=block, confidence=0.95, seed=0)  # type: ignore[arg-type]


def test_differences_are_below_zero_where_decisions_are_better() -> None:
    rows = compared()
    assert rows["noise 0.0"].difference < 0 < rows["noise 0.0"].improvement
    assert rows["noise 3.0"].difference > 0
    assert rows["noise 0.5"].interval is None
    assert rows["noise 0.5"].p_value is None
    low, high = rows["noise 0.0"].improvement_interval or (0.0, 0.0)
    assert 0 < low < rows["noise 0.0"].improvement < high
    assert [row.name for row in rows.focused] == ["noise 0.0", "noise 1.0"]


def test_only_decision_focused_methods_are_corrected() -> None:
    rows = compared()
    for row in rows.focused:
        assert row.holm is not None and row.p_value is not None  # noqa: PT018
        assert row.p_value <= row.holm <= 2 * row.p_value
    assert rows["noise 3.0"].holm is None
    assert rows["noise 3.0"].p_value is not None


def test_blocks_are_the_units() -> None:
    assert compared().units == 60
    rows = compared(7)
    assert (rows.units, rows.blocks) == (8, "8 blocks of 7")
    assert compared(np.arange(60) // 6).units == 10
    assert "in 8 blocks of 7" in str(rows)


def test_what_it_shows() -> None:
    rows = compared()
    shown = [line[:9] for line in str(rows).splitlines() if line.startswith(("noise", "---"))]
    assert shown == ["-" * 9, "noise 0.0", "noise 1.0", "noise 3.0", "-" * 9, "noise 0.5"]  # the reference is apart
    json.dumps(rows.to_dict(), allow_nan=False)
    pytest.importorskip("pandas")
    assert list(rows.to_frame().columns)[:3] == ["role", "value", "regret"]
    assert [row.name for row in rows] == list(rows.to_frame().index)


def test_differences_are_seen_beside_large_values() -> None:
    """In double precision, a common part of all parameters hides nothing."""
    data = top_k_data(60)
    far = DecisionDataset(data.features, data.theta.double() + 1e9, data.problem)
    draw = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    guesses = {"good": data.theta, "bad": data.theta + draw}
    seen = {name: evaluate(lambda a, g=guess: g[: len(a)], far, bootstrap=0) for name, guess in guesses.items()}
    roles = {"good": "decision-focused", "bad": "reference"}
    options = {"block": None, "confidence": 0.95, "seed": 0}
    rows = contrast(seen, roles, "bad", lambda value: value, **options, dtype=torch.float64)  # type: ignore[arg-type]
    assert rows["good"].difference == pytest.approx(-rows["bad"].regret, rel=1e-4)
    assert rows["bad"].regret > 0
    rows = contrast(seen, roles, "bad", lambda value: value, **options, dtype=torch.float32)  # type: ignore[arg-type]
    assert rows["good"].difference == 0  # in single precision these values are the same


def test_units_are_instances_with_a_weight() -> None:
    data = top_k_data(60)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=torch.arange(60) < 8)
    seen = {name: evaluate(lambda a: data.theta[: len(a)], weighted, bootstrap=0) for name in ("a", "b")}
    roles = {"a": "decision-focused", "b": "reference"}
    for block, units in ((None, 8), (5, 2)):
        assert contrast(seen, roles, "b", float, block=block, confidence=0.95, seed=0).units == units


def test_the_reach_is_more_than_the_mean_regret_and_a_share_of_the_best_values() -> None:
    report: Any = reports(0.5)["noise 0.5"]
    most = reach(report, None, confidence=0.95, seed=0)
    assert report.normalized_regret < most < 3 * report.normalized_regret
    assert most > reach(report, None, confidence=0.5, seed=0)
    exact: Any = reports(0.0)["noise 0.0"]
    assert reach(exact, None, confidence=0.95, seed=0) == 0
