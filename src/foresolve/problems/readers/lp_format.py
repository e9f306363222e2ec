"""LP files, read strictly: what is not understood is refused with its line."""

from __future__ import annotations

import math

import numpy as np

from foresolve._base import checks
from foresolve._base.text import some_of
from foresolve.errors import ForesolveWarning, InvalidInputError
from foresolve.problems.readers.lp_expressions import ExpressionReader, Terms
from foresolve.problems.readers.lp_tokens import COMPARISONS, INFINITY, Token
from foresolve.problems.readers.model import INFINITE, Model
from foresolve.problems.readers.quadratic_entries import sparse
from foresolve.problems.readers.source import Source
from foresolve.problems.readers.stated_bounds import StatedBounds

FLIPPED = {"<=": ">=", ">=": "<=", "=": "="}


def read_lp(source: Source) -> Model:
    """The model in an LP file."""
    return LpReader(source).model()


class LpReader(ExpressionReader):
    """The sections, in one pass.

    A row is `expression <= number` or `number <= expression (<= number)`. Constants beside variables move to the right,
    terms of the same variable are summed, and between two terms stands a sign: then no slip of the pen is a model.
    Variables are those of the objective and the rows; bounds, integers and binaries name no others.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.costs: Terms = {}
        self.offset = 0.0
        self.rows: list[tuple[Terms, float, float]] = []
        self.labels: dict[str, int] = {}  # the place of each row that has a label
        self.bounds = StatedBounds(source)
        self.integer: set[int] = set()
        self.binary: set[int] = set()
        self.mentioned: dict[int, Token] = {}  # outside of the objective and the rows, where first

    def model(self) -> Model:
        """The model that the file holds."""
        maximize = self._objective()
        takers = {"rows": self._row, "bounds": self._bound,
                  "integer": lambda: self.integer.add(self._mentioned()),
                  "binary": lambda: self.binary.add(self._mentioned())}  # fmt: skip
        while self.word.text != "end":
            section = self._next("section", "a section, such as `st`, or `end`")
            while self.word.kind not in {"section", "stop"}:
                if section.text not in takers:
                    raise self._refused(section)
                takers[section.text]()
        self.place += 1
        if self.word.kind != "stop":
            raise self._broken("something follows after `end`")
        return self._assembled(maximize)

    def _refused(self, section: Token) -> InvalidInputError:
        if section.text in {"minimize", "maximize"}:
            return self._broken("the objective comes twice", section)
        if section.text == "semi":
            remedy = "Write it as a continuous variable with a 0/1 switch"
            return self.source.broken(self.word.line, f"{self.word.text!r} is semi-continuous", remedy)
        return self._broken(f"{section.text} are more than a linear program with integers can hold", section)

    # -- sections ----------------------------------------------------------------------------------------------------

    def _objective(self) -> bool:
        section = self._next("section", "`minimize` or `maximize`")
        if section.text not in {"minimize", "maximize"}:
            raise self._broken("the file does not begin with `minimize` or `maximize`", section)
        if self.word.kind == "label":
            self.place += 1
        self.costs, self.offset = self._expression(quadratic=True)
        if self.word.kind not in {"section", "stop"}:
            raise self._broken(f"{self.word.text!r} is not part of an objective")
        return section.text == "maximize"

    def _row(self) -> None:
        if self.word.kind == "label":
            label = self._next("label", "a label")
            if label.text in self.labels:
                raise self._broken(f"the row {label.text!r} comes twice", label)
            self.labels[label.text] = len(self.rows)
        terms, constant = self._expression()
        comparison = self._comparison()
        if terms:
            lower, upper = _interval(comparison, self._number("right-hand side") - constant)
        else:
            lower, upper, terms = self._mirrored(comparison, constant)
        if lower >= INFINITE or upper <= -INFINITE:
            raise self._broken("the number is infinite, which nothing satisfies", self.words[self.place - 1])
        self._done("a row")
        self.rows.append((terms, lower, upper))

    def _mirrored(self, comparison: str, number: float) -> tuple[float, float, Terms]:
        """A row that begins with its number; `1 <= x + y <= 5` has another at its end."""
        terms, constant = self._expression(one_line=True)
        if not terms:  # a row of numbers alone, which holds or does not
            return *_interval(comparison, constant - number), terms
        lower, upper = _interval(FLIPPED[comparison], number - constant)
        if self.word.kind == "comparison":
            word, second = self.word, self._comparison()
            if second != comparison or second == "=":
                raise self._broken(f"a range is `number <= expression <= number`, not with {word.text!r}", word)
            low, high = _interval(second, self._number("end of a range") - constant)
            lower, upper = max(lower, low), min(upper, high)
        return lower, upper, terms

    def _comparison(self) -> str:
        return COMPARISONS[self._next("comparison", "<=, >= or =").text]

    def _bound(self) -> None:
        if self.word.kind == "name" and self.word.text.lower() not in INFINITY:
            column = self._mentioned()
            if self.word.kind == "name" and self.word.text.lower() == "free":
                self.bounds.state(self.word.line, column, lower=-math.inf, upper=math.inf)
                self.place += 1
            else:
                self._compared(column, self._comparison())
        else:
            number, comparison, column = self._number("bound"), self._comparison(), self._mentioned()
            self._compared(column, FLIPPED[comparison], number)
            if self.word.kind == "comparison":
                self._compared(column, self._comparison())
        self._done("a bound")

    def _compared(self, column: int, comparison: str, number: float | None = None) -> None:
        """State the bounds that `comparison number` sets to what stands on its left."""
        number = self._number("bound") if number is None else number
        lower, upper = None if comparison == "<=" else number, None if comparison == ">=" else number
        self.bounds.state(self.words[self.place - 1].line, column, lower=lower, upper=upper)

    def _mentioned(self) -> int:
        """The variable of a bound, or an integer: whether it is one shows when all rows are read."""
        word = self._next("name", "a variable")
        column = self.columns.setdefault(word.text, len(self.columns))
        self.mentioned.setdefault(column, word)
        return column

    def _done(self, what: str) -> None:
        """A row or bound ends with its line, or with the label of the next row."""
        if not (self.word.first or self.word.kind in {"label", "section", "stop"}):
            raise self._broken(f"{self.word.text!r} follows after the number of {what}")

    # -- what the words amount to ------------------------------------------------------------------------------------

    def _assembled(self, maximize: bool) -> Model:
        n, integer = len(self.columns), np.zeros(len(self.columns), dtype=np.int64)
        if n == 0:
            raise self._broken("the file has no variables")
        self._check_mentioned()
        lower, upper = self.bounds.arrays(n, "Write `-inf <= x <= ...`, or the lower bound that holds")
        binary = sorted(self.binary)
        lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
        integer[sorted(self.integer | self.binary)] = 1
        entries = {(i, j): value for i, (terms, _, _) in enumerate(self.rows) for j, value in terms.items()}
        return Model(
            matrix=sparse(entries, len(self.rows), n),
            row_lower=np.array([low for _, low, _ in self.rows]), row_upper=np.array([high for *_, high in self.rows]),
            lower=lower, upper=upper, integrality=integer,
            coefficients=np.array([self.costs.get(j, 0.0) for j in range(n)]), offset=self.offset,
            maximize=maximize, names=tuple(self.columns), quadratic=self.quadratic(), rows=self.labels,
        )  # fmt: skip

    def _check_mentioned(self) -> None:
        """Warn of names that stand among bounds or integers alone: columns that nothing uses, or misspelled ones."""
        declared = set(self.costs).union(*self.products, *(terms for terms, _, _ in self.rows))
        idle = [word for column, word in self.mentioned.items() if column not in declared]
        if idle:
            names = [name for name, j in self.columns.items() if j in declared]
            places = some_of([f"{word.text!r} (line {word.line})" for word in idle])
            guess = checks.did_you_mean(idle[0].text, names)
            checks.warn(
                f"{self.source.path!r}: neither the objective nor any row has {places}, so that nothing depends "
                f"on such variables. {guess or 'If they are meant, write `0 x` into the objective'}",
                ForesolveWarning,
            )


def _interval(comparison: str, number: float) -> tuple[float, float]:
    """The bounds that `comparison number` sets to what stands on its left."""
    return -math.inf if comparison == "<=" else number, math.inf if comparison == ">=" else number
