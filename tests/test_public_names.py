"""What users may rely on: a change here is a change of the interface and belongs in the changelog."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.source_tree import SourceTree

import foresolve

ROOT = Path(__file__).parents[1]
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

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = SourceTree(Path(foresolve.__file__).parent).modules
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
    for module in MODULES:
        yield from ((f"{module.name}:{line}", text) for line, text in module.docstrings)


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
        for module in MODULES
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    public = {name for names in ADDRESSES.values() for name in names}
    for page in PAGES:
        if page.name not in INSIDE:
            named = set(re.findall(r"`([A-Z]\w+)", page.read_text(encoding="utf-8"))) & classes
            assert named <= public, f"{page.name}: {sorted(named - public)}"


def test_a_name_of_another_module_is_pointed_out() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Assignment'\. It is in foresolve\.problems$"):
        foresolve.Assignment  # noqa: B018  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'Assigment'$"):
        foresolve.Assigment  # noqa: B018  # type: ignore[attr-defined]
