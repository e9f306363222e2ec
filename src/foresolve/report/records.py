"""What a run is asked for and what it finds, in plain values that go through JSON and between processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np

from foresolve.errors import ForesolveError

Protocol = Literal["exact", "paper"]
Measure = Literal["mse", "cross_entropy", "auc"]


@dataclass(frozen=True)
class Config:
    """All that decides the numbers of one domain's run, up to the rounding of one machine or another.

    Attributes
    ----------
    domain, protocol: names.
    splits: random splits into training and test instances.
    ks: the budgets; empty for a domain without one.
    methods: names of the domain's methods, in the order of the table.
    seed: of data, splits, weights and training.
    quick: small generated instances, smaller models and fewer trees, to see everything in minutes.
    data: the folder of real data; `None` for the embedded generator.
    source: which data these are, in words.
    files: sha256 of the files that are read, by name.
    device: where networks are trained; another one may continue a run.
    """

    domain: str
    protocol: Protocol = "exact"
    splits: int = 30
    ks: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    seed: int = 0
    quick: bool = False
    data: str | None = None
    source: str = ""
    files: dict[str, str] = field(default_factory=dict)
    device: str = "cpu"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """What `to_dict` was called on; an error for entries that are not known."""
        entries: dict[str, Any] = _known(cls, document)
        for name in ("ks", "methods"):
            entries[name] = tuple(entries[name])
        return cls(**entries)


@dataclass(frozen=True)
class DomainInfo:
    """What tables, figures and reports have to know about a domain.

    Attributes
    ----------
    story: paragraphs for a reader: what the data are, what is predicted, what is decided, what is not as in the paper.
    ks: the budgets of the tables; empty for none.
    table2_k: the budget at which predictions are scored, and figures drawn; `None` for none.
    measures: of the predictions, in Table 2.
    rows, columns: what a row and a column of `theta` are, in the plural.
    figure_methods: the two-stage and the decision-focused method of the figures.
    heuristics: names of methods that learn nothing.
    fractional: whether the paper scores fractional decisions here, and so do the tables under its protocol.
    """

    name: str
    title: str
    story: tuple[str, ...]
    ks: tuple[int, ...]
    table2_k: int | None
    measures: tuple[Measure, ...]
    rows: str
    columns: str
    figure_methods: tuple[str, str]
    heuristics: tuple[str, ...]
    fractional: bool = True


@dataclass(frozen=True)
class Job:
    """What one worker does in one go: a method on a split, for one budget or for all that share a training."""

    domain: str
    split: int
    method: str
    ks: tuple[int | None, ...]


@dataclass(frozen=True)
class Record:
    """The test instances of one split, decided by one method: one line of `records.jsonl`.

    Attributes
    ----------
    k: the budget, `None` where there is none.
    value: the mean objective of the feasible (rounded) decisions under the truth.
    fractional: that of the decisions of the layer; `None` for methods without one.
    optimum: that of the best decisions known (exact for linear problems, greedy on the truth for submodular ones).
    validation: the mean objective of feasible decisions on the validation instances; `None` without validation.
    mse, cross_entropy, auc: of the predictions, where they apply.
    seconds: of the job, divided among its records.
    setting: what was chosen on validation data.
    """

    domain: str
    split: int
    method: str
    k: int | None
    value: float
    fractional: float | None
    optimum: float
    validation: float | None = None
    mse: float | None = None
    cross_entropy: float | None = None
    auc: float | None = None
    seconds: float = 0.0
    setting: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, str, int | None]:
        """What tells records of a run apart."""
        return self.split, self.method, self.k

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """What `to_dict` was called on; an error for entries that are not known."""
        return cls(**_known(cls, document))


@dataclass(frozen=True)
class JobResult:
    """What a job hands back.

    `picture` has what the figures need, for the first split and the budget of the figures only: "theta" and "theta_hat"
    of the first test instance, `(rows, columns)`, and the row sums of all test instances, "true_weight" and
    "predicted_weight", `(instances, rows)`.
    """

    records: tuple[Record, ...]
    picture: dict[str, np.ndarray] = field(default_factory=dict)


def _known(cls: type, document: dict[str, Any]) -> dict[str, Any]:
    names = {entry.name for entry in fields(cls)}
    if set(document) != names:
        wrong = sorted(set(document) ^ names)
        entries = ", ".join(sorted(names))
        raise ForesolveError(f"a {cls.__name__} has the entries {entries}; missing or unknown: {', '.join(wrong)}")
    return dict(document)
