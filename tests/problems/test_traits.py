"""One vocabulary: every need is a word of it, and every word has a problem that offers it and one that does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foresolve
from foresolve import layers, losses
from foresolve.problems import TRAITS, Affine, OracleProblem
from foresolve.problems.traits import missing, require
from foresolve.sets import GraphicMatroid
from mistakes import mistake

COVERAGE = foresolve.ProbabilisticCoverage()
PROBLEMS = (
    foresolve.TopK(4, 2),
    foresolve.LinearProgram(np.ones((1, 4)), [3.0], integrality=1),
    foresolve.Knapsack([2, 3, 4, 5], np.array([[4.0], [5.0]])),
    OracleProblem(lambda theta: theta, n=4, exact=False),
    foresolve.TopK(4, 2).parametrized(np.ones(4), upper=Affine(np.ones((4, 1)))),
    foresolve.SubmodularProblem(COVERAGE, foresolve.UniformMatroid(4, 2)),
    foresolve.SubmodularProblem(COVERAGE, GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)], 4)),
)


def test_every_word_tells_problems_apart() -> None:
    for word in TRAITS:
        assert {word in problem.traits for problem in PROBLEMS} == {True, False}, word
    assert {word for problem in PROBLEMS for word in problem.traits} <= set(TRAITS)


def test_layers_and_losses_need_words_of_the_vocabulary() -> None:
    kinds = [getattr(floor, name) for floor in (layers, losses) for name in floor.__all__]
    needs = [kind.needs for kind in kinds if isinstance(kind, type) and isinstance(getattr(kind, "needs", None), tuple)]
    assert len(needs) > 10
    assert {word for words in needs for word in words} <= set(TRAITS)


def test_the_first_need_that_is_not_met_is_named() -> None:
    problem = PROBLEMS[3]
    assert missing(problem, ("linear", "rows", "exact")) is TRAITS["rows"]
    assert missing(problem, ("linear",)) is None
    with mistake("problem", "LinearProgram", "OracleProblem", "Thing"):
        require(problem, ("linear", "rows"), "Thing")
    with mistake("problem", "str"):
        require("matching", ("linear",), "Thing")  # type: ignore[arg-type]


LEARNED = foresolve.LinearProgram([[1.0, 2.0, 1.0]], torch.ones(1, requires_grad=True), bounds=(0, 1))
CURVED = foresolve.QuadraticProgram(diagonal=torch.ones(3, requires_grad=True), bounds=(0, 1))


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (foresolve.SPOPlus(), LEARNED),
        (losses.FenchelYoung(foresolve.QuadraticRelaxation(0.1)), LEARNED),
        (losses.NCE(), LEARNED),
        (foresolve.DecisionLoss(layers.PerturbedAdditive()), LEARNED),
        (foresolve.DecisionLoss(layers.PerturbedAdditive()), CURVED),
        (losses.ScoreFunction(), CURVED),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_gradient_that_would_be_lost_is_refused(method: losses.Loss, problem: foresolve.Problem) -> None:
    """Of constraints that are predicted: `None` for a gradient looks as if nothing depended on them."""
    theta = torch.tensor([[0.3, 0.4, 0.2]])
    batch = foresolve.Batch(None, theta, problem)
    with mistake("problem", type(problem).__name__, "detach()"):
        method(theta, batch)
    with torch.no_grad():
        assert method(theta, batch).isfinite().all()


def test_the_layer_that_passes_it_takes_them() -> None:
    theta = torch.tensor([[0.3, 0.4, 0.2]])
    loss = foresolve.DecisionLoss(foresolve.QuadraticRelaxation(0.1))
    loss(theta, foresolve.Batch(None, theta, LEARNED)).sum().backward()
    assert LEARNED.constraints.requires_grad
