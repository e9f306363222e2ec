from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.projects import compare_scores


def scores(count: int = 60, seed: int = 0, extra: float = 0.0, **changes: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    optimum = np.random.default_rng(99).uniform(10, 20, count)
    regret = rng.exponential(1.0, count) + extra
    return pd.DataFrame({
        "method": "ridge", "day": [f"d{i}" for i in range(count)], "value": optimum + regret, "optimum": optimum,
        "regret": regret, "block": np.arange(count), "weight": 1.0,
    }).assign(**changes)  # fmt: skip


def test_differences_are_paired_by_key() -> None:
    a, b = scores(), scores(extra=1.0)
    result = compare_scores({"a": a, "b": b.sample(frac=1, random_state=0)})
    first, second = result.rows
    assert (first.difference, first.interval, first.p_value) == (0.0, None, None)
    assert second.difference == pytest.approx(1.0)  # every one of them: chance has no part in it
    assert second.interval == pytest.approx((1.0, 1.0))
    assert second.value == pytest.approx(b["value"].mean())
    assert result.instances == 60
    assert "regret less that of a" in str(result)


def test_the_best_run_is_shown_first_and_the_reference_apart() -> None:
    result = compare_scores({name: scores(extra=extra) for name, extra in (("a", 0.5), ("b", 1.0), ("c", 0.0))})
    assert [row.run for row in result.rows] == ["a", "b", "c"]
    assert [line[0] for line in str(result).splitlines()[-4:]] == ["c", "b", "-", "a"]


def test_weights_count() -> None:
    weight = np.where(np.arange(60) < 6, 10.0, 1.0)
    a, b = scores(weight=weight), scores(seed=1, weight=weight)
    _, second = compare_scores({"a": a, "b": b}).rows
    assert second.regret == pytest.approx(np.average(b["regret"], weights=weight))
    assert second.difference == pytest.approx(np.average(b["regret"] - a["regret"], weights=weight))


def test_only_common_instances() -> None:
    result = compare_scores({"a": scores(60), "b": scores(60).iloc[10:], "c": scores(60).iloc[:40]})
    assert result.instances == 30
    assert result.left_out == {"a": 30, "b": 20, "c": 10}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (scores(day=[f"x{i}" for i in range(60)]), "no test instance in common"),
        (scores().rename(columns={"day": "week"}), "a has day, b has week"),
        (scores(optimum=3.0), "a and b were not judged alike: the best value of 'd0' is"),
    ],
)
def test_runs_that_do_not_compare(other: pd.DataFrame, message: str) -> None:
    with pytest.raises(ForesolveError, match=message):
        compare_scores({"a": scores(), "b": other})


def test_it_takes_two() -> None:
    with pytest.raises(InvalidInputError, match="`tables` must be of two runs or more"):
        compare_scores({"a": scores()})
