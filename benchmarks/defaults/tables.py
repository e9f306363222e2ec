"""Differences of normalized regrets, paired, with intervals over seeds and instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.defaults.methods import AGAIN, DECISION, FENCHEL_YOUNG, PERTURBED, SPO, START
from benchmarks.defaults.settings import SETTINGS
from foresolve._base.table import Table

METHODS = (DECISION, FENCHEL_YOUNG, SPO, PERTURBED, AGAIN)
TRAINED = (START, *METHODS)
RESAMPLES, CONFIDENCE, WEEK = 2000, 0.95, 7
Records = dict[str, dict[int, dict[str, dict[str, Any]]]]  # by setting, seed and method


def write(records: Iterable[dict[str, Any]], folder: Path, page: Path | None = None) -> None:
    """The tables as Markdown and CSV, and into a page between `<!-- name -->` and `<!-- /name -->`."""
    study = grouped(records)
    tables = {"starts": against_start(study), "references": against_references(study), "means": means(study)}
    text = "" if page is None else page.read_text(encoding="utf-8")
    for name, table in tables.items():
        print(f"\n{table.markdown()}")
        (folder / f"{name}.md").write_text(table.markdown(), encoding="utf-8")
        (folder / f"{name}.csv").write_text(table.csv(), encoding="utf-8")
        text = filled(text, name, table.markdown()) if page is not None else text
    if page is not None:
        page.write_text(text, encoding="utf-8")


def filled(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def grouped(records: Iterable[dict[str, Any]]) -> Records:
    study: Records = defaultdict(lambda: defaultdict(dict))
    for record in records:
        study[record["setting"]][record["seed"]][record["method"]] = record
    order = [setting.name for setting in SETTINGS]
    return {name: study[name] for name in sorted(study, key=order.index)}


def best_two_stage(methods: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The two-stage model with the least regret on validation data."""
    return min((record for name, record in methods.items() if name not in METHODS), key=lambda r: r["valid"])


class Difference:
    """Of normalized regrets in percentage points, by seed, and resampled over seeds and then instances."""

    def __init__(self, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], block: int) -> None:
        columns = [(np.array(a["regret"]) - np.array(b["regret"]), np.abs(np.array(a["optimum"]))) for a, b in pairs]
        self.by_seed = np.array([100 * d.sum() / o.sum() for d, o in columns])
        self.mean = float(self.by_seed.mean())
        rng = np.random.default_rng(0)
        drawn = np.stack([_resampled(d, o, block, rng) for d, o in columns], 1)
        seeds = rng.integers(len(columns), size=(RESAMPLES, len(columns)))
        self.draws = np.take_along_axis(drawn, seeds, 1).mean(1)

    @property
    def interval(self) -> tuple[float, float]:
        low, high = np.quantile(self.draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval
        mark = "" if low <= 0 <= high else "**"
        return f"{mark}{self.mean:+.2f}{mark} [{low:+.2f}, {high:+.2f}]"


def _resampled(difference: np.ndarray, optimum: np.ndarray, block: int, rng: np.random.Generator) -> np.ndarray:
    """Of one seed `(RESAMPLES,)`: so many instances in a row at a time, round the end to the first."""
    size = len(difference)
    starts = rng.integers(size, size=(RESAMPLES, -(-size // block), 1))
    index = ((starts + np.arange(block)) % size).reshape(RESAMPLES, -1)[:, :size]
    return 100 * difference[index].sum(1) / optimum[index].sum(1)


def differences(study: Records, method: str, reference: Any) -> dict[str, Difference]:
    """By setting, where the method applies; `reference` picks a record out of those of a seed."""
    found = {}
    for setting in SETTINGS:
        runs = [methods for methods in study.get(setting.name, {}).values() if method in methods]
        if runs:
            pairs = [(methods[method], reference(methods)) for methods in runs]
            found[setting.name] = Difference(pairs, WEEK if setting.dated else 1)
    return found


def level(methods: Iterable[dict[str, Any]]) -> float:
    return float(np.mean([100 * sum(r["regret"]) / np.abs(r["optimum"]).sum() for r in methods]))


def against_start(study: Records) -> Table:
    columns = {method: differences(study, method, lambda methods: methods[START]) for method in METHODS}
    rows = []
    for setting in SETTINGS:
        runs = study.get(setting.name)
        if runs:
            start = level(methods[START] for methods in runs.values())
            cells = [str(columns[method].get(setting.name, "")) for method in METHODS]
            kind = "misspecified" if setting.misspecified else "linear truth"
            rows.append((setting.name, f"{kind}: {setting.what}", f"{start:.2f}", *cells))
    return Table(("setting", "", "start, %", *METHODS), rows)


def against_references(study: Records) -> Table:
    columns = {method: differences(study, method, best_two_stage) for method in TRAINED[:-1]}
    rows = []
    for name, runs in study.items():
        best = [best_two_stage(methods) for methods in runs.values()]
        which = ", ".join(dict.fromkeys(record["method"] for record in best))
        cells = [str(columns[method].get(name, "")) for method in TRAINED[:-1]]
        rows.append((name, which, f"{level(best):.2f}", *cells))
    return Table(("setting", "best two-stage", "%", *TRAINED[:-1]), rows)


def means(study: Records) -> Table:
    """Over the settings where SPO+ applies."""
    common = {name: runs for name, runs in study.items() if all(SPO in methods for methods in runs.values())}
    rows = []
    for method in TRAINED:
        if not all(method in methods for runs in common.values() for methods in runs.values()):
            continue  # it was left out somewhere
        values = [level(methods[method] for methods in runs.values()) for runs in common.values()]
        ahead = differences(common, method, lambda methods: methods[SPO])
        draws = np.mean([difference.draws for difference in ahead.values()], 0)
        low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        seconds = np.mean([m[method]["seconds"] for runs in common.values() for m in runs.values()])
        mean = np.mean([difference.mean for difference in ahead.values()])
        cell = "" if method == SPO else f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
        rows.append((method, f"{np.mean(values):.2f}", cell, f"{seconds:.1f}"))
    return Table(("method", f"mean regret over {len(common)} settings, %", "less SPO+", "seconds"), rows)
