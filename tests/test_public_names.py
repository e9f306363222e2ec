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
    "Batch",
    "BipartiteMatching",
    "ConvergenceWarning",
    "DecisionDataset",
    "DecisionEstimator",
    "DecisionLoss",
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
    "Policy",
    "ProbabilisticCoverage",
    "Problem",
    "QuadraticRelaxation",
    "SPOPlus",
    "ShortestPath",
    "SolverError",
    "SubmodularProblem",
    "TopK",
    "UnboundedError",
    "UniformMatroid",
    "compare",
    "evaluate",
    "fit",
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
