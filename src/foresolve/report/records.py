"""What a run is asked for and what it finds, in plain values that go through JSON and between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np

from foresolve._base.drawing.palette import Role
from foresolve.errors import ForesolveError

Protocol = Literal["exact", "paper"]
Measure = Literal["mse", "cross_entropy", "auc"]
Course = dict[str, list[float | None]]
"""Of a training: the normalized "regret" of validation decisions and the "mse" of predictions at each epoch from 0 on,
which is before training; `None` where nobody knows."""


@dataclass(frozen=True)
class Config:
    """All settings that determine the numbers of one domain's run, up to rounding errors.

    Attributes
    ----------
    domain, protocol: names.
    splits: random splits into training and test instances.
    ks: the budgets; empty for a domain without one.
    methods: names of the domain's methods, in the order of the table.
    seed: of data, splits, weights and training.
    quick: small generated instances, smaller models and fewer trees, to see everything in minutes.
    data: the folder of real data; `None` for the embedded generator.
    source: a description of the data.
    files: sha256 of the files that are read, by name.
    device: where networks are trained; another one may continue a run.
    share: the part of the published rows that the files have; `None` where it is not known.
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
    share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """What `to_dict` was called on; an error for entries that are not known."""
        earlier = {"share": None} | document if isinstance(document, dict) else document
        entries: dict[str, Any] = _known(cls, earlier)
        _check_entries(entries)
        for name in ("ks", "methods"):
            entries[name] = tuple(entries[name])
        return cls(**entries)


@dataclass(frozen=True)
class MethodInfo:
    """Facts about a method for tables, figures and reports.

    Attributes
    ----------
    role: "two-stage" and "decision-focused" for trained models, "heuristic" for a rule that learns nothing.
    model: the model that is trained; its trainings are compared with its two-stage training.
    training: the name of the training, such as "Decision" or "2Stage".
    variant: the difference from the method of the same model and training that is judged; empty for that method.
    words: a description of the method, for readers.
    """

    role: Role
    model: str = ""
    training: str = ""
    variant: str = ""
    words: str = ""

    @property
    def learned(self) -> bool:
        """True for a trained method: no heuristic, no reference, no choice among others."""
        return self.role in ("two-stage", "decision-focused")

    @property
    def judged(self) -> str:
        """The name of the method without a variant."""
        return f"{self.model}-{self.training}"

    @property
    def name(self) -> str:
        """The name of the method."""
        return f"{self.judged} ({self.variant})" if self.variant else self.judged


@dataclass(frozen=True)
class DomainInfo:
    """Facts about a domain for tables, figures and reports.

    Attributes
    ----------
    story: paragraphs for a reader: what the data are, what is predicted, what is decided, what is not as in the paper.
    ks: the budgets of the tables; empty for none.
    table2_k: the budget at which predictions are scored, and figures drawn; `None` for none.
    measures: of the predictions, in Table 2.
    rows, columns: what a row and a column of `theta` are, in the plural.
    figure_methods: the two-stage and the decision-focused method of the figures.
    methods: facts about each method, by its name.
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
    methods: Mapping[str, MethodInfo]
    fractional: bool = True

    @property
    def heuristics(self) -> list[str]:
        """The names of methods that learn nothing."""
        return [name for name, method in self.methods.items() if method.role == "heuristic"]


@dataclass(frozen=True)
class Job:
    """A unit of work: a method on a split, for one budget or for all that share a training."""

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
    course: of the training with this setting, the mean over folds where there are several; empty for what is not
        validated after each epoch, and in folders of earlier versions.
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
    course: Course = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, str, int | None]:
        """What identifies a record within a run."""
        return self.split, self.method, self.k

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """What `to_dict` was called on; an error for entries that are not known."""
        earlier = {"course": {}} | document if isinstance(document, dict) else document
        return cls(**_known(cls, earlier))


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    `picture` has what the figures need, for the first split and the budget of the figures only: "theta" and "theta_hat"
    of the first test instance, `(rows, columns)`, and the row sums of all test instances, "true_weight" and
    "predicted_weight", `(instances, rows)`. Of the first test instances, for readers to look at, where variables have a
    parameter (or a row of them, summed) each: "item_truth", "item_predicted", "decision" and "best_decision",
    `(few, n)`, and what the decisions are worth, to be maximized, "decision_value" and "best_value".
    """

    records: tuple[Record, ...]
    picture: dict[str, np.ndarray] = field(default_factory=dict)


def _check_entries(entries: dict[str, Any]) -> None:
    """Refuse entries of a config that are not of their kind: a file may hold anything."""
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("domain", "protocol", "source", "device"), (str,)), "data": (str, type(None)),
        **dict.fromkeys(("splits", "seed"), (int,)), "quick": (bool,), "files": (dict,), "share": (float, type(None)),
        **dict.fromkeys(("ks", "methods"), (list, tuple)),
    }  # fmt: skip
    for name, kind in kinds.items():
        sound = isinstance(entries[name], kind) and not (kind == (int,) and isinstance(entries[name], bool))
        if not sound:
            raise ForesolveError(f"`{name}` must be {kind[0].__name__}; got {str(entries[name])[:40]!r}")
    for name, kind in (("ks", int), ("methods", str)):
        if not all(isinstance(part, kind) for part in entries[name]):
            raise ForesolveError(f"`{name}` must hold {kind.__name__}; got {str(entries[name])[:40]!r}")


def _known(cls: type, document: dict[str, Any]) -> dict[str, Any]:
    names = {entry.name for entry in fields(cls)}
    if not isinstance(document, dict):
        raise ForesolveError(f"a {cls.__name__} is a table of entries; got {type(document).__name__}")
    if set(document) != names:
        wrong = sorted(set(document) ^ names)
        entries = ", ".join(sorted(names))
        raise ForesolveError(f"a {cls.__name__} has the entries {entries}; missing or unknown: {', '.join(wrong)}")
    return dict(document)
