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
from pydantic_core import ErrorDetails, PydanticCustomError

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

_KIND: Any = entry("the kind of problem")


class _Problem(Table):
    """The problem."""

    kind: Any = _KIND


class _Graph(_Problem):
    file: File = entry("the arcs, one row each")
    tail: Column = entry("the column of the node where an arc begins", "from")
    head: Column = entry("the column of the node where it ends", "to")
    name: Column | None = entry("the column of the arc's name, by which its parameter is found", None, example="name")


class _Pairs(_Problem):
    file: File = entry("the pairs, one row each")
    left: Column = entry("the column of one side", "left")
    right: Column = entry("the column of the other", "right")


class _Items(_Problem):
    file: File = entry("the items, one row each")
    name: Column = entry("the column of the item's name", "item")


class ShortestPath(_Graph):
    """The cheapest way from one node to another."""

    kind: Literal["shortest-path"] = _KIND
    source: Label = entry("the node where the path or flow begins")
    target: Label = entry("the node where the path or flow ends")


class Matching(_Pairs):
    """Pairs of greatest worth, each node at most once."""

    kind: Literal["matching"] = _KIND


class Assignment(_Pairs):
    """A partner for every node of the smaller side, at greatest worth or least cost."""

    kind: Literal["assignment"] = _KIND
    sense: Literal["max", "min"] = entry("the largest or the least total", "max")


class Knapsack(_Items):
    """Items of greatest worth within a capacity."""

    kind: Literal["knapsack"] = _KIND
    weight: Columns = entry("the column of its weight; several: several capacities", "weight")
    capacity: Numbers = entry("the capacity; one number for each weight")


class TopK(_Items):
    """The k items of greatest worth or least cost."""

    kind: Literal["top-k"] = _KIND
    k: Count = entry("how many are chosen")
    sense: Literal["max", "min"] = entry("the largest or the least total", "max")


class Coverage(_Items):
    """The k items that reach as many targets as possible."""

    kind: Literal["coverage"] = _KIND
    k: Count = entry("how many are chosen")
    targets: File = entry("what is to be reached, one row each")
    target: Annotated[Column, In("targets")] = entry("the column of the target's name", "target")
    worth: Annotated[Column | None, In("targets")] = entry(
        "the column of what reaching a target is worth; none: 1 each", None, example="worth"
    )


class MaxFlow(_Graph):
    """The flow of greatest worth."""

    kind: Literal["max-flow"] = _KIND
    source: Label = entry("the node where the path or flow begins")
    target: Label = entry("the node where the path or flow ends")
    capacity: Column = entry("the column of the most that an arc carries")


class MinCostFlow(_Graph):
    """The cheapest flow that meets all demand."""

    kind: Literal["min-cost-flow"] = _KIND
    capacity: Column | None = entry(
        "the column of the most that an arc carries; none: no limit", None, example="capacity"
    )
    nodes: File = entry("the nodes and what they send out, one row each")
    node: Annotated[Column, In("nodes")] = entry("the column of the node", "node")
    supply: Annotated[Column, In("nodes")] = entry("the column of what it sends out; negative: what it needs", "supply")


class ModelFile(_Problem):
    """A linear program from an MPS or LP file."""

    kind: Literal["mps"] = _KIND
    file: File = entry("the model, as another tool wrote it")
    predict: Names | None = entry(
        "the variables whose objective coefficients are predicted; none: all", None, example=["x1", "x2"]
    )
    sense: Literal["min", "max"] | None = entry("where the file does not say it", None, example="min")


Problem = ShortestPath | Matching | Assignment | Knapsack | TopK | Coverage | MaxFlow | MinCostFlow | ModelFile


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


class Document(Table):
    """A whole file."""

    problem: Problem = Field(discriminator="kind")
    data: Data
    model: Model = Model()
    methods: Methods = Methods()
    training: Training = Training()


# -- what messages, samples and the docs ask ---------------------------------------------------------------------------

# The models of [problem] by kind.
PROBLEMS: dict[str, type[Table]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(Problem)
}


def tables(problem: str | None = None) -> dict[str, type[Table]]:
    """The model of each table by name, the one of [problem] for a kind of problem."""
    first = {"problem": PROBLEMS.get(problem or "", _Problem), "data": Data, "data.missing": Missing}
    return {**first, "model": Model, "methods": Methods, "training": Training}


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


_ABSENT = object()
_ABOUT_ABSENT = ("missing", "together", "union_tag_not_found")


def checked(document: dict[str, Any], path: Path) -> Document:
    """The settings of a parsed file, or an error about the first key that is wrong."""
    try:
        return Document.model_validate(document)
    except ValidationError as error:
        # A misspelled key comes before the one that is missing for that reason.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        raise _told(first, document, path) from error


def _told(error: ErrorDetails, document: dict[str, Any], path: Path) -> SettingsError:
    """The error in terms of the file."""
    place, value = _place(error, document)
    if len(place) == 1:
        return _table_error(place[0], value, path)
    table, key = ".".join(place[:-1]), place[-1]
    model = tables(_kind(document)).get(table)
    if error["type"] == "together":
        return SettingsError(path, error.get("ctx", {})["reason"], table=table, key=key)
    if model is None:  # a table with names of the user's own
        kind = ENCODINGS
    elif key not in model.model_fields:
        return SettingsError(path, "is not a key of this table", table=table, key=key, remedy=_home(key, table, model))
    elif value is _ABSENT:
        return SettingsError(path, f"is missing: {model.model_fields[key].description}", table=table, key=key)
    else:
        kind = one_of(list(PROBLEMS)) if key == "kind" else kind_of(model.model_fields[key])
    remedy = checks.did_you_mean(value, kind.options, code=True) if isinstance(value, str) else ""
    return SettingsError(path, table=table, key=key, expected=kind.words, got=_shown(value), remedy=remedy)


def _kind(document: dict[str, Any]) -> str | None:
    """The kind of problem, if there is a known one."""
    problem = document.get("problem")
    kind = problem.get("kind") if isinstance(problem, dict) else None
    return kind if isinstance(kind, str) and kind in PROBLEMS else None


def _place(error: ErrorDetails, document: dict[str, Any]) -> tuple[list[str], Any]:
    """Tables and key that an error is about, and the value there."""
    parts = list(error["loc"])
    if parts[0] == "problem":
        del parts[1:2]  # the kind
    if error["type"] == "together":
        parts.append(error.get("ctx", {})["key"])
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        parts.append("kind")
    place: list[str] = []
    value: Any = document
    for part in parts:
        # Beyond a key, parts are places in a list and types that were tried.
        if not isinstance(value, dict) or (part not in value and error["type"] not in _ABOUT_ABSENT):
            break
        place.append(str(part))
        value = value.get(part, _ABSENT)
    return place, value


def _table_error(name: str, value: Any, path: Path) -> SettingsError:
    """An error about a table, or about a key outside of all tables."""
    known = Document.model_fields
    if name not in known and not isinstance(value, dict):
        return SettingsError(path, "stands outside of all tables", key=name, remedy=_home(name))
    if name not in known:
        return SettingsError(path, f"there is no table [{name}]", remedy=checks.did_you_mean(name, known, code=True))
    if value is _ABSENT:
        return SettingsError(path, f"the table [{name}] is missing")
    return SettingsError(path, key=name, expected=f"a table, [{name}]", got=_shown(value))


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
