from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.learning import History, evaluate
from foresolve.report import training_page
from foresolve.report.pages.document import Drawing


def history(**changes) -> History:
    known = {"train_loss": [3.0, 2.0], "valid_loss": [None, None], "valid_regret": [0.3, 0.2], "seconds": [1.0, 1.0],
             "valid_distance": [None, None], "gamma": [None, None], "lr": [0.1, 0.1], "skipped": [0, 0], "planned": 2,
             "monitor": "regret", "start": 0.5, "best_epoch": 2}  # fmt: skip
    return History(**{**known, **changes})


def test_a_training_that_helped_says_by_how_much() -> None:
    page = training_page(history())
    (card,) = page.cards
    assert card.tone == "good"
    assert all(text in card.answer for text in ("50.00%", "20.00%", "2 of 2"))
    curves = next(block for section in page.sections for block in section.blocks if isinstance(block, Drawing))
    assert curves.alt == "Over epochs: regret from 50 % to 20 %, least 20 %; training loss from 3 to 2, least 2."


def test_a_training_that_did_not_help_says_so() -> None:
    (card,) = training_page(history(best_epoch=0)).cards
    assert card.tone == "bad"
    assert "50.00%" in card.answer
    for unknown in (history(best_epoch=None, monitor=None, start=None), History()):
        assert training_page(unknown).cards[0].tone == "open"


@pytest.mark.parametrize("count", [40, 60])
def test_decisions_come_first_and_small_samples_are_called_small(count: int) -> None:
    theta = torch.rand(count, 6, generator=torch.Generator().manual_seed(0))
    data = DecisionDataset(theta, theta, foresolve.TopK(6, 2))
    report = evaluate(lambda features: -features, data)
    page = training_page(history(), report, model=lambda features: -features, data=data)
    worth, _ = page.cards
    assert f"{report.normalized_regret:.2%} [" in worth.answer
    assert ("40 instances" in worth.caution) == (count == 40)
    assert report.loses_to_mean
    assert worth.tone == "bad"
    assert "One instance" in [section.short for section in page.sections]
