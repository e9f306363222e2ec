"""What users may rely on: a change here is a change of the interface and belongs in the changelog."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import foresolve

NAMES = [
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
# Optional, or slow to import and needed by few.
LAZY = ("highspy", "networkx", "typer", "rich", "matplotlib", "sklearn", "pandas", "safetensors", "skops", "pyarrow")


def test_the_public_names() -> None:
    assert sorted(foresolve.__all__) == sorted(NAMES)
    assert len(set(foresolve.__all__)) == len(foresolve.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_documented(name: str) -> None:
    thing = getattr(foresolve, name)
    assert (thing.__doc__ or "").strip()
    if inspect.isclass(thing):
        for attribute, value in vars(thing).items():
            if not attribute.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(getattr(thing, attribute)), f"{name}.{attribute} has no docstring"


def test_importing_foresolve_imports_nothing_optional() -> None:
    code = f"import sys, foresolve; print([name for name in {LAZY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_two_statements_of_the_version_agree() -> None:
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    stated = re.search(r'^version = "(.+)"$', pyproject.read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    assert stated[1] == foresolve.__version__
