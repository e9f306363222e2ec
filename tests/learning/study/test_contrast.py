from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.comparison import report_gains
from foresolve.learning.evaluation import evaluate
from foresolve.learning.paired import paired
from foresolve.learning.study.contrast import Contrast, contrast, reach
from foresolve.learning.study.methods import Family
from learning.instances import top_k_data
from learning.study.instances import info


def reports(*noise: float) -> dict[str, object]:
    data = top_k_data(60)
    draw = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    guesses = {f"noise {level}": data.theta + level * draw for level in noise}
    return {name: evaluate(lambda a, g=guess: g[: len(a)], data, bootstrap=0) for name, guess in guesses.items()}


def compared(block: np.ndarray | int | None = None, sense: str = "max") -> Contrast:
    seen = reports(0.5, 0.0, 1.0, 3.0)
    infos = {name: info(name, Family.DECISION_FOCUSED) for name in seen}
    infos |= {name: info(name, Family.TWO_STAGE) for name in ("noise 0.5", "noise 3.0")}
    return contrast(seen, infos, "noise 0.5", sense, block=block, confidence=0.95, seed=0)  # type: ignore[arg-type]


def test_gains_are_above_zero_where_decisions_are_better() -> None:
    rows = compared()
    assert rows["noise 3.0"].gained < 0
    assert rows["noise 0.5"].interval is None
    assert rows["noise 0.5"].p_value is None
    low, high = rows["noise 0.0"].interval or (0.0, 0.0)
    assert 0 < low < rows["noise 0.0"].gained < high
    assert [row.name for row in rows.focused] == ["noise 0.0", "noise 1.0"]
    assert [row.name for row in rows.references] == ["noise 0.5", "noise 3.0"]


def test_intervals_and_p_values_of_decision_focused_methods_hold_at_once() -> None:
    rows = compared()
    gained = report_gains(*(reports(0.5, 1.0)[name] for name in ("noise 1.0", "noise 0.5")))  # type: ignore[arg-type]
    alone = paired("noise 1.0", "noise 0.5", gained)
    for row, together in ((rows["noise 1.0"], 2), (rows["noise 0.0"], 2), (rows["noise 3.0"], 1)):
        assert row.together == together
    assert rows["noise 1.0"].p_value == min(1.0, 2 * (alone.p_value or 0.0))
    assert rows["noise 1.0"].interval == alone.among(2).interval != alone.interval


@pytest.mark.parametrize("sense", ["max", "min"])
def test_json_gives_the_same_comparison(sense: str) -> None:
    rows = compared(sense=sense)
    again = Contrast.from_dict(json.loads(json.dumps(rows.to_dict(), allow_nan=False)))
    assert again == rows
    assert str(again) == str(rows)
    assert again.costs == (sense == "min")
    assert again["noise 1.0"].value == (1 if sense == "max" else -1) * compared()["noise 1.0"].value


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
    pytest.importorskip("pandas")
    assert {"gained", "interval", "p_value", "value", "regret"} <= set(rows.to_frame().columns)
    assert [row.name for row in rows] == list(rows.to_frame().index)


def test_differences_are_seen_beside_large_values() -> None:
    """In double precision, a common part of all parameters hides nothing."""
    data = top_k_data(60)
    far = DecisionDataset(data.features, data.theta.double() + 1e9, data.problem)
    draw = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    guesses = {"good": data.theta, "bad": data.theta + draw}
    seen = {name: evaluate(lambda a, g=guess: g[: len(a)], far, bootstrap=0) for name, guess in guesses.items()}
    infos = {"good": info("good", Family.DECISION_FOCUSED), "bad": info("bad", Family.TWO_STAGE)}
    options = {"block": None, "confidence": 0.95, "seed": 0}
    rows = contrast(seen, infos, "bad", "max", **options)  # type: ignore[arg-type]
    assert rows["good"].gained == pytest.approx(rows["bad"].regret, rel=1e-4)
    assert rows["bad"].regret > 0
    single = {name: replace(report, rounding=torch.finfo(torch.float32).eps) for name, report in seen.items()}
    rows = contrast(single, infos, "bad", "max", **options)  # type: ignore[arg-type]
    assert rows["good"].gained == 0  # in single precision these values are the same


def test_units_are_instances_with_a_weight() -> None:
    data = top_k_data(60)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=torch.arange(60) < 8)
    seen = {name: evaluate(lambda a: data.theta[: len(a)], weighted, bootstrap=0) for name in ("a", "b")}
    infos = {"a": info("a", Family.DECISION_FOCUSED), "b": info("b", Family.TWO_STAGE)}
    for block, units in ((None, 8), (5, 2)):
        assert contrast(seen, infos, "b", "max", block=block, confidence=0.95, seed=0).units == units


def test_the_reach_is_more_than_the_mean_regret_and_a_share_of_the_best_values() -> None:
    report: Any = reports(0.5)["noise 0.5"]
    most = reach(report, None, confidence=0.95, seed=0)
    assert report.normalized_regret < most < 3 * report.normalized_regret
    assert most > reach(report, None, confidence=0.5, seed=0)
    exact: Any = reports(0.0)["noise 0.0"]
    assert reach(exact, None, confidence=0.95, seed=0) == 0
