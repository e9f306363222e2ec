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

from typing import TYPE_CHECKING, Any

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
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
from foresolve.layers.blackbox import BlackboxInterpolation
from foresolve.layers.frank_wolfe import RegularisedFrankWolfe
from foresolve.layers.identity import IdentityProjection
from foresolve.layers.imle import IMLE, AdaptiveIMLE
from foresolve.layers.multilinear import MultilinearRelaxation, MultilinearSolution
from foresolve.layers.perturbed import PerturbedAdditive, PerturbedMultiplicative
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import Relative, geometric, linear
from foresolve.layers.wilder import WilderMultilinear
from foresolve.learning.baselines import ConstantMean, LinearRegression, NearestNeighbours, RandomDecision
from foresolve.learning.compare import Comparison, compare
from foresolve.learning.evaluate import evaluate
from foresolve.learning.fit import fit
from foresolve.learning.forest import RandomForest
from foresolve.learning.history import History
from foresolve.learning.models import MLP, BilinearPairs, PairModel
from foresolve.learning.policy import Policy
from foresolve.learning.report import Report
from foresolve.learning.similarity import CosinePairs
from foresolve.losses.base import Loss
from foresolve.losses.cave import CaVE
from foresolve.losses.contrastive import MAP, NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.lodl import LODL
from foresolve.losses.perturbation import PerturbationGradient
from foresolve.losses.pool import SolutionPool
from foresolve.losses.prediction import MSE, CrossEntropy, PredictionLoss
from foresolve.losses.ranking import ListwiseRanking, PairwiseRanking, PointwiseRanking
from foresolve.losses.score_function import ScoreFunction
from foresolve.losses.spo import SPOPlus
from foresolve.problems.base import Problem
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.oracle import OracleProblem
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.problems.travelling_salesman import TravellingSalesman
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

if TYPE_CHECKING:
    from foresolve.learning.estimator import DecisionEstimator

__version__ = "0.1.0"

__all__ = [
    "AdaptiveIMLE",
    "Assignment",
    "Batch",
    "BilinearPairs",
    "BipartiteMatching",
    "BlackboxInterpolation",
    "CaVE",
    "Comparison",
    "ConstantMean",
    "ConvergenceWarning",
    "CosinePairs",
    "CrossEntropy",
    "DecisionDataset",
    "DecisionEstimator",
    "DecisionLoss",
    "Duals",
    "FacilityLocation",
    "FenchelYoung",
    "ForesolveError",
    "ForesolveWarning",
    "GraphicMatroid",
    "History",
    "IMLE",
    "IdentityProjection",
    "InfeasibleError",
    "InfluenceSpread",
    "InvalidInputError",
    "Knapsack",
    "LODL",
    "LaminarMatroid",
    "Layer",
    "LinearProgram",
    "LinearRegression",
    "ListwiseRanking",
    "Loss",
    "MAP",
    "MLP",
    "MSE",
    "Matroid",
    "MaxFlow",
    "MinCostFlow",
    "MissingExtraError",
    "MultilinearRelaxation",
    "MultilinearSolution",
    "NCE",
    "NearestNeighbours",
    "NoGradientWarning",
    "OracleProblem",
    "PairModel",
    "PairwiseRanking",
    "PartitionMatroid",
    "PerturbationGradient",
    "PerturbedAdditive",
    "PerturbedMultiplicative",
    "PointwiseRanking",
    "Policy",
    "PredictionLoss",
    "ProbabilisticCoverage",
    "Problem",
    "QuadraticRelaxation",
    "RandomDecision",
    "RandomForest",
    "RegularisedFrankWolfe",
    "Relative",
    "Report",
    "SPOPlus",
    "ScoreFunction",
    "SetFunction",
    "ShortestPath",
    "Solution",
    "SolutionPool",
    "SolverError",
    "Status",
    "SubmodularProblem",
    "TopK",
    "TravellingSalesman",
    "UnboundedError",
    "UniformMatroid",
    "WilderMultilinear",
    "check_set_function",
    "compare",
    "evaluate",
    "fit",
    "geometric",
    "linear",
    "pipage",
    "randomised_pipage",
    "swap_rounding",
]


def __getattr__(name: str) -> Any:
    """`DecisionEstimator` derives from scikit-learn's classes, which are imported when it is first asked for."""
    if name == "DecisionEstimator":
        from foresolve.learning.estimator import DecisionEstimator

        return DecisionEstimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
