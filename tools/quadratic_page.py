"""Put the tables and figures of the domains with quadratic programs into their page.

`python tools/quadratic_page.py RUNS`, where `RUNS` holds the folders `portfolio-exact` and `tracking-exact` that
`foresolve reproduce portfolio --out RUNS/portfolio-exact`, and the same for tracking, wrote.

The page has a pair of comments around each table, `<!-- portfolio -->` and `<!-- /portfolio -->`; what lies between is
replaced. Text is left alone. The best two-stage model of a split is the one whose decisions are worth the most on
the validation instances. Records have that number for networks; for the others it is worked out here: they are fitted
without the validation instances, and what they then decide on these is scored.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from foresolve import evaluate
from foresolve._base.drawing.palette import Role, color_of
from foresolve._base.drawing.rendering import to_png
from foresolve._base.randomness import generator
from foresolve._base.table import Cell, Table
from foresolve._base.text import listed
from foresolve.report.formats import MEASURE_FORMATS, mean_cell
from foresolve.report.records import Config, MethodInfo, Record
from foresolve.report.summary import CHOSEN, OPT, Estimate, chosen, estimate
from foresolve.reproduce.domains.methods import ForestMethod
from foresolve.reproduce.domains.registry import find_domain
from foresolve.reproduce.runs.folder import Run
from foresolve.reproduce.runs.jobs import InstanceCache
from foresolve.reproduce.runs.split import Split
from foresolve.reproduce.runs.trial import FOREST, SPLIT

try:
    from tools.results_page import filled
except ModuleNotFoundError:  # a script sees its own folder
    from results_page import filled

PAGE = Path(__file__).parents[1] / "docs" / "results_quadratic.md"
DOMAINS = ("portfolio", "tracking")
MSE = MEASURE_FORMATS["mse"]
BEST, MEAN = "Best two-stage", "Mean"
Records = dict[str, dict[int, Record]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of the folders portfolio-exact and tracking-exact")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--domains", nargs="+", default=DOMAINS, choices=DOMAINS)
    given = parser.parse_args()
    results = given.page.parent / "results"
    results.mkdir(exist_ok=True)
    text = given.page.read_text(encoding="utf-8")
    for domain in given.domains:
        run = Run.read(given.runs / f"{domain}-exact")
        rows = summarized(run.config, with_choices(run.config, run.records))
        text = filled(text, domain, "\n".join([*sentences(run, rows), "", table(rows).markdown()]))
        (results / f"{domain}-exact.csv").write_text(figures(rows).csv(), encoding="utf-8")
        (results / f"{domain}-exact-differences.png").write_bytes(chart(rows))
    given.page.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Row:
    """A method over the splits: values, normalized regrets, MSEs, and what it is ahead of the two references."""

    method: str
    role: Role
    value: Estimate
    regret: Estimate
    ahead: Estimate  # of the best two-stage model, chosen in each split
    ahead_of_own: Estimate | None  # of the two-stage training of the same architecture
    mse: float | None
    seconds: float  # the median of a split: others may have used the machine meanwhile
    chosen: dict[str, int]  # how often a model was taken, where it is a choice


def with_choices(config: Config, records: Sequence[Record]) -> Records:
    """Records by method and split, the two choices on validation instances among them; of splits that are finished."""
    jobs = Counter(record.split for record in records)
    records = [record for record in records if jobs[record.split] == len(config.methods)]
    trained = {name for name in config.methods if facts(config, name).role == "two-stage"}
    validated = [replace(r, validation=_validation(config, r)) if r.method in trained else r for r in records]
    references = [r for r in validated if r.method in trained]
    choices = [replace(r, method=BEST) for r in chosen(references, config.methods)]
    everything = [*validated, *choices, *chosen(validated, config.methods)]
    order = [name for name in config.methods if name != OPT]
    return {name: {r.split: r for r in everything if r.method == name} for name in (*order, BEST, CHOSEN, OPT)}


def facts(config: Config, method: str) -> MethodInfo:
    """Facts about a method of the domain, or about a choice among them."""
    return find_domain(config.domain).info.methods.get(method, MethodInfo("choice"))


CACHE = InstanceCache()


def _validation(config: Config, record: Record) -> float:
    """What a two-stage model is worth on the validation instances of a split, which it has not seen."""
    if record.validation is not None:
        return record.validation
    data, method = CACHE.data(config, record.k), find_domain(config.domain).methods(config)[record.method]
    assert isinstance(method, ForestMethod)
    split = Split.draw(len(data), generator(config.seed, SPLIT, record.split))
    seed = generator(config.seed, FOREST, record.split).initial_seed() % 2**31
    model = method.model(data, seed).fit(data.subset(split.part))
    return evaluate(model, data.subset(split.valid), metrics=False, bootstrap=0).value


def summarized(config: Config, records: Records) -> list[Row]:
    """One row for each method, in the order of `records`."""

    def mean(sample: list[float]) -> Estimate:
        return estimate(sample, seed=config.seed)

    rows: list[Row] = []
    for method, by_split in records.items():
        runs = [by_split[split] for split in sorted(by_split)]
        known = facts(config, method)
        own = records.get(replace(known, training="2Stage", variant="").name) if known.learned else None
        gaps = [r.value - records[BEST][r.split].value for r in runs]
        mses = [r.mse for r in runs if r.mse is not None]
        rows.append(
            Row(
                method,
                known.role,
                mean([r.value for r in runs]),
                mean([(r.optimum - r.value) / abs(r.optimum) for r in runs]),
                mean(gaps),
                None if own is None else mean([r.value - own[r.split].value for r in runs]),
                sum(mses) / len(mses) if len(mses) == len(runs) else None,
                median(r.seconds for r in runs),
                dict(Counter(r.setting["method"] for r in runs)) if method in (BEST, CHOSEN) else {},
            )
        )
    return rows


def sentences(run: Run, rows: Sequence[Row]) -> list[str]:
    """What the table does not say: how many splits, what was chosen, who loses to the mean."""
    by_name = {row.method: row for row in rows}
    taken = {
        name: listed([f"{method} in {count}" for method, count in Counter(by_name[name].chosen).most_common()])
        for name in (BEST, CHOSEN)
    }
    mean = by_name[MEAN].value.mean
    losing = [row.method for row in rows if row.method not in (MEAN, "Random") and row.value.mean <= mean]
    codes, versions = ", ".join(sorted(run.codes)), run.environment
    return [
        f"{by_name[OPT].value.splits} splits, code `{codes}`, torch {versions.get('torch', '?')}, "
        f"{sum(row.seconds * row.value.splits for row in rows if not row.chosen) / 60:.0f} minutes on one core.",
        f"{BEST}: {taken[BEST]} of the splits. {CHOSEN}, among networks and two-stage models: {taken[CHOSEN]}.",
        f"No better than the mean of the parameters: {listed(losing)}." if losing else "All that learn beat the mean.",
    ]


def table(rows: Sequence[Row]) -> Table:
    """For reading."""
    places = 4 if all(abs(row.value.mean) < 1 for row in rows) else 2
    best = max(row.value.mean for row in rows if row.method not in ("True means", BEST, CHOSEN, OPT))
    lines = [
        (
            row.method,
            mean_cell(row.value, places, bold=row.value.mean == best and row.method != BEST),
            f"{100 * row.regret.mean:.2f} %",
            _gap(None if row.method in (BEST, OPT, "Random") else row.ahead, places),
            _gap(None if row.role == "two-stage" else row.ahead_of_own, places),
            "" if row.mse is None else f"{MSE.scale * row.mse:.{MSE.digits}f}",
        )
        for row in rows
    ]  # fmt: skip
    heads = ("method", "value", "normalized regret", "less the best two-stage", "less its own two-stage",
             MSE.header)  # fmt: skip
    return Table(heads, lines)


def _gap(gap: Estimate | None, places: int) -> Cell:
    if gap is None or gap.low is None or gap.high is None:
        return Cell()
    if gap.low == gap.high == 0.0:
        return Cell("0")
    places += 1  # differences are smaller than values
    interval = f"[{gap.low:+.{places}f}, {gap.high:+.{places}f}]"
    return Cell(f"{gap.mean:+.{places}f}", interval, bold=gap.low > 0)


def figures(rows: Sequence[Row]) -> Table:
    """In full precision."""
    names = ("value", "regret", "ahead", "ahead_of_own")
    heads = ("method", "splits", *(f"{name}{end}" for name in names for end in ("", "_low", "_high")), "mse", "seconds")
    lines = []
    for row in rows:
        estimates = [getattr(row, name) for name in names]
        numbers = [n for e in estimates for n in ((None,) * 3 if e is None else (e.mean, e.low, e.high))]
        lines.append((row.method, row.value.splits, *numbers, row.mse, row.seconds))
    return Table(heads, lines)


def chart(rows: Sequence[Row]) -> bytes:
    """Differences from the best two-stage model with their intervals; the mean and chance, far off, are left out."""
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.method not in (MEAN, "Random", OPT, BEST)]
    figure = Figure(figsize=(6.4, 0.9 + 0.27 * len(shown)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(0.0, color="#333333", linestyle="--", linewidth=1)
    for height, row in enumerate(shown):
        color = color_of("reference" if row.role in ("choice", "heuristic") else row.role)
        if row.ahead.low is not None and row.ahead.high is not None:
            axis.plot([row.ahead.low, row.ahead.high], [height, height], color=color, linewidth=2)
        axis.plot([row.ahead.mean], [height], "o", color=color, markersize=5)
    axis.set_yticks(range(len(shown)), [row.method for row in shown])
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.grid(axis="x", color="#e5e5e5")
    axis.set_xlabel("value less that of the best two-stage model of the split")
    return to_png(figure)


if __name__ == "__main__":
    main()
