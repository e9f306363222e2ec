from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve.errors import ForesolveError
from foresolve.projects import Run, compare_scores
from mistakes import mistake


def scores(count: int = 60, seed: int = 0, extra: float = 0.0, **changes: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    optimum = np.random.default_rng(99).uniform(10, 20, count)
    regret = rng.exponential(1.0, count) + extra
    return pd.DataFrame({
        "method": "ridge", "day": [f"d{i}" for i in range(count)], "value": optimum + regret, "optimum": optimum,
        "regret": regret, "block": np.arange(count), "weight": 1.0,
    }).assign(**changes)  # fmt: skip


def test_gains_are_paired_by_key() -> None:
    a, b = scores(), scores(extra=1.0)
    result = compare_scores({"a": a, "b": b.sample(frac=1, random_state=0)})
    first, second = result.rows
    assert (first.gained, first.interval, first.p_value, first.is_reference) == (0.0, None, None, True)
    assert second.gained == pytest.approx(-1.0)  # every one of them: chance has no part in it
    assert second.interval == pytest.approx((-1.0, -1.0))
    assert second.value == pytest.approx(b["value"].mean())
    assert (result.instances, result.reference) == (60, "a")


def test_the_best_run_is_shown_first_and_the_reference_apart() -> None:
    """The words of this area, in one place."""
    result = compare_scores({name: scores(extra=extra) for name, extra in (("a", 0.5), ("b", 1.0), ("c", 0.0))})
    assert [row.name for row in result.rows] == ["a", "b", "c"]
    title, headers, *lines = str(result).splitlines()
    assert title == "60 instances; gained: regret of a minus regret of the row"
    assert re.split(r"\s{2,}", headers.strip()) == ["run", "method", "value", "regret", "gained [95%]", "p"]
    assert [line[0] for line in lines[-4:]] == ["c", "b", "-", "a"]


def test_what_is_printed_is_what_the_study_has(run: Run) -> None:
    """`train` and `compare` say the same of one pair, but for the number of methods that are compared at once."""
    reference, name = run.comparison().reference, run.comparison().focused[0].name
    row = compare_scores({"first": run.scores(reference), "second": run.scores(name)}).rows[1]
    studied = run.comparison()[name]
    assert studied.together == 1
    assert row.gained == pytest.approx(studied.gained, rel=1e-6)
    assert row.interval == pytest.approx(studied.interval, rel=1e-6)
    assert row.p_value == pytest.approx(studied.p_value)


def test_weights_count() -> None:
    weight = np.where(np.arange(60) < 6, 10.0, 1.0)
    a, b = scores(weight=weight), scores(seed=1, weight=weight)
    _, second = compare_scores({"a": a, "b": b}).rows
    assert second.regret == pytest.approx(np.average(b["regret"], weights=weight))
    assert second.gained == pytest.approx(np.average(a["regret"] - b["regret"], weights=weight))


def test_rounding_in_single_precision_is_no_difference() -> None:
    base = scores()
    close = base.assign(regret=base["regret"] + 1e-7 * base["optimum"])
    row = compare_scores({"a": base, "b": close}).rows[1]
    assert (row.gained, row.interval) == (0.0, (0.0, 0.0))


def test_json_has_null_for_an_end_that_is_not_bounded() -> None:
    result = compare_scores({"a": scores(3), "b": scores(3, extra=1.0)})
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["reference"] == "a"
    assert [row["interval"] for row in document["rows"]] == [None, None]


def test_only_common_instances() -> None:
    result = compare_scores({"a": scores(60), "b": scores(60).iloc[10:], "c": scores(60).iloc[:40]})
    assert result.instances == 30
    assert result.left_out == {"a": 30, "b": 20, "c": 10}


@pytest.mark.parametrize(
    ("other", "facts"),
    [
        (scores(day=[f"x{i}" for i in range(60)]), ("in common",)),
        (scores().rename(columns={"day": "week"}), ("a has day", "b has week")),
        (scores(optimum=3.0), ("'d0'", "3")),
    ],
)
def test_runs_that_do_not_compare(other: pd.DataFrame, facts: tuple[str, ...]) -> None:
    with mistake("", *facts, kind=ForesolveError):
        compare_scores({"a": scores(), "b": other})


def test_it_takes_two() -> None:
    with mistake("tables", "1"):
        compare_scores({"a": scores()})
