"""The settings of `foresolve.toml`: one table, from which the file, its checks and its page in the docs are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foresolve.projects.kinds import (
    BLOCK,
    COLUMNS,
    COUNT,
    DATES,
    DURATION,
    FILE,
    LABEL,
    NUMBERS,
    SEED,
    SHARE,
    SPLIT,
    TEXT,
    TEXTS,
    WIDTHS,
    Kind,
    choice,
    table_of,
)

# What can be decided, in words.
PROBLEMS = {
    "shortest-path": "the cheapest way from one node to another",
    "matching": "pairs of greatest worth, each node at most once",
    "assignment": "a partner for every node of the smaller side, at greatest worth or least cost",
    "knapsack": "items of greatest worth within a capacity",
    "top-k": "the k items of greatest worth or least cost",
    "coverage": "k items that reach as many targets as possible",
    "max-flow": "the flow of greatest worth",
    "min-cost-flow": "the cheapest flow that meets all demand",
    "mps": "a linear program from an MPS or LP file",
}
SECTIONS = {
    "problem": "The problem.",
    "data": "Features and parameters.",
    "data.encode": "How columns become numbers, where it does not follow from their type.",
    "data.missing": "Rules for missing values.",
    "model": "The networks.",
    "methods": "The methods that are compared.",
    "training": "Time, splits, statistics.",
}
_GRAPHS = ("shortest-path", "max-flow", "min-cost-flow")
_PAIRS = ("matching", "assignment")
_ITEMS = ("knapsack", "top-k", "coverage")
_RULES = ("refuse", "drop", "mean", "median", "previous")
_MISSING = 'missing values: "drop", "mean" ...; by file: { features = "mean", parameters = "drop" }'


@dataclass(frozen=True)
class Setting:
    """One key.

    Attributes
    ----------
    section: the table it stands in, as "data.missing".
    name: of the key.
    kind: what its value may be.
    words: what it says, for the comment and the docs.
    default: what holds where the key is not there, as the file would say it; `None`: nothing.
    required: whether it must be there.
    problems: the kinds of problem that have it; all where empty.
    """

    section: str
    name: str
    kind: Kind
    words: str
    default: Any = None
    required: bool = False
    problems: tuple[str, ...] = ()


def _problem(name: str, kind: Kind, words: str, problems: tuple[str, ...], default: Any = None,
             required: bool = False) -> Setting:  # fmt: skip
    return Setting("problem", name, kind, words, default, required, problems)


SETTINGS: tuple[Setting, ...] = (
    Setting("problem", "kind", choice(*PROBLEMS), "the kind of problem", required=True),
    _problem("file", FILE, "the arcs, one row each", _GRAPHS, required=True),
    _problem("tail", TEXT, "the column of the node where an arc begins", _GRAPHS, "from"),
    _problem("head", TEXT, "the column of the node where it ends", _GRAPHS, "to"),
    _problem("name", TEXT, "the column of the arc's name, by which its parameter is found", _GRAPHS),
    _problem("source", LABEL, "the node where the path or flow begins", _GRAPHS[:2], required=True),
    _problem("target", LABEL, "the node where the path or flow ends", _GRAPHS[:2], required=True),
    _problem("capacity", TEXT, "the column of the most that an arc carries", ("max-flow",), required=True),
    _problem("capacity", TEXT, "the column of the most that an arc carries; none: no limit", ("min-cost-flow",)),
    _problem("nodes", FILE, "the nodes and what they send out, one row each", ("min-cost-flow",), required=True),
    _problem("node", TEXT, "the column of the node", ("min-cost-flow",), "node"),
    _problem("supply", TEXT, "the column of what it sends out; negative: what it needs", ("min-cost-flow",), "supply"),
    _problem("file", FILE, "the pairs, one row each", _PAIRS, required=True),
    _problem("left", TEXT, "the column of one side", _PAIRS, "left"),
    _problem("right", TEXT, "the column of the other", _PAIRS, "right"),
    _problem("file", FILE, "the items, one row each", _ITEMS, required=True),
    _problem("name", TEXT, "the column of the item's name", _ITEMS, "item"),
    _problem("weight", COLUMNS, "the column of its weight; several: several capacities", ("knapsack",), "weight"),
    _problem("capacity", NUMBERS, "the capacity; one number for each weight", ("knapsack",), required=True),
    _problem("k", COUNT, "how many are chosen", ("top-k", "coverage"), required=True),
    _problem("sense", choice("max", "min"), "the largest or the least total", ("assignment", "top-k"), "max"),
    _problem("targets", FILE, "what is to be reached, one row each", ("coverage",), required=True),
    _problem("target", TEXT, "the column of the target's name", ("coverage",), "target"),
    _problem("worth", TEXT, "the column of what reaching a target is worth; none: 1 each", ("coverage",)),
    _problem("file", FILE, "the model, as another tool wrote it", ("mps",), required=True),
    _problem("predict", TEXTS, "the variables whose objective coefficients are predicted; none: all", ("mps",)),
    _problem("sense", choice("min", "max"), "where the file does not say it", ("mps",)),
    Setting("data", "features", FILE, "what is known when the decision is taken", required=True),
    Setting("data", "parameters", FILE, "the true parameters; none: in the file of the features"),
    Setting("data", "key", COLUMNS, "the columns that identify instances, in both files", required=True),
    Setting("data", "variable", COLUMNS, "of a long file (a row per instance and variable): the column of the name"),
    Setting("data", "value", TEXT, "of a long file: the column of the parameter"),
    Setting("data", "columns", TEXTS, "the columns that the model sees; none: all without another role"),
    Setting("data", "weights", TEXT, "the column of the weights of instances"),
    Setting("data", "dates", DATES, "the column of the date, where no key is one; false: a date is only a name"),
    Setting("data", "decimal", choice(".", ","), "the mark before decimals in text files; none: a point"),
    Setting("data", "thousands", TEXT, "the mark between thousands in text files; none: there is none"),
    Setting("data", "date_format", TEXT, 'how text files write dates, as "%d.%m.%Y"; none: as 2024-05-27'),
    Setting("data", "units", TEXT, "of the objective, for sentences", ""),
    Setting("data", "missing", choice(*_RULES), _MISSING, "refuse"),
    Setting(
        "data",
        "encode",
        table_of(choice("category", "number", "date", "trend", "ignore"), "columns"),
        "how columns become numbers; none: by their type",
    ),
    Setting("data.missing", "features", choice(*_RULES), "what to do where a feature is missing", "refuse"),
    Setting("data.missing", "parameters", choice(*_RULES), "what to do where a parameter is missing", "refuse"),
    Setting("model", "hidden", WIDTHS, "the widths of hidden layers", "auto"),
    Setting(
        "model",
        "head",
        choice("auto", "free", "probability", "non_negative", "positive"),
        "the range of predictions",
        "auto",
    ),
    Setting("methods", "references", TEXTS, "models that are trained on the parameters alone; none: all that suit"),
    Setting("methods", "decision", TEXTS, "losses that are trained on decisions; none: those that suit"),
    Setting("training", "budget", DURATION, "total time", "10 min"),
    Setting("training", "trials", COUNT, "settings that are tried for each method", 4),
    Setting("training", "epochs", COUNT, "the most passes over the training data", 100),
    Setting("training", "split", SPLIT, "shares of training, validation and test data", [0.6, 0.2, 0.2]),
    Setting("training", "seed", SEED, "of everything that is drawn", 0),
    Setting("training", "block", BLOCK, "instances in a row that count as one in intervals", "auto"),
    Setting("training", "confidence", SHARE, "of intervals", 0.95),
    Setting("training", "worthwhile", SHARE, "the smallest share of the regret whose saving counts", 0.05),
)


def settings_of(section: str, problem: str | None = None) -> dict[str, Setting]:
    """The settings of a section by name; of the section "problem", those of one kind of problem."""
    return {
        setting.name: setting
        for setting in SETTINGS
        if setting.section == section and (not setting.problems or problem is None or problem in setting.problems)
    }


def tables() -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """Every section as its name, what it is about, and rows of key, value and words, for a page."""
    return [
        (section, words, [_row(setting) for setting in SETTINGS if setting.section == section])
        for section, words in SECTIONS.items()
        if section != "data.encode"
    ]


def toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> toml((0.6, 0.4)), toml("a b"), toml(600.0), toml(False)
    ('[0.6, 0.4]', '"a b"', '600', 'false')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _row(setting: Setting) -> tuple[str, str, str]:
    where = f"{', '.join(setting.problems)}: " if setting.problems else ""
    default = "required" if setting.required else "" if setting.default in (None, "") else toml(setting.default)
    return (
        f"`{setting.name}`",
        f"{setting.kind.words}",
        f"{where}{setting.words}" + (f" ({default})" if default else ""),
    )
