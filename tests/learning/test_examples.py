from __future__ import annotations

import json

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset, shortest_path_data
from foresolve.learning import examples
from foresolve.learning.examples import in_words, item_names, matters, measures
from mistakes import mistake


def test_what_is_shown_is_what_was_decided_and_what_it_cost() -> None:
    data = shortest_path_data(30, degree=1, noise=0.2, grid=(3, 3), seed=0)
    truth = {tuple(row.tolist()): theta for row, theta in zip(data.features, data.theta)}
    models = {"truth": lambda x: torch.stack([truth[tuple(row.tolist())] for row in x]),
              "ones": lambda x: torch.ones(len(x), data.theta.shape[-1])}  # fmt: skip
    shown = examples(models, data, count=4, most=50)
    json.dumps(shown, allow_nan=False)
    assert [instance["label"] for instance in shown["instances"]] == ["0", "10", "19", "29"]
    for instance in shown["instances"]:
        theta, right = data.theta[int(instance["label"])], instance["choices"][0]
        cost = sum(c * x for c, x in zip(instance["truth"], instance["best"]))
        assert instance["optimum"] == pytest.approx(cost)  # a cost is shown as one
        assert right["cost"] == pytest.approx(0.0, abs=1e-5)
        assert right["words"] == instance["best_words"]
        wrong = instance["choices"][1]
        paid = sum(c * x for c, x in zip(instance["truth"], wrong["chosen"]))
        assert wrong["value"] == pytest.approx(paid)
        assert wrong["cost"] == pytest.approx(paid - cost, abs=1e-5)
        assert wrong["predictions"] == [1.0] * len(instance["items"])
        assert [float(theta[int(item)]) for item in instance["items"]] == instance["truth"]
        assert len(instance["items"]) + instance["left_out"] == len(theta)


def test_values_that_are_gained_cost_what_is_missed() -> None:
    theta = torch.tensor([[1.0, 5.0]])
    data = DecisionDataset(theta, theta, foresolve.TopK(2, 1))
    (instance,) = examples({"wrong": lambda x: -x}, data)["instances"]
    (choice,) = instance["choices"]
    assert (instance["optimum"], choice["value"], choice["cost"]) == (5.0, 1.0, 4.0)


def test_sums_of_rows_where_a_variable_has_many_parameters() -> None:
    coverage = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, k=1))
    theta = torch.tensor([[[0.1, 0.2], [0.3, 0.3], [0.0, 0.1]]])
    shown = measures(coverage, theta)
    assert shown is not None
    torch.testing.assert_close(shown, theta.sum(-1))
    assert measures(foresolve.TopK(4, 1), torch.rand(2, 3)) is None


def test_names_of_items_and_pairs() -> None:
    assert item_names(foresolve.TopK(2, 1, names=["tea", "rum"])) == ["tea", "rum"]
    assert item_names(foresolve.TopK(2, 1)) == ["0", "1"]
    matching = foresolve.BipartiteMatching(["a", "b"], ["x", "y"])
    assert item_names(matching)[:2] == ["a | x", "a | y"]
    assert in_words(matching, torch.tensor([1.0, 0.0, 0.0, 1.0])) == "a – x, b – y"
    many = in_words(foresolve.TopK(900, 800), torch.ones(900))
    assert many.endswith(", …")
    assert len(many) <= 403


def test_items_of_decisions_come_first_then_the_largest() -> None:
    truth = torch.tensor([5.0, 1.0, 9.0, 2.0, 3.0])
    rows = [torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0]), torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0])]
    assert matters(rows, truth, 4) == [1, 3, 2, 0]
    assert matters(rows, truth, 1) == [3]


def test_without_true_parameters_there_is_nothing_to_show() -> None:
    chosen = torch.tensor([[1.0, 0.0]])
    data = DecisionDataset(torch.zeros(1, 2), decisions=chosen, problem=foresolve.TopK(2, 1))
    assert examples({}, data) == {"instances": []}
    with mistake("count", "got 0"):
        examples({}, data, count=0)
