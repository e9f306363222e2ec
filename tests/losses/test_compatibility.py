"""What losses and layers need: what is claimed runs, what is denied is refused before any work."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
import foresolve.layers
import foresolve.losses
from foresolve.data import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.layers import Layer
from foresolve.losses import CaVE, DecisionLoss, FenchelYoung, Loss, ScoreFunction, SPOPlus, why_not
from foresolve.problems import Affine, OracleProblem, TravellingSalesman
from foresolve.sets import GraphicMatroid, PartitionMatroid
from losses.compatibility import CONVEX, LAYERS, markdown, methods
from mistakes import mistake


def largest(theta: np.ndarray) -> np.ndarray:
    """The best single item."""
    return np.eye(len(theta))[theta.argmax()]


def diversified(x: Tensor, theta: Tensor) -> Tensor:
    return (x * theta).sum(-1) - 0.5 * (x * theta).square().sum(-1)


def covering(matroid: foresolve.Matroid) -> foresolve.SubmodularProblem:
    return foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), matroid)


COMMON = {"linear", "exact", "rows", "binary", "shared", "fixed"}
CURVED = COMMON - {"linear"}
SETS = {"set function", "projection", "shared", "fixed"}
TWO_WAY = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (2, 3), (3, 2), (1, 3), (3, 1)]
# How to make each kind of problem, the shape of its parameters, and what it offers.
PROBLEMS: dict[str, tuple[Callable[[], foresolve.Problem], tuple[int, ...], set[str]]] = {
    "linear program": (lambda: foresolve.LinearProgram([[1.0, 2.0, 1.0]], [2.0], bounds=(0, 1.5)), (3,), COMMON),
    "integer program": (
        lambda: foresolve.LinearProgram([[1.0, 2.0, 1.0]], [4.0], bounds=(0, 3), integrality=1),
        (3,),
        COMMON - {"binary"},
    ),
    "shortest path": (lambda: foresolve.ShortestPath.grid(3, 3), (12,), COMMON),
    "shortest path, two-way streets": (lambda: foresolve.ShortestPath(TWO_WAY, 0, 3), (10,), COMMON),
    "shortest path, costs of cells": (
        lambda: foresolve.ShortestPath.grid(3, 3, moves="8", costs="cells"),
        (9,),
        COMMON,
    ),
    "tied prices": (
        lambda: foresolve.LinearProgram(A_eq=[[1.0, 1.0, -1.0, -1.0]], b_eq=[0.0], bounds=(0, 1)).parametrized(
            Affine.tied([0, 1, 0, 1], factor=[-1.0, -1.0, 1.0, 1.0], known=[0.0, 0.0, -0.1, -0.1]), constant=0.5
        ),
        (2,),
        COMMON,
    ),
    "knapsack, worths partly known": (
        lambda: foresolve.Knapsack([2, 3, 4, 5], 8).parametrized(
            Affine.part([0, 2], torch.linspace(0.1, 0.9, 16).reshape(4, 4))
        ),
        (2,),
        COMMON,
    ),
    "predicted load": (
        lambda: foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[0.0], bounds=(-9, 9), sense="min").parametrized(
            [1.0, 2.0, 4.0], b_eq=Affine([[1.0, 2.0]])
        ),
        (2,),
        COMMON - {"fixed"},
    ),
    "quadratic program": (
        lambda: foresolve.QuadraticProgram(
            [[1.0, 0.2, 0.0], [0.2, 2.0, 0.0], [0.0, 0.0, 1.5]], [[1.0, 1.0, 1.0]], [0.5]
        ),
        (3,),
        CURVED,
    ),
    "quadratic program, semidefinite": (
        lambda: foresolve.QuadraticProgram(factor=[[1.0], [0.5], [0.2]], bounds=(0, 1)),
        (3,),
        CURVED,
    ),
    "quadratic program, a Q per instance": (
        lambda: foresolve.QuadraticProgram(diagonal=torch.arange(1.0, 13.0).reshape(4, 3), bounds=(0, 1)),
        (3,),
        CURVED - {"shared"},
    ),
    "portfolio": (
        lambda: foresolve.problems.Portfolio(loadings=[[1.0], [0.5]], specific=[0.1, 0.2]),
        (2,),
        CURVED,
    ),
    "tracking": (
        lambda: foresolve.problems.Tracking([[1.0, 1.0]], [0.6], outputs=[[1.0, 0.0], [1.0, 1.0]], effort=0.1),
        (2,),
        CURVED,
    ),
    "knapsack": (lambda: foresolve.Knapsack([2, 3, 4, 5], 8), (4,), COMMON),
    "knapsack, a capacity per instance": (
        lambda: foresolve.Knapsack([2, 3, 4, 5], torch.tensor([[4.0], [5.0], [7.0], [9.0]])),
        (4,),
        COMMON - {"shared"},
    ),
    "matching": (lambda: foresolve.BipartiteMatching(2, 3), (6,), COMMON),
    "tour": (lambda: TravellingSalesman(4), (6,), COMMON),
    "submodular": (lambda: covering(foresolve.UniformMatroid(4, 2)), (4, 3), SETS | {"uniform"}),
    "submodular, weights per instance": (
        lambda: foresolve.SubmodularProblem(
            foresolve.ProbabilisticCoverage(torch.arange(1.0, 13.0).reshape(4, 3)), foresolve.UniformMatroid(4, 2)
        ),
        (4, 3),
        (SETS | {"uniform"}) - {"shared"},
    ),
    "submodular, groups": (lambda: covering(PartitionMatroid([0, 0, 1, 1], [1, 1])), (4, 3), SETS),
    "submodular, forests": (
        lambda: covering(GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)], 4)),
        (4, 3),
        SETS - {"projection"},
    ),
    "black box, linear": (lambda: OracleProblem(largest, n=4), (4,), {"linear", "exact", "shared", "fixed"}),
    "black box, linear, heuristic": (
        lambda: OracleProblem(largest, n=4, exact=False),
        (4,),
        {"linear", "shared", "fixed"},
    ),
    "black box, other objective": (
        lambda: OracleProblem(largest, diversified, n=4),
        (4,),
        {"exact", "shared", "fixed"},
    ),
}


def data_of(kind: str) -> DecisionDataset:
    """Four instances with parameters in (0, 1)."""
    make, shape, _ = PROBLEMS[kind]
    generator = torch.Generator().manual_seed(0)
    theta = 0.1 + 0.8 * torch.rand(4, *shape, generator=generator)
    return DecisionDataset(torch.randn(4, 5, generator=generator), theta, make())


class Model(torch.nn.Module):
    """A linear model behind a sigmoid, which counts its calls."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.weights = torch.nn.Parameter(torch.randn(5, int(np.prod(shape)), generator=generator))
        self.shape, self.calls = shape, 0

    def forward(self, features: Tensor) -> Tensor:
        self.calls += 1
        return torch.sigmoid(features @ self.weights).reshape(len(features), *self.shape)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_kinds_offer_what_they_have(kind: str) -> None:
    make, _, offered = PROBLEMS[kind]
    assert make().traits == offered


