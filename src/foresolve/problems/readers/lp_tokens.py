"""The words of an LP file (the format of CPLEX and Gurobi)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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
    r"""\s*(?:
        (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<arrow>->)
      | (?P<comparison><=|=<|>=|=>|<|>|=)
      | (?P<sign>[+-])
      | (?P<colon>:)
      | (?P<square>[\[\]^*/])
      | (?P<name>[^\s\d.,;:+\-*/^<>=\\\[\]][^\s;:+\-*/^<>=\\]*)
    )""",
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
        words += _with_section(_words(source, number, text.partition("\\")[0].rstrip()))
    return [*words, Token("stop", "", len(source.lines), True)]


def _words(source: Source, line: int, text: str) -> list[Token]:
    words: list[Token] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise source.broken(line, f"{text[place:].lstrip()[0]!r} has no meaning in an LP file")
        word = match[kind]
        if kind == "arrow":
            raise source.broken(line, f"{word!r} begins an indicator constraint: the model must be linear")
        if kind == "name":
            word = _balanced(word)
            if word.startswith("(") or word.count("(") != word.count(")"):
                raise source.broken(line, f"{word!r} is no name: products with brackets must be written out")
        if kind == "colon" and words and words[-1].kind == "name":
            words[-1] = replace(words[-1], kind="label")
        else:
            words.append(Token(kind, word, line, not words))
        place = match.start(kind) + len(word)
    return words


def _balanced(name: str) -> str:
    """A name up to a `]` that it did not open, which closes a quadratic part: `x[1]` of `x[1]]`."""
    depth = 0
    for place, letter in enumerate(name):
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            return name[:place]
    return name


def _with_section(words: list[Token]) -> list[Token]:
    """The words of a line, with the keyword of a section that it begins with as one word."""
    for count in (3, 2, 1):
        head, after = words[:count], words[count : count + 1]
        section = SECTIONS.get(" ".join(word.text for word in head).lower())
        named = any(word.kind == "label" for word in head) or any(word.kind == "comparison" for word in after)
        if section and not named:
            return [Token("section", section, head[0].line, True), *words[count:]]
    return words
