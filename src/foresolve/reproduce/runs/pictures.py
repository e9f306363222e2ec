"""What figures and pages show of a method's predictions and decisions on single instances."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.examples import measures
from foresolve.reproduce.domains.domain import Domain

LOOKED_AT = 8  # test instances whose decisions readers may look at


def picture(domain: Domain, theta_hat: Tensor, test: DecisionDataset) -> dict[str, np.ndarray]:
    """The arrays of `JobResult.picture`; nothing where parameters are no tables."""
    truth = domain.tables(test.theta)
    if truth is None:
        return {}
    true, predicted = (_array(theta.reshape(truth.shape)) for theta in (truth, theta_hat))
    return {
        "theta": true[0],
        "theta_hat": predicted[0],
        "true_weight": true.sum(-1),
        "predicted_weight": predicted.sum(-1),
        **decisions(theta_hat, test),
    }


def decisions(theta_hat: Tensor, test: DecisionDataset) -> dict[str, np.ndarray]:
    """What is decided on the first instances, and what it is worth; nothing where variables have no parameter."""
    few = test.subset(torch.arange(min(LOOKED_AT, len(test)))).solve(progress=False)
    predicted = theta_hat[: len(few)].reshape(few.theta.shape).to(few.theta)
    truth, guess = measures(few.problem, few.theta), measures(few.problem, predicted)
    if truth is None or guess is None:
        return {}
    with torch.no_grad():
        x = few.problem.decide(predicted)[0].to(few.theta)
        values = few.problem.objective(x, few.theta)
    arrays = {
        "item_truth": truth, "item_predicted": guess, "decision": x, "decision_value": values,
        "best_decision": few.decisions, "best_value": few.values,
    }  # fmt: skip
    return {name: _array(tensor) for name, tensor in arrays.items()}


def _array(theta: Tensor) -> np.ndarray:
    return theta.detach().float().cpu().numpy()
