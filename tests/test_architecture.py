"""The house rules of docs/architecture.md, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import foresolve

ROOT = Path(foresolve.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
FLOORS = (
    "errors",
    "_base",
    "schedules",
    "solvers",
    "sets",
    "problems",
    "layers",
    "data",
    "losses",
    "models",
    "learning",
    "report",
    "reproduce",
    "cli",
)
# Global state belongs to the user.
FORBIDDEN = {"manual_seed", "seed", "set_default_dtype", "set_default_device", "set_num_threads"}
GENERATORS = {"manual_seed", "seed"}  # fine as methods of a generator: `torch.Generator().manual_seed(0)`
MOST_LINES = 350


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def floor(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and floor of every import of foresolve's own modules, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            module = node.module or ""
            if module == "foresolve":
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif module.startswith("foresolve."):
                yield node.lineno, module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "foresolve":
                    yield node.lineno, alias.name.partition(".")[2].partition(".")[0] or "foresolve"


def dotted(node: ast.expr) -> list[str]:
    """`torch.cuda.manual_seed` as its parts; a part that is not a plain name is ''."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


def calls(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, dotted(node.func)


@pytest.fixture(params=FILES, ids=name)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_file_lives_on_a_floor(path: Path) -> None:
    assert floor(path) in (*FLOORS, "__init__")


def test_floors_import_only_from_floors_above(path: Path) -> None:
    if floor(path) == "__init__":
        return
    here = FLOORS.index(floor(path))
    for line, target in imports(ast.parse(path.read_text(encoding="utf-8"))):
        if floor(path) == "cli" and target == "__version__":
            continue
        assert target in FLOORS, f"line {line}: import from the module that defines `{target}`, not from the package"
        assert FLOORS.index(target) <= here, f"line {line}: `{floor(path)}` must not know `{target}`"


def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES


def test_only_the_command_line_prints(path: Path) -> None:
    if floor(path) != "cli":
        lines = [line for line, called in calls(ast.parse(path.read_text(encoding="utf-8"))) if called == ["print"]]
        assert not lines


def test_global_state_is_left_alone(path: Path) -> None:
    for line, called in calls(ast.parse(path.read_text(encoding="utf-8"))):
        method_of_generator = called[-1] in GENERATORS and called[0] not in {"torch", "np", "numpy", "random"}
        assert called[-1] not in FORBIDDEN or method_of_generator, f"line {line}: {'.'.join(called)}"


def test_the_rules_can_tell() -> None:
    """The rules above catch what they are meant to catch."""
    source = (
        "import torch\nfrom foresolve import _base\nfrom foresolve.layers.base import Layer\ntorch.manual_seed(0)\n"
    )
    tree = ast.parse(source + "torch.Generator().manual_seed(0)\nimport foresolve.cli\nprint(1)\n")
    assert list(imports(tree)) == [(2, "_base"), (3, "layers"), (6, "cli")]
    assert [called for _, called in calls(tree)] == [
        ["torch", "manual_seed"],
        ["", "manual_seed"],
        ["print"],
        ["torch", "Generator"],
    ]
