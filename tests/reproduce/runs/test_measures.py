from __future__ import annotations

import math

import pytest
import torch

from foresolve.reproduce.runs.measures import published_measures


def test_each_is_the_mean_over_instances() -> None:
    theta = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    theta_hat = torch.tensor([[0.2, 0.4, 0.3], [0.1, 0.3, 0.0]])
    measures = published_measures(theta_hat, theta, logits=False)
    assert measures["mse"] == pytest.approx(float((theta_hat - theta).square().mean()))
    assert measures["auc"] == pytest.approx((1.0 + 0.5) / 2)  # pooled it would be 6.5 / 8
    expected = -(math.log(0.8) + math.log(0.4) + math.log(0.7) + math.log(0.1) + math.log(0.7) + 0.0) / 6
    assert measures["cross_entropy"] == pytest.approx(expected)


def test_one_more_sigmoid_makes_what_is_absent_cost_at_least_ln_2() -> None:
    theta = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    measures = published_measures(theta, theta, logits=True)
    assert measures["cross_entropy"] == pytest.approx((3 * math.log(2) + math.log(1 + math.exp(-1))) / 4)
    assert measures["auc"] == 1.0


def test_parameters_that_are_not_labels_have_only_an_error() -> None:
    assert set(published_measures(torch.zeros(2, 3), torch.full((2, 3), 0.1), logits=False)) == {"mse"}


def test_predictions_that_are_no_probabilities_have_no_cross_entropy() -> None:
    theta = torch.tensor([[0.0, 1.0]])
    assert "cross_entropy" not in published_measures(torch.tensor([[0.0, 2.0]]), theta, logits=False)
    assert "cross_entropy" in published_measures(torch.tensor([[0.0, 2.0]]), theta, logits=True)


def test_an_instance_of_one_class_has_no_auc() -> None:
    theta = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    assert published_measures(torch.tensor([[0.1, 0.2], [0.3, 0.4]]), theta, logits=False)["auc"] == 1.0
    assert published_measures(torch.zeros(1, 2), torch.zeros(1, 2), logits=False)["auc"] is None
