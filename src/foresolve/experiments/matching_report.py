"""What the matching demo found, in words, tables and a picture."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from foresolve.experiments.matching_demo import DECISION_FOCUSED, TWO_STAGE, DemoResult, Trial
from foresolve.experiments.report import line_chart, page, paragraph, table, write_whole

HEADERS = ("method", "mean value", "normalised regret", "prediction error", "seconds")

DATA = (
    "Each instance has papers on the left and papers on the right; every pair has a worth, and each paper may be in "
    "one pair. The worth is how much the left paper cites in general, plus how much the right one is cited in "
    "general, plus how close their topics are, plus a little noise. The first two terms make most of the variance of "
    "the worth, but every perfect matching collects the same sum of them: only the closeness of topics tells "
    "matchings apart."
)
METHODS = (
    "Both methods train the same small network, from the same initial weights, on the same instances. Two-stage "
    "minimises the mean squared error of the predicted worths. Decision-focused puts the QuadraticRelaxation layer "
    "behind the network and maximises what its matching is worth under the truth. For both, learning rate (and gamma) "
    "and the epoch to keep were chosen by the value of exact matchings on the validation instances; the test instances "
    "were used once, for the table."
)
READING = (
    "Value is what the exact matching for the predictions is worth under the truth, averaged over the test instances. "
    "Normalised regret is what is lost against the optimum, as a share of it. Prediction error is the mean squared "
    "error of the predicted worths; the decision-focused network is not asked to predict them and is free to add "
    "whatever does not change the matching, so its error says little. Seconds are those of training all candidates."
)
LIMITS = (
    "The interval resamples test instances; it does not cover the choice of the data, the initial weights or the order "
    "of training, which other seeds change. The network is small on purpose: a larger one (foresolve demo --hidden 32) "
    "fits all three terms in two stages too, and little or nothing is left to gain."
)


def table_rows(result: DemoResult) -> list[tuple[str, ...]]:
    """The table as text, under `HEADERS`."""
    return [
        (
            row.name,
            f"{row.value:.2f}",
            f"{100 * row.normalised_regret:.2f} %",
            "" if row.prediction_error is None else f"{row.prediction_error:.3f}",
            "" if row.seconds is None else f"{row.seconds:.1f}",
        )
        for row in result.rows
    ]


def verdict(result: DemoResult) -> str:
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


def report_html(result: DemoResult) -> str:
    """The report as one HTML document."""
    curves = {method: trial.history for method, trial in result.chosen.items()}
    chart = line_chart(
        curves, result.validation_limits, x_label="epoch", y_label="mean value of exact matchings, validation"
    )
    settings = [(f.name, str(getattr(result.config, f.name))) for f in fields(result.config)]
    sections = [
        ("Result", [table(HEADERS, table_rows(result)), paragraph(verdict(result)), paragraph(READING)]),
        ("Data", [paragraph(DATA)]),
        ("Methods", [paragraph(METHODS), paragraph(LIMITS)]),
        ("Validation value per epoch", [chart, paragraph(_chosen(result))]),
        ("Candidates", [table(("method", "rate", "gamma", "best value", "at epoch", "seconds"), _trials(result))]),
        ("Settings", [table(("setting", "value"), settings)]),
        ("Versions", [table(("package", "version"), list(result.versions.items()))]),
    ]
    return page("Matching, decision-focused against two-stage", sections)


def write_report(result: DemoResult, folder: Path) -> Path:
    """Write `report.html` into a folder, which is made if need be."""
    return write_whole(folder / "report.html", report_html(result))


def _chosen(result: DemoResult) -> str:
    two_stage, focused = result.chosen[TWO_STAGE], result.chosen[DECISION_FOCUSED]
    return (
        f"Chosen: two-stage with rate {two_stage.rate:g}, epoch {two_stage.epoch}; decision-focused with rate "
        f"{focused.rate:g} and gamma Relative({focused.gamma:g}), epoch {focused.epoch}."
    )


def _trials(result: DemoResult) -> list[tuple[str, ...]]:
    def line(trial: Trial) -> tuple[str, ...]:
        gamma = "" if trial.gamma is None else f"Relative({trial.gamma:g})"
        return (trial.method, f"{trial.rate:g}", gamma, f"{trial.best:.2f}", str(trial.epoch), f"{trial.seconds:.1f}")

    return [line(trial) for trial in result.trials]
