"""With nothing but what foresolve itself requires; and what an import brings along."""

from __future__ import annotations

import subprocess
import sys

# Optional, or slow to import and needed by few.
LAZY = ("highspy", "networkx", "typer", "rich", "matplotlib", "sklearn", "pandas", "pydantic", "safetensors", "skops",
        "pyarrow", "cvxpy", "jinja2")  # fmt: skip
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys(set({LAZY!r}) - {{"highspy"}}))
"""


def run(script: str) -> list[str]:
    """Lines that a script prints in a Python of its own."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_importing_foresolve_brings_what_most_scripts_need() -> None:
    """Optional packages, and subpackages that few scripts use, are there when asked for."""
    script = f"""
import sys, foresolve
print(sorted({{*{LAZY!r}, "foresolve.report", "foresolve.testing", "foresolve.reproduce"}} & set(sys.modules)))
for thing in (foresolve.testing.check_gradient, foresolve.report.study_page, foresolve.projects.init):
    print(thing.__name__)
print(foresolve.reproduce.plan.__name__)
"""
    assert run(script) == ["[]", "check_gradient", "study_page", "init", "plan"]


def test_without_extras() -> None:
    """Every name can be imported; training, evaluating and deciding work; what needs an extra names it when made."""
    addresses = ("problems", "layers", "losses", "sets", "models", "data", "learning", "projects", "schedules",
                 "report", "testing", "errors")  # fmt: skip
    script = f"""
import torch, foresolve
from foresolve import *
{"".join(f"from foresolve.{address} import *{chr(10)}" for address in addresses)}
assert "scikit-learn's interface" in DecisionEstimator.__doc__
print(regret_scorer())
for make in (lambda: DecisionEstimator(epochs=3), lambda: DecisionPipeline([]), DecisionPipeline.of):
    try:
        make()
    except MissingExtraError as error:
        print(error)
features = torch.randn(8, 3)
data = foresolve.DecisionDataset(features, torch.rand(8, 4), foresolve.TopK(4, 2))
model = foresolve.MLP(3, 4, seed=0)
foresolve.fit(model, foresolve.SPOPlus(), data, data, epochs=1)
print(foresolve.evaluate(model, data).feasible, foresolve.Policy(model, data.problem)(features).x.sum().item())
"""
    missing = '{} needs scikit-learn. Install it with: pip install "foresolve[learn]"'
    assert run(WITHOUT_EXTRAS + script) == [
        "regret_scorer()",
        missing.format("DecisionEstimator"),
        *[missing.format("DecisionPipeline")] * 2,
        "None 16.0",
    ]


def test_samples_are_written_and_reading_settings_and_tensors_names_the_extra() -> None:
    script = """
import tempfile
from pathlib import Path
from foresolve._base import files
from foresolve.errors import MissingExtraError
from foresolve.projects import Project, init
with tempfile.TemporaryDirectory() as folder:
    print(len(init("knapsack", folder).names()))
    for read in (lambda: Project.load(folder), lambda: files.read_tensors(Path(folder, "items.csv"))):
        try:
            read()
        except MissingExtraError as error:
            print(error)
"""
    said = 'needs {}. Install it with: pip install "foresolve[learn]"'
    expected = ["6", f"foresolve.toml {said.format('pydantic')}", f"loading {said.format('safetensors')}"]
    assert run(WITHOUT_EXTRAS + script) == expected
