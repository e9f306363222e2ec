"""Problems: linear and quadratic programs, the classes built on them, submodular problems, black boxes."""

from foresolve.problems.affine import Affine
from foresolve.problems.base import Problem
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.constraints import Constraints
from foresolve.problems.feasibility import Feasibility, Violation
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.incumbent import Incumbent
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.portfolio import Portfolio
from foresolve.problems.quadratic import QuadraticProgram
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.problems.tracking import Tracking
from foresolve.problems.traits import TRAITS, Trait
from foresolve.problems.travelling_salesman import TravellingSalesman
from foresolve.solvers.exact.outcome import Ending

__all__ = [
    "TRAITS",
    "Trait",
    "Affine",
    "Assignment",
    "BipartiteMatching",
    "Constraints",
    "Ending",
    "Feasibility",
    "Incumbent",
    "Knapsack",
    "LinearProgram",
    "MaxFlow",
    "MinCostFlow",
    "OracleProblem",
    "Portfolio",
    "Problem",
    "QuadraticProgram",
    "ShortestPath",
    "SubmodularProblem",
    "TopK",
    "Tracking",
    "TravellingSalesman",
    "Violation",
]
