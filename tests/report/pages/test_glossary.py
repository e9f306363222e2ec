from __future__ import annotations

import pytest

from foresolve.report.pages.glossary import terms
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


def test_choices_are_explained() -> None:
    assert "Chosen" in terms([fake_run(splits=1, pictures=False)])
