from __future__ import annotations

import pytest

from foresolve.learning.named_losses import NAMES
from foresolve.learning.study.catalog import REFERENCES
from foresolve.report.pages.glossary import LOSSES, STUDIED, studied, terms
from foresolve.report.records import Config
from foresolve.report.summary import EVERYWHERE
from foresolve.reproduce.domains.registry import DOMAINS
from reproduce.fakes import fake_run


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("protocol", ["exact", "paper"])
def test_every_method_of_every_domain_is_explained(domain: str, protocol: str) -> None:
    known = DOMAINS[domain]
    if protocol == "paper" and not known.published:
        pytest.skip("there is no published recipe")
    for method in known.methods(Config(domain, protocol)):  # type: ignore[arg-type]
        assert (EVERYWHERE | known.info.methods)[method].words, method


def test_every_method_of_a_study_is_explained() -> None:
    assert set(STUDIED) == set(REFERENCES)
    names = ("boosted spo+", "fy", "CaVE", "PairwiseRanking", "SPOPlus", "DecisionLoss", "Own")
    known = studied({"ridge": "two-stage"} | dict.fromkeys(names, "decision-focused"))
    assert known["boosted spo+"] == "boosted trees, trained on SPO+, a convex bound of the regret"
    assert known["SPOPlus"] == "a neural network, trained on SPO+, a convex bound of the regret"
    assert known["Own"] == "a neural network, trained on the loss Own"
    assert [name for name, text in known.items() if "the loss" in text] == ["Own"]


def test_every_loss_of_decisions_has_words() -> None:
    assert set(LOSSES) == set(NAMES) - {"mse", "log_mse", "cross_entropy"}


def test_choices_are_explained() -> None:
    assert "Chosen" in terms([fake_run(splits=1, pictures=False)])
