"""The source in numbers: `python tools/house_numbers.py before=../before/src/foresolve after=src/foresolve`.

Prints Markdown tables with a column for each source tree; the tests beside a tree are counted with it.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

try:
    from tools import rules
    from tools.source_tree import Module, SourceTree, last_name, lines_of
except ModuleNotFoundError:  # a script sees its own folder
    import rules
    from source_tree import Module, SourceTree, last_name, lines_of

# Callers ask a problem or a layer, and do not look at what it is; the names that hold one there.
CALLERS = ("layers", "losses", "data", "learning")
HOLDERS = {"problem", "layer", "_problem", "_layer"}
ROOTS = ("Problem", "Layer")
SHARED_LINES = 6


def statements(module: Module) -> list[str]:
    """Lines that hold code, without white space: no imports, no lone punctuation."""
    imports: set[int] = set()
    for node in module.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, node.lineno + lines_of(node)))
    texts = (" ".join(module.text.splitlines()[number - 1].split()) for number in sorted(module.code_lines() - imports))
    return [text for text in texts if re.search(r"\w", text)]


def ignores(module: Module) -> int:
    comments = (token.string for token in module.tokens() if token.type == tokenize.COMMENT)
    return sum(bool(re.search(r"#\s*type:\s*ignore", comment)) for comment in comments)


def cuts_text(node: ast.AST) -> bool:
    """True for a call that searches or cuts a text: a regular expression, or a method with a constant."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    constant = bool(node.args) and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    return last_name(node.func.value) == "re" or (node.func.attr in rules.CUTS and constant)


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
    """A source tree, and the tests beside it."""

    root: Path

    @cached_property
    def source(self) -> SourceTree:
        return SourceTree(self.root)

    @cached_property
    def tests(self) -> SourceTree:
        return SourceTree(self.root.parents[1] / "tests")

    @property
    def modules(self) -> list[Module]:
        return self.source.modules

    def count(self, rule: rules.Rule) -> int:
        """Offenses against a rule, also those in the list."""
        return sum(1 for _ in rule(self.source, self.tests))

    def public(self) -> int | str:
        """The number of names in `__all__`."""
        return sum(1 for _ in rules.exported(self.source.by_address[self.root.name].tree)) or "-"

    def problem_classes(self) -> set[str]:
        """`Problem`, `Layer` and everything that descends from them, by name."""
        nodes = (node for module in self.modules for node in module.nodes if isinstance(node, ast.ClassDef))
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
            for node in module.nodes
            if looks_at_a_class(node, classes) and isinstance(node, ast.expr)
        ]

    def duplicates(self) -> int:
        """Pairs of places that share `SHARED_LINES` lines of code or more: the same but for white space."""
        places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for number, module in enumerate(self.modules):
            code = statements(module)
            for start in range(len(code) - SHARED_LINES + 1):
                window = tuple(code[start : start + SHARED_LINES])
                places.setdefault(window, []).append((number, start))
        shared = {pair for window in places.values() for pair in combinations(window, 2)}
        # A longer run shares several windows, one line further in both places each: it counts once.
        return sum(((a, i - 1), (b, j - 1)) not in shared for (a, i), (b, j) in shared)

    def private_imports(self) -> int:
        """Statements in tests that import from addresses which users do not have."""
        private = {(module.name, entry.line) for module in self.tests.modules for entry in module.imports
                   if (home := self.source.imported(entry.target)) and not rules.is_public(home)}  # fmt: skip
        return len(private)

    def rows(self) -> dict[str, str]:
        sizes = sorted((module.lines, module.name) for module in self.modules)
        heights = sorted((height, f"{module.name}:{name}") for module in self.modules
                         for _, height, name in module.functions())  # fmt: skip
        lines, nodes = [size for size, _ in sizes], [node for module in self.modules for node in module.nodes]
        return {
            "modules": str(len(self.modules)),
            "lines of a file: median": f"{statistics.median(lines):g}",
            "longest": "{} (`{}`)".format(*sizes[-1]),
            f"files over {rules.MOST_LINES} lines": str(sum(size > rules.MOST_LINES for size in lines)),
            "lines of a function: median": f"{statistics.median(height for height, _ in heights):g}",
            "longest function": "{} (`{}`)".format(*heights[-1]),
            f"functions over {rules.MOST_FUNCTION_LINES} lines": str(
                sum(height > rules.MOST_FUNCTION_LINES for height, _ in heights)
            ),
            "public names at the top": str(self.public()),
            "private bases of a single class": str(self.count(rules.halves)),
            "imports that close a cycle": str(self.count(rules.cycles)),
            "docstrings that begin with a clause": str(self.count(rules.docstrings)),
            "places that parse the message of an error": str(
                sum(len(list(rules.parsed_messages(module))) for module in self.modules)
            ),
            "places that search or cut a text": str(sum(map(cuts_text, nodes))),
            "`isinstance` and `getattr` on problems and layers": str(len(self.looks())),
            "`type: ignore`": str(sum(map(ignores, self.modules))),
            f"pairs of places that share {SHARED_LINES} lines of code": str(self.duplicates()),
            "lines of tests": f"{sum(module.lines for module in self.tests.modules):,}",
            "`match=` in tests": f"{sum(len(list(rules.patterns(module))) for module in self.tests.modules):,}",
            "imports of private modules in tests": f"{self.private_imports():,}",
        }

    def subpackages(self) -> dict[str, str]:
        """Lines and lines of code of each subpackage."""
        lines: Counter[str] = Counter()
        code: Counter[str] = Counter()
        for module in self.modules:
            for name in (module.subpackage if module.path.parent != self.root else "modules at the top", "all"):
                lines[name] += module.lines
                code[name] += len(module.code_lines())
        return {name: f"{lines[name]:,} ({code[name]:,})" for name, _ in lines.most_common()}


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
    print_table("", {label: house.rows() for label, house in houses.items()})
    print()
    print_table("lines (of code)", {label: house.subpackages() for label, house in houses.items()})


def print_table(title: str, columns: Mapping[str, Mapping[str, str]]) -> None:
    """Print a table of columns; the rows have the order of the last one."""
    names = dict.fromkeys(name for column in reversed([*columns.values()]) for name in column)
    print(f"| {title} | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|", sep="\n")
    for name in names:
        print(f"| {name} | {' | '.join(column.get(name, '-') for column in columns.values())} |")


if __name__ == "__main__":
    main()
