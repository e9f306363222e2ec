"""The words of an LP file (the format of CPLEX and Gurobi)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foresolve.problems.readers.source import Source

SECTIONS = {
    "min": "minimize", "minimize": "minimize", "minimum": "minimize", "minimise": "minimize",
    "max": "maximize", "maximize": "maximize", "maximum": "maximize", "maximise": "maximize",
    "subject to": "rows", "such that": "rows", "st": "rows", "s.t.": "rows", "st.": "rows",
    "bounds": "bounds", "bound": "bounds",
    "general": "integer", "generals": "integer", "gen": "integer",
    "integer": "integer", "integers": "integer", "int": "integer",
    "binary": "binary", "binaries": "binary", "bin": "binary",
    "semi - continuous": "semi", "semi": "semi", "semis": "semi",
    "sos": "sos", "sos1": "sos", "sos2": "sos", "lazy constraints": "lazy constraints", "user cuts": "user cuts",
    "general constraints": "general constraints", "end": "end",
}  # fmt: skip
COMPARISONS = {"<": "<=", "<=": "<=", "=<": "<=", ">": ">=", ">=": ">=", "=>": ">=", "=": "="}
INFINITY = frozenset({"inf", "infinity"})
NOT_NAMES = INFINITY | {"nan"}
_WORD = re.compile(
    r"""(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<arrow>->)
      | (?P<comparison><=|=<|>=|=>|<|>|=)
      | (?P<sign>[+-])
      | (?P<colon>:)
      | (?P<square>[\[\]^*/])
      | (?P<name>[^\s\d.,;:+\-*/^<>=\\\[\]][^\s;:+\-*/^<>=\\]*)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A word: its kind and its place; `first` is whether it begins its line.

    Kinds: "number", "comparison", "sign", "colon", "square" (what a quadratic part is written with: `[ ] ^ * /`),
    "name", "label", "section", "stop".
    """

    kind: str
    text: str
    line: int
    first: bool


def tokens(source: Source) -> list[Token]:
    """All words of a file, a "stop" at the end; row labels lose their colon, keywords of sections become one word."""
    words: list[Token] = []
    for number, text in enumerate(source.lines, 1):
        words += _joined(_words(source, number, text.partition("\\")[0]))
    return [*words, Token("stop", "", len(source.lines), True)]


def _words(source: Source, line: int, text: str) -> list[Token]:
    found, text, place = [], text.rstrip(), 0
    while place < len(text):
        match = _WORD.match(text, _skipped(text, place))
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise source.broken(line, f"{text[_skipped(text, place)]!r} has no meaning in an LP file")
        if kind == "arrow":
            raise source.broken(line, f"{match[0]!r} begins an indicator constraint: the model must be linear")
        word = _balanced(match[0]) if kind == "name" else match[0]
        if word.startswith("(") or word.count("(") != word.count(")"):
            raise source.broken(line, f"{word!r} is no name: products with brackets must be written out")
        found.append(Token(kind, word, line, not found))
        place = match.start() + len(word)
    return found


def _balanced(name: str) -> str:
    """A name up to a `]` that it did not open, which closes a quadratic part: `x[1]` of `x[1]]`."""
    depth = 0
    for place, letter in enumerate(name):
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            return name[:place]
    return name


def _skipped(text: str, place: int) -> int:
    """Where the next word begins."""
    while text[place].isspace():
        place += 1
    return place


def _joined(words: list[Token]) -> list[Token]:
    """The words of a line, `name :` as a label, and the keyword of a section that it begins with as one word."""
    joined: list[Token] = []
    rest = words
    for count in (3, 2, 1):
        head, after = words[:count], words[count : count + 1]
        section = SECTIONS.get(" ".join(word.text for word in head).lower())
        if len(head) == count and section and not (after and after[0].kind in {"colon", "comparison"}):
            joined, rest = [Token("section", section, head[0].line, True)], words[count:]
            break
    skip = False
    for word, after in zip(rest, [*rest[1:], None]):
        if skip:
            skip = False
        elif word.kind == "name" and after is not None and after.kind == "colon":
            joined.append(Token("label", word.text, word.line, word.first))
            skip = True
        else:
            joined.append(word)
    return joined
