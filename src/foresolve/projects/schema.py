"""The settings of `foresolve.toml` as pydantic models: every key once, with its type, its default and its description.

The file, its checks, the samples of `foresolve init` and a page of the docs are made from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from foresolve._base import checks
from foresolve._base.progress import seconds
from foresolve.projects.toml import SettingsError, toml


@dataclass(frozen=True)
class Kind:
    """A kind of value: in words that follow "must be", and as options for "did you mean"."""

    words: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class In:
    """The key of the file that has a column; without it, that is `file`."""

    file: str


FILE, COLUMN = Kind("the name of a file, as text"), Kind("a column, as text")
COLUMNS = Kind('a column, as text, or a list of columns, as ["a", "b"]')


def one_of(words: Sequence[str]) -> Kind:
    """One of several words."""
    return Kind("one of " + ", ".join(f'"{word}"' for word in words), tuple(words))


def _literals(annotation: Any) -> list[str]:
    """The words that an annotation allows."""
    if isinstance(annotation, str):
        return [annotation]
    return [word for part in get_args(annotation) for word in _literals(part)]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("a name stands there twice")
    return values


def _whole(shares: tuple[float, ...]) -> tuple[float, ...]:
    if not math.isclose(sum(shares), 1.0, abs_tol=1e-9):
        raise ValueError("the shares do not add up to 1")
    return shares


_Text = Annotated[StrictStr, Field(min_length=1)]
_Names = Annotated[tuple[_Text, ...], Field(min_length=1), AfterValidator(_distinct)]
_Number = Annotated[StrictFloat, Field(allow_inf_nan=False)]
_Between = Annotated[StrictFloat, Field(gt=0, lt=1)]
_Positive = Annotated[StrictInt, Field(ge=1)]
_Rule = Literal["refuse", "drop", "mean", "median", "previous"]
_Encoding = Literal["category", "number", "date", "trend", "ignore"]
_RULES, ENCODINGS = one_of(get_args(_Rule)), one_of(get_args(_Encoding))

Text = Annotated[_Text, Kind("text")]
File = Annotated[_Text, FILE]
Label = Annotated[_Text | StrictInt, Kind("a name, as text or a whole number")]
Names = Annotated[_Names, Kind('a list of names, as ["a", "b"], none twice')]
Column = Annotated[_Text, COLUMN]
Columns = Annotated[_Text | _Names, COLUMNS]
Dates = Annotated[_Text | Literal[False], Kind("a column, as text, or false")]
Numbers = Annotated[
    _Number | Annotated[tuple[_Number, ...], Field(min_length=1)], Kind("a number, or a list of numbers")
]
Count = Annotated[_Positive, Kind("a whole number >= 1")]
Seed = Annotated[StrictInt, Field(ge=0), Kind("a whole number >= 0")]
Share = Annotated[_Between, Kind("a number between 0 and 1")]
Duration = Annotated[
    StrictFloat,
    BeforeValidator(seconds),
    Field(gt=0, allow_inf_nan=False),
    Kind('seconds, or text such as "10 min"'),
]
Split = Annotated[
    tuple[_Between, _Between, _Between],
    AfterValidator(_whole),
    Kind("three shares above 0 that add up to 1, as [0.6, 0.2, 0.2]"),
]
Widths = Annotated[
    Literal["auto"] | tuple[_Positive, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, int) else value),
    Kind('"auto", or a list of widths, as [64, 64] (an empty list: a linear model)'),
]
Block = Annotated[Literal["auto"] | _Positive, Kind('"auto", or a whole number >= 1')]


def entry(description: str, default: Any = ..., *, example: Any = None) -> Any:
    """A key of a table, by default one that must be there.

    Parameters
    ----------
    description: the comment beside the key.
    default: the value if the key is absent, as the file would write it.
    example: a value for samples, if the default says nothing.
    """
    return Field(default, description=description, examples=None if example is None else [example])


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    def file_keys(self) -> list[str]:
        """The keys that name a file."""
        return [key for key, field in self._named() if FILE in marks(field)]

    def column_keys(self) -> Iterator[tuple[str, str, str]]:
        """The columns that keys name: the key, the column, and the key of the file that has it."""
        for key, field in self._named():
            kinds, value = list(marks(field)), getattr(self, key)
            if COLUMN in kinds or COLUMNS in kinds:
                home = next((mark.file for mark in kinds if isinstance(mark, In)), "file")
                yield from ((key, column, home) for column in ((value,) if isinstance(value, str) else value))

    def _named(self) -> list[tuple[str, FieldInfo]]:
        return [(key, field) for key, field in type(self).model_fields.items() if getattr(self, key) is not None]


# -- [problem] ---------------------------------------------------------------------------------------------------------


class Problem(Table):
    """The problem."""

    kind: str = entry("the kind of problem")


class _Graph(Problem):
    file: File = entry("the arcs, one row each")
    tail: Column = entry("the column of the node where an arc begins", "from")
    head: Column = entry("the column of the node where it ends", "to")
    name: Column | None = entry("the column of the arc's name, by which its parameter is found", None, example="name")


class _Pairs(Problem):
    file: File = entry("the pairs, one row each")
    left: Column = entry("the column of one side", "left")
    right: Column = entry("the column of the other", "right")


class _Items(Problem):
    file: File = entry("the items, one row each")
    name: Column = entry("the column of the item's name", "item")


class ShortestPath(_Graph):
    """The cheapest way from one node to another."""

    source: Label = entry("the node where the path or flow begins")
    target: Label = entry("the node where the path or flow ends")


class Matching(_Pairs):
    """Pairs of greatest worth, each node at most once."""


class Assignment(_Pairs):
    """A partner for every node of the smaller side, at greatest worth or least cost."""

    sense: Literal["max", "min"] = entry("the largest or the least total", "max")


class Knapsack(_Items):
    """Items of greatest worth within a capacity."""

    weight: Columns = entry("the column of its weight; several: several capacities", "weight")
    capacity: Numbers = entry("the capacity; one number for each weight")


class TopK(_Items):
    """The k items of greatest worth or least cost."""

    k: Count = entry("how many are chosen")
    sense: Literal["max", "min"] = entry("the largest or the least total", "max")


class Coverage(_Items):
    """The k items that reach as many targets as possible."""

    k: Count = entry("how many are chosen")
    targets: File = entry("what is to be reached, one row each")
    target: Annotated[Column, In("targets")] = entry("the column of the target's name", "target")
    worth: Annotated[Column | None, In("targets")] = entry(
        "the column of what reaching a target is worth; none: 1 each", None, example="worth"
    )


class MaxFlow(_Graph):
    """The flow of greatest worth."""

    source: Label = entry("the node where the path or flow begins")
    target: Label = entry("the node where the path or flow ends")
    capacity: Column = entry("the column of the most that an arc carries")


class MinCostFlow(_Graph):
    """The cheapest flow that meets all demand."""

    capacity: Column | None = entry(
        "the column of the most that an arc carries; none: no limit", None, example="capacity"
    )
    nodes: File = entry("the nodes and what they send out, one row each")
    node: Annotated[Column, In("nodes")] = entry("the column of the node", "node")
    supply: Annotated[Column, In("nodes")] = entry("the column of what it sends out; negative: what it needs", "supply")


class ModelFile(Problem):
    """A linear program from an MPS or LP file."""

    file: File = entry("the model, as another tool wrote it")
    predict: Names | None = entry(
        "the variables whose objective coefficients are predicted; none: all", None, example=["x1", "x2"]
    )
    sense: Literal["min", "max"] | None = entry("where the file does not say it", None, example="min")


PROBLEMS: dict[str, type[Problem]] = {
    "shortest-path": ShortestPath,
    "matching": Matching,
    "assignment": Assignment,
    "knapsack": Knapsack,
    "top-k": TopK,
    "coverage": Coverage,
    "max-flow": MaxFlow,
    "min-cost-flow": MinCostFlow,
    "mps": ModelFile,
}


# -- the other tables --------------------------------------------------------------------------------------------------


def _together(key: str, reason: str) -> PydanticCustomError:
    """An error about a key that needs another one."""
    return PydanticCustomError("together", "{reason}", {"key": key, "reason": reason})


class Missing(Table):
    """Rules for missing values."""

    features: _Rule = entry("what to do where a feature is missing", "refuse")
    parameters: _Rule = entry("what to do where a parameter is missing", "refuse")


class Data(Table):
    """Features and parameters."""

    features: File = entry("what is known when the decision is taken")
    parameters: File | None = entry(
        "the true parameters; none: in the file of the features", None, example="parameters.csv"
    )
    key: Columns = entry("the columns that identify instances, in both files")
    variable: Columns | None = entry(
        "of a long file (a row per instance and variable): the column of the name", None, example="name"
    )
    value: Column | None = entry("of a long file: the column of the parameter", None, example="value")
    columns: Names | None = entry(
        "the columns that the model sees; none: all without another role", None, example=["a", "b"]
    )
    weights: Column | None = entry("the column of the weights of instances", None, example="weight")
    dates: Dates | None = entry(
        "the column of the date, where no key is one; false: a date is only a name", None, example="date"
    )
    decimal: Annotated[Literal[".", ","], one_of((".", ","))] | None = entry(
        "the mark before decimals in text files; none: a point", None, example=","
    )
    thousands: Text | None = entry("the mark between thousands in text files; none: there is none", None, example=".")
    date_format: Text | None = entry(
        'how text files write dates, as "%d.%m.%Y"; none: as 2024-05-27', None, example="%d.%m.%Y"
    )
    units: Annotated[StrictStr, Kind("text")] = entry("of the objective, for sentences", "", example="minutes")
    missing: Annotated[
        Missing,
        BeforeValidator(lambda value: dict.fromkeys(Missing.model_fields, value) if isinstance(value, str) else value),
        Kind(f"{_RULES.words}, or a table of them by file", _RULES.options),
    ] = entry('missing values: "drop", "mean" ...; by file: { features = "mean", parameters = "drop" }', "refuse")
    encode: Annotated[dict[str, _Encoding] | None, Kind(f"a table of columns, each {ENCODINGS.words}")] = entry(
        "how columns become numbers; none: by their type", None, example={"weekday": "category"}
    )

    @model_validator(mode="after")
    def _long_or_wide(self) -> Data:
        """The same, if keys that need each other are there."""
        if (self.variable is None) != (self.value is None):
            given, other = ("variable", "value") if self.value is None else ("value", "variable")
            raise _together(given, f"needs `{other}` too, in a long file")
        if self.parameters is None and self.value is None:
            raise _together("parameters", "is missing: a file; or `variable` and `value` of one long file")
        return self


class Model(Table):
    """The networks."""

    hidden: Widths = entry("the widths of hidden layers", "auto")
    head: Literal["auto", "free", "probability", "non_negative", "positive"] = entry("the range of predictions", "auto")


class Methods(Table):
    """The methods that are compared."""

    references: Names | None = entry(
        "models that are trained on the parameters alone; none: all that suit", None, example=["mean", "ridge"]
    )
    decision: Names | None = entry(
        "losses that are trained on decisions; none: those that suit", None, example=["spo+", "decision"]
    )


class Training(Table):
    """Time, splits, statistics."""

    budget: Duration = entry("total time", "10 min")
    trials: Count = entry("settings that are tried for each method", 4)
    epochs: Count = entry("the most passes over the training data", 100)
    split: Split = entry("shares of training, validation and test data", [0.6, 0.2, 0.2])
    seed: Seed = entry("of everything that is drawn", 0)
    block: Block = entry("instances in a row that count as one in intervals", "auto")
    confidence: Share = entry("of intervals", 0.95)
    worthwhile: Share = entry("the smallest share of the regret whose saving counts", 0.05)


@dataclass(frozen=True)
class Document:
    """The tables of a file."""

    problem: Problem
    data: Data
    model: Model
    methods: Methods
    training: Training


def tables(problem: str | None = None) -> dict[str, type[Table]]:
    """The model of each table by name, the one of [problem] for a kind of problem."""
    first = Problem if problem is None else PROBLEMS[problem]
    return {"problem": first, "data": Data, "model": Model, "methods": Methods, "training": Training}


# -- what messages, samples and the docs ask ---------------------------------------------------------------------------


def marks(field: FieldInfo) -> Iterator[Any]:
    """The kind of a field and the file that it is in, as they stand in its annotation."""
    yield from field.metadata
    for part in get_args(field.annotation):
        yield from getattr(part, "__metadata__", ())


def kind_of(field: FieldInfo) -> Kind:
    """The kind of a field's value."""
    kind = next((mark for mark in marks(field) if isinstance(mark, Kind)), None)
    return one_of(_literals(field.annotation)) if kind is None else kind


