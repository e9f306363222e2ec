from __future__ import annotations

from typing import Any

import foresolve
from foresolve.learning.named_losses import NAMES, WORDS, loss_words
from foresolve.learning.study.catalog import REFERENCES, default_methods, focused, two_stage
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.methods import Family
from foresolve.learning.study.parts import Parts
from foresolve.losses.cave import CaVE
from foresolve.losses.prediction import OF_PREDICTION
from foresolve.losses.spo import SPOPlus
from learning.study.instances import dated, noise, paths
from mistakes import mistake
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
    with mistake("references", "rows are not dated"):
        two_stage("last value", parts, Facts.of(parts.train))


def test_defaults_suit_the_problem() -> None:
    assert default_methods(noise().problem) == ("spo+", "decision", "boosted spo+")
    assert default_methods(item_data().problem) == ("decision", "boosted decision")
    methods, failures = focused(None, item_data().problem)
    assert [(method.name, method.info.twin) for method in methods] == [
        ("decision", "network"), ("boosted decision", "boosted trees"),
    ]  # fmt: skip
    assert all(method.info.family is Family.DECISION_FOCUSED for method in methods)
    assert not failures


def test_every_reference_has_the_name_that_asks_for_it_and_words() -> None:
    parts = Parts.of(dated(), (0.6, 0.2, 0.2), None, 0)
    for name, made in REFERENCES.items():
        info = made(parts).info
        assert info.name == name
        assert info.description
        assert not info.focused
        assert info.deployable == (name != "last value")


def test_methods_say_what_they_train_on() -> None:
    problem = noise().problem
    given: list[Any] = ["boosted spo+", "fy", CaVE(), Own()]
    words = {method.name: method.info.description for method in focused(given, problem)[0]}
    assert list(words) == ["boosted spo+", "fy", "CaVE", "Own"]
    assert words["boosted spo+"] == f"boosted trees, trained on {loss_words(SPOPlus())}"
    assert words["Own"] == "a neural network, trained on the loss Own"
    assert [name for name, text in words.items() if "the loss" in text] == ["Own"]


class Own(CaVE):
    """A loss that foresolve does not know."""


def test_every_loss_of_decisions_has_words() -> None:
    made = {type(loss(noise().problem)) for loss in NAMES.values()}
    assert set(WORDS) == {kind for kind in made if not issubclass(kind, OF_PREDICTION)}
