"""Warnings for the reader of a verdict."""

from __future__ import annotations

from collections.abc import Mapping

from foresolve.learning.comparison import report_gains
from foresolve.learning.paired import LEAST_UNITS, PairedComparison, Standing, paired
from foresolve.learning.report import Report
from foresolve.learning.study.contrast import Contrast
from foresolve.learning.study.facts import FAR, Facts
from foresolve.learning.study.methods import MeanMethod
from foresolve.learning.study.parts import Parts
from foresolve.learning.study.verdict import Verdict

MEAN = MeanMethod.info.name


def cautions(
    comparison: Contrast, verdict: Verdict, parts: Parts, facts: Facts, reports: Mapping[str, Report]
) -> list[str]:
    """Warnings for the reader of a verdict; they choose nothing."""
    return [
        *_of_the_reference(comparison, parts, reports),
        *_of_what_pays(comparison, verdict, reports),
        *_of_the_data(comparison, parts, facts),
    ]


def _of_the_reference(comparison: Contrast, parts: Parts, reports: Mapping[str, Report]) -> list[str]:
    told, reference = [], comparison.reference
    if reference == MEAN:
        told.append("no two-stage model validated better than the mean: features may say little")
        reader = parts.train.reader
        if reader is not None and reader.variable and not {*reader.variable} & {*reader.encoding.titles}:
            columns = ", ".join(f"`{column}`" for column in reader.variable)
            told.append(
                f"unlike the mean, models do not see which variable a row is about: give {columns} an encoding, "
                'such as "category", in `encode`'
            )
    elif MEAN in reports and _beside(reference, MEAN, comparison, reports).standing is not Standing.AHEAD:
        told.append(f"the best two-stage model ({reference}) is not shown to be better than the mean")
    if MEAN in reports:
        others = [row.name for row in comparison.references if row.name not in (MEAN, reference)]
        worse = [name for name in others if _beside(name, MEAN, comparison, reports).standing is Standing.BEHIND]
        if worse:
            verb = "decides" if len(worse) == 1 else "decide"
            told.append(f"{' and '.join(worse)} {verb} worse than the mean: comparing with that says little")
    if not comparison[reference].method.deployable:
        told.append(f"the {reference} is the best two-stage model: add earlier truths as features, `data.lagged(1)`")
    return told


def _of_what_pays(comparison: Contrast, verdict: Verdict, reports: Mapping[str, Report]) -> list[str]:
    """Reasons to doubt that training on decisions pays: other two-stage models, and the same model."""
    if verdict.answer != "pays":
        return []
    others = [row.name for row in comparison.references if not row.is_reference]
    level = [
        name for name in others
        if _beside(verdict.method, name, comparison, reports).standing is not Standing.AHEAD
    ]  # fmt: skip
    told = []
    if level:
        told.append(
            f"{verdict.method} is not shown to be better than {' and '.join(level)}, two-stage too, which validated "
            f"worse than {comparison.reference}: the reference may be an unlucky choice; use more validation data"
        )
    twin = comparison[verdict.method].method.twin
    if twin not in reports:
        told.append(
            f'"{twin}" is not among the references: what pays may be the model, and not that it is trained on decisions'
        )
    return told


def _of_the_data(comparison: Contrast, parts: Parts, facts: Facts) -> list[str]:
    told = []
    if comparison.units < LEAST_UNITS:
        what = comparison.counted
        remedy = f"at least {LEAST_UNITS} are needed; use more data, or a larger test share"
        told.append(f"{what} {'is' if comparison.units == 1 else 'are'} too few for any claim: {remedy}")
    if not parts.test.problem.exact:
        told.append(
            "the solver is a heuristic: regret is against its decisions under the truth, and below zero where others "
            "are better"
        )
    if facts.far:
        told.append(
            f"parameters are more than {FAR:,.0f} times as large as their deviations, which networks, in single "
            "precision, hardly see: subtract what is common to all"
        )
    if parts.repeated:
        count = f"{parts.repeated} of {comparison.instances} test instances"
        told.append(f"{count} have the features and parameters of other instances that models were trained on")
    if parts.left_out:
        told.append(f"{parts.left_out} instances whose truth was filled in are not scored")
    if parts.incomplete:
        told.append(f"{parts.incomplete} instances are in no part: entries of theirs are missing")
    return told


def _beside(first: str, second: str, comparison: Contrast, reports: Mapping[str, Report]) -> PairedComparison:
    """The gain of a method over another on test data."""
    report, other = reports[first], reports[second]
    gained, weights = report_gains(report, other), report.instances.get("weight")
    return paired(first, second, gained, weights, report.block, confidence=comparison.confidence, seed=0)