NEEDS = {name: set(method.needs) for name, method in methods().items()}
CASES = [(name, kind, needs <= PROBLEMS[kind][2]) for name, needs in NEEDS.items() for kind in PROBLEMS]
CLAIMED = [(name, kind) for name, kind, serves in CASES if serves]
DENIED = [(name, kind) for name, kind, serves in CASES if not serves]


@pytest.mark.filterwarnings("ignore::foresolve.NoGradientWarning")
@pytest.mark.parametrize(("name", "kind"), CLAIMED)
def test_what_is_claimed_runs_with_default_arguments(name: str, kind: str) -> None:
    loss, data = methods()[name], data_of(kind).subset([0, 1])
    model = Model(PROBLEMS[kind][1])
    before = model.weights.detach().clone()
    assert why_not(loss, data.problem) == ""
    history = foresolve.fit(model, loss, data, epochs=1, batch_size=2, lr=0.01, progress=False)
    assert np.isfinite(history.train_loss[0])
    assert model.weights.grad is not None
    assert bool(torch.isfinite(model.weights).all())
    assert torch.equal(model.weights, before) == (not model.weights.grad.any())


@pytest.mark.parametrize("kind", PROBLEMS)
def test_empty_batches_of_problems(kind: str) -> None:
    data = data_of(kind)
    batch = data[torch.zeros(0, dtype=torch.long)]
    problem, n = batch.problem, data.problem.solve(data.theta).shape[-1]
    x = problem.solve(batch.theta)
    assert x.shape == (0, n)
    assert problem.objective(x, batch.theta).shape == (0,)
    assert problem.at(batch.theta).check(x)
    if problem.linear and "fixed" in problem.traits:
        assert problem.argmax(problem.gain(batch.theta)).shape == (0, n)
    decision, value = batch.best()
    assert decision.shape == (0, n)
    assert value.shape == (0,)


@pytest.mark.parametrize("name", [name for name in NEEDS if not name.startswith("FenchelYoung")])
def test_empty_batches_of_losses_and_layers(name: str) -> None:
    for kind in PROBLEMS:
        loss, data = methods()[name], data_of(kind)
        if why_not(loss, data.problem):
            continue
        batch = data[torch.zeros(0, dtype=torch.long)]
        calls = [lambda leaf, batch=batch, loss=loss: loss(leaf, batch)]
        if isinstance(loss, DecisionLoss):
            calls.append(lambda leaf, batch=batch, loss=loss: loss.layer(leaf, batch.problem).sum(-1))
            calls.append(lambda leaf, batch=batch, loss=loss: loss.forward(leaf, batch))
        for call in calls:
            leaf = batch.theta.clone().requires_grad_()
            values = call(leaf)
            assert values.shape == (0,)
            values.sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.shape == leaf.shape


