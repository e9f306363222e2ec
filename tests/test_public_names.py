"""What users may rely on: a change here is a change of the interface and belongs in the changelog."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import foresolve

ROOT = Path(__file__).parents[1]
SOURCE = Path(foresolve.__file__).parent
NAMES = [
    "Batch",
    "BipartiteMatching",
    "ConvergenceWarning",
    "DecisionDataset",
    "DecisionEstimator",
    "DecisionLoss",
    "FeatureRangeWarning",
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
    "NoImprovementWarning",
    "Policy",
    "ProbabilisticCoverage",
    "Problem",
    "QuadraticProgram",
    "QuadraticRelaxation",
    "SPOPlus",
    "ShortestPath",
    "SolverError",
    "StoppedError",
    "StorageError",
    "SubmodularProblem",
    "TopK",
    "UnboundedError",
    "UniformMatroid",
    "WeakReferenceWarning",
    "compare",
    "evaluate",
    "fit",
    "study",
]
# The public addresses: `foresolve` itself, and these.
FLOORS = ("problems", "layers", "losses", "sets", "models", "data", "learning", "projects", "schedules", "report",
          "reproduce", "testing")  # fmt: skip
# Optional, or slow to import and needed by few.
LAZY = ("highspy", "networkx", "typer", "rich", "matplotlib", "sklearn", "pandas", "safetensors", "skops", "pyarrow",
        "cvxpy", "jinja2")  # fmt: skip

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
FROM = re.compile(r"^\s*(?:>>> |\.\.\. )?from (foresolve[\w.]*) import \(?([\w, ]+)", re.MULTILINE)
ATTRIBUTE = re.compile(r"\bforesolve((?:\.(?!toml\b)\w+)+)")  # foresolve.toml is a file
# A page on the inside of the house names its rooms.
INSIDE = {"architecture.md", "CONTRIBUTING.md"}


def exported(address: str) -> list[str]:
    return list(importlib.import_module(address).__all__)


ADDRESSES = {
    "foresolve": exported("foresolve"),
    **{f"foresolve.{floor}": exported(f"foresolve.{floor}") for floor in FLOORS},
}


def test_the_names_at_the_top() -> None:
    assert sorted(foresolve.__all__) == sorted(NAMES)


@pytest.mark.parametrize("address", ADDRESSES)
def test_each_name_is_listed_once_and_documented(address: str) -> None:
    names = ADDRESSES[address]
    assert len(set(names)) == len(names)
    module = importlib.import_module(address)
    assert (module.__doc__ or "").strip()
    for name in names:
        thing = getattr(module, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert (thing.__doc__ or "").strip(), f"{address}.{name} has no docstring"
        members = vars(thing) if inspect.isclass(thing) else {}
        for attribute, value in members.items():
            if not attribute.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(getattr(thing, attribute)), f"{address}.{name}.{attribute} has no docstring"


def test_the_top_repeats_names_of_the_floors() -> None:
    for name in foresolve.__all__:
        thing = getattr(foresolve, name)
        homes = [address for address, names in ADDRESSES.items() if address != "foresolve" and name in names]
        assert all(getattr(importlib.import_module(home), name) is thing for home in homes)
        assert homes or issubclass(thing, Exception), f"{name} has no floor"


def texts() -> Iterator[tuple[str, str]]:
    """What users read: pages, examples, and the docstrings of the package."""
    for path in [*PAGES, *EXAMPLES]:
        if path.name not in INSIDE:
            yield path.name, path.read_text(encoding="utf-8")
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


def private_addresses(text: str) -> list[str]:
    """Imports and attributes of foresolve in a text that are not public."""
    wrong = []
    for module, names in FROM.findall(text):
        wrong += [
            f"{module}.{name}"
            for name in (part.split(" as ")[0].strip() for part in names.split(",") if part.strip())
            if name not in ADDRESSES.get(module, ()) and f"{module}.{name}" not in ADDRESSES
        ]
    for dotted in ATTRIBUTE.findall(FROM.sub("", text)):
        parts = dotted[1:].split(".")
        if parts[0] in FLOORS:
            public = len(parts) == 1 or parts[1] in ADDRESSES[f"foresolve.{parts[0]}"]
        else:
            public = parts[0] in NAMES or parts[0] in {"errors", "__version__", "cli"}
        wrong += [] if public else [f"foresolve{dotted}"]
    return wrong


def test_what_users_read_has_public_addresses_only() -> None:
    assert {place: wrong for place, text in texts() if (wrong := private_addresses(text))} == {}


def test_private_addresses_are_spelled_out() -> None:
    text = "from foresolve.problems import TopK\n>>> from foresolve.problems.top_k import TopK\nforesolve.TopK(1, 1)\n"
    assert private_addresses(text + "foresolve.layers.IMLE\nforesolve.IMLE\nforesolve.layers.imle.IMLE") == [
        "foresolve.problems.top_k.TopK",
        "foresolve.IMLE",
        "foresolve.layers.imle.IMLE",
    ]


def test_what_the_pages_name_is_exported() -> None:
    """A class of ours that a page for users speaks of can be imported from a public address."""
    classes = {
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    public = {name for names in ADDRESSES.values() for name in names}
    for page in PAGES:
        if page.name not in INSIDE:
            named = set(re.findall(r"`([A-Z]\w+)", page.read_text(encoding="utf-8"))) & classes
            assert named <= public, f"{page.name}: {sorted(named - public)}"


def test_importing_foresolve_imports_nothing_optional() -> None:
    code = f"import sys, foresolve; print([name for name in {LAZY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_can_be_imported_with_the_core_install() -> None:
    absent = [name for name in LAZY if name != "highspy"]
    addresses = [address for address in ADDRESSES if address != "foresolve.reproduce"]
    code = f"import sys\nfor name in {absent!r}: sys.modules[name] = None\n"
    code += "".join(f"from {address} import *\n" for address in addresses) + "print(fit, DecisionEstimator)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_name_of_another_module_is_pointed_out() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Assignment'\. It is in foresolve\.problems$"):
        foresolve.Assignment  # noqa: B018  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'Assigment'$"):
        foresolve.Assigment  # noqa: B018  # type: ignore[attr-defined]


def test_rooms_that_few_scripts_enter_are_there_when_asked_for() -> None:
    """Without an import of their own, and without a cost for those who never ask."""
    code = (
        "import sys, foresolve\n"
        "assert not {'foresolve.report', 'foresolve.testing', 'foresolve.reproduce'} & set(sys.modules)\n"
        "print(foresolve.testing.check_gradient.__name__, foresolve.report.study_page.__name__, "
        "foresolve.projects.init.__name__, foresolve.reproduce.plan.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["check_gradient", "study_page", "init", "plan"], done.stderr
