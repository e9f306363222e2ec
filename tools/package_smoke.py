"""What an installed package must be able to do: `python -I package_smoke.py core` or `shell`, by tools/package.py."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch

import foresolve


def core() -> None:
    """With nothing but what foresolve itself requires: import, train, decide."""
    assert "site-packages" in foresolve.__file__, foresolve.__file__
    assert version("foresolve") == foresolve.__version__
    package = Path(foresolve.__file__).parent
    assert (package / "py.typed").exists()
    assert list(package.rglob("*.cu"))
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(32, 3, generator=generator)
    theta = features @ torch.randn(3, 4, generator=generator)
    data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    model = foresolve.MLP(3, 4, seed=0)
    history = foresolve.fit(model, foresolve.SPOPlus(), data, data, epochs=30, lr=0.1, progress=False)
    assert len(history) > 0
    assert foresolve.evaluate(model, data).normalized_regret < 0.5
    assert foresolve.Policy(model, data.problem)(features).x.sum() == 64


def shell() -> None:
    """With the extras `cli` and `learn`: the command, and a project from its template to decisions and a report."""
    program = str(Path(sys.executable).with_name("foresolve"))
    assert told(program, "--version").strip() == f"foresolve {foresolve.__version__}"
    told(program, "init", "knapsack", "van")
    told(program, "train", "van", "--budget", "5 s")
    told(program, "decide", "van/run", "--data", "van/tomorrow.csv", "--out", "decisions.csv")
    assert Path("decisions.csv").read_text().startswith("week,name,amount,objective\n")
    assert Path("van", "run", "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    {"core": core, "shell": shell}[sys.argv[1]]()
