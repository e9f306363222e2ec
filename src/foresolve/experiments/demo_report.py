"""What the demos found, in words, tables and pictures."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from foresolve.experiments.comparison import DECISION_FOCUSED, TWO_STAGE, Result, Trial
from foresolve.experiments.report import line_chart, page, paragraph, subheading, table, write_whole

HEADERS = ("method", "mean value", "normalised regret", "prediction error", "seconds")

RUN = (
    "In each part a network predicts the unknown parameters of a decision problem from features, a solver decides by "
    "the predictions, and the decision is scored under the truth. The same network is trained in two ways, from the "
    "same initial weights, on the same instances. Two-stage minimises the mean squared error of the predictions. "
    "Decision-focused puts a differentiable layer behind the network and maximises what the layer's decision is worth "
    "under the truth."
)
TUNING = (
    "For both, learning rate (and the layer's smoothing, gamma) and the epoch to keep were chosen by the value of the "
    "solver's decisions on the validation instances; this run used the test instances once, for the table."
)
READING = (
    "Value is what the decisions for the predictions are worth under the truth, averaged over the test instances. "
    "Normalised regret is what is lost against the last row, as a share of it. Prediction error is the mean squared "
    "error of the predicted parameters; a decision-focused network is not asked to predict them. Seconds are those of "
    "training all candidates."
)
LIMITS = (
    "The intervals resample test instances; they do not cover the choice of the data, the initial weights or the order "
    "of training, which other seeds change (foresolve demo --seed 1). Sizes were chosen for the demo's running time."
)


def table_rows(result: Result) -> list[tuple[str, ...]]:
    """The table as text, under `HEADERS`."""
    return [
        (
            row.name,
            f"{row.value:.2f}",
            f"{100 * row.normalised_regret:.2f} %",
            "" if row.prediction_error is None else f"{row.prediction_error:.3g}",
            "" if row.seconds is None else f"{row.seconds:.1f}",
        )
        for row in result.rows
    ]


def verdict(result: Result) -> str:
    """The paired difference in one sentence, whichever way it went."""
    mean, low, high = result.difference
    if low > 0:
        outcome = "decision-focused is better"
    elif high < 0:
        outcome = "two-stage is better"
    else:
        outcome = "the data do not tell them apart"
    return (
        f"Decision-focused minus two-stage: {mean:+.2f} per instance, 95 % interval [{low:+.2f}, {high:+.2f}] "
        f"(paired bootstrap over {result.config.test} test instances): {outcome}."
    )


def report_html(results: Sequence[Result]) -> str:
    """The report as one HTML document."""
    sections = [("What was run", [paragraph(text) for text in (RUN, TUNING, READING, LIMITS)])]
    sections += [(result.story.title, _part(result)) for result in results]
    sections.append(("Versions", [table(("package", "version"), list(versions().items()))]))
    return page("Decision-focused against two-stage", sections)


def write_report(results: Sequence[Result], folder: Path) -> Path:
    """Write `report.html` into a folder, which is made if need be."""
    return write_whole(folder / "report.html", report_html(results))


def _part(result: Result) -> list[str]:
    story = result.story
    chart = line_chart(
        {method: trial.history for method, trial in result.chosen.items()},
        {story.best: result.validation_best},
        x_label="epoch",
        y_label="mean value of decisions, validation",
    )
    settings = [(f.name, str(getattr(result.config, f.name))) for f in fields(result.config)]
    return [
        paragraph(story.data),
        table(HEADERS, table_rows(result)),
        paragraph(verdict(result)),
        *(paragraph(text) for text in (story.training, *story.notes)),
        subheading("Validation value per epoch"),
        chart,
        paragraph(_chosen(result)),
        subheading("Candidates"),
        table(("method", "rate", "gamma", "best value", "at epoch", "seconds"), _trials(result)),
        subheading("Settings"),
        table(("setting", "value"), settings),
    ]


def _chosen(result: Result) -> str:
    two_stage, focused = result.chosen[TWO_STAGE], result.chosen[DECISION_FOCUSED]
    return (
        f"Chosen: two-stage with rate {two_stage.rate:g}, epoch {two_stage.epoch}; decision-focused with rate "
        f"{focused.rate:g} and gamma Relative({focused.gamma:g}), epoch {focused.epoch}."
    )


def _trials(result: Result) -> list[tuple[str, ...]]:
    def line(trial: Trial) -> tuple[str, ...]:
        gamma = "" if trial.gamma is None else f"Relative({trial.gamma:g})"
        return (trial.method, f"{trial.rate:g}", gamma, f"{trial.best:.2f}", str(trial.epoch), f"{trial.seconds:.1f}")

    return [line(trial) for trial in result.trials]


def versions() -> dict[str, str]:
    """Those of Python and of the packages that make the numbers."""
    found = {"python": platform.python_version()}
    for name in ("foresolve", "torch", "numpy", "scipy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
