"""How gradients pass: differentiable stand-ins for `problem.solve`."""

from foresolve.layers.base import Layer
from foresolve.layers.blackbox import BlackboxInterpolation
from foresolve.layers.frank_wolfe import RegularizedFrankWolfe
from foresolve.layers.gamma_rules import CalibratedGamma, RelativeGamma
from foresolve.layers.identity import IdentityProjection, NegativeIdentity
from foresolve.layers.imle import IMLE, AdaptiveIMLE
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.perturbed import PerturbedAdditive, PerturbedMultiplicative
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.layers.solutions import Combination, Duals, MultilinearSolution, Solution
from foresolve.layers.wilder_multilinear import WilderMultilinear
from foresolve.layers.wilder_quadratic import WilderQuadratic
from foresolve.solvers.statistics import SolverCall, SolverStatistics, solver_statistics
from foresolve.solvers.status import Status

__all__ = [
    "CalibratedGamma",
    "AdaptiveIMLE",
    "BlackboxInterpolation",
    "Combination",
    "Duals",
    "IMLE",
    "IdentityProjection",
    "Layer",
    "MultilinearRelaxation",
    "MultilinearSolution",
    "NegativeIdentity",
    "PerturbedAdditive",
    "PerturbedMultiplicative",
    "QuadraticRelaxation",
    "RegularizedFrankWolfe",
    "RelativeGamma",
    "SmoothedLayer",
    "Solution",
    "SolverCall",
    "SolverStatistics",
    "Status",
    "WilderMultilinear",
    "WilderQuadratic",
    "solver_statistics",
]
