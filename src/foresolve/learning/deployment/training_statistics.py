"""What a policy remembers of the data that it was trained and checked on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.deployment.spread import Spread, independent, numbered, persistence
from foresolve.learning.features import arranged
from foresolve.learning.prediction import inference, predict

if TYPE_CHECKING:
    from foresolve.learning.policy import Policy

BATCH = 4096


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and standard deviation `(d,)` of some numbers, of how many instances, and their `persistence` (`Spread`)."""

    mean: Tensor
    deviation: Tensor
    persistence: Tensor
    count: int

    @classmethod
    def of(cls, table: Tensor | np.ndarray) -> Self:
        """Of a table `(N, d)`."""
        rows = torch.as_tensor(table).detach().cpu().double().reshape(len(table), -1)
        deviation = rows.std(0) if len(rows) > 1 else rows.new_zeros(rows.shape[1])
        return cls(rows.mean(0), deviation, torch.from_numpy(persistence(rows.numpy())), len(rows))

    @property
    def independent(self) -> np.ndarray:
        """As how many independent instances those that depend on each other count, `(d,)`."""
        return independent(self.count, self.persistence.numpy())

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        return {name: getattr(self, name) for name in ("mean", "deviation", "persistence", "count")}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes."""
        mean, *others = (configs.tensor(config, name).double() for name in ("mean", "deviation", "persistence"))
        if mean.ndim != 1 or any(table.shape != mean.shape for table in others):
            raise ValueError("`mean`, `deviation` and `persistence` must have one dimension, and the same size")
        return cls(mean, others[0], others[1], configs.size(config, "count"))


@dataclass(frozen=True, eq=False)
class TrainingStatistics:
    """How features, predictions, errors and regret were when the policy was made.

    Attributes
    ----------
    features: of the training data.
    predictions: of the data that was held out, or, without any, of the training data.
    errors: prediction less truth, by parameter, of the data that was held out; `None` without any, or where its truth
        is not known. On the data that a model was trained on, errors and regret are too small to compare with.
    regret: likewise, of the decisions; in the problem's units.
    normalized_regret: likewise, `sum regret / sum |optimum|`.
    held_out: how many instances were held out.
    """

    features: Spread
    predictions: Spread
    errors: Spread | None = None
    regret: Moments | None = None
    normalized_regret: float | None = None
    held_out: int = 0

    @classmethod
    def of(cls, policy: Policy, train: DecisionDataset, valid: DecisionDataset | None) -> Self:
        """Of the policy's model on the data; `valid` is decided and scored."""
        train = arranged("train", train, policy.feature_names)
        features = Spread.of(train.features, policy.feature_names)
        if valid is None:
            return cls(features, _spread(policy, predictions(policy, train)))
        known = valid.imputed
        if known is not None and bool((~known).any()):  # a truth that a rule made up is none
            valid = valid.subset(~known)
        valid = arranged("valid", valid, policy.feature_names)
        theta_hat = predictions(policy, valid)
        errors, regret, share = None, None, None
        if valid.has_theta:
            errors = _spread(policy, theta_hat - valid.theta.cpu().double())
            regret, share = scored(policy, valid)
        return cls(features, _spread(policy, theta_hat), errors, regret, share, len(valid))

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        parts = {name: getattr(self, name) for name in ("features", "predictions", "errors", "regret")}
        described: configs.Config = {name: None if part is None else part.config() for name, part in parts.items()}
        return described | {"normalized_regret": self.normalized_regret, "held_out": self.held_out}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes."""
        features, predicted = Spread.from_config(config["features"]), Spread.from_config(config["predictions"])
        errors = None if config["errors"] is None else Spread.from_config(config["errors"])
        regret = None if config["regret"] is None else Moments.from_config(config["regret"])
        share = config["normalized_regret"]
        normalized = None if share is None else float(share)
        return cls(features, predicted, errors, regret, normalized, configs.size(config, "held_out"))


def predictions(policy: Policy, data: DecisionDataset) -> Tensor:
    """Of a data set, `(N, ...)`, on the CPU in double precision."""
    with inference(policy.model):
        parts = [
            predict(policy.model, data[index].features).detach().cpu().double()
            for index in torch.arange(len(data)).split(BATCH)
        ]
    theta_hat = torch.cat(parts)
    checks.finite("model(features)", theta_hat)
    return theta_hat


def scored(policy: Policy, data: DecisionDataset) -> tuple[Moments, float]:
    """The regret of decisions, and as a share of the optima."""
    from foresolve.learning.evaluation import evaluate  # which scores policies

    report = evaluate(policy, data, metrics=False, bootstrap=0)
    return Moments.of(report.instances["regret"][:, None]), report.normalized_regret


def parameter_names(policy: Policy, count: int) -> tuple[str, ...]:
    """What the parameters are called, one after the other."""
    axes = policy.problem.theta_names
    return tuple(map(str, axes)) if axes is not None and len(axes) == count else numbered(count)


def _spread(policy: Policy, theta_hat: Tensor) -> Spread:
    table = theta_hat.reshape(len(theta_hat), -1)
    return Spread.of(table, parameter_names(policy, table.shape[1]))
