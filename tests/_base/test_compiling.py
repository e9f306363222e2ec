"""`torch.compile` around model, layer and loss: the graph breaks at the solver, the numbers stay."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import foresolve
from foresolve._base.compiling import uncompiled
from foresolve.layers import BlackboxInterpolation, PerturbedAdditive
from foresolve.losses import FenchelYoung, Loss, SPOPlus
from foresolve.problems import Feasibility, Portfolio, Problem

# Dynamo looks at `.grad` of tensors on its way, and torch warns of that; it warns of the first Python 3.13 too.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0"),
]

PROBLEM = foresolve.TopK(5, 2)


def features(count: int = 6) -> Tensor:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(0))


def batch() -> foresolve.Batch:
    theta = torch.rand(6, 5, generator=torch.Generator().manual_seed(1))
    return foresolve.Batch(features(), theta, PROBLEM)


def model() -> nn.Module:
    network = nn.Linear(3, 5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape).sin())
    return network


def losses() -> list[Loss]:
    return [
        SPOPlus(),
        foresolve.DecisionLoss(foresolve.QuadraticRelaxation(0.5)),
        foresolve.DecisionLoss(BlackboxInterpolation()),
        FenchelYoung(PerturbedAdditive(4)),
    ]


def gradients(network: nn.Module, step: object) -> tuple[Tensor, list[Tensor]]:
    network.zero_grad()
    value = step(features())  # type: ignore[operator]
    value.backward()
    return value.detach(), [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]


def counting(frames: list[int]) -> Callable[..., Callable[..., Any]]:
    """A backend that runs graphs as they are, and counts their nodes."""

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        frames.append(len(graph.graph.nodes))
        return graph.forward

    return backend


@pytest.mark.parametrize("index", range(4))
def test_model_and_loss_compiled_together_give_the_same_numbers(index: int) -> None:
    torch._dynamo.reset()
    network, data = model(), batch()
    first, second = losses()[index], losses()[index]  # two, which draw the same samples
    plain = gradients(network, lambda f: first(network(f), data).mean())
    frames: list[int] = []
    again = gradients(network, torch.compile(lambda f: second(network(f), data).mean(), backend=counting(frames)))
    assert torch.equal(plain[0], again[0])
    for before, after in zip(plain[1], again[1]):
        assert torch.equal(before, after)
    assert frames, "the model was not compiled"
    assert sum(frames) < 30, f"the solver was traced: graphs of {frames} nodes"


def test_a_module_that_ends_in_a_layer_compiles_and_so_does_a_layer_alone() -> None:
    torch._dynamo.reset()

    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network, self.layer = model(), foresolve.QuadraticRelaxation(0.5)

        def forward(self, features: Tensor) -> Tensor:
            return 2 * self.layer(self.network(features).relu(), PROBLEM)

    chain = Chain()
    compiled = torch.compile(chain, backend="eager")
    assert torch.equal(compiled(features()), chain(features()))
    theta = batch().theta
    alone = torch.compile(chain.layer, backend="eager")
    assert torch.equal(alone(theta, PROBLEM), chain.layer(theta, PROBLEM))


def test_a_step_may_make_the_problem_whose_constraints_it_predicts() -> None:
    torch._dynamo.reset()
    network, layer = nn.Linear(3, 2), foresolve.QuadraticRelaxation(0.5)
    theta, rows = batch().theta, torch.arange(10.0).reshape(2, 5)
    frames: list[int] = []

    def step(features: Tensor) -> Tensor:
        program = foresolve.LinearProgram(A_ub=rows, b_ub=network(features).exp(), bounds=(0, 1))
        return layer(theta, program).square().sum()

    plain = gradients(network, step)
    again = gradients(network, torch.compile(step, backend=counting(frames)))
    assert all(torch.equal(before, after) for before, after in zip([plain[0], *plain[1]], [again[0], *again[1]]))
    assert frames
    assert sum(frames) < 20, f"the problem was traced: graphs of {frames} nodes"


def test_solutions_of_layers_are_not_compiled() -> None:
    torch._dynamo.reset()
    layer, theta = foresolve.QuadraticRelaxation(0.5), batch().theta
    frames: list[int] = []

    def step(theta: Tensor) -> Tensor:
        return 2 * layer.solve(theta * 0.5, PROBLEM).x

    assert torch.equal(torch.compile(step, backend=counting(frames))(theta), step(theta))
    assert sum(frames) < 20, f"the layer was traced: graphs of {frames} nodes"


def test_a_whole_graph_is_refused_in_words() -> None:
    torch._dynamo.reset()
    layer = foresolve.QuadraticRelaxation(0.5)
    whole = torch.compile(lambda theta: layer(theta, PROBLEM), backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match=r"Drop `fullgraph=True`, or compile the model alone"):
        whole(batch().theta)


def test_a_compiled_model_is_fitted_and_validated() -> None:
    torch._dynamo.reset()
    data = foresolve.DecisionDataset(features(), batch().theta, PROBLEM)
    plain, wrapped = model(), model()
    settings = {"valid": data, "epochs": 2, "lr": 0.1, "progress": False}
    expected = foresolve.fit(plain, SPOPlus(), data, **settings)  # type: ignore[arg-type]
    history = foresolve.fit(torch.compile(wrapped, backend="eager"), SPOPlus(), data, **settings)  # type: ignore[arg-type]
    assert history.valid_regret == expected.valid_regret
    assert history.train_loss == expected.train_loss


@pytest.mark.slow
def test_dynamo_is_not_imported_where_nothing_is_compiled() -> None:
    code = (
        "import sys, torch, foresolve; foresolve.QuadraticRelaxation(0.5)(torch.rand(2, 3), foresolve.TopK(3, 1)); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_arguments_by_name_go_through() -> None:
    @uncompiled
    def power(base: float, *, exponent: int) -> float:
        return base**exponent

    assert power(3.0, exponent=2) == 9.0
    assert power.__name__ == "power"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="inductor needs a C compiler")
def test_inductor_gives_the_same_gradients() -> None:
    torch._dynamo.reset()
    network, loss, data = model(), losses()[1], batch()
    plain = gradients(network, lambda f: loss(network(f), data).mean())
    again = gradients(network, torch.compile(lambda f: loss(network(f), data).mean()))
    for before, after in zip(plain[1], again[1]):
        torch.testing.assert_close(before, after)


class Cheapest(foresolve.Problem):
    """A problem of a user's, solved on numbers."""

    n, exact, theta_shape = 3, True, (3,)

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        return (x * theta).sum(-1)

    def solve(self, theta: Tensor) -> Tensor:
        return torch.from_numpy(np.eye(3, dtype=np.float32)[theta.numpy().argmax(-1)])

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        return Feasibility(torch.ones(x.shape[:-1], dtype=torch.bool), torch.zeros(x.shape[:-1]))


PROBLEMS = [
    PROBLEM, Portfolio(torch.eye(5, dtype=torch.float64)), Cheapest(),
    foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(5, 2)),
]  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_what_problems_do_is_not_compiled(problem: Problem) -> None:
    torch._dynamo.reset()
    shape = [size or 4 for size in problem.theta_shape]  # coverage takes any number of targets
    theta = torch.rand(3, *shape, generator=torch.Generator().manual_seed(0))

    def step(theta: Tensor) -> Tensor:
        theta = theta * 0.5
        decided, _ = problem.decide(theta)
        return problem.objective(problem.solve(theta), theta) + problem.objective(decided, theta)

    frames: list[int] = []
    assert torch.equal(step(theta), torch.compile(step, backend=counting(frames))(theta))
    assert sum(frames) < 20, f"{problem} was traced: graphs of {frames} nodes"
