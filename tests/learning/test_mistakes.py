"""Words of the errors and warnings of learning that users meet most. Rewording touches this file alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import foresolve
from foresolve import MLP, DecisionDataset, Policy, SPOPlus, TopK, evaluate, fit
from foresolve.learning import compare
from foresolve.models import LinearRegression
from learning.instances import model, top_k_data
from mistakes import said

DATA = top_k_data(8)  # of three features and five parameters
RECORDED = DecisionDataset(torch.zeros(2, 1), decisions=torch.eye(2), problem=TopK(2, 1))
KNOWN = DecisionDataset(torch.arange(9.0).reshape(3, 3), DATA.theta[:3], DATA.problem)


def broken() -> nn.Module:
    """A model whose predictions are NaN."""
    network = model()
    nn.init.constant_(next(network.parameters()), torch.nan)
    return network


def policy(**options: Any) -> Policy:
    return Policy(MLP(3, 5, seed=0), DATA.problem, **options)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "a loss by name": (
        lambda: fit(model(), "spo++", DATA),
        (
            "`loss` must be one of 'spo+', 'decision', 'fenchel_young', 'imitation', "
            "'perturbation_gradient', 'score_function', 'nce', 'map', 'cave', 'lodl', 'pointwise', 'pairwise', "
            "'listwise', 'mse', 'log_mse', 'cross_entropy'; got 'spo++'. Did you mean 'spo+'?"
        ),
    ),
    "a loss of torch": (
        lambda: fit(model(), nn.MSELoss(), DATA),
        (
            "`loss` must be a foresolve Loss; got torch's MSELoss. Did you mean `MSE()` or "
            '`PredictionLoss(nn.MSELoss(reduction="none"))`?'
        ),
    ),
    "a layer for a loss": (
        lambda: fit(model(), foresolve.QuadraticRelaxation(), DATA),
        "`loss` must be a foresolve Loss; got the layer QuadraticRelaxation. Did you mean `DecisionLoss(layer)`?",
    ),
    "no data set": (
        lambda: fit(model(), SPOPlus(), [1, 2]),
        (
            "`train` must be a DecisionDataset, or a `Subset` of one; got list. Make one with "
            "`DecisionDataset(features, theta, problem)`"
        ),
    ),
    "a class for a model": (
        lambda: fit(MLP, SPOPlus(), DATA),
        (
            "`model` must be an nn.Module, a Baseline or an estimator; got the class MLP. Did you mean an instance,"
            " `MLP(...)`?"
        ),
    ),
    "nothing to train": (
        lambda: fit(nn.Identity(), SPOPlus(), DATA),
        "`model` must be one with parameters to train; got Identity, which has none",
    ),
    "another width of parameters": (
        lambda: fit(MLP(3, 4), SPOPlus(), DATA),
        "`theta_hat` must be (8, 5) to match the true parameters; got (8, 4). Check the output shape of the model",
    ),
    "another width of features": (
        lambda: evaluate(nn.Linear(4, 5), DATA),
        "`features` must be (*batch, 4), as the first linear layer of Linear takes them; got (8, 3)",
    ),
    "options for a baseline": (
        lambda: fit(LinearRegression(), None, DATA, epochs=5, lr=0.1),
        (
            "`epochs` must be left out for a baseline; got epochs=5, lr=0.1. LinearRegression is fitted in one go, "
            "by its own rule"
        ),
    ),
    "patience without validation": (
        lambda: fit(model(), SPOPlus(), DATA, patience=3),
        "`valid` must be given where `patience` is; got None. Patience is about validation",
    ),
    "gamma without a layer": (
        lambda: fit(model(), SPOPlus(), DATA, DATA, gamma="auto", epochs=1),
        (
            "`gamma` must be left out for a loss without a smoothed layer; got SPOPlus, which has none. Nothing is "
            "smoothed there"
        ),
    ),
    "decisions alone": (
        lambda: fit(nn.Linear(1, 2), SPOPlus(), RECORDED),
        (
            "`theta` must be known for SPOPlus, which looks at the true parameters; got decisions alone. Learn from"
            " decisions with FenchelYoung(layer), CaVE() or Imitation(layer)"
        ),
    ),
    "a prediction that is NaN": (
        lambda: fit(broken(), SPOPlus(), DATA, progress=False),
        (
            "the prediction is nan in epoch 1, batch 0 (training instances 3, 2, 5, 1, 7 and 3 more). The weights "
            "are those before this batch: look at the instances, lower `lr` or set `clip`"
        ),
    ),
    "no improvement": (
        lambda: fit(model(), SPOPlus(), DATA, DATA, epochs=2, lr=1e-9, progress=False),
        (
            "none of 2 epochs validated better than the weights before training (regret 0.3837, at best 0.3837 "
            "after an epoch): the initial weights are restored. Lower `lr`, or take another loss; docs/choosing.md"
        ),
    ),
    "predictions that are not finite": (
        lambda: evaluate(broken(), DATA),
        "`model(features)` must be finite; got nan at [0, 0] (40 such entries)",
    ),
    "a rule": (
        lambda: evaluate(model(), DATA, rule="solve"),
        "`rule` must be a function `rule(theta_hat, problem) -> x`; got 'solve'",
    ),
    "confidence": (
        lambda: evaluate(model(), DATA, confidence=95),
        "`confidence` must be in (0, 1); got 95. 95 % is 0.95",
    ),
    "reports of other instances": (
        lambda: compare({"a": evaluate(model(), DATA), "b": evaluate(model(), top_k_data(7))}),
        "`reports` must be of the same instances; got 'b', whose optima differ from 'a'",
    ),
    "features of a policy": (
        lambda: policy(train=DATA)(torch.zeros(2, 4)),
        "`features` must be the 3 features of training; got 4. They are 0, 1, 2",
    ),
    "features out of range": (
        lambda: policy(train=KNOWN)(torch.tensor([[3.0, 4.0, 900.0]])),
        (
            "features lie far outside of training: '2' is 900 in instance 0 (2 to 8 in training). Predictions are "
            "guesses there: check units and sources, or train on data that covers them"
        ),
    ),
    "a problem of other parameters": (
        lambda: policy()(DATA.features, problem=TopK(4, 2)),
        "`theta` must be (*batch, 4) to match the problem; got (8, 5)",
    ),
    "a record that is no JSON": (
        lambda: policy(record={"model": object()}),
        (
            "`record` must be of numbers, text, lists and dicts, as JSON has them; got Object of type object is not"
            " JSON serializable"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    call, words = CASES[case]
    assert said(call) == words
