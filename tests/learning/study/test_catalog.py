from __future__ import annotations

import pytest

import foresolve
from foresolve.errors import InvalidInputError
from foresolve.learning.study.catalog import default_methods, focused, two_stage
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.parts import Parts
from learning.study.instances import dated, noise, paths
from models.instances import item_data


def names(data: foresolve.DecisionDataset) -> list[str]:
    parts = Parts.of(data, (0.6, 0.2, 0.2), None, 0)
    return [method.name for method in two_stage(None, parts, Facts.of(parts.train))[0]]


def test_references_suit_the_data() -> None:
    everywhere = ["mean", "ridge", "forest", "boosted trees", "network"]
    assert names(paths(degree=1)) == everywhere
    assert "log ridge" in names(paths())
    assert "last value" in names(dated())


def test_references_that_the_data_does_not_allow_are_reported() -> None:
    parts = Parts.of(paths(degree=1), (0.6, 0.2, 0.2), None, 0)
    methods, failures = two_stage(["ridge", "last value"], parts, Facts.of(parts.train))
    assert [method.name for method in methods] == ["ridge"]
    assert failures == {"last value": "rows are not dated"}
    with pytest.raises(InvalidInputError, match="at least one that the data allows"):
        two_stage("last value", parts, Facts.of(parts.train))


def test_defaults_suit_the_problem() -> None:
    assert default_methods(noise().problem) == ("spo+", "decision", "boosted spo+")
    assert default_methods(item_data().problem) == ("decision", "boosted decision")
    methods, failures = focused(None, item_data().problem)
    assert [(method.name, method.role) for method in methods] == [
        ("decision", "decision-focused"), ("boosted decision", "decision-focused"),
    ]  # fmt: skip
    assert not failures
