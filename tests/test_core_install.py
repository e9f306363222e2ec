"""With nothing but what foresolve itself requires."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = (
    *("sklearn", "pandas", "pydantic", "safetensors", "skops"),
    *("rich", "typer", "networkx", "matplotlib", "pyarrow", "cvxpy"),
)
ABSENT = f"""
import sys
sys.modules.update(dict.fromkeys({BLOCKED}))
"""


def run(script: str) -> str:
    """What a script prints in a Python of its own."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("module", ["foresolve", "foresolve.learning", "foresolve.models", "foresolve.projects"])
def test_everything_can_be_imported(module: str) -> None:
    script = f"from {module} import *\nimport {module}\nassert set({module}.__all__) <= set(globals())\nprint('here')"
    assert run(ABSENT + script) == "here\n"


def test_the_estimator_names_its_extra_when_it_is_made() -> None:
    script = """
from foresolve.learning import DecisionEstimator
from foresolve.errors import MissingExtraError
assert "scikit-learn's interface" in DecisionEstimator.__doc__
try:
    DecisionEstimator(epochs=3)
except MissingExtraError as error:
    print(error)
"""
    expected = 'DecisionEstimator needs scikit-learn. Install it with: pip install "foresolve[learn]"\n'
    assert run(ABSENT + script) == expected


def test_the_pipeline_names_its_extra_when_it_is_made() -> None:
    script = """
from foresolve.learning import DecisionPipeline, regret_scorer
from foresolve.errors import MissingExtraError
for make in (lambda: DecisionPipeline([]), DecisionPipeline.of):
    try:
        make()
    except MissingExtraError as error:
        print(error)
print(regret_scorer())
"""
    expected = 'DecisionPipeline needs scikit-learn. Install it with: pip install "foresolve[learn]"\n'
    assert run(ABSENT + script) == 2 * expected + "regret_scorer()\n"


def test_training_evaluating_and_deciding_need_no_extra() -> None:
    script = """
import torch, foresolve
features = torch.randn(8, 3)
data = foresolve.DecisionDataset(features, torch.rand(8, 4), foresolve.TopK(4, 2))
model = foresolve.MLP(3, 4, seed=0)
foresolve.fit(model, foresolve.SPOPlus(), data, data, epochs=1)
print(foresolve.evaluate(model, data).feasible, foresolve.Policy(model, data.problem)(features).x.sum().item())
"""
    assert run(ABSENT + script) == "None 16.0\n"


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
    said = 'needs {}. Install it with: pip install "foresolve[learn]"\n'
    expected = f"6\nforesolve.toml {said.format('pydantic')}loading {said.format('safetensors')}"
    assert run(ABSENT + script) == expected


def test_importing_brings_none_of_the_extras() -> None:
    script = f"import sys, foresolve\nprint(sorted(set({BLOCKED}) & set(sys.modules)))"
    assert run(script) == "[]\n"
