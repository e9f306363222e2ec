"""The house rules of docs/architecture.md, read from the source."""

from __future__ import annotations

import ast
from collections import Counter
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
    "projects",
    "report",
    "reproduce",
    "testing",
    "cli",
)
# Global state belongs to the user.
FORBIDDEN = {"manual_seed", "seed", "set_default_dtype", "set_default_device", "set_num_threads"}
GENERATORS = {"manual_seed", "seed"}  # fine as methods of a generator: `torch.Generator().manual_seed(0)`
MOST_LINES, MOST_FUNCTION_LINES = 300, 50
# Tests of the project's pages and tools, of devices, of what several modules do together.
ABOUT_NO_MODULE = {
    "layers/test_cuda.py",
    "layers/test_multilinear_cuda.py",
    "layers/test_multilinear_sampled.py",
    "layers/test_quadratic_programs.py",
    "learning/test_cuda.py",
    "losses/test_compatibility.py",
    "problems/test_mistakes.py",
    "report/test_wording.py",
    "test_architecture.py",
    "test_benchmarks.py",
    "test_core_install.py",
    "test_docs.py",
    "test_examples.py",
    "test_first_decision.py",
    "test_kill.py",
    "test_packages.py",
    "test_pages_in_browser.py",
    "test_public_names.py",
    "test_quadratic_page.py",
    "test_site.py",
    "test_soak.py",
    "test_fuzz.py",
    "test_stress.py",
    "test_tools.py",
}
# What a problem or a layer is, its contract says.
CONTRACTS = {"problem", "layer"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def floor(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("foresolve", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of every module or name of foresolve's that is imported, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            origin = node.module or ""
            if origin.split(".")[0] == "foresolve":
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.split(".")[0] == "foresolve")


def at_import(tree: ast.Module) -> ast.Module:
    """Without what is imported later, where it is used, or only for type checkers."""
    guarded = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))]
    body: list[ast.stmt] = [node for node in guarded if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return ast.Module(body, [])


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and floor of every import of foresolve's own modules."""
    for line, target in imported(tree):
        yield line, [*target.split("."), "foresolve"][1]


def dotted(node: ast.expr) -> list[str]:
    """`torch.cuda.manual_seed` as its parts; a part that is not a plain name is ''."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


def calls(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, dotted(node.func)


def guesses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Calls of `getattr` and `hasattr` on a problem or a layer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in (["getattr"], ["hasattr"]):
            subject = dotted(node.args[0])
            if subject[-1] in CONTRACTS:
                yield node.lineno, ".".join(subject)


@pytest.fixture(params=FILES, ids=name)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_file_lives_on_a_floor(path: Path) -> None:
    assert floor(path) in (*FLOORS, "__init__")


def test_floors_import_only_from_floors_above(path: Path, tree: ast.Module) -> None:
    if floor(path) == "__init__":
        return
    here = FLOORS.index(floor(path))
    for line, target in imports(tree):
        if floor(path) == "cli" and target == "__version__":
            continue
        assert target in FLOORS, f"line {line}: import from the module that defines `{target}`, not from the package"
        assert FLOORS.index(target) <= here, f"line {line}: `{floor(path)}` must not know `{target}`"


def test_durations_are_measured_by_clocks_that_cannot_jump(tree: ast.Module) -> None:
    for line, parts in calls(tree):
        assert parts[-2:] != ["time", "time"], f"line {line}: take time.perf_counter or time.monotonic"


def test_modules_do_not_import_in_circles() -> None:
    known = {module(path) for path in FILES}
    graph: dict[str, set[str]] = {}
    for path in FILES:
        targets = {target if target in known else target.rpartition(".")[0]
                   for _, target in imported(at_import(ast.parse(path.read_text(encoding="utf-8"))))}  # fmt: skip
        graph[module(path)] = (targets & known) - {module(path)}
    done: set[str] = set()

    def visit(node: str, trail: tuple[str, ...]) -> None:
        assert node not in trail, " -> ".join((*trail[trail.index(node) :], node))
        if node not in done:
            for target in graph[node]:
                visit(target, (*trail, node))
            done.add(node)

    for node in graph:
        visit(node, ())


def test_rooms_of_a_floor_do_not_import_in_circles() -> None:
    edges: set[tuple[str, str]] = set()
    for path in FILES:
        parts = path.relative_to(ROOT).parts
        if len(parts) == 3:
            for _, target in imported(ast.parse(path.read_text(encoding="utf-8"))):
                names = target.split(".")
                if len(names) > 3 and names[1] == parts[0] and (ROOT / parts[0] / names[2]).is_dir():
                    edges.add((".".join(parts[:2]), ".".join(names[1:3])))
    assert not {(a, b) for a, b in edges if a != b and (b, a) in edges}


def test_tests_mirror_the_source() -> None:
    """`tests/A/B/test_x.py` is about `foresolve/A/B/x.py` (or the package `x`); what is not is named."""
    tests = Path(__file__).parent
    stray = set()
    for path in tests.rglob("test_*.py"):
        place = path.relative_to(tests)
        target = ROOT / place.with_name(place.name.removeprefix("test_"))
        if not target.is_file() and not (target.with_suffix("") / "__init__.py").is_file():
            stray.add(place.as_posix())
    assert stray == ABOUT_NO_MODULE


def test_no_module_name_twice_on_a_floor() -> None:
    for here in FLOORS:
        stems = Counter(path.stem for path in FILES if floor(path) == here and path.stem != "__init__")
        assert not {stem: count for stem, count in stems.items() if count > 1}, here


def test_files_and_functions_stay_short(path: Path, tree: ast.Module) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            start = node.body[1].lineno if ast.get_docstring(node) and len(node.body) > 1 else node.body[0].lineno
            length = (node.end_lineno or 0) - start + 1
            assert length <= MOST_FUNCTION_LINES, f"line {node.lineno}: {node.name} has {length} lines"


def test_nobody_guesses_what_a_problem_or_a_layer_is(path: Path, tree: ast.Module) -> None:
    assert not list(guesses(tree))


def test_only_the_command_line_prints(path: Path, tree: ast.Module) -> None:
    if floor(path) != "cli":
        assert not [line for line, called in calls(tree) if called == ["print"]]


def test_global_state_is_left_alone(path: Path, tree: ast.Module) -> None:
    for line, called in calls(tree):
        method_of_generator = called[-1] in GENERATORS and called[0] not in {"torch", "np", "numpy", "random"}
        assert called[-1] not in FORBIDDEN or method_of_generator, f"line {line}: {'.'.join(called)}"


def test_the_rules_can_tell() -> None:
    """The rules above catch what they are meant to catch."""
    source = (
        "import torch\nfrom foresolve import _base\nfrom foresolve.layers.base import Layer\ntorch.manual_seed(0)\n"
    )
    tree = ast.parse(source + "torch.Generator().manual_seed(0)\nimport foresolve.cli\nprint(1)\n")
    assert list(imports(tree)) == [(2, "_base"), (3, "layers"), (6, "cli")]
    assert list(imported(tree))[1] == (3, "foresolve.layers.base.Layer")
    assert [called for _, called in calls(tree)] == [
        ["torch", "manual_seed"],
        ["", "manual_seed"],
        ["print"],
        ["torch", "Generator"],
    ]
    tree = ast.parse("getattr(batch.problem, 'n')\ngetattr(value, 'n')\nhasattr(layer, 'gamma')")
    assert list(guesses(tree)) == [(1, "batch.problem"), (3, "layer")]
