"""The rules of tools/rules.py hold, but for the exceptions in architecture.toml; and each can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from tools.rules import RULES, Offense, Verdict, as_toml, judge
from tools.source_tree import SourceTree

import foresolve


@cache
def trees() -> tuple[SourceTree, SourceTree]:
    return SourceTree(Path(foresolve.__file__).parent), SourceTree(Path(__file__).parent)


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_holds(rule: str) -> None:
    complaints = judge(*trees(), rule).complaints()
    if complaints:
        pytest.fail("\n".join((f"{rule}: {RULES[rule].__doc__}", *complaints)), pytrace=False)


Offenses = Callable[..., list[str]]


@pytest.fixture
def offenses(tmp_path: Path) -> Offenses:
    """The offenses of a small package, and of its tests, against a rule."""

    def found(rule: str, files: Mapping[str, str], tests: Mapping[str, str] = {}) -> list[str]:
        roots = tmp_path / "foresolve", tmp_path / "tests"
        for root, texts in zip(roots, (files, tests)):
            for name, text in texts.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
        return [offense.sentence for offense in RULES[rule](*map(SourceTree, roots))]

    return found


def test_addresses(offenses: Offenses) -> None:
    assert offenses(
        "addresses",
        {
            "__init__.py": "from foresolve.layers.base import Layer\n",
            "attic/old.py": "",
            "cli/main.py": "from foresolve import __version__\nimport foresolve.layers.base\n",
            "layers/base.py": "from foresolve.cli.main import run\nfrom foresolve import _base\nfrom . import other\n",
            "layers/deep/base.py": "import ast\nimport torch\nfrom foresolve import MLP\n",
            "models/trees.py": (
                "import sklearn\nfrom typing import TYPE_CHECKING\n"
                "def grow():\n    import sklearn\n    from foresolve.cli import main\n"
                "if TYPE_CHECKING:\n    import pandas\n"
            ),
        },
    ) == [
        "attic/old.py is in no known subpackage: add `attic` to SUBPACKAGES, below what it imports",
        "layers/base.py has the name of another module of `layers`: say in the name what differs",
        "layers/base.py:1 imports foresolve.cli.main.run: `layers` must not know `cli`, a later subpackage",
        "layers/base.py:3 imports ..other: write its full address",
        "layers/deep/base.py has the name of another module of `layers`: say in the name what differs",
        "layers/deep/base.py:3 imports foresolve.MLP: import from the module that defines it, not from the package",
        "models/trees.py:1 imports sklearn: import it where it is used",
        "models/trees.py:5 imports foresolve.cli.main: `models` must not know `cli`, a later subpackage",
    ]


def test_sizes(offenses: Offenses) -> None:
    steps = "    step()\n"
    assert offenses(
        "sizes",
        {
            "losses/soft_regret.py": "\n" * 640,
            "losses/spo.py": "\n" * 600,
            "losses/base.py": f'def long():\n    """A\n    docstring.\n    """\n{steps * 50}\n'
            f"class Loss: ...\ndef short():\n{steps * 49}",
        },
    ) == [
        "losses/base.py:1 `long` has 51 lines, at most 50: make functions of its steps",
        "losses/soft_regret.py has 640 lines, at most 600: one concept a file",
    ]


def test_halves(offenses: Offenses) -> None:
    assert offenses(
        "halves",
        {
            "problems/__init__.py": '__all__ = ["Problem", *["Program"]]\n',
            "problems/base.py": "class Problem: ...\n",
            "problems/decided.py": (
                "from foresolve.problems.base import Problem\nclass Decided(Problem[int]): ...\n"
                "class Rows: ...\nclass DenseRows(Rows): ...\nclass SparseRows(Rows): ...\n"
                "class FilledRows(DenseRows): ...\nrows = DenseRows()\n"
            ),
            "problems/program.py": (
                "import abc\nfrom foresolve.problems.decided import Decided\n"
                "class Program(Decided, abc.ABC): ...\nclass Path(Program): ...\n"
            ),
            # Another class of the same name.
            "learning/decided.py": "class Decided: ...\nclass A(Decided): ...\nclass B(Decided): ...\n",
        },
    ) == ["problems/decided.py: `Decided` only serves as the base of `Program`: make them one class"]


def test_cycles(offenses: Offenses) -> None:
    late = "def f():\n    from foresolve.problems.base import Problem\n"
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import foresolve.sets.b\n"
    assert offenses(
        "cycles",
        {
            "__init__.py": "",
            "problems/base.py": "from foresolve.problems.linear import LinearProgram\n",
            "problems/linear.py": "import foresolve.problems.assembly\nfrom foresolve.problems import itself\n",
            "problems/assembly.py": late,
            "problems/itself.py": "from foresolve.problems import itself\n",
            "problems/path.py": "from foresolve.problems import base\n",
            "sets/a.py": types,
            "sets/b.py": "from foresolve.sets import a\n",
            "data/frames/keys.py": "from foresolve.data.real import warcraft\n",
            "data/real/warcraft.py": "",
            "data/real/cora.py": "from foresolve.data.frames import dates\n",
            "data/frames/dates.py": "",
        },
    ) == [
        "problems/assembly.py:2 begins a cycle (problems/assembly.py -> problems/base.py -> problems/linear.py "
        "-> problems/assembly.py): move what both need below them",
        "problems/base.py:1 begins a cycle (problems/base.py -> problems/linear.py -> problems/assembly.py "
        "-> problems/base.py): move what both need below them",
        "problems/linear.py:1 begins a cycle (problems/linear.py -> problems/assembly.py -> problems/base.py "
        "-> problems/linear.py): move what both need below them",
        "data/frames/ and data/real/ import each other: move what both need below them",
    ]


def test_docstrings(offenses: Offenses) -> None:
    files = {
        "layers/base.py": "def f():\n    '''True if so.'''\n",
        "layers/verdicts.py": (
            '"""What a layer says\nof a batch."""\nclass C:\n    """Of: all."""\ndef g():\n    """Offers."""\n'
        ),
    }
    assert offenses("docstrings", files) == [
        'layers/verdicts.py:1 "What a layer says of a": a docstring begins with a noun or a verb',
        'layers/verdicts.py:4 "Of: all.": a docstring begins with a noun or a verb',
    ]


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("print(1)", "only the shell prints"),
        ("logger.print(1)", ""),
        ("torch.manual_seed(0)", "global state"),
        ("torch.set_num_threads(1)", "global state"),
        ("torch.Generator().manual_seed(0)", ""),
        ("getattr(batch.problem, 'n')", "its base class"),
        ("hasattr(layer, 'gamma')", "its base class"),
        ("getattr(value, 'n')", ""),
        ("time.time()", "this clock jumps"),
        ("import pickle", "nothing is pickled"),
        ("re.match('`(.*)`', str(error))", "messages are not parsed"),
        ("PATTERN.search(str(missing).strip())", "messages are not parsed"),
        ("str(missing).partition(': ')", "messages are not parsed"),
        ("f'{error.reason}'.replace('a', 'b')", "messages are not parsed"),
        ("'singular' in str(missing)", "messages are not parsed"),
        ("str(error)[3:]", "messages are not parsed"),
        ("' '.join(str(error).split())", ""),
        ("str(error) or type(error).__name__", ""),
        ("str(value).partition(': ')", ""),
        ("fail(message.reason)", ""),
    ],
)
def test_conduct(offenses: Offenses, line: str, remedy: str) -> None:
    text = f"try:\n    pass\nexcept KeyError as missing:\n    {line}\n"
    sentences = offenses("conduct", {"layers/base.py": text, "cli/main.py": "print(1)\n"})
    assert len(sentences) == bool(remedy)
    assert all(sentence.startswith("layers/base.py:4 ") and remedy in sentence for sentence in sentences)


def test_mirror(offenses: Offenses) -> None:
    files = {"layers/base.py": "", "data/frames/__init__.py": ""}
    names = ["layers/test_base.py", "data/test_frames.py", "data/test_mistakes.py", "test_base.py", "oracles.py"]
    names += ["other/test_mistakes.py"]
    assert offenses("mirror", files, dict.fromkeys(names, "")) == [
        f"tests/{name} mirrors no module: move it, or list it with a reason"
        for name in ("other/test_mistakes.py", "test_base.py")
    ]


def test_wording(offenses: Offenses) -> None:
    short, long = "raises(E, match='theta')\n", f"raises(\n    E, match={'x' * 40!r})\n"
    tests = {"test_a.py": long + "raises(E, match=pattern)\n", "test_b.py": short * 449, "test_mistakes.py": long}
    remedy = "assert the class and the fields of the error"
    assert offenses("wording", {}, tests) == [
        f"tests/test_a.py:2 matches a text of 40 characters: {remedy}",
        f"tests have 452 times `match=`, at most 450: {remedy}",
    ]


def test_the_list_only_shrinks() -> None:
    """A file may have as many offenses as listed, or any number with a reason, and an entry that is too high fails."""
    offenses = [Offense("a", "a breaks it"), Offense("b", "b breaks it", 3), Offense("c", "c breaks it")]
    assert Verdict(offenses, {"a": 1, "b": 3, "c": "a reason"}).complaints() == []
    assert Verdict(offenses, {"b": 2}).complaints() == ["a breaks it", "b breaks it", "c breaks it"]
    high = Verdict(offenses, {"a": "a reason", "b": 4, "c": 1, "d": "another", "e": 1})
    assert high.complaints() == [
        "'b' is listed with 4 and offends 3 times: run `make rules`",
        "'d' is listed with 'another' and offends 0 times: run `make rules`",
        "'e' is listed with 1 and offends 0 times: run `make rules`",
    ]
    assert high.shrunk() == {"a": "a reason", "b": 3, "c": 1}
    assert as_toml({"sizes": high.shrunk()}).endswith('[sizes]\n"a" = "a reason"\n"b" = 3\n"c" = 1\n')
