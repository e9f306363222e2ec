from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.learning import Comparison, Report, compare, evaluate
from foresolve.report import comparison_page
from foresolve.report.pages.forest import Forest


@pytest.fixture(scope="module")
def data() -> DecisionDataset:
    theta = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    return DecisionDataset(theta, theta, foresolve.TopK(6, 2))


@pytest.fixture(scope="module")
def reports(data: DecisionDataset) -> dict[str, Report]:
    noise = torch.rand(40, 6, generator=torch.Generator().manual_seed(1))
    models = {"noise": lambda x: noise[: len(x)], "truth": lambda x: x, "same": lambda x: noise[: len(x)]}
    return {name: evaluate(model, data) for name, model in models.items()}


def drawn(page) -> Forest:
    return next(block for section in page.sections for block in section.blocks if isinstance(block, Forest))


@pytest.fixture
def comparison(reports: dict[str, Report]) -> Comparison:
    return compare(reports)


def test_less_regret_is_better_and_to_the_right(comparison: Comparison, reports: dict[str, Report]) -> None:
    page = comparison_page(comparison, reports=reports, date="2026-01-01")
    truth, same = drawn(page).differences
    assert truth.mean == -comparison["truth"].difference
    assert truth.mean > 0
    assert truth.low is not None
    assert truth.low > 0
    assert same.mean == 0
    best, equal = page.cards
    assert (best.tone, equal.tone) == ("good", "open")
    assert best.answer.startswith("Yes: regret 0, ")
    assert equal.answer.startswith("No significant difference")
    assert best.caution == "Small sample: 40 instances."
    assert page.date == "2026-01-01"


def test_more_value_is_better(reports: dict[str, Report]) -> None:
    comparison = compare(reports, measure="value")
    assert drawn(comparison_page(comparison)).differences[0].mean == comparison["truth"].difference
    turned = comparison_page(comparison, more_is_better=False)
    assert drawn(turned).differences[0].mean == -comparison["truth"].difference
    assert turned.cards[-1].tone == "bad"


def test_the_best_is_first_and_bold(comparison: Comparison) -> None:
    (grid,) = [block for block in comparison_page(comparison).sections[0].blocks if not isinstance(block, Forest)]
    assert [row.cells[0].text for row in grid.lines] == ["truth", "noise", "same"]  # type: ignore[attr-defined]
    assert [row.cells[1].bold for row in grid.lines] == [True, False, False]  # type: ignore[attr-defined]
