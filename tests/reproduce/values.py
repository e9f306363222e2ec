"""What chance and rules without learning are worth on the instances of a domain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.learning import evaluate
from foresolve.problems import Problem
from foresolve.report.records import Config
from foresolve.reproduce import Domain, RuleMethod

DATA = Path(os.environ.get("FORESOLVE_DATA", ""))


def real(file: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (DATA / file).is_file(), reason="FORESOLVE_DATA does not point at the data sets")


def by_chance(domain: Domain, data: DecisionDataset, draws: int = 20) -> float:
    problem, source = data.problem, torch.Generator().manual_seed(0)
    values = [problem.objective(domain.random(problem, len(data), source), data.theta) for _ in range(draws)]
    return float(torch.stack(values).mean())


def by_rule(domain: Domain, data: DecisionDataset, config: Config, name: str) -> float:
    rule = domain.methods(config)[name]
    assert isinstance(rule, RuleMethod)
    return evaluate(rule.model(data), data, metrics=False, bootstrap=0).value


def assert_largest_are_chosen(score: Tensor, theta_hat: Tensor, problem: Problem) -> None:
    """Among equals any will do."""
    for row, x in zip(score, problem.solve(theta_hat) > 0.5, strict=True):
        assert row[x].min() >= row[~x].max()
