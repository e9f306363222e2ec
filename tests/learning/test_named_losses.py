from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from foresolve import losses
from foresolve.errors import InvalidInputError
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.perturbed import PerturbedAdditive
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.named_losses import NAMES, as_loss, default_loss, loss_by_name
from foresolve.losses.base import Loss, why_not
from foresolve.losses.contrastive import NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.problems.base import Problem
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import UniformMatroid

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
    ("loss", "message"),
    [
        ("spo++", r"`loss` must be a Loss or one of 'spo\+', 'decision', .*; got 'spo\+\+'\. Did you mean 'spo\+'\?"),
        ("pairwize", r"got 'pairwize'\. Did you mean 'pairwise'\?"),
        ("regression", r"got 'regression'$"),
        (SPOPlus, r"`loss` must be a foresolve Loss; got the class SPOPlus\. Did you mean `SPOPlus\(\)`\?"),
        (FenchelYoung, r"got the class FenchelYoung\. Did you mean `FenchelYoung\(layer\)`\?"),
        (QuadraticRelaxation(), r"got the layer QuadraticRelaxation\. Did you mean `DecisionLoss\(layer\)`\?"),
        (
            QuadraticRelaxation,
            r"the layer QuadraticRelaxation\. Did you mean `DecisionLoss\(QuadraticRelaxation\(\)\)`\?",
        ),
        (
            nn.MSELoss(),
            r"torch's MSELoss\. Did you mean `MSE\(\)` or `PredictionLoss\(nn.MSELoss\(reduction=\"none\"\)\)`\?",
        ),
        (nn.MSELoss, r"torch's MSELoss\. Did you mean `MSE\(\)` or `PredictionLoss"),
        (
            nn.BCEWithLogitsLoss(),
            r"Did you mean `CrossEntropy\(logits=True\)` or `PredictionLoss\(nn.BCEWithLogitsLoss\(",
        ),
        (nn.L1Loss(), r"torch's L1Loss\. Did you mean `PredictionLoss\(nn.L1Loss\(reduction=\"none\"\)\)`\?"),
        (nn.functional.mse_loss, r"got function\. Did you mean `PredictionLoss\(f\)`"),
        (None, r"got None\. For example `SPOPlus\(\)`, or its name, \"spo\+\""),
        (3, r"got int\. For example"),
        (torch.Tensor, r"got Tensor\. For example"),
    ],
)
def test_what_was_meant(loss: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        as_loss(loss, TOP)
