from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve._base.drawing.palette import COLORS
from foresolve._base.numbers import signed
from foresolve.data import DecisionDataset
from foresolve.learning import Comparison, Report, compare, evaluate
from foresolve.learning.paired import Standing
from foresolve.report import comparison_page
from foresolve.report.pages.document import Drawing
from foresolve.report.pages.pairs import p_words


@pytest.fixture(scope="module")
def data() -> DecisionDataset:
    theta = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    return DecisionDataset(theta, theta, foresolve.TopK(6, 2))


@pytest.fixture(scope="module")
def reports(data: DecisionDataset) -> dict[str, Report]:
    noise = torch.rand(40, 6, generator=torch.Generator().manual_seed(1))
    models = {"noise": lambda x: noise[: len(x)], "truth": lambda x: x, "same": lambda x: noise[: len(x)]}
    return {name: evaluate(model, data) for name, model in models.items()}


def drawn(page) -> Drawing:
    return next(block for section in page.sections for block in section.blocks if isinstance(block, Drawing))


@pytest.fixture
def comparison(reports: dict[str, Report]) -> Comparison:
    return compare(reports)


def test_less_regret_is_better_and_to_the_right(comparison: Comparison, reports: dict[str, Report]) -> None:
    page = comparison_page(comparison, reports=reports, date="2026-01-01")
    gain = comparison["truth"].gained
    assert gain > 0
    assert drawn(page).alt.startswith(f"Regret gained over noise: truth {signed(gain)} [+")
    assert drawn(page).alt.endswith("(better); same 0 [0, 0] (no significant difference).")
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
    more = signed(comparison["truth"].gained)
    assert f"truth {more} [" in drawn(comparison_page(comparison)).alt
    turned = comparison_page(compare(reports, measure="value", more_is_better=False))
    assert f"truth {more.replace('+', '−')} [" in drawn(turned).alt
    assert turned.cards[-1].tone == "bad"
    assert "truth" in turned.cards[0].answer


def test_the_best_is_first_and_bold(comparison: Comparison) -> None:
    (grid,) = [block for block in comparison_page(comparison).sections[0].blocks if not isinstance(block, Drawing)]
    assert [row.cells[0].value for row in grid.lines] == ["truth", "noise", "same"]  # type: ignore[attr-defined]
    assert [row.cells[1].bold for row in grid.lines] == [True, False, False]  # type: ignore[attr-defined]


def test_many_comparisons_are_corrected(data: DecisionDataset, reports: dict[str, Report]) -> None:
    """Of 60 models that differ by chance, some intervals leave out zero: none is called better or worse."""
    generator = torch.Generator().manual_seed(2)
    models = {str(i): torch.rand(40, 6, generator=generator) for i in range(60)}
    scored = {name: evaluate(lambda x, guess=guess: guess[: len(x)], data) for name, guess in models.items()}
    comparison = compare({"noise": reports["noise"], **scored})
    assert any(row.standing in (Standing.AHEAD, Standing.BEHIND) for row in comparison.others)  # each by itself
    page = comparison_page(comparison)
    assert [card.tone for card in page.cards] == ["open"]  # no sixty cards before the first picture
    assert drawn(page).alt.count("(no significant difference)") == 60
    assert "all 60 comparisons at once" in drawn(page).caption


def test_the_interval_and_the_p_value_beside_it_agree(data: DecisionDataset, reports: dict[str, Report]) -> None:
    """With several models, both hold for all of them at once."""
    shifted = {f"{share}": evaluate(lambda x, s=share: x + s * (x.flip(0) - x), data) for share in (0.1, 0.3, 0.6)}
    comparison = compare({"noise": reports["noise"], **shifted})
    page = comparison_page(comparison)
    for row in comparison.together().others:
        low, high = row.interval or (None, None)
        assert f"{row.name} {signed(row.gained)} [{signed(low)}, {signed(high)}]".replace("-", "−") in drawn(page).alt
        card = next(card for card in page.cards if row.name in card.question)
        assert p_words(row) in card.answer
        assert (card.tone != "open") == ((row.p_value or 0.0) < 0.05)


def test_too_few_instances_prove_nothing(data: DecisionDataset, reports: dict[str, Report]) -> None:
    blocks = compare(reports, block=4)
    assert (blocks.instances, blocks.units) == (40, 10)
    every, truth, _ = comparison_page(blocks).cards
    assert every.tone == truth.tone == "open"
    assert "10 blocks of 4" in truth.caution


def test_colors_are_those_of_the_roles_that_are_given(
    comparison: Comparison, data: DecisionDataset, reports: dict[str, Report]
) -> None:
    assert COLORS["decision-focused"] not in drawn(comparison_page(comparison)).svg
    page = comparison_page(comparison, roles={"truth": "decision-focused", "noise": "two-stage"})
    assert COLORS["decision-focused"] in drawn(page).svg
    assert '<span class="dot two-stage"' in page.html()
