"""Deep copies: of problems with predicted constraints, and of layers with a computed gamma."""

from __future__ import annotations

import copy
import pickle

import torch
from torch import Tensor, nn

import foresolve

THETA = torch.tensor([[0.9, 0.8, 0.3], [0.2, 0.7, 0.6]], dtype=torch.float64)


def predicted(model: nn.Module) -> foresolve.LinearProgram:
    budget: Tensor = model(torch.ones(2, dtype=torch.float64))
    return foresolve.LinearProgram(torch.ones(1, 3), budget * 0.01 + 1, bounds=(0, 1))


class Holder(nn.Module):
    def __init__(self, problem: foresolve.Problem) -> None:
        super().__init__()
        self.problem, self.layer = problem, foresolve.QuadraticRelaxation(0.5)

    def forward(self, theta: Tensor) -> Tensor:
        return self.layer(theta, self.problem)


def test_a_copy_of_a_module_with_predicted_constraints_reaches_the_model() -> None:
    model = nn.Linear(2, 1).double()
    holder = Holder(predicted(model))
    twin = copy.deepcopy(holder)
    assert twin.problem is not holder.problem
    assert torch.equal(twin(THETA), holder(THETA))
    twin(THETA).sum().backward()
    assert model.weight.grad is not None
    assert float(model.weight.grad.abs().sum()) > 0


def test_what_is_no_prediction_is_copied() -> None:
    problem = predicted(nn.Linear(2, 1).double())
    twin = copy.deepcopy(problem)
    assert twin.constraints.rhs is problem.constraints.rhs
    assert twin.upper.data_ptr() != problem.upper.data_ptr()
    assert torch.equal(twin.upper, problem.upper)


def test_a_pickle_ends_the_graph() -> None:
    problem = predicted(nn.Linear(2, 1).double())
    twin = pickle.loads(pickle.dumps(problem))
    assert twin.constraints.rhs.is_leaf
    assert torch.equal(twin.constraints.rhs, problem.constraints.rhs)


def test_a_layer_with_a_computed_gamma() -> None:
    logarithm = torch.tensor(-0.5, dtype=torch.float64, requires_grad=True)
    twin = copy.deepcopy(foresolve.QuadraticRelaxation(logarithm.exp()))
    (twin(THETA, foresolve.TopK(3, 1)) ** 2).sum().backward()
    assert logarithm.grad is not None
    assert float(logarithm.grad.abs()) > 0
