"""Words and expressions of an LP file, linear ones and the quadratic part of an objective."""

from __future__ import annotations

import math

import scipy.sparse

from foresolve.errors import InvalidInputError
from foresolve.problems.readers.lp_tokens import INFINITY, NOT_NAMES, Token, tokens
from foresolve.problems.readers.quadratic_entries import mirrored
from foresolve.problems.readers.source import Source

Terms = dict[int, float]
AMBIGUOUS = "it may continue the row above or begin a new one: write the number of that row to its right"


class ExpressionReader:
    """One pass over the words; variables are numbered as they appear."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words = tokens(source)
        self.place = 0
        self.columns: dict[str, int] = {}
        self.products: dict[tuple[int, int], float] = {}  # what stands in brackets, the earlier variable first

    # -- words -------------------------------------------------------------------------------------------------------

    @property
    def word(self) -> Token:
        return self.words[self.place]

    def _took(self, text: str) -> bool:
        """True if this word comes next, which is then behind."""
        taken = self.word.text == text
        self.place += taken
        return taken

    def _next(self, kind: str, expected: str) -> Token:
        word = self.word
        if word.kind == "stop" and kind == "section":
            raise self._broken("the file ends without `end`, as if it were cut off")
        if word.kind != kind:
            raise self._broken(f"{expected} must stand in place of {word.text or 'the end'!r}")
        self.place += 1
        return word

    def _broken(self, what: str, word: Token | None = None) -> InvalidInputError:
        return self.source.broken((word or self.word).line, what)

    def _signs(self) -> tuple[float, bool]:
        """The sign of what follows, and whether there was one."""
        sign, start = 1.0, self.place
        while self.word.kind == "sign":
            sign = -sign if self.word.text == "-" else sign
            self.place += 1
        return sign, self.place > start

    def _number(self, what: str) -> float:
        """A number with its signs, which may be infinite."""
        sign, _ = self._signs()
        word = self.word
        self.place += 1
        if word.kind == "name" and word.text.lower() in INFINITY:
            return sign * math.inf
        if word.kind != "number":
            raise self._broken(f"{word.text or 'the end'!r} is not a number ({what})", word)
        return sign * float(word.text)

    # -- expressions -------------------------------------------------------------------------------------------------

    def _expression(self, *, one_line: bool = False, quadratic: bool = False) -> tuple[Terms, float]:
        """The terms with variables, and the sum of those without; up to the next word that belongs to neither.

        With `quadratic`, products in brackets go to `products`.
        """
        terms: Terms = {}
        constant, started = 0.0, False
        while self.word.kind in {"sign", "number", "name", "square"}:
            word = self.word
            if started and word.first and one_line:
                if word.kind == "sign":
                    raise self._broken(AMBIGUOUS)
                break
            sign, signed = self._signs()
            if self.word.kind == "square" and not (quadratic and self.word.text == "["):
                raise self._misplaced()
            if started and not signed:
                raise self._broken(f"no + or - stands before {word.text!r}")
            started = True
            if self._took("["):
                self._quadratic_part(sign)
            else:
                constant += self._term(sign, terms, one_line=one_line)
        return terms, constant

    def _term(self, sign: float, terms: Terms, *, one_line: bool) -> float:
        """Adds a term to `terms`, or gives its value where it has no variable."""
        factor = sign
        if self.word.kind == "number":
            factor *= self._coefficient()
            if self.word.kind != "name":
                return factor
            if self.word.first and one_line:
                raise self._broken(AMBIGUOUS)
        elif self.word.kind != "name":
            raise self._broken("a sign has no term")
        column = self._variable()
        terms[column] = terms.get(column, 0.0) + factor
        return 0.0

    def _coefficient(self) -> float:
        word = self._next("number", "a number")
        if not math.isfinite(float(word.text)):
            raise self._broken(f"{word.text!r} is not a finite number", word)
        if self.word.kind == "number":
            raise self._broken(f"two numbers, {word.text!r} and {self.word.text!r}, follow each other")
        return float(word.text)

    def _variable(self) -> int:
        name = self._next("name", "a variable")
        if name.text.lower() in NOT_NAMES:
            raise self._broken(f"{name.text!r} is not a finite number", name)
        return self.columns.setdefault(name.text, len(self.columns))

    # -- the quadratic part ------------------------------------------------------------------------------------------

    def _quadratic_part(self, sign: float) -> None:
        """`x^2 + 4 x * y ] / 2` behind a `[`; its products are summed as other terms are."""
        started = False
        while not self._took("]"):
            inner, signed = self._signs()
            if self.word.kind in {"section", "stop"}:
                raise self._broken("the bracket of the quadratic part is not closed")
            if started and not signed:
                raise self._broken(f"no + or - stands before {self.word.text!r}")
            started = True
            factor = sign * inner * (self._coefficient() if self.word.kind == "number" else 1.0)
            first = self._variable()
            place = first, self._second(first)
            place = min(place), max(place)
            self.products[place] = self.products.get(place, 0.0) + factor
        if not self._took("/"):
            raise self._broken("the quadratic part of an objective ends with `] / 2`")
        self._two("the quadratic part of an objective ends with `] / 2`")

    def _second(self, first: int) -> int:
        """The other factor of a product, or the same for a square."""
        if self._took("^"):
            self._two("a square is `x ^ 2`")
            return first
        if not self._took("*"):
            raise self._broken("a term in brackets is a square, `x ^ 2`, or a product, `x * y`")
        return self._variable()

    def _two(self, expected: str) -> None:
        if self.word.kind != "number" or float(self.word.text) != 2.0:
            raise self._broken(f"{expected}, not {self.word.text or 'the end'!r}")
        self.place += 1

    def _misplaced(self) -> InvalidInputError:
        if self.word.text == "[":
            return self._broken("'[' begins a quadratic constraint: only the objective may be quadratic")
        return self._broken(f"{self.word.text!r} stands outside of the objective's quadratic part, `[ ... ] / 2`")

    def quadratic(self) -> scipy.sparse.csr_array | None:
        """`Q` of `1/2 x'Qx`: the two entries of `x * y` share its coefficient."""
        entries = {(i, j): value if i == j else value / 2 for (i, j), value in self.products.items()}
        return mirrored(entries, len(self.columns))
