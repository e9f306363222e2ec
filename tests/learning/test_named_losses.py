from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from foresolve import losses
from foresolve.layers import MultilinearRelaxation, PerturbedAdditive, QuadraticRelaxation
from foresolve.learning.named_losses import NAMES, as_loss, default_loss, loss_by_name
from foresolve.losses import MSE, NCE, DecisionLoss, FenchelYoung, Loss, SPOPlus, why_not
from foresolve.problems import OracleProblem, Problem, SubmodularProblem, TopK
from foresolve.sets import GraphicMatroid, ProbabilisticCoverage, UniformMatroid
from mistakes import mistake

TOP = TopK(5, 2)
COVERAGE = SubmodularProblem(ProbabilisticCoverage([1.0]), UniformMatroid(5, 2))
FORESTS = SubmodularProblem(ProbabilisticCoverage([1.0]), GraphicMatroid([(0, 1)] * 5))
ORACLE = OracleProblem(lambda theta: (theta > 0).float(), n=5)


def test_every_loss_has_a_name() -> None:
    """But for the one that is made of a function of the user's."""
    exported = {name for name in losses.__all__ if isinstance(kind := getattr(losses, name), type)
                and issubclass(kind, Loss) and kind is not Loss}  # fmt: skip
    assert {type(make(TOP)).__name__ for make in NAMES.values()} == exported - {"PredictionLoss"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_makes_a_new_loss_each_time(name: str) -> None:
    first, again = loss_by_name(name, TOP), loss_by_name(name, TOP)
    assert isinstance(first, Loss)
    assert type(first) is type(again)
    assert first is not again
    assert not why_not(first, TOP)


@pytest.mark.parametrize("name", ["spo+", "SPO+", "spo", "SPO plus", "spo-plus", "SPOPlus"])
def test_spellings(name: str) -> None:
    assert type(loss_by_name(name, TOP)) is SPOPlus


@pytest.mark.parametrize(
    ("name", "problem", "layer"),
    [
        ("decision", TOP, QuadraticRelaxation),
        ("decision", COVERAGE, MultilinearRelaxation),
        ("decision", FORESTS, PerturbedAdditive),
        ("imitation", COVERAGE, MultilinearRelaxation),
        ("fenchel_young", TOP, QuadraticRelaxation),
        ("fenchel_young", ORACLE, PerturbedAdditive),
    ],
)
def test_the_layer_suits_the_problem(name: str, problem: Problem, layer: type) -> None:
    loss: Any = loss_by_name(name, problem)
    assert type(loss.layer) is layer
    assert not why_not(loss, problem)


def test_where_no_layer_suits_the_loss_says_so() -> None:
    assert why_not(loss_by_name("fenchel_young", COVERAGE), COVERAGE) == "its objective is not linear in x"


@pytest.mark.parametrize(("problem", "loss"), [(TOP, SPOPlus), (COVERAGE, DecisionLoss), (FORESTS, MSE)])
def test_the_loss_by_default_works_with_the_problem(problem: Problem, loss: type) -> None:
    assert type(default_loss(problem)) is loss


def test_a_loss_stays_itself() -> None:
    loss = NCE()
    assert as_loss(loss, TOP) is loss
    assert type(as_loss("nce", TOP)) is NCE


@pytest.mark.parametrize(
    ("loss", "facts"),
    [
        ("spo++", ["'decision'", "got 'spo++'", "'spo+'?"]),
        ("pairwize", ["'pairwize'", "'pairwise'?"]),
        ("regression", ["'regression'"]),
        (SPOPlus, ["class SPOPlus", "`SPOPlus()`"]),
        (FenchelYoung, ["class FenchelYoung", "`FenchelYoung(layer)`"]),
        (QuadraticRelaxation(), ["layer QuadraticRelaxation", "`DecisionLoss(layer)`"]),
        (QuadraticRelaxation, ["layer QuadraticRelaxation", "`DecisionLoss(QuadraticRelaxation())`"]),
        (nn.MSELoss(), ["torch's MSELoss", "`MSE()`", '`PredictionLoss(nn.MSELoss(reduction="none"))`']),
        (nn.MSELoss, ["torch's MSELoss", "`MSE()`", "`PredictionLoss("]),
        (nn.BCEWithLogitsLoss(), ["`CrossEntropy(logits=True)`", "`PredictionLoss(nn.BCEWithLogitsLoss("]),
        (nn.L1Loss(), ["torch's L1Loss", '`PredictionLoss(nn.L1Loss(reduction="none"))`']),
        (nn.functional.mse_loss, ["function", "`PredictionLoss(f)`"]),
        (None, ["None", "`SPOPlus()`", '"spo+"']),
        (3, ["int", "`SPOPlus()`"]),
        (torch.Tensor, ["Tensor", "`SPOPlus()`"]),
    ],
)
def test_what_was_meant(loss: Any, facts: list[str]) -> None:
    with mistake("loss", *facts):
        as_loss(loss, TOP)