@pytest.mark.parametrize(("name", "kind"), DENIED)
def test_what_is_denied_is_refused_before_any_work(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, data = methods()[name], data_of(kind)
    model, batch = Model(PROBLEMS[kind][1]), data[:]
    problem = data.problem
    for work in ("solve", "argmax", "objective"):
        monkeypatch.setattr(problem, work, lambda *arguments, work=work: pytest.fail(f"`{work}` was called"))
    monkeypatch.setattr(batch.problem, "solve", lambda *arguments: pytest.fail("`solve` was called"))
    calls: list[Callable[[], object]] = [
        lambda: foresolve.fit(model, loss, data, epochs=1, progress=False),
        lambda: loss(batch.theta, batch),
        lambda: loss.prepare(data),
    ]
    layer = getattr(loss, "layer", None)
    if layer is not None and not set(layer.needs) <= problem.traits:
        calls.append(lambda: layer(batch.theta, problem))
        if hasattr(layer, "solve"):
            calls.append(lambda: layer.solve(batch.theta, problem))
    for call in calls:
        with pytest.raises(InvalidInputError) as raised:
            call()
        first = str(raised.value).splitlines()[0]
        assert first.startswith("`problem` must be")
        assert type(problem).__name__ in first
    assert model.calls == 0
    assert why_not(loss, problem)


def own_classes(package: object, base: type) -> set[str]:
    """The public classes below `base` that a package defines and that can be made."""
    names = set()
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):  # type: ignore[attr-defined]
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.name:
                names.add(name)
    return {name for name in names if not name.startswith("_")}


def test_every_loss_and_layer_is_in_the_table() -> None:
    bases = {"Loss", "PoolLoss", "Layer", "PerturbedLayer", "SmoothedLayer"}
    assert own_classes(foresolve.losses, Loss) - bases == {name.partition("(")[0] for name in methods()}
    assert own_classes(foresolve.layers, Layer) - bases == {kind.__name__ for kind in LAYERS}
    for kind in LAYERS:
        if kind not in CONVEX:
            with mistake("layer", kind.__name__):
                FenchelYoung(kind())


def test_a_loss_needs_what_its_layer_needs() -> None:
    for kind in LAYERS:
        assert DecisionLoss(kind()).needs == kind.needs
    for kind in CONVEX:
        assert set(FenchelYoung(kind()).needs) == {"fixed", *kind.fenchel_young_needs, *kind.needs}


class Picky(foresolve.layers.PerturbedAdditive):
    """A layer with a reason of its own."""

    def check_problem(self, problem: foresolve.Problem) -> None:
        super().check_problem(problem)
        raise InvalidInputError(argument="problem", expected="another", got=type(problem).__name__)


@pytest.mark.parametrize("loss", [
    DecisionLoss(Picky()),
    DecisionLoss(Picky(), normalize=True),
    FenchelYoung(Picky()),
    DecisionLoss(foresolve.layers.WilderMultilinear(cap=0.4)),
], ids=str)  # fmt: skip
def test_what_a_layer_refuses_its_loss_refuses_before_any_work(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of("submodular" if set(loss.needs) & {"set function"} else "shortest path")
    model = Model(data.theta.shape[1:])
    monkeypatch.setattr(data.problem, "solve", lambda *arguments: pytest.fail("`solve` was called"))
    argument = "cap" if set(loss.needs) & {"set function"} else "problem"
    for call in (lambda: loss.prepare(data), lambda: foresolve.fit(model, loss, data, epochs=1, progress=False)):
        with mistake(argument):
            call()
    assert model.calls == 0
    assert "must be" in why_not(loss, data.problem)
    assert why_not(loss.layer, data.problem) == why_not(loss, data.problem)


@pytest.mark.parametrize("bounds", [None, (-5.0, 5.0), (0.2, 5.0)])
def test_draws_stay_within_the_domain_of_the_problem(bounds: tuple[float, float] | None) -> None:
    """Whatever bounds one gives: those of the problem hold too."""
    data = data_of("submodular")
    losses = [ScoreFunction(bounds=bounds), foresolve.losses.LODL(bounds=bounds)]
    losses += [DecisionLoss(foresolve.layers.PerturbedAdditive(bounds=bounds))]
    for loss in losses:
        prepared = loss.prepare(data)
        assert bool(torch.isfinite(loss(prepared.theta, prepared[:])).all())


def test_reasons() -> None:
    @functools.cache
    def problem(kind: str) -> foresolve.Problem:
        return PROBLEMS[kind][0]()

    assert why_not(CaVE(), problem("integer program")).startswith("it has integer variables beyond 0/1")
    assert why_not(foresolve.losses.NCE(), problem("knapsack, a capacity per instance")).startswith("each of its inst")
    assert why_not(ScoreFunction(), problem("submodular")) == ""
    with mistake("problem", "SubmodularProblem", "SPOPlus"):
        SPOPlus().check_problem(problem("submodular"))
    with mistake("problem", "NoneType"):
        foresolve.MSE().check_problem(None)  # type: ignore[arg-type]


def test_markdown() -> None:
    *lines, _, predicted = markdown().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| a linear objective; an exact oracle | `SPOPlus`, `PerturbationGradient` |" in lines
    assert "`DecisionLoss(QuadraticRelaxation)`" in predicted
    assert "SPOPlus" not in predicted
