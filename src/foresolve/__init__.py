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

from foresolve.errors import (
    ConvergenceWarning,
    ForesolveError,
    ForesolveWarning,
    InfeasibleError,
    InvalidInputError,
    MissingExtraError,
    NoGradientWarning,
    SolverError,
    UnboundedError,
)
from foresolve.layers.base import Layer
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import Relative, geometric, linear
from foresolve.problems.base import Problem
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.top_k import TopK
from foresolve.solvers.solution import Duals, Solution, Status

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "BipartiteMatching",
    "ConvergenceWarning",
    "Duals",
    "ForesolveError",
    "ForesolveWarning",
    "InfeasibleError",
    "InvalidInputError",
    "Knapsack",
    "Layer",
    "LinearProgram",
    "MaxFlow",
    "MinCostFlow",
    "MissingExtraError",
    "NoGradientWarning",
    "Problem",
    "QuadraticRelaxation",
    "Relative",
    "ShortestPath",
    "Solution",
    "SolverError",
    "Status",
    "TopK",
    "UnboundedError",
    "geometric",
    "linear",
]
