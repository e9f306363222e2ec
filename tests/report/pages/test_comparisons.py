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
    every, best, equal = page.cards
    reference = comparison["noise"].mean
    assert (every.tone, best.tone, equal.tone) == ("good", "good", "open")
    assert "truth" in every.answer
    assert f"{reference:.4g}" in best.answer
    assert "40 instances" in best.caution
    assert page.date == "2026-01-01"
    assert [bool(card.more) for card in page.cards] == [True, False, False]


def test_more_value_is_better(reports: dict[str, Report]) -> None:
    comparison = compare(reports, measure="value")
    assert drawn(comparison_page(comparison)).differences[0].mean == comparison["truth"].difference
    turned = comparison_page(comparison, more_is_better=False)
    assert drawn(turned).differences[0].mean == -comparison["truth"].difference
    assert turned.cards[-1].tone == "bad"
    assert "truth" in turned.cards[0].answer


def test_the_best_is_first_and_bold(comparison: Comparison) -> None:
    (grid,) = [block for block in comparison_page(comparison).sections[0].blocks if not isinstance(block, Forest)]
    assert [row.cells[0].value for row in grid.lines] == ["truth", "noise", "same"]  # type: ignore[attr-defined]
    assert [row.cells[1].bold for row in grid.lines] == [True, False, False]  # type: ignore[attr-defined]


def test_many_comparisons_are_corrected(data: DecisionDataset, reports: dict[str, Report]) -> None:
    """Of 60 models that differ by chance, some intervals leave out zero: none is called better or worse."""
    generator = torch.Generator().manual_seed(2)
    models = {str(i): torch.rand(40, 6, generator=generator) for i in range(60)}
    scored = {name: evaluate(lambda x, guess=guess: guess[: len(x)], data) for name, guess in models.items()}
    comparison = compare({"noise": reports["noise"], **scored})
    ends = [row.difference_interval for row in comparison.rows if row.difference_interval is not None]
    assert any(low > 0 or high < 0 for low, high in ends)
    assert min(row.p_value for row in comparison.rows) < 0.05
    page = comparison_page(comparison)
    assert [card.tone for card in page.cards] == ["open"]  # no sixty cards before the first picture
    assert {difference.verdict for difference in drawn(page).differences} == {"no significant difference"}
    assert "corrected for 60 comparisons (Holm)" in drawn(page).caption


def test_too_few_instances_prove_nothing(data: DecisionDataset, reports: dict[str, Report]) -> None:
    blocks = compare(reports, block=4)
    assert (blocks.instances, blocks.units) == (40, 10)
    every, truth, _ = comparison_page(blocks).cards
    assert every.tone == truth.tone == "open"
    assert "10 blocks of 4" in truth.caution


def test_colors_are_those_of_the_roles_that_are_given(
    comparison: Comparison, data: DecisionDataset, reports: dict[str, Report]
) -> None:
    assert drawn(comparison_page(comparison)).roles == []
    page = comparison_page(comparison, roles={"truth": "decision-focused", "noise": "two-stage"})
    assert drawn(page).roles == ["decision-focused"]
    assert '<span class="dot two-stage"' in page.html()
