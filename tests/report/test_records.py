"""Records go through JSON and come back; what does not fit is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from foresolve.errors import ForesolveError
from foresolve.report.records import Config, Record
from mistakes import mistake

CONFIG = Config("budget", "paper", 3, (5, 10), ("NN1", "Random"), 7, True, None, "generated", {"a": "0f"}, "cuda", 0.44)
COURSE = {"regret": [None, 0.25], "mse": [2.0, 3.0]}
RECORD = Record("budget", 2, "NN1", None, 0.1 + 0.2, None, 1.0, validation=-3.5, setting={"lr": 0.1}, course=COURSE)


@pytest.mark.parametrize("value", [CONFIG, RECORD], ids=["config", "record"])
def test_through_json_and_back(value: Config | Record) -> None:
    document = json.loads(json.dumps(value.to_dict()))
    assert type(value).from_dict(document) == value


@pytest.mark.parametrize("value", [CONFIG, RECORD], ids=["config", "record"])
def test_entries_too_many_and_too_few_are_named(value: Config | Record) -> None:
    document = value.to_dict()
    with mistake("", "color", kind=ForesolveError):
        type(value).from_dict(document | {"color": "red"})
    document.pop("domain")
    with mistake("", type(value).__name__, "domain", kind=ForesolveError):
        type(value).from_dict(document)


def test_records_of_a_run_are_spelled_out_by_split_method_and_budget() -> None:
    assert RECORD.key == (2, "NN1", None)
    assert Record.from_dict(RECORD.to_dict() | {"value": 9.0}).key == RECORD.key
    assert Record.from_dict(RECORD.to_dict() | {"k": 5}).key != RECORD.key


def test_configs_of_earlier_versions_have_no_share() -> None:
    document = CONFIG.to_dict()
    document.pop("share")
    assert Config.from_dict(document) == replace(CONFIG, share=None)


def test_records_of_earlier_versions_have_no_course() -> None:
    document = RECORD.to_dict()
    document.pop("course")
    assert Record.from_dict(document).course == {}
