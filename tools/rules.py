"""The rules of the source, each a function that lists what breaks it: `python tools/rules.py`, or `make rules`.

`tests/test_architecture.py` holds them. `tests/architecture.toml` lists the exceptions: a number counts the offenses
that a file was left with when the rule was made, and a text is the reason of an exception that stays. The list only
shrinks: this script prints what breaks a rule beyond it, and lowers the numbers that are too high.
"""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

try:
    from tools.source_tree import Module, SourceTree, dotted, last_name
except ModuleNotFoundError:  # a script sees its own folder
    from source_tree import Module, SourceTree, dotted, last_name

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "architecture.toml"

# Each imports only from itself and from those before it.
SUBPACKAGES = ("errors", "_base", "schedules", "solvers", "sets", "problems", "layers", "data", "losses", "models",
               "learning", "projects", "report", "reproduce", "testing", "cli")  # fmt: skip
# Installed with foresolve and quick to import; any other package is imported where it is used.
AT_THE_TOP = {"filelock", "numpy", "scipy", "threadpoolctl", "torch"}
MOST_LINES, MOST_FUNCTION_LINES = 600, 50
MOST_MATCHES, LONG_PATTERN = 450, 40
# Words that begin a clause, a question or a phrase: neither a noun nor a verb.
CLAUSES = {"what", "whether", "how", "where", "when", "which", "why", "who", "whose", "that", "those", "these", "if",
           "because", "so", "not", "as", "by", "for", "from", "in", "of", "on", "to", "with", "is", "are", "does",
           "did", "can", "it", "there"}  # fmt: skip
# Global state belongs to the user; `torch.Generator().manual_seed(0)` does not touch it.
GLOBAL_STATE = {"manual_seed", "seed", "set_default_dtype", "set_default_device", "set_num_threads"}
GENERATORS, LIBRARIES = {"manual_seed", "seed"}, {"torch", "np", "numpy", "random"}
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "shelve"}
CUTS = {"find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit",
        "split", "startswith", "endswith"}  # fmt: skip
SEARCHES = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
# A chain of these on a text is still that text.
KEEPS = {"casefold", "lower", "removeprefix", "removesuffix", "replace", "strip", "lstrip", "rstrip"}


@dataclass(frozen=True)
class Offense:
    """A place that breaks a rule.

    Parameters
    ----------
    file: the key in the list.
    sentence: what is wrong, and what to do.
    count: how often.
    """

    file: str
    sentence: str
    count: int = 1


Rule = Callable[[SourceTree, SourceTree], Iterator[Offense]]