# -- checks ------------------------------------------------------------------------------------------------------------

# Tables within [data]; the names in one are the user's own.
_WITHIN: dict[str, type[Table]] = {"missing": Missing, "encode": Table}


def checked(document: dict[str, Any], path: Path) -> Document:
    """The settings of a parsed file, or an error about the first key that is wrong."""
    for name, value in document.items():
        if name not in tables():
            raise _stranger(name, value, path)
        if not isinstance(value, dict):
            raise SettingsError(path, key=name, expected=f"a table, [{name}]", got=_shown(value))
    for name in ("problem", "data"):
        if name not in document:
            raise SettingsError(path, f"the table [{name}] is missing")
    kind = document["problem"].get("kind")
    if not isinstance(kind, str) or kind not in PROBLEMS:
        raise _wrong("problem", "kind", document["problem"], Problem, path, one_of(list(PROBLEMS)))
    parts = {name: _table(name, model, document.get(name, {}), path) for name, model in tables(kind).items()}
    return Document(**parts)  # type: ignore[arg-type]


def _table(name: str, model: type[Table], values: dict[str, Any], path: Path) -> Table:
    """A table, or an error about the first key that is wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        # A misspelled key comes before the one that is missing for that reason.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        if first["type"] == "together":
            raise SettingsError(path, table=name, **first.get("ctx", {})) from error
        key, *within = map(str, first["loc"])
        if within and key in _WITHIN and isinstance(values[key], dict):
            kind = ENCODINGS if key == "encode" else None
            raise _wrong(f"{name}.{key}", within[0], values[key], _WITHIN[key], path, kind) from error
        raise _wrong(name, key, values, model, path) from error


def _wrong(
    table: str, key: str, values: dict[str, Any], model: type[Table], path: Path, kind: Kind | None = None
) -> SettingsError:
    """The error about a key of a table."""
    if kind is None and key not in model.model_fields:
        return SettingsError(path, "is not a key of this table", table=table, key=key, remedy=_home(key, table, model))
    if key not in values:
        return SettingsError(path, f"is missing: {model.model_fields[key].description}", table=table, key=key)
    kind, value = kind or kind_of(model.model_fields[key]), values[key]
    remedy = checks.did_you_mean(value, kind.options, code=True) if isinstance(value, str) else ""
    return SettingsError(path, table=table, key=key, expected=kind.words, got=_shown(value), remedy=remedy)


def _stranger(name: str, value: Any, path: Path) -> SettingsError:
    """The error about a table that there is not, or a key outside of all tables."""
    if isinstance(value, dict):
        return SettingsError(path, f"there is no table [{name}]", remedy=checks.did_you_mean(name, tables(), code=True))
    return SettingsError(path, "stands outside of all tables", key=name, remedy=_home(name))


def _home(key: str, name: str = "", table: type[Table] | None = None) -> str:
    """The place of a key that stands in a wrong one, or the nearest key of its table."""
    if name == "problem" and (owners := [kind for kind, model in PROBLEMS.items() if key in model.model_fields]):
        return f"It belongs to {', '.join(owners)}"
    known = [] if table is None else list(table.model_fields)
    if near := checks.did_you_mean(key, known, code=True):
        return near
    homes = [f"[{other}]" for other, model in tables().items() if key in model.model_fields]
    return f"It belongs into {' or '.join(homes)}" if homes else f"Its keys: {', '.join(known)}"


def _shown(value: Any) -> str:
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return "a list of tables"
    return "a table" if isinstance(value, dict) else toml(value)
