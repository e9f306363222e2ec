from __future__ import annotations

import numpy as np
import pytest
import torch

from drawn import labels
from foresolve.problems import Portfolio, Tracking

COVARIANCE = [[0.04, 0.01], [0.01, 0.09]]


def test_a_portfolio_beside_what_was_held() -> None:
    problem = Portfolio(COVARIANCE, current=[1.0, 0.0], turnover=0.5, impact=0.0, names=["bonds", "stocks"])
    theta = torch.tensor([0.02, 0.06])
    axes = problem.plot(theta)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[:2] == pytest.approx([75.0, 25.0], abs=1e-3)
    assert widths[2:] == [100.0, 0.0]
    assert labels(axes.get_legend()) == ["weight", "held before", "return (upper axis)"]
    figure = axes.get_figure()
    assert figure is not None
    assert figure.axes[1].get_lines()[0].get_xdata() == pytest.approx([2.0, 6.0])  # type: ignore[comparison-overlap]


def test_a_portfolio_whose_covariance_is_predicted() -> None:
    problem = Portfolio(COVARIANCE, predict="covariance", returns=[0.02, 0.06])
    axes = problem.plot(torch.tensor(COVARIANCE).flatten())
    assert labels(axes.get_legend()) == ["weight"]


def test_a_plan_and_its_target() -> None:
    problem = Tracking([[-1.0, 1.0, 0.0]], [1.0], theta_names=["mon", "tue", "wed"])
    target = torch.tensor([1.0, 5.0, 2.0])
    axes = problem.plot(target)
    points, plan = axes.get_lines()
    np.testing.assert_allclose(np.asarray(points.get_ydata()), target.numpy())
    np.testing.assert_allclose(np.asarray(plan.get_ydata()), problem.solve(target).numpy(), atol=1e-6)
    assert labels(axes.get_legend()) == ["plan", "target", "miss"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["mon", "tue", "wed"]
    assert labels(problem.draw(torch.ones(3)).get_legend()) == ["plan"]
