from __future__ import annotations

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
from foresolve.data.batch import Batch
from foresolve.errors import InvalidInputError
from foresolve.layers.base import Layer
from foresolve.layers.blackbox import BlackboxInterpolation
from foresolve.layers.frank_wolfe import RegularizedFrankWolfe
from foresolve.layers.identity import IdentityProjection, NegativeIdentity
from foresolve.layers.imle import IMLE, AdaptiveIMLE
from foresolve.layers.perturbed import PerturbedAdditive, PerturbedMultiplicative
from foresolve.losses.base import Loss
from foresolve.losses.cave import CaVE
from foresolve.losses.compatibility import KINDS, METHODS, markdown, traits, why_not, works
from foresolve.losses.contrastive import MAP, NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.directional import PerturbationGradient
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.lodl import LODL
from foresolve.losses.prediction import MSE, CrossEntropy, PredictionLoss
from foresolve.losses.ranking import ListwiseRanking, PairwiseRanking, PointwiseRanking
from foresolve.losses.score_function import ScoreFunction
from foresolve.losses.spo import SPOPlus
from foresolve.problems.black_box import OracleProblem


def largest(theta: np.ndarray) -> np.ndarray:
    """The best single item."""
    return np.eye(len(theta))[theta.argmax()]


def diversified(x: Tensor, theta: Tensor) -> Tensor:
    return (x * theta).sum(-1) - 0.5 * (x * theta).square().sum(-1)


PROBLEMS: dict[str, tuple[foresolve.Problem, tuple[int, ...]]] = {
    "linear program": (foresolve.LinearProgram([[1.0, 2.0, 1.0]], [2.0], bounds=(0, 1.5)), (3,)),
    "integer program": (foresolve.LinearProgram([[1.0, 2.0, 1.0]], [4.0], bounds=(0, 3), integrality=1), (3,)),
    "shortest path": (foresolve.ShortestPath.grid(3, 3), (12,)),
    "knapsack": (foresolve.Knapsack([2, 3, 4, 5], 8), (4,)),
    "knapsack, a capacity per instance": (
        foresolve.Knapsack([2, 3, 4, 5], torch.tensor([[4.0], [5.0], [7.0], [9.0]])),
        (4,),
    ),
    "matching": (foresolve.BipartiteMatching(2, 3), (6,)),
    "submodular": (
        foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2)),
        (4, 3),
    ),
    "black box, linear": (OracleProblem(largest, n=4), (4,)),
    "black box, linear, heuristic": (OracleProblem(largest, n=4, exact=False), (4,)),
    "black box, other objective": (OracleProblem(largest, diversified, n=4), (4,)),
}

UNIT = (0.0, 1.0)
LAYERS: dict[str, Callable[[], Layer]] = {
    "QuadraticRelaxation": lambda: foresolve.QuadraticRelaxation(gamma=0.5),
    "MultilinearRelaxation": lambda: foresolve.MultilinearRelaxation(gamma=1.0),
    "WilderMultilinear": foresolve.layers.WilderMultilinear,
    "PerturbedAdditive": lambda: PerturbedAdditive(samples=4, sigma=0.3, bounds=UNIT),
    "PerturbedMultiplicative": lambda: PerturbedMultiplicative(samples=4, sigma=0.3, bounds=UNIT),
    "BlackboxInterpolation": BlackboxInterpolation,
    "IdentityProjection": IdentityProjection,
    "NegativeIdentity": NegativeIdentity,
    "IMLE": lambda: IMLE(samples=2),
    "AdaptiveIMLE": lambda: AdaptiveIMLE(samples=2),
    "RegularizedFrankWolfe": RegularizedFrankWolfe,
}
LOSSES: dict[str, Callable[[], Loss]] = {
    "MSE": MSE,
    "CrossEntropy": CrossEntropy,
    "PredictionLoss": lambda: PredictionLoss(torch.nn.L1Loss(reduction="none")),
    "FenchelYoung(QuadraticRelaxation)": lambda: FenchelYoung(foresolve.QuadraticRelaxation(gamma=0.5)),
    "FenchelYoung(PerturbedAdditive)": lambda: FenchelYoung(PerturbedAdditive(samples=4)),
    "FenchelYoung(PerturbedMultiplicative)": lambda: FenchelYoung(PerturbedMultiplicative(samples=4)),
    "FenchelYoung(RegularizedFrankWolfe)": lambda: FenchelYoung(RegularizedFrankWolfe()),
    "SPOPlus": SPOPlus,
    "PerturbationGradient": PerturbationGradient,
    "NCE": NCE,
    "MAP": MAP,
    "PointwiseRanking": PointwiseRanking,
    "PairwiseRanking": PairwiseRanking,
    "ListwiseRanking": ListwiseRanking,
    "CaVE": CaVE,
    "LODL": lambda: LODL(samples=20, steps=10, bounds=UNIT),
    "ScoreFunction": lambda: ScoreFunction(sigma=0.3, samples=4, bounds=UNIT),
} | {f"DecisionLoss({name})": lambda make=make: DecisionLoss(make()) for name, make in LAYERS.items()}


