"""What to mind when reading a verdict."""

from __future__ import annotations

from collections.abc import Mapping

from foresolve.learning.inference import Evidence, mean_difference
from foresolve.learning.report import Report
from foresolve.learning.study.catalog import BOOSTED
from foresolve.learning.study.contrast import Contrast
from foresolve.learning.study.facts import FAR, Facts
from foresolve.learning.study.parts import Parts
from foresolve.learning.study.verdict import LEAST_UNITS, Verdict


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
    if reference == "mean":
        told.append("no two-stage model validated better than the mean: features may say little")
        reader = parts.train.reader
        if reader is not None and reader.variable and not {*reader.variable} & {*reader.encoding.titles}:
            columns = ", ".join(f"`{column}`" for column in reader.variable)
            told.append(
                f"unlike the mean, models do not see which variable a row is about: give {columns} an encoding, "
                'such as "category", in `encode`'
            )
    elif "mean" in reports and _difference(reference, "mean", comparison, reports).interval[1] >= 0:
        told.append(f"the best two-stage model ({reference}) is not shown to be better than the mean")
    others = [row.name for row in comparison.rows if row.role == "reference" and row.name not in ("mean", reference)]
    if "mean" in reports:
        worse = [name for name in others if _difference(name, "mean", comparison, reports).interval[0] > 0]
        if worse:
            verb = "decides" if len(worse) == 1 else "decide"
            told.append(f"{' and '.join(worse)} {verb} worse than the mean: comparing with that says little")
    if reference == "last value":
        told.append("the last value is the best two-stage model: add earlier truths as features, `data.lagged(1)`")
    return told


def _of_what_pays(comparison: Contrast, verdict: Verdict, reports: Mapping[str, Report]) -> list[str]:
    """Where training on decisions pays: against other two-stage models too, and against the same model?"""
    if verdict.answer != "pays":
        return []
    others = [row.name for row in comparison.rows if row.role == "reference" and row.name != comparison.reference]
    level = [name for name in others if _difference(verdict.method, name, comparison, reports).interval[1] >= 0]
    told = []
    if level:
        told.append(
            f"{verdict.method} is not shown to be better than {' and '.join(level)}, two-stage too, which validated "
            f"worse than {comparison.reference}: the reference may be an unlucky choice; use more validation data"
        )
    twin = "boosted trees" if verdict.method.startswith(BOOSTED) else "network"
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


def _difference(first: str, second: str, comparison: Contrast, reports: Mapping[str, Report]) -> Evidence:
    """What test data say of the regret of a method less that of another."""
    difference = reports[first].instances["regret"] - reports[second].instances["regret"]
    weights = reports[first].instances.get("weight")
    return mean_difference(difference, weights, reports[first].block, confidence=comparison.confidence, seed=0)
