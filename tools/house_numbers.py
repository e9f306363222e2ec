"""The house in numbers: `python tools/house_numbers.py before=../before/src/foresolve after=src/foresolve`.

Prints a Markdown table with a column for each source tree. Counted from syntax trees (comments: from tokens). Standard
library only.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

# Where a problem or a layer should be asked, and not looked at; and the names that hold one there.
CALLERS = ("layers", "losses", "data", "learning")
HOLDERS = {"problem", "layer", "_problem", "_layer"}
ROOTS = ("Problem", "Layer")
MOST_LINES, MOST_FUNCTION_LINES = 300, 50
SHARED_LINES = 6

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@dataclass(frozen=True)
class Module:
    path: Path
    name: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_bytes(), str(self.path))

    @property
    def lines(self) -> int:
        return len(self.path.read_text(encoding="utf-8").splitlines())

    def functions(self) -> Iterator[tuple[int, str]]:
        """Lines of each function, without decorators and docstring, and its name."""
        for node in ast.walk(self.tree):
            if isinstance(node, FunctionNode):
                docstring = lines_of(node.body[0]) if ast.get_docstring(node, clean=False) is not None else 0
                yield lines_of(node) - docstring, node.name

    def code(self) -> list[tuple[int, str]]:
        """Numbers and texts of the lines that hold code: no docstrings, comments, imports or lone punctuation."""
        skipped: set[int] = set()
        for node in ast.walk(self.tree):
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Import | ast.ImportFrom) or text:
                skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        lines = self.path.read_text(encoding="utf-8").splitlines()
        texts = ((number, " ".join(line.split())) for number, line in enumerate(lines, 1))
        return [(number, text) for number, text in texts
                if number not in skipped and not text.startswith("#") and re.search(r"\w", text)]  # fmt: skip

    def ignores(self) -> int:
        with tokenize.open(self.path) as lines:
            comments = [
                token.string for token in tokenize.generate_tokens(lines.readline) if token.type == tokenize.COMMENT
            ]
        return sum(bool(re.search(r"#\s*type:\s*ignore", comment)) for comment in comments)


def last_name(node: ast.expr) -> str:
    """`problem` of `problem`, `self.problem` and `batch.problem`; empty for what is no name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def class_names(node: ast.expr) -> set[str]:
    """Of the second argument of `isinstance`: a class, a tuple or a union of them."""
    if isinstance(node, ast.Tuple):
        return set().union(*map(class_names, node.elts))
    if isinstance(node, ast.BinOp):
        return class_names(node.left) | class_names(node.right)
    return {last_name(node)}


def looks_at_a_class(node: ast.AST, classes: set[str]) -> bool:
    """Whether an expression asks what a problem or a layer is: by the name of what it asks about, or by the class."""
    if isinstance(node, ast.Compare):  # type(problem) is ...
        call, words = node.left, ("type",)
    else:
        call, words = node, ("isinstance", "issubclass", "getattr", "hasattr")
    if not (isinstance(call, ast.Call) and last_name(call.func) in words and call.args):
        return False
    if last_name(call.args[0]) in HOLDERS:
        return True
    against = class_names(call.args[1]) if len(call.args) == 2 else set()
    return last_name(call.func) in ("isinstance", "issubclass") and bool(against & classes)


@dataclass(frozen=True)
class House:
    root: Path

    @cached_property
    def modules(self) -> list[Module]:
        return [Module(path, path.relative_to(self.root).as_posix()) for path in sorted(self.root.rglob("*.py"))]

    @cached_property
    def functions(self) -> list[tuple[int, str]]:
        return sorted((lines, f"{module.name}:{name}") for module in self.modules for lines, name in module.functions())

    @cached_property
    def sizes(self) -> list[tuple[int, str]]:
        return sorted((module.lines, module.name) for module in self.modules)

    def public(self) -> int | str:
        """How many names are in `__all__`; a list of names, also in parts."""
        for node in ast.walk(ast.parse((self.root / "__init__.py").read_bytes())):
            if isinstance(node, ast.Assign) and any(last_name(target) == "__all__" for target in node.targets):
                return sum(
                    isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node.value)
                )
        return "-"

    def problem_classes(self) -> set[str]:
        """`Problem`, `Layer` and everything that descends from them, by name."""
        nodes = (node for module in self.modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
        bases = [(node.name, {last_name(base) for base in node.bases}) for node in nodes]
        classes: set[str] = set(ROOTS)
        while grown := {name for name, above in bases if above & classes} - classes:
            classes |= grown
        return classes

    def looks(self) -> list[str]:
        classes = self.problem_classes()
        return [
            f"{module.name}:{node.lineno}"
            for module in self.modules
            if module.name.split("/")[0] in CALLERS
            for node in ast.walk(module.tree)
            if looks_at_a_class(node, classes) and isinstance(node, ast.expr)
        ]

    def duplicates(self) -> int:
        """Pairs of places that share `SHARED_LINES` lines of code or more: the same but for white space."""
        places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for number, module in enumerate(self.modules):
            code = module.code()
            for start in range(len(code) - SHARED_LINES + 1):
                window = tuple(text for _, text in code[start : start + SHARED_LINES])
                places.setdefault(window, []).append((number, start))
        shared = {pair for window in places.values() for pair in combinations(window, 2)}
        # A longer run shares several windows, one line further in both places each: it counts once.
        return sum(((a, i - 1), (b, j - 1)) not in shared for (a, i), (b, j) in shared)

    def fullest_folder(self) -> str:
        folders = Counter(module.path.parent for module in self.modules if module.path.name != "__init__.py")
        folder, count = folders.most_common(1)[0]
        return f"{count} (`{folder.relative_to(self.root).as_posix()}`)"

    def rows(self) -> dict[str, str]:
        lines = [size for size, _ in self.sizes]
        heights = [size for size, _ in self.functions]
        return {
            "modules": str(len(self.modules)),
            "lines": f"{sum(lines):,}",
            "lines of a file: median": f"{statistics.median(lines):g}",
            "longest": "{} (`{}`)".format(*self.sizes[-1]),
            f"files over {MOST_LINES} lines": str(sum(size > MOST_LINES for size in lines)),
            "lines of a function: median": f"{statistics.median(heights):g}",
            "longest function": "{} (`{}`)".format(*self.functions[-1]),
            f"functions over {MOST_FUNCTION_LINES} lines": str(sum(size > MOST_FUNCTION_LINES for size in heights)),
            "most modules in a folder": self.fullest_folder(),
            "public names at the top": str(self.public()),
            "`isinstance` and `getattr` on problems and layers": str(len(self.looks())),
            "`type: ignore`": str(sum(module.ignores() for module in self.modules)),
            f"pairs of places that share {SHARED_LINES} lines of code": str(self.duplicates()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", default=["src/foresolve"], metavar="[LABEL=]FOLDER")
    parser.add_argument(
        "--looks", action="store_true", help="list the places that look at a problem or a layer instead"
    )
    args = parser.parse_args()
    pairs = (tree.rpartition("=") for tree in args.trees)
    houses = {label or folder: House(Path(folder)) for label, _, folder in pairs}
    for house in houses.values():
        if not (house.root / "__init__.py").exists():
            raise SystemExit(f"{house.root} must be the folder of a package; it has no __init__.py")
    if args.looks:
        print("\n".join(place for house in houses.values() for place in house.looks()))
        return
    columns = [house.rows() for house in houses.values()]
    print(f"| | {' | '.join(houses)} |", "|---" + "|---:" * len(houses) + "|", sep="\n")
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    main()
