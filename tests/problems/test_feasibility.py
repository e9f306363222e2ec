from __future__ import annotations

import torch

from foresolve.problems.feasibility import inspect


def name(kind: str, index: int) -> str:
    return f"{kind}{index}"


def test_the_worst_first_and_each_instance_by_itself() -> None:
    rows = torch.tensor([[0.0, 1e-9, -1.0], [0.5, 0.0, 2.0]])
    bounds = torch.tensor([[0.0], [1.0]])
    report = inspect({"A_ub": rows, "lower": bounds}, 1e-6, torch.Size([2]), name)
    assert not report
    assert report.feasible.tolist() == [True, False]
    assert report.worst.tolist()[1] == 2.0
    assert [(v.kind, v.instance, v.index, v.amount) for v in report.violations] == [
        ("A_ub", (1,), 2, 2.0),
        ("lower", (1,), 0, 1.0),
        ("A_ub", (1,), 0, 0.5),
    ]
    assert str(report.violations[0]) == "instance 1: A_ub row 2 (A_ub2) is broken by 2"
    assert "instance 1" in str(report)


def test_nan_is_a_violation_and_nothing_to_check_is_none() -> None:
    assert not inspect({"A_ub": torch.tensor([torch.nan])}, 1e-6, torch.Size(), name)
    report = inspect({"A_ub": torch.zeros(3, 0)}, 1e-6, torch.Size([3]), name)
    assert report
    assert report.feasible.tolist() == [True] * 3


def test_few_of_many_are_listed_and_all_are_counted() -> None:
    report = inspect({"upper": torch.arange(1.0, 101.0)[:, None]}, 0.5, torch.Size([100]), name, most=3)
    assert [v.amount for v in report.violations] == [100.0, 99.0, 98.0]
    assert not report.feasible.any()