def addresses(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """Imports are absolute, lead to earlier subpackages, and bring optional packages late."""
    stems = Counter((module.subpackage, module.path.stem) for module in source.modules)
    for module in source.modules:
        file, here = module.name, module.subpackage
        if here not in (*SUBPACKAGES, ""):
            yield Offense(file, f"{file} is in no known subpackage: add `{here}` to SUBPACKAGES, below what it imports")
            continue
        if module.path.stem != "__init__" and stems[here, module.path.stem] > 1:
            yield Offense(file, f"{file} has the name of another module of `{here}`: say in the name what differs")
        for entry in module.imports:
            if remedy := _stray(entry.target, here, entry.late or entry.for_types, source.root.name):
                yield Offense(file, f"{file}:{entry.line} imports {entry.target}: {remedy}")


def _stray(target: str, here: str, late: bool, package: str) -> str:
    """The remedy for an import, empty if it is fine."""
    origin, _, rest = target.partition(".")
    if not origin:
        return "write its full address"
    if origin != package:
        quick = origin in AT_THE_TOP or origin in sys.stdlib_module_names
        return "" if late or quick else "import it where it is used"
    there = rest.partition(".")[0]
    if not here or (here == "cli" and there == "__version__"):
        return ""
    if there not in SUBPACKAGES:
        return "import from the module that defines it, not from the package"
    later = SUBPACKAGES.index(there) > SUBPACKAGES.index(here)
    return f"`{here}` must not know `{there}`, a later subpackage" if later else ""


def sizes(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """A file holds one concept, whole; a function has a few steps."""
    for module in source.modules:
        file = module.name
        if module.lines > MOST_LINES:
            yield Offense(file, f"{file} has {module.lines} lines, at most {MOST_LINES}: one concept a file")
        for line, length, name in module.functions():
            if length > MOST_FUNCTION_LINES:
                size = f"{length} lines, at most {MOST_FUNCTION_LINES}"
                yield Offense(file, f"{file}:{line} `{name}` has {size}: make functions of its steps")


def halves(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """A private base class has several children, or is made itself: else it is the other half of its only child.

    Public are the classes in `__all__` of a subpackage.
    """
    public = {name for module in source.modules if is_public(module) for name in exported(module.tree)}
    made = {last_name(node.func) for module in source.modules for node in module.nodes if isinstance(node, ast.Call)}
    for (file, name), children in sorted(_children(source).items()):
        if len(children) == 1 and name not in public | made:
            yield Offense(file, f"{file}: `{name}` only serves as the base of `{children[0]}`: make them one class")


def _children(source: SourceTree) -> dict[tuple[str, str], list[str]]:
    """Direct subclasses of each class of the package, which is known by its file and name."""
    children: dict[tuple[str, str], list[str]] = {}
    for module in source.modules:
        classes = [node for node in module.nodes if isinstance(node, ast.ClassDef)]
        homes = {entry.target.rpartition(".")[2]: source.imported(entry.target) for entry in module.imports}
        homes |= {node.name: module for node in classes}
        for node in classes:
            for base in node.bases:
                name = last_name(base.value if isinstance(base, ast.Subscript) else base)
                if home := homes.get(name):
                    children.setdefault((home.name, name), []).append(node.name)
    return children


def is_public(module: Module) -> bool:
    """True for packages and modules at the top, whose `__all__` users import from."""
    return len(module.parts) <= 1 and not module.subpackage.startswith("_")


def exported(tree: ast.Module) -> Iterator[str]:
    """Names in `__all__`, a list of names, also in parts."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(last_name(target) == "__all__" for target in node.targets):
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def cycles(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """Modules do not import each other, also inside functions; neither do the folders of a subpackage."""
    lines: dict[str, dict[str, int]] = {module.name: {} for module in source.modules}
    for module in source.modules:
        for entry in module.imports:
            target = source.imported(entry.target)
            if target is not None and target != module and not entry.for_types:
                lines[module.name].setdefault(target.name, entry.line)
    component = {name: number for number, names in enumerate(components(lines)) for name in names}
    for name, targets in lines.items():
        for target, line in targets.items():
            if component[target] == component[name]:
                back = " -> ".join(_shortest(lines, target, name))
                yield Offense(name, f"{name}:{line} begins a cycle ({name} -> {back}): move what both need below them")
    folders = {(str(Path(name).parent), str(Path(target).parent)) for name in lines for target in lines[name]}
    for a, b in sorted(folders):
        if a < b and (b, a) in folders and "/" in a and Path(a).parent == Path(b).parent:
            yield Offense(f"{a}/", f"{a}/ and {b}/ import each other: move what both need below them")


def components(graph: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """The strongly connected components of a graph (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    pending: list[str] = []
    done: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        pending.append(node)
        for target in graph[node]:
            if target not in number:
                visit(target)
            if target in pending:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == number[node]:
            start = pending.index(node)
            done.append(pending[start:])
            del pending[start:]

    for node in graph:
        if node not in number:
            visit(node)
    return done


def _shortest(graph: Mapping[str, Mapping[str, int]], start: str, end: str) -> list[str]:
    """The nodes of a shortest path."""
    before = {start: ""}
    for node in (queue := [start]):
        new = [target for target in graph[node] if target not in before]
        before |= dict.fromkeys(new, node)
        queue += new
    path = [end]
    while before[path[-1]]:
        path.append(before[path[-1]])
    return path[::-1]


def docstrings(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """A docstring begins with a noun or a verb: the thing, or what a function does."""
    for module in source.modules:
        for line, text in module.docstrings:
            words = text.split()
            if words[0].strip(",.:;?!").lower() in CLAUSES:
                sentence = f'{module.name}:{line} "{" ".join(words[:6])}": a docstring begins with a noun or a verb'
                yield Offense(module.name, sentence)


def conduct(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """Only the shell prints; nobody changes global state, guesses, pickles or parses the message of an error."""
    for module in source.modules:
        found = [(entry.line, f"imports {entry.target}: nothing is pickled, store it in a `Container`")
                 for entry in module.imports if entry.target.partition(".")[0] in PICKLES]  # fmt: skip
        for node in module.nodes:
            if isinstance(node, ast.Call) and (remedy := _misconduct(node, module.subpackage)):
                found.append((node.lineno, f"{ast.unparse(node)}: {remedy}"))
        for node in parsed_messages(module):
            found.append((node.lineno, f"{ast.unparse(node)}: messages are not parsed, give the error a field"))
        yield from (Offense(module.name, f"{module.name}:{line} {sentence}") for line, sentence in found)


def _misconduct(node: ast.Call, here: str) -> str:
    """The remedy for a call, empty if it is fine."""
    called = dotted(node.func)
    if called == ["print"] and here != "cli":
        return "only the shell prints, return it or log it"
    if called[-1] in GLOBAL_STATE and (called[-1] not in GENERATORS or called[0] in LIBRARIES):
        return "global state is the user's, pass a generator, a dtype or a limit"
    if called in (["getattr"], ["hasattr"]) and last_name(node.args[0]) in ("problem", "layer"):
        return "its base class says what there is, add it there"
    if called[-2:] == ["time", "time"]:
        return "this clock jumps, take time.perf_counter or time.monotonic"
    return ""


def parsed_messages(module: Module) -> Iterator[ast.expr]:
    """Expressions that search or cut the text of an error."""
    errors = {"error", "exception"} | {node.name for node in module.nodes if isinstance(node, ast.ExceptHandler)}

    def is_message(text: ast.expr) -> bool:
        if isinstance(text, ast.Call) and last_name(text.func) == "str":
            return bool(text.args) and last_name(text.args[0]) in errors
        if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute):
            return text.func.attr in KEEPS and is_message(text.func.value)
        if isinstance(text, ast.JoinedStr):
            return any(isinstance(part, ast.FormattedValue) and is_message(part.value) for part in text.values)
        return last_name(text) in ("message", "reason")

    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            cut = node.func.attr in CUTS and is_message(node.func.value)
            if cut or (node.func.attr in SEARCHES and any(map(is_message, node.args))):
                yield node
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            if is_message(node.comparators[0]):
                yield node
        elif isinstance(node, ast.Subscript) and is_message(node.value):
            yield node


def mirror(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """The file `tests/A/test_x.py` is about `A/x.py` or the package `A/x`; `A/test_mistakes.py` about all of `A`."""
    for module in tests.modules:
        target = source.root / Path(module.name).with_name(module.path.name.removeprefix("test_"))
        mirrors = target.is_file() or (target.with_suffix("") / "__init__.py").is_file()
        mirrors |= target.name == "mistakes.py" and target.parent.is_dir()
        if module.path.name.startswith("test_") and not mirrors:
            sentence = f"tests/{module.name} mirrors no module: move it, or list it with a reason"
            yield Offense(module.name, sentence)


def wording(source: SourceTree, tests: SourceTree) -> Iterator[Offense]:
    """Tests assert classes and fields of errors; only `test_mistakes.py` pins sentences, one file an area."""
    count, remedy = 0, "assert the class and the fields of the error"
    for module in tests.modules:
        for line, pattern in patterns(module):
            count += 1
            if len(pattern) >= LONG_PATTERN and module.path.name != "test_mistakes.py":
                sentence = f"tests/{module.name}:{line} matches a text of {len(pattern)} characters: {remedy}"
                yield Offense(module.name, sentence)
    if count > MOST_MATCHES:
        sentence = f"tests have {count:,} times `match=`, at most {MOST_MATCHES}: {remedy}"
        yield Offense("match=", sentence, count - MOST_MATCHES)


def patterns(module: Module) -> Iterator[tuple[int, str]]:
    """Line of each `match=` of a call, and its pattern; empty if it is not constant."""
    for node in module.nodes if "match=" in module.text else []:
        if isinstance(node, ast.keyword) and node.arg == "match":
            pattern = node.value.value if isinstance(node.value, ast.Constant) else ""
            yield node.value.lineno, pattern if isinstance(pattern, str) else ""


RULES: dict[str, Rule] = {
    rule.__name__: rule for rule in (addresses, sizes, halves, cycles, docstrings, conduct, mirror, wording)
}


@dataclass(frozen=True)
class Verdict:
    """The offenses against a rule beside the list of exceptions.

    Parameters
    ----------
    offenses: all of them.
    known: for each file the number of offenses that it may have, or the reason of an exception.
    """

    offenses: list[Offense]
    known: Mapping[str, int | str]

    @cached_property
    def counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for offense in self.offenses:
            counts[offense.file] += offense.count
        return counts

    def shrunk(self) -> dict[str, int | str]:
        """The list without what no longer offends."""
        return {name: entry if isinstance(entry, str) else min(entry, self.counts[name])
                for name, entry in self.known.items() if self.counts[name]}  # fmt: skip

    def complaints(self) -> list[str]:
        """Sentences on the files that offend more often than listed, and on entries that are too high."""
        most = {name: self.counts[name] if isinstance(entry, str) else entry for name, entry in self.known.items()}
        new = [entry.sentence for entry in self.offenses if self.counts[entry.file] > most.get(entry.file, 0)]
        stale = [f"{name!r} is listed with {entry!r} and offends {self.counts[name]} times: run `make rules`"
                 for name, entry in self.known.items() if self.shrunk().get(name) != entry]  # fmt: skip
        return new + stale


def judge(source: SourceTree, tests: SourceTree, name: str) -> Verdict:
    """Hold the package and its tests against a rule."""
    known = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return Verdict(list(RULES[name](source, tests)), known.get(name, {}))


def as_toml(lists: Mapping[str, Mapping[str, int | str]]) -> str:
    blocks = ["# Exceptions from the rules of tools/rules.py, which describes them; `make rules` lowers the numbers.\n"]
    for rule, entries in lists.items():
        lines = (f"{json.dumps(name)} = {json.dumps(entry)}\n" for name, entry in sorted(entries.items()))
        blocks.append("".join((f"[{rule}]\n", *lines)))
    return "\n".join(blocks)


def main() -> None:
    source, tests = SourceTree(ROOT / "src" / "foresolve"), SourceTree(ROOT / "tests")
    verdicts = {name: judge(source, tests, name) for name in RULES}
    LIST.write_text(as_toml({name: verdict.shrunk() for name, verdict in verdicts.items()}), encoding="utf-8")
    for name, verdict in verdicts.items():
        complaints = Verdict(verdict.offenses, verdict.shrunk()).complaints()
        print(f"{name}: {len(verdict.offenses)} offenses, {len(complaints)} in files that may not have as many")
        print("".join(f"  {sentence}\n" for sentence in complaints), end="")


if __name__ == "__main__":
    main()
