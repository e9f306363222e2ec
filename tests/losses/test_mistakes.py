"""Words of the errors and warnings of losses that users meet most. Rewording touches this file alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import foresolve
from foresolve import Batch, DecisionDataset, DecisionLoss, SPOPlus
from foresolve.layers import IdentityProjection, PerturbedAdditive
from foresolve.losses import LODL, NCE, CaVE, CrossEntropy, FenchelYoung, LogMSE, PredictionLoss
from mistakes import said

TOP_K = foresolve.TopK(3, 1)
COVERAGE = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
THETA = torch.tensor([[1.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
BATCH = Batch(None, THETA, TOP_K)
RECORDED = DecisionDataset(torch.zeros(2, 1), decisions=torch.eye(3)[:2], problem=TOP_K)
ANY: Any = "what has another type"


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "no layer": (
        lambda: DecisionLoss(ANY),
        "`layer` must be a Layer, such as QuadraticRelaxation(); got str",
    ),
    "no batch": (
        lambda: SPOPlus()(THETA, ANY),
        (
            "`batch` must be a Batch and the last argument; got str. A loss is called as `loss(theta_hat, batch)`, "
            "with `batch` from `data.loader(32)`; docs/pyepo.md"
        ),
    ),
    "decisions alone": (
        lambda: SPOPlus().prepare(RECORDED),
        (
            "`theta` must be known for SPOPlus, which looks at the true parameters; got decisions alone. Learn from"
            " decisions with FenchelYoung(layer), CaVE() or Imitation(layer)"
        ),
    ),
    "decisions alone, without a lower bound": (
        lambda: NCE(shifted=False).prepare(RECORDED),
        (
            "NCE without `theta` has no lower bound: it falls as predictions grow, whatever they say. Let the model"
            " normalize its predictions (to a norm of 1, say), or train with FenchelYoung, CaVE or Imitation (said "
            "once per loss)"
        ),
    ),
    "linear objective": (
        lambda: SPOPlus().check_problem(COVERAGE),
        (
            "`problem` must be one with a linear objective; got SubmodularProblem: its objective is not linear in "
            "x. SPOPlus needs a linear objective; DecisionLoss with QuadraticRelaxation takes quadratic objectives,"
            " with PerturbedAdditive any"
        ),
    ),
    "linear objective, decisions alone": (
        lambda: CaVE().check_data(DecisionDataset(torch.zeros(1, 1), decisions=[[1.0, 0.0, 0.0]], problem=COVERAGE)),
        (
            "`problem` must be one with a linear objective; got SubmodularProblem: its objective is not linear in "
            "x. CaVE needs a linear objective; from decisions alone, Imitation(PerturbedAdditive()) learns with any"
            " problem, FenchelYoung(PerturbedAdditive()) with linear objectives over sets that `theta` does not "
            "move"
        ),
    ),
    "layer without a loss": (
        lambda: FenchelYoung(IdentityProjection()),
        (
            "`layer` must be one that smooths a linear problem, such as QuadraticRelaxation or PerturbedAdditive; "
            "got IdentityProjection. Others go into DecisionLoss"
        ),
    ),
    "bounds without a loss": (
        lambda: FenchelYoung(PerturbedAdditive(bounds=(0.0, 1.0))),
        "`layer` must be without bounds: clamped noise has no convex loss; got bounds=(0.0, 1.0)",
    ),
    "normalize by 0": (
        lambda: DecisionLoss(foresolve.QuadraticRelaxation(1.0), normalize=True)(THETA, BATCH),
        (
            "`batch` must be of instances whose best value is not 0, to normalize by; got instance 1. Leave those "
            "instances out, or pass normalize=False"
        ),
    ),
    "probabilities": (
        lambda: CrossEntropy()(THETA, BATCH),
        "`theta` must be in [0, 1]; got 2 at [0, 2] (1 such entries). Put a sigmoid or a clamp behind the model",
    ),
    "logarithms": (
        lambda: LogMSE()(THETA + 1, BATCH),
        (
            "`theta` must be positive for LogMSE; got 3 of 6 numbers that are not, the least 0. Leave those "
            "instances out, or take `MSE()`"
        ),
    ),
    "reduction": (
        lambda: PredictionLoss(torch.nn.MSELoss()),
        (
            "`torch_loss` must be one that keeps the instances apart; got reduction='mean'. Write "
            'MSELoss(reduction="none")'
        ),
    ),
    "not prepared": (
        lambda: LODL()(THETA, BATCH),
        (
            "`LODL` must be fitted to the training set; got one that is not fitted yet. Call `loss.prepare(train)` "
            "before training, as `fit` does"
        ),
    ),
    "kind": (
        lambda: CaVE(ANY),
        "`kind` must be one of 'exact', 'inner', 'hybrid'; got 'what has another type'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    call, words = CASES[case]
    assert said(call) == words