def training_step(loss: Loss, kind: str) -> tuple[Tensor, list[Tensor]]:
    """The losses of a linear model behind a sigmoid on four instances, and its gradients after one step of Adam."""
    problem, shape = PROBLEMS[kind]
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(4, 5, generator=generator)
    theta = 0.1 + 0.8 * torch.rand(4, *shape, generator=generator)
    weights = torch.randn(5, theta[0].numel(), generator=generator).requires_grad_()
    batch = Batch(features, theta, problem, index=torch.arange(4))
    if isinstance(loss, LODL):
        loss.fit_to(batch)
    optimizer = torch.optim.Adam([weights], lr=0.01)
    value = loss(torch.sigmoid(features @ weights).reshape(theta.shape), batch)
    value.mean().backward()
    optimizer.step()
    assert weights.grad is not None
    return value, [weights.grad, weights.detach()]


def test_every_method_and_every_problem_is_there() -> None:
    assert set(LOSSES) == set(METHODS)
    assert set(PROBLEMS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_described_as_they_are(kind: str) -> None:
    assert traits(PROBLEMS[kind][0]) == KINDS[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_methods_do_what_the_table_says(method: str, kind: str) -> None:
    loss, problem = LOSSES[method](), PROBLEMS[kind][0]
    if works(method, problem):
        assert loss.refuses(problem) == ""
        value, numbers = training_step(loss, kind)
        assert value.shape == (4,)
        assert all(bool(torch.isfinite(tensor).all()) for tensor in (value, *numbers))
    else:
        assert loss.refuses(problem) or isinstance(loss, DecisionLoss)  # there the layer refuses
        with pytest.raises(InvalidInputError) as raised:
            training_step(loss, kind)
        first = str(raised.value).splitlines()[0]
        assert "`problem` must be" in first
        assert type(problem).__name__ in first


def own_classes(package: object, base: type) -> set[str]:
    """The public classes below `base` that a package defines."""
    found = set()
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):  # type: ignore[attr-defined]
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.name:
                found.add(name)
    return {name for name in found if not name.startswith("_")}


def test_the_table_is_complete() -> None:
    """Every loss and every layer of the package has a row."""
    bases = {"Loss", "PoolLoss", "Layer", "RandomLayer", "PerturbedLayer", "SmoothedLayer"}
    inner = {method.partition("(")[2].rstrip(")") for method in METHODS}
    assert own_classes(foresolve.losses, Loss) - bases == {method.partition("(")[0] for method in METHODS}
    assert own_classes(foresolve.layers, Layer) - bases == inner - {""}


def test_reasons() -> None:
    assert why_not("CaVE", PROBLEMS["integer program"][0]).startswith("it has integer variables beyond 0/1")
    assert why_not("NCE", PROBLEMS["knapsack, a capacity per instance"][0]).startswith("each of its instances")
    assert why_not("ScoreFunction", PROBLEMS["submodular"][0]) == ""
    with pytest.raises(InvalidInputError, match=r"`method` must be one of MSE, .*got 'SPO'"):
        works("SPO", PROBLEMS["knapsack"][0])


def test_markdown() -> None:
    lines = markdown().splitlines()
    assert len(lines) == 2 + len(METHODS)
    assert len({line.count("|") for line in lines}) == 1
    row = next(line for line in lines if "`SPOPlus`" in line)
    assert row.count("yes") == 7
    assert row.endswith("| a linear objective; an exact oracle |")
