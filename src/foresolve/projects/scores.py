"""The scores of methods on single test instances, kept so that runs can be compared later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.numbers import significant
from foresolve._base.table import Cell, Table
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveError
from foresolve.learning.paired import PairedComparison, PairedTable, gains, paired

if TYPE_CHECKING:
    from foresolve.learning.study.result import Study

METHOD = "method"
NUMBERS = ("value", "optimum", "regret")
SINGLE = float(np.finfo(np.float32).eps)  # the precision in which projects read parameters
AGREEMENT = 1e-4  # relative: truths that differ by more are not those of the same instance


def scores_of(study: Study) -> Any:
    """A frame with a row for each method and test instance: keys, value, optimum, regret, block and weight."""
    pandas = need("pandas", "a table of scores", "learn")
    test = study.parts.test
    keys = Keys.numbered(len(test)) if test.keys is None else test.keys
    parts = []
    for name, report in study.reports.items():
        frame = _texts(keys)
        frame.insert(0, METHOD, name)
        sign = 1.0 if test.problem.sense == "max" else -1.0
        frame["value"] = sign * report.instances["value"]
        frame["optimum"] = sign * report.instances["optimum"]
        frame["regret"] = report.instances["regret"]
        frame["block"] = (
            report.block if isinstance(report.block, np.ndarray) else np.arange(len(frame)) // (report.block or 1)
        )
        frame["weight"] = report.instances.get("weight", 1.0)
        parts.append(frame)
    return pandas.concat(parts, ignore_index=True)


def _texts(keys: Keys) -> Any:
    pandas = need("pandas", "a table of scores", "learn")
    rows = [keys[place] for place in range(len(keys))]
    return pandas.DataFrame([row if isinstance(row, tuple) else (row,) for row in rows], columns=list(keys.names))


@dataclass(frozen=True, kw_only=True)
class RunRow(PairedComparison):
    """A run on the test instances that all runs have, beside the first run.

    Attributes
    ----------
    method: of the run's policy.
    value, regret: means, in the user's own sense.
    """

    method: str
    value: float
    regret: float


@dataclass(frozen=True, kw_only=True)
class RunComparison(PairedTable[RunRow]):
    """Runs on the test instances that they have in common.

    Attributes
    ----------
    rows: one for each run, the first is what the others are compared to; each interval holds by itself.
    left_out: by run, how many of its test instances others lack.
    """

    left_out: dict[str, int]

    def _table(self) -> Table:
        scores = {
            "method": lambda row: row.method, "value": lambda row: Cell(row.value, format=significant),
            "regret": lambda row: Cell(row.regret, format=significant),
        }  # fmt: skip
        return self.table(scores, first="run")


def compare_scores(tables: Mapping[str, Any], *, confidence: float = 0.95, seed: int = 0) -> RunComparison:
    """Compare runs by their scores, paired by key.

    Parameters
    ----------
    tables: `Run.scores()` by the name of the run; the first is what the others are compared to.
    confidence: of intervals.
    seed: of their draws.
    """
    pandas = need("pandas", "comparing runs", "learn")
    if len(tables) < 2:
        raise checks.fail("tables", "of two runs or more", str(len(tables)))
    key = _same_key(tables)
    indexed = {
        name: table.set_index(pandas.MultiIndex.from_frame(table[key].astype(str))) for name, table in tables.items()
    }
    first, *others = indexed
    common = indexed[first].index
    for name in others:
        common = common[common.isin(indexed[name].index)]
    if not len(common):
        raise ForesolveError(
            f"{', '.join(tables)} have no test instance in common. Train them on the same data and split"
        )
    parts = {name: table.loc[common] for name, table in indexed.items()}
    _check_same_truth(parts)
    rows = []
    for name, part in parts.items():
        pair = PairedComparison(name=name, reference=first, confidence=confidence)
        if name != first:
            pair = _paired(name, part, first, parts[first], confidence=confidence, seed=seed)
        value, regret = (_mean(part, column) for column in ("value", "regret"))
        rows.append(RunRow(**vars(pair), method=str(part[METHOD].iloc[0]), value=value, regret=regret))
    left_out = {name: len(table) - len(common) for name, table in indexed.items()}
    return RunComparison(
        reference=first, confidence=confidence, instances=len(common), units=max(row.units for row in rows),
        rows=tuple(rows), left_out=left_out,
    )  # fmt: skip


def _paired(name: str, part: Any, first: str, base: Any, *, confidence: float, seed: int) -> PairedComparison:
    own, other, best = (column.to_numpy(float) for column in (part["regret"], base["regret"], base["optimum"]))
    gained = gains(own, other, np.abs(best) + np.abs(other), SINGLE, more_is_better=False)
    block = np.unique(base["block"].to_numpy(), return_inverse=True)[1]
    return paired(name, first, gained, base["weight"].to_numpy(float), block, confidence=confidence, seed=seed)


def _same_key(tables: Mapping[str, Any]) -> list[str]:
    known = {METHOD, *NUMBERS, "block", "weight"}
    keys = {name: [title for title in table.columns if title not in known] for name, table in tables.items()}
    first, *others = keys
    for name in others:
        if sorted(keys[name]) != sorted(keys[first]):
            told = f"{first} has {', '.join(keys[first])}, {name} has {', '.join(keys[name])}"
            raise ForesolveError(f"only runs with the same key columns compare: {told}")
    return keys[first]


def _check_same_truth(parts: Mapping[str, Any]) -> None:
    """The best values tell whether runs were judged on the same truth and by the same problem."""
    first, *others = parts
    best = parts[first]["optimum"].to_numpy()
    for name in others:
        wrong = np.abs(parts[name]["optimum"].to_numpy() - best) > AGREEMENT * np.maximum(1e-9, np.abs(best))
        if wrong.any():
            place = int(wrong.argmax())
            key = parts[first].index[place]
            key = key if isinstance(key, str) else ", ".join(map(str, key))
            raise ForesolveError(
                f"{first} and {name} were not judged alike: the best value of {key!r} is {best[place]:.6g} in one and "
                f"{parts[name]['optimum'].iloc[place]:.6g} in the other. Only runs of one problem and truth compare"
            )


def _mean(part: Any, column: str) -> float:
    return float(np.average(part[column].to_numpy(float), weights=part["weight"].to_numpy(float)))
