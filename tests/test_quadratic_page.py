"""The page of the domains with quadratic programs: what its tool makes of records."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools import quadratic_page
from tools.quadratic_page import BEST

from foresolve.report.records import Job, JobResult, Record
from foresolve.report.summary import CHOSEN
from foresolve.reproduce.runs.folder import Run
from foresolve.reproduce.runs.plan import plan
from reproduce import tiny

METHODS = ("NN1-Decision", "NN1-2Stage", "NN2-2Stage", "Mean", "OPT")
# Value and validation in three splits: NN2-2Stage is the best two-stage model of the last two by validation.
SCORES: dict[str, list[tuple[float, float | None]]] = {
    "NN1-Decision": [(8.0, 8.0), (8.0, 9.5), (5.0, 5.0)],
    "NN1-2Stage": [(6.0, 7.0), (6.0, 7.0), (9.0, 6.0)],
    "NN2-2Stage": [(9.0, 6.0), (7.0, 9.0), (6.0, 7.0)],
    "Mean": [(5.5, None)] * 3,
    "OPT": [(10.0, None)] * 3,
}


def records(domain: str = "portfolio") -> list[Record]:
    return [
        Record(domain, split, name, None, value, None, 10.0, validation, mse=0.01, seconds=60.0)
        for name, scores in SCORES.items()
        for split, (value, validation) in enumerate(scores)
    ]


def rows(wanted: list[Record]) -> dict[str, quadratic_page.Row]:
    config = plan("portfolio", methods=METHODS, splits=3)
    return {row.method: row for row in quadratic_page.summarized(config, quadratic_page.with_choices(config, wanted))}


def test_the_best_two_stage_model_is_chosen_on_validation_instances() -> None:
    by_name = rows(records())
    assert by_name[BEST].value.mean == pytest.approx((6.0 + 7.0 + 6.0) / 3)  # not the best in the test: 9, 7 and 9
    assert by_name[BEST].chosen == {"NN1-2Stage": 1, "NN2-2Stage": 2}
    assert by_name[CHOSEN].chosen == {"NN1-Decision": 2, "NN2-2Stage": 1}
    assert by_name["NN1-Decision"].ahead.mean == pytest.approx((2.0 + 1.0 - 1.0) / 3)
    own = by_name["NN1-Decision"].ahead_of_own
    assert own is not None
    assert own.mean == pytest.approx((2.0 + 2.0 - 4.0) / 3)
    assert by_name["Mean"].regret.mean == pytest.approx(0.45)
    assert list(by_name)[-3:] == [BEST, CHOSEN, "OPT"]


def test_models_without_a_validation_value_get_one_without_seeing_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)
    config = tiny.config("portfolio", methods=["Linear-2Stage", "Mean"], splits=1)
    done = list(tiny.done(config).values())
    quadratic_page.CACHE._instances = None
    first = quadratic_page._validation(config, done[0])
    assert 0 < first < 1
    assert quadratic_page._validation(config, done[0]) == first
    quadratic_page.CACHE._instances = None


def test_the_page_is_filled_from_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, page = tmp_path / "runs", tmp_path / "results_quadratic.md"
    for domain in quadratic_page.DOMAINS:
        config = plan(domain, methods=METHODS, splits=3)
        with Run.open(runs / f"{domain}-exact", config) as run:
            for record in records(domain):
                run.add(Job(domain, record.split, record.method, (None,)), JobResult((record,)))
    page.write_text("\n".join(f"<!-- {name} -->\nold\n<!-- /{name} -->\nbetween" for name in quadratic_page.DOMAINS))
    for _ in range(2):  # again changes nothing
        monkeypatch.setattr(sys, "argv", ["quadratic_page.py", str(runs), "--page", str(page)])
        quadratic_page.main()
        text = page.read_text()
        assert "old" not in text
        assert text.count("between") == 2
        assert text.count("NN2-2Stage in 2 and NN1-2Stage in 1") == 2
        assert text.count("All that learn beat the mean.") == 2
    assert (tmp_path / "results" / "portfolio-exact.csv").read_text().startswith("method,splits,value,")
    assert (tmp_path / "results" / "tracking-exact-differences.png").read_bytes().startswith(b"\x89PNG")


def test_who_loses_to_the_mean_is_named(tmp_path: Path) -> None:
    config = plan("portfolio", methods=METHODS, splits=3)
    with Run.open(tmp_path, config) as run:
        for record in records():
            job = Job("portfolio", record.split, record.method, (None,))
            worse = Record(**{**record.to_dict(), "value": 1.0}) if record.method == "NN1-Decision" else record
            run.add(job, JobResult((worse,)))
        found = quadratic_page.summarized(config, quadratic_page.with_choices(config, run.records))
        last = quadratic_page.sentences(run, found)[-1]
    assert last == "No better than the mean of the parameters: NN1-Decision and Chosen."  # which is NN1-Decision twice
