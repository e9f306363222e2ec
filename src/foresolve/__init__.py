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
from foresolve.layers.multilinear import MultilinearRelaxation, MultilinearSolution
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import Relative, geometric, linear
from foresolve.layers.wilder import WilderMultilinear
from foresolve.problems.base import Problem
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets.checker import check_set_function
from foresolve.sets.coverage import ProbabilisticCoverage
from foresolve.sets.facility import FacilityLocation
from foresolve.sets.function import SetFunction
from foresolve.sets.graphic import GraphicMatroid
from foresolve.sets.influence import InfluenceSpread
from foresolve.sets.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from foresolve.sets.matroid import Matroid
from foresolve.sets.rounding import pipage, randomised_pipage, swap_rounding
from foresolve.solvers.solution import Duals, Solution, Status

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "BipartiteMatching",
    "ConvergenceWarning",
    "Duals",
    "FacilityLocation",
    "ForesolveError",
    "ForesolveWarning",
    "GraphicMatroid",
    "InfeasibleError",
    "InfluenceSpread",
    "InvalidInputError",
    "Knapsack",
    "LaminarMatroid",
    "Layer",
    "LinearProgram",
    "Matroid",
    "MaxFlow",
    "MinCostFlow",
    "MissingExtraError",
    "MultilinearRelaxation",
    "MultilinearSolution",
    "NoGradientWarning",
    "PartitionMatroid",
    "ProbabilisticCoverage",
    "Problem",
    "QuadraticRelaxation",
    "Relative",
    "SetFunction",
    "ShortestPath",
    "Solution",
    "SolverError",
    "Status",
    "SubmodularProblem",
    "TopK",
    "UnboundedError",
    "UniformMatroid",
    "WilderMultilinear",
    "check_set_function",
    "geometric",
    "linear",
    "pipage",
    "randomised_pipage",
    "swap_rounding",
]
