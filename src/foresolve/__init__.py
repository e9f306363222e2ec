"""Decision-focused learning: train predictive models on the decisions they lead to.

A model predicts the parameters `theta` of a problem, a layer turns them into a decision that gradients pass through,
and the decision is scored under the truth:

>>> import torch, foresolve
>>> _ = torch.manual_seed(0)
>>> problem = foresolve.TopK(4, k=2)                       # what is decided
>>> layer = foresolve.QuadraticRelaxation(gamma=1.0)       # how gradients pass
>>> model = torch.nn.Linear(3, 4)                          # what is learned
>>> features, theta = torch.randn(8, 3), torch.rand(8, 4)
>>> x = layer(model(features), problem)
>>> loss = -problem.objective(x, theta).mean()
>>> loss.backward()
>>> problem.solve(model(features)).sum(-1)                 # at test time: exact, discrete
tensor([2., 2., 2., 2., 2., 2., 2., 2.])
"""

import importlib
from typing import TYPE_CHECKING, Any

from foresolve import data as data
from foresolve import layers as layers
from foresolve import learning as learning
from foresolve import losses as losses
from foresolve import models as models
from foresolve import problems as problems
from foresolve import schedules as schedules
from foresolve import sets as sets
from foresolve.data import Batch, DecisionDataset
from foresolve.errors import (
    ConvergenceWarning,
    FeatureRangeWarning,
    ForesolveError,
    ForesolveWarning,
    InfeasibleError,
    InvalidInputError,
    MissingExtraError,
    NoGradientWarning,
    NoImprovementWarning,
    SolverError,
    StoppedError,
    StorageError,
    UnboundedError,
    WeakReferenceWarning,
)
from foresolve.layers import Layer, MultilinearRelaxation, QuadraticRelaxation
from foresolve.learning import Policy, compare, evaluate, fit, study
from foresolve.losses import MSE, DecisionLoss, Loss, SPOPlus
from foresolve.models import MLP
from foresolve.problems import (
    BipartiteMatching,
    Knapsack,
    LinearProgram,
    Problem,
    QuadraticProgram,
    ShortestPath,
    SubmodularProblem,
    TopK,
)
from foresolve.sets import ProbabilisticCoverage, UniformMatroid

if TYPE_CHECKING:
    from foresolve.learning.scikit_learn.estimator import DecisionEstimator

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BipartiteMatching",
    "ConvergenceWarning",
    "DecisionDataset",
    "DecisionEstimator",
    "DecisionLoss",
    "FeatureRangeWarning",
    "ForesolveError",
    "ForesolveWarning",
    "InfeasibleError",
    "InvalidInputError",
    "Knapsack",
    "Layer",
    "LinearProgram",
    "Loss",
    "MLP",
    "MSE",
    "MissingExtraError",
    "MultilinearRelaxation",
    "NoGradientWarning",
    "NoImprovementWarning",
    "Policy",
    "ProbabilisticCoverage",
    "Problem",
    "QuadraticProgram",
    "QuadraticRelaxation",
    "SPOPlus",
    "ShortestPath",
    "SolverError",
    "StoppedError",
    "StorageError",
    "SubmodularProblem",
    "TopK",
    "UnboundedError",
    "UniformMatroid",
    "WeakReferenceWarning",
    "compare",
    "evaluate",
    "fit",
    "study",
]


def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for: what needs scikit-learn, and rooms that few scripts enter."""
    if name == "DecisionEstimator":
        from foresolve.learning.scikit_learn.estimator import DecisionEstimator

        return DecisionEstimator
    if name in ("projects", "report", "reproduce", "testing"):
        return importlib.import_module(f"{__name__}.{name}")
    rooms = (data, layers, learning, losses, models, problems, schedules, sets)
    place = next((f". It is in {room.__name__}" for room in rooms if name in room.__all__), "")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{place}")
