"""Python files as syntax trees, each parsed once: shared by the rules of the source and its numbers.

Standard library only: `make house` and `make rules` need no environment.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | FunctionNode
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Import:
    """An import of a module, or of a name out of it.

    Parameters
    ----------
    line: of the statement.
    target: the full name of what is imported, such as `foresolve.layers.base.Layer`; relative ones begin with a dot.
    late: it stands inside a function.
    for_types: it stands under `if TYPE_CHECKING:`.
    """

    line: int
    target: str
    late: bool
    for_types: bool


@dataclass(frozen=True)
class Module:
    """A file, by its path relative to the tree."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def parts(self) -> tuple[str, ...]:
        """`("layers", "base")` for layers/base.py; a package has the parts of its folder."""
        parts = Path(self.name).with_suffix("").parts
        return parts[:-1] if parts[-1] == "__init__" else parts

    @property
    def subpackage(self) -> str:
        """The first folder, or the module at the top; empty for the package itself."""
        return self.parts[0] if self.parts else ""

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, late=False, for_types=False))

    @cached_property
    def docstrings(self) -> list[tuple[int, str]]:
        """Line and text of each docstring."""
        nodes = (node for node in self.nodes if isinstance(node, Documented))
        return [(node.body[0].lineno, text) for node in nodes if (text := ast.get_docstring(node))]

    def functions(self) -> Iterator[tuple[int, int, str]]:
        """First line of each function, how many lines it has without decorators and docstring, and its name."""
        for node in self.nodes:
            if isinstance(node, FunctionNode):
                docstring = lines_of(node.body[0]) if ast.get_docstring(node, clean=False) is not None else 0
                yield node.lineno, lines_of(node) - docstring, node.name

    def tokens(self) -> Iterator[tokenize.TokenInfo]:
        return tokenize.generate_tokens(io.StringIO(self.text).readline)

    def code_lines(self) -> set[int]:
        """Numbers of the lines that hold code: neither blank, nor comments, nor docstrings."""
        held: set[int] = set()
        for token in self.tokens():
            if token.type not in LAYOUT:
                held |= set(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                held -= set(range(node.lineno, node.lineno + lines_of(node)))
        return held


@dataclass(frozen=True)
class SourceTree:
    """The Python files below a folder; its name is the name of the package."""

    root: Path

    @cached_property
    def modules(self) -> list[Module]:
        return [Module(path, path.relative_to(self.root).as_posix()) for path in sorted(self.root.rglob("*.py"))]

    @cached_property
    def by_address(self) -> dict[str, Module]:
        """Modules by their full names, such as `foresolve.layers.base`."""
        return {".".join((self.root.name, *module.parts)): module for module in self.modules}

    def imported(self, target: str) -> Module | None:
        """The module of this package that an import loads: the target, or the module that the name is taken from."""
        return self.by_address.get(target) or self.by_address.get(target.rpartition(".")[0])


def _imports(node: ast.AST, late: bool, for_types: bool) -> Iterator[Import]:
    if isinstance(node, ast.ImportFrom):
        origin = "." * node.level + (node.module or "")
        yield from (Import(node.lineno, f"{origin}.{alias.name}", late, for_types) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (Import(node.lineno, alias.name, late, for_types) for alias in node.names)
    elif isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
        for child in node.body:
            yield from _imports(child, late, True)
        for child in node.orelse:
            yield from _imports(child, late, for_types)
    elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, late or isinstance(node, FunctionNode), for_types)


def lines_of(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def last_name(node: ast.AST) -> str:
    """`problem` of `problem`, `self.problem` and `batch.problem`; empty for what is no name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def dotted(node: ast.AST) -> list[str]:
    """`torch.cuda.manual_seed` as its parts; a part that is not a plain name is ''."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]
