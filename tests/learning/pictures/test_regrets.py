"""How regrets are spread."""

from __future__ import annotations

import pytest
import torch

import foresolve
from drawn import labels, overlaps
from foresolve.learning import evaluate
from mistakes import mistake


@pytest.mark.parametrize("weights", [None, torch.linspace(1, 2, 40)])
def test_a_report_is_a_histogram_with_its_mean(weights: torch.Tensor | None) -> None:
    theta = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
    data = foresolve.DecisionDataset(theta, theta, foresolve.TopK(4, 2), weights=weights)
    report = evaluate(lambda a: a.flip(-1), data)
    axes = report.plot()
    assert sum(bar.get_height() for bar in axes.containers[0]) == pytest.approx(40 if weights is None else 60)
    assert axes.get_lines()[0].get_xdata()[0] == report.regret
    assert axes.get_lines()[1].get_xdata()[0] == report.mean_regret
    assert labels(axes.get_legend())[1] == f"mean {report.regret:.3g}"
    assert overlaps(axes.get_figure()) == []
    assert report.plot(measure="mse").get_xlabel() == "mse of an instance"
    with mistake("measure", "'weight'"):
        report.plot(measure="weight")
    assert repr(report).startswith("Report(40 instances, value ")


def test_where_only_decisions_are_known() -> None:
    x = foresolve.TopK(4, 2).solve(torch.rand(10, 4, generator=torch.Generator().manual_seed(0)))
    data = foresolve.DecisionDataset(torch.zeros(10, 4), decisions=x, problem=foresolve.TopK(4, 2))
    report = evaluate(lambda features: features + torch.arange(4.0), data)
    assert report.plot().get_xlabel() == "hamming of an instance"
    assert "identical" in repr(report)
