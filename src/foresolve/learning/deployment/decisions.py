"""What a policy decides: decisions with names, values and proofs."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.table import Cell, Table, Tabular
from foresolve.learning.deployment import decision_files
from foresolve.learning.deployment.certificate import (
    FEASIBLE,
    Certificate,
    Verification,
    agree,
    certify,
    counted,
    objective_terms,
    recertify,
)
from foresolve.problems.base import Problem
from foresolve.problems.certificates import certifiable
from foresolve.problems.naming import LEAST, taken

if TYPE_CHECKING:
    from foresolve.data.frames.keys import Keys

SHOWN, WIDEST = 5, 60


class Decisions(Tabular):
    """Decisions for some instances, in the order of their features: what calling a `Policy` gives.

    Attributes
    ----------
    x: the decisions `(B, n)`.
    theta: the predictions that they were taken for `(B, ...)`.
    keys: what the instances are called; numbers where features came without keys.
    objective: `(B,)`, what each decision is worth under its prediction, in the user's own sense (a cost where costs are
        minimized), in double precision.
    problem: what was decided.
    adjusted: `(B,)`, which decisions `problem.decide` had to adjust (paths whose cycles of negative cost were dropped).

    Examples
    --------
    >>> import torch, foresolve
    >>> items = foresolve.Knapsack([3, 4, 5], 8, names=["tent", "stove", "rope"])
    >>> policy = foresolve.Policy(lambda features: features, items)
    >>> decisions = policy(torch.tensor([[3.0, 4.0, 2.0], [1.0, 5.0, 9.0]]))
    >>> print(decisions)
    2 decisions of Knapsack, to be maximized
    instance     decision  objective  feasible
    --------  -----------  ---------  --------
    0         tent, stove          7       yes
    1          tent, rope         10       yes
    >>> decisions.chosen()
    [['tent', 'stove'], ['tent', 'rope']]
    >>> print(decisions[:1].verify())  # doctest: +NORMALIZE_WHITESPACE
    verified: 1 decision: feasible, and worth what is stated; none of them proven to be the best by multipliers of the
    rows; the bound holds: that they are the best is the solver's word
    """

    def __init__(
        self,
        problem: Problem,
        x: Tensor,
        theta: Tensor,
        *,
        keys: Keys | None = None,
        adjusted: Tensor | None = None,
        ruled: bool = False,
        relaxed: bool = False,
    ) -> None:
        self.problem, self.x, self.theta, self._keys = problem, x, theta, keys
        self.adjusted = torch.zeros(len(x), dtype=torch.bool) if adjusted is None else adjusted.cpu()
        self._ruled, self._relaxed = ruled, relaxed
        self.objective = problem.signed(self._value())
        self._certificate: Certificate | None = None

    # -- what is known of them ---------------------------------------------------------------------------------------

    @property
    def keys(self) -> Keys:
        """The names of the instances; their numbers where features came without keys."""
        if self._keys is None:
            from foresolve.data.frames.keys import Keys

            self._keys = Keys.numbered(len(self))
        return self._keys

    @cached_property
    def feasible(self) -> Tensor:
        """Which decisions are feasible, `(B,)`: under the prediction, where it makes constraints."""
        return self._feasibility(self._relaxed)

    @property
    def certificate(self) -> Certificate:
        """Bounds on the decisions; computed on first use, by a linear program for each instance."""
        if self._certificate is None:
            self._certificate = certify(
                self.problem, self.x, self.theta, self._feasibility(relaxed=False), self._claim()
            )
        return self._certificate

    def verify(self) -> Verification:
        """Check feasibility, objectives and bounds again, from `x`, `theta`, the problem and the stored multipliers.

        The check solves nothing. The multipliers are those of `certificate`, which finds them when it is first asked
        for, or which were loaded from a file.
        """
        certificate, feasible = self.certificate, self._feasibility(self._relaxed)
        value, stated = self.problem.signed(self._value()).cpu(), self.objective.cpu()
        terms = objective_terms(self.problem, self.x.double(), self.theta.double(), value).cpu()
        told = agree(value, stated, terms)
        again = recertify(self.problem, self.x, self.theta, self._feasibility(relaxed=False), certificate)
        lacking = certificate.duals is None and certifiable(self.problem)  # a proof that was taken away
        same = agree(again.bound, certificate.bound, terms + again.bound.abs()) & (not lacking)
        apart = agree(again.gap, certificate.gap, terms + again.bound.abs())
        holds = same & apart & (again.proven | ~certificate.proven)
        failures = [
            *self._complaints(~feasible, lambda i: f"the decision is not feasible: {self._broken(i)}"),
            *self._complaints(~told, lambda i: f"the objective is {value[i]:.9g}, not {stated[i]:.9g} as stated"),
            *self._complaints(~same, lambda i: "the multipliers that prove its bound are missing" if lacking else
                              f"the bound that is proven is {again.bound[i]:.9g}, "
                              f"not {certificate.bound[i]:.9g} as stated"),
            *self._complaints(same & ~apart, lambda i: f"the gap is {again.gap[i]:.9g}, "
                              f"not {certificate.gap[i]:.9g} as stated"),
            *self._complaints(same & apart & ~holds,
                              lambda i: "the bound does not prove that the decision is the best"),
        ]  # fmt: skip
        return Verification(feasible, told, holds, tuple(failures), self._checked(certificate))

    def _checked(self, certificate: Certificate) -> str:
        aside = " but for integrality" if self._relaxed else ""
        head = f"{counted(len(self))}: feasible{aside}, and worth what is stated"
        return f"{head}; {certificate.proof}"

    def _claim(self) -> str:
        """What is said of decisions that multipliers do not prove to be the best."""
        if self._ruled:
            return "they are a rule's, and need not be the best"
        if not self.problem.exact:
            return "they are a heuristic's, and need not be the best"
        dropped = int(self.adjusted.sum())
        told = "that they are the best is the solver's word"
        return f"{told}, but for {dropped} that had to be adjusted" if dropped else told

    def _value(self) -> Tensor:
        sparse = self.theta.layout != torch.strided  # one instance's, without a batch dimension
        with torch.no_grad():
            value = self.problem.objective(self.x[0].double() if sparse else self.x.double(), self.theta.double())
        return value.reshape(len(self))

    def _feasibility(self, relaxed: bool) -> Tensor:
        checked = self.problem.at(self.theta.double()).check(self.x, FEASIBLE, relaxed=relaxed)
        return checked.feasible.cpu().reshape(len(self))

    def _broken(self, i: int) -> str:
        one = self[i]
        checked = one.problem.at(one.theta.double()).check(one.x, FEASIBLE, relaxed=self._relaxed)
        return checked.violations[0].constraint if checked.violations else str(checked)

    def _complaints(self, wrong: Tensor, words: Any) -> list[str]:
        where = wrong.nonzero().flatten().tolist()
        told = [f"{self._called(i)}: {words(i)}" for i in where[:SHOWN]]
        return [*told, f"... and {len(where) - SHOWN} more"] if len(where) > SHOWN else told

    # -- in the user's words -----------------------------------------------------------------------------------------

    def chosen(self) -> list[list[str]]:
        """The names of the variables that each decision does not leave at zero; numbers where there are none."""
        return self.problem.chosen(self.x)

    def words(self) -> list[Any]:
        """Each decision as the problem puts it: the nodes of a path in order, the pairs of a matching, names."""
        return [self.problem.words(row) for row in self.x]

    def frame(self, form: Literal["long", "wide"] = "long") -> Any:
        """A pandas DataFrame with the keys, by name, and the predicted objective.

        "long" has a row for each variable that is not zero (so none for an instance of zeros), with its `name` and
        `amount`; "wide" a row for each instance and a column for each variable.
        """
        checks.one_of("form", form, ("long", "wide"))
        pandas = need("pandas", "a frame of decisions", "learn")
        amounts, objective = self.x.detach().cpu().numpy(), self.objective.cpu().numpy()
        names = list(map(str, range(amounts.shape[1]))) if self.problem.names is None else list(self.problem.names)
        keys = self.keys.frame().reset_index(drop=True)
        if form == "wide":
            body = pandas.DataFrame(amounts, columns=names)
            others = {*keys.columns, *names}
            return pandas.concat([keys, body, pandas.Series(objective, name=_free("objective", others))], axis=1)
        row, column = taken(self.x).cpu().numpy().nonzero()
        frame = keys.iloc[row].reset_index(drop=True)
        parts = {
            "name": np.array(names, dtype=object)[column],
            "amount": amounts[row, column],
            "objective": objective[row],
        }
        for name, part in parts.items():
            frame[_free(name, set(frame.columns))] = part
        return frame

    def _called(self, i: int) -> str:
        if self._keys is None:
            return f"instance {i}"
        key = self._keys[i]
        return ", ".join(key) if isinstance(key, tuple) else str(key)

    def _told(self, i: int) -> str:
        """One decision in a line: in the problem's words, with amounts where they are not 0 or 1."""
        amounts = self.x[i].detach().cpu().double()
        used = taken(amounts)
        plain = bool((~used | ((amounts - 1).abs() <= LEAST)).all())
        if plain:
            words = [" and ".join(map(str, word)) if isinstance(word, tuple) else str(word)
                     for word in self.problem.words(self.x[i])]  # fmt: skip
        else:
            places = used.nonzero().flatten().tolist()
            words = [f"{name} {amounts[j]:.4g}" for name, j in zip(self.problem.chosen(self.x[i]), places, strict=True)]
        text = ", ".join(words) or "nothing"
        return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."

    def _table(self) -> Table:
        sense = "maximized" if self.problem.sense == "max" else "minimized"
        few = self[:SHOWN]
        rows: list[tuple[Any, ...]] = [
            (
                i if self._keys is None else self._called(i), few._told(i),
                Cell(float(few.objective[i]), format="{:.6g}".format), "yes" if bool(few.feasible[i]) else "no",
            )
            for i in range(len(few))
        ]  # fmt: skip
        if len(self) > SHOWN:
            rows.append((f"... {len(self) - SHOWN} more", "", "", ""))
        first = "instance" if self._keys is None else ", ".join(map(str, self._keys.names))
        title = f"{counted(len(self))} of {type(self.problem).__name__}, to be {sense}"
        return Table((first, "decision", "objective", "feasible"), rows, title)

    def plot(self, index: int = 0, ax: Any = None) -> Any:
        """Draw one decision on its prediction (`problem.draw`); gives the matplotlib axes back."""
        one = self[index]
        return one.problem.draw(one.x, one.theta, ax)

    def __repr__(self) -> str:
        return f"Decisions({len(self)} instances of {self.problem!r})"

    # -- parts -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: SupportsIndex | slice | list[int] | Tensor) -> Self:
        """The decisions of one instance or of some, with what is proven of them."""
        count = len(self)
        if isinstance(index, slice):
            chosen = torch.arange(count)[index]
        else:
            chosen = torch.atleast_1d(
                torch.arange(count)[torch.as_tensor(index)]
            )  # raises an IndexError beyond the end
        problem = self.problem.select(chosen) if self.problem.batch_shape else self.problem
        keys = None if self._keys is None else self._keys.select(chosen)
        there = chosen.to(self.x.device)
        theta = self.theta if self.theta.layout != torch.strided else self.theta[chosen.to(self.theta.device)]
        part = type(self)(
            problem, self.x[there], theta, keys=keys, adjusted=self.adjusted[chosen], ruled=self._ruled,
            relaxed=self._relaxed,
        )  # fmt: skip
        part.objective = self.objective[chosen.to(self.objective.device)]
        part._certificate = None if self._certificate is None else self._certificate[chosen]
        return part

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write decisions, predictions, objectives and multipliers to one safetensors file, for others to verify."""
        decision_files.write(checks.path("path", path), self)

    @classmethod
    def load(cls, path: str | Path, problem: Problem) -> Self:
        """Read what `save` wrote; `problem` is what was decided, which the file does not hold.

        Nothing is run, and nothing is solved.
        """
        return decision_files.read(checks.path("path", path), problem, cls)


def _free(name: str, taken: set[str]) -> str:
    """A name for a column that is not taken: the user's come first."""
    while name in taken:
        name += "_"
    return name
