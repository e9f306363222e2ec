"""Which sentence is about which figure."""

from __future__ import annotations

from typing import Any

import pytest

from foresolve.report.published import DOMAINS, TABLE1
from foresolve.report.reasons import REASONS, in_part, reasons
from foresolve.report.records import Config, MethodInfo
from foresolve.reproduce.domains.methods import METHODS


def about(domain: str, method: str, verdict: str, measure: str | None = None, **config: Any) -> str:
    known = METHODS.get(method, MethodInfo("reference"))
    return " ".join(reasons(Config(domain, **config), known, measure, verdict))  # type: ignore[arg-type]


@pytest.mark.parametrize(("share", "part"), [(0.44, True), (0.996, True), (1.0, False), (None, False)])
def test_a_part_of_the_published_data_is_a_reason(share: float | None, part: bool) -> None:
    assert in_part(Config("recommendation", share=share)) == part
    words = about("recommendation", "NN1-Decision", "not reproduced", data="d", share=share, protocol="paper")
    assert ("The ratings at hand are a part of the published ones." in words) == part


def test_tuning_explains_what_is_better_under_protocol_exact_only() -> None:
    assert "not tuned" in about("matching", "NN2-Decision", "above")
    assert "layers are exact" in about("matching", "NN2-Decision", "above")
    assert "made by greedy" in about("budget", "NN1-2Stage", "above")
    assert "made by greedy" not in about("matching", "NN2-2Stage", "above")
    assert "over all entries" in about("matching", "NN2-2Stage", "above", "auc")
    assert "over all entries" not in about("matching", "NN2-2Stage", "above", "auc", protocol="paper")
    assert "not tuned" in about("budget", "NN1-2Stage", "better", "mse")
    assert "not tuned" not in about("matching", "NN2-Decision", "above", protocol="paper")
    assert "not tuned" not in about("matching", "NN2-Decision", "not reproduced")
    assert "tuned" not in about("matching", "RF-2Stage", "above")


def test_domains_have_reasons_of_their_own() -> None:
    assert "Yahoo's" in about("budget", "Random", "above")
    assert "Yahoo's" not in about("budget", "Random", "above", data="edges")
    assert "partition" in about("matching", "Random", "not reproduced", data="d")
    assert "generated" in about("matching", "Random", "not reproduced")
    assert "learning rate" in about("recommendation", "NN1-Decision", "not reproduced", protocol="paper")
    assert "learning rate" not in about("recommendation", "NN1-2Stage", "not reproduced", protocol="paper")
    assert "outputs die" in about("budget", "NN1-2Stage", "not reproduced", protocol="paper")
    assert "outputs die" not in about("budget", "NN1-2Stage", "above")
    assert "memorize" in about("recommendation", "NN2-2Stage", "not reproduced", protocol="paper")
    assert "memorize" not in about("recommendation", "NN1-2Stage", "above", protocol="paper")
    assert "decides as chance does" in about("recommendation", "RF-2Stage", "above")
    assert "constant" in about("matching", "RF-2Stage", "above", "auc")
    assert "constant" not in about("matching", "RF-2Stage", "above")
    assert "forest" in about("budget", "RF-2Stage", "not reproduced", protocol="paper")
    assert "second sigmoid" in about("matching", "NN1-Decision", "better", "cross_entropy")
    assert "second sigmoid" not in about("matching", "NN1-Decision", "above", "auc")
    assert "second sigmoid" not in about("matching", "NN2-2Stage", "not reproduced", "cross_entropy")
    assert "second sigmoid" in about("recommendation", "NN2-2Stage", "better", "cross_entropy")
    assert "second sigmoid" not in about("recommendation", "NN2-2Stage", "better", "cross_entropy", protocol="paper")


@pytest.mark.parametrize("verdict", ["reproduced", "unknown"])
def test_what_agrees_needs_no_reason(verdict: str) -> None:
    for domain, method, _ in TABLE1:
        assert about(domain, method, verdict, share=0.44) == ""


def test_every_reason_can_apply() -> None:
    assert all(set(reason.domains) <= DOMAINS for reason in REASONS)
    assert all(reason.text.endswith(".") and reason.verdicts for reason in REASONS)
