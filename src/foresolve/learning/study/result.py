"""The result of a study."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from torch import nn

from foresolve._base import checks
from foresolve._base.drawing.rendering import with_picture
from foresolve._base.extras import need
from foresolve._base.progress import duration
from foresolve._base.table import Table, Tabular
from foresolve.learning.examples import COUNT, examples
from foresolve.learning.pictures.instance import draw_instance
from foresolve.learning.policy import Policy
from foresolve.learning.report import Report
from foresolve.learning.study.budget import Plan
from foresolve.learning.study.contrast import Contrast
from foresolve.learning.study.parts import Parts
from foresolve.learning.study.running import best_trial
from foresolve.learning.study.study_pictures import draw_cost
from foresolve.learning.study.trial import Trial
from foresolve.learning.study.verdict import Verdict

WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class Study(Tabular):
    """The answer of `foresolve.study`, with all results behind it; `print` it.

    Attributes
    ----------
    verdict: the answer, and a sentence in the user's units.
    comparison: every method on test data, against `reference`.
    reference: the best two-stage model on validation data.
    chosen: the method to deploy: the decision-focused one of the verdict if it pays, else `reference`.
    trials: everything that was trained: method, settings, regret on validation data, seconds.
    failures: why methods could not be trained, by name.
    reports: of each method on test data, as in `evaluate`.
    warnings: what to mind when reading the verdict.
    plan: epochs, trees and trials, and what of them the time budget reduced.
    parts: training, validation and test data.
    seconds: that it took, those of earlier sessions included.
    """

    verdict: Verdict
    comparison: Contrast
    reference: str
    chosen: str
    trials: tuple[Trial, ...]
    failures: dict[str, str]
    reports: dict[str, Report] = field(repr=False)
    warnings: tuple[str, ...]
    plan: Plan = field(repr=False)
    parts: Parts = field(repr=False)
    seconds: float
    units: str = ""
    _load: Callable[[Trial], nn.Module] = field(repr=False, default=lambda trial: nn.Identity())

    @property
    def deployable(self) -> list[str]:
        """The names of the methods that decide from features alone."""
        return [row.name for row in self.comparison.rows if row.method.deployable]

    def trial(self, name: str | None = None) -> Trial:
        """The trial of a method that validated best; of the chosen one by default."""
        name = self.chosen if name is None else name
        checks.one_of("name", name, [row.name for row in self.comparison.rows])
        trial = best_trial(self.trials, name)
        assert trial is not None
        return trial

    def model(self, name: str | None = None) -> nn.Module:
        """The trained model of a method, that of the best trial; of the chosen one by default."""
        return self._load(self.trial(name))

    def policy(self, name: str | None = None) -> Policy:
        """A policy of a method's model, to save and to call; of the chosen one by default.

        Errors and regret to monitor it by are those on test data, on which nothing was chosen: on validation data, the
        best of several trials looks too good. A method that is not deployable, such as "last value", raises an error:
        it decides from earlier true parameters, not from these features.
        """
        trial = self.trial(name)
        if not self.comparison[trial.method].method.deployable:
            expected = "a method that decides from features alone"
            got = f"{trial.method!r}, which needs the true parameters of earlier rows"
            remedy = "Append these to the features (`data.lagged(1)`), or take the policy of another method"
            raise checks.fail("name", expected, got, remedy)
        train, model = self.parts.train, self.model(trial.method)
        return Policy(model, train.problem, train=train, valid=self.parts.test, record=self.record(trial.method))

    def examples(self, count: int = COUNT) -> dict[str, Any]:
        """Predictions and decisions of the methods on some test instances, and their costs; fit for JSON."""
        return examples({name: self.model(name) for name in self.deployable}, self.parts.test, count=count)

    def record(self, name: str | None = None) -> dict[str, Any]:
        """The training of a method's model and its value on test data, fit for JSON."""
        trial = self.trial(name)
        row = self.comparison[trial.method]
        sizes = {part: len(getattr(self.parts, part)) for part in ("train", "valid", "test")}
        return {
            "method": trial.method, "family": trial.family, "settings": trial.settings, "epochs": self.plan.epochs,
            "trees": self.plan.trees, "valid_regret": trial.regret, "test_regret": row.regret, "test_value": row.value,
            "units": self.units, "instances": sizes, "verdict": self.verdict.sentence,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All numbers, without instances and weights, fit for JSON."""
        return {
            "verdict": self.verdict.to_dict(),
            "comparison": self.comparison.to_dict(),
            "reference": self.reference,
            "chosen": self.chosen,
            "trials": [trial.to_dict() for trial in self.trials],
            "failures": dict(self.failures),
            "warnings": list(self.warnings),
            "plan": self.plan.to_dict(),
            "instances": {part: len(getattr(self.parts, part)) for part in ("train", "valid", "test")},
            "units": self.units,
            "seconds": self.seconds,
        }

    def to_frame(self) -> Any:
        """The comparison as a pandas DataFrame, with settings and regret on validation data."""
        need("pandas", "a table", "learn")
        frame = self.comparison.to_frame()
        trials = [self.trial(name) for name in frame.index]
        frame["valid_regret"] = [trial.regret for trial in trials]
        frame["settings"] = [str(trial.settings) for trial in trials]
        return frame

    def plot(self, ax: Any = None) -> Any:
        """A forest plot on matplotlib axes, which are given back: what each method gains over the best two-stage."""
        return self.comparison.plot(ax, unit=self.units)

    def plot_cost(self, ax: Any = None) -> Any:
        """Seconds of training against regret on test data, on matplotlib axes, which are given back."""
        return draw_cost(self, ax)

    def draw_instance(self, index: int = 0, **options: Any) -> Any:
        """One test instance as the reference and the chosen method see it: a matplotlib figure of `draw_instance`."""
        names = dict.fromkeys([self.reference, self.verdict.method])
        models = {name: self.model(name) for name in names if name in self.deployable}
        return draw_instance(models, self.parts.test, index, **options)

    def __repr__(self) -> str:
        methods = len(self.comparison.rows)
        return f"Study({self.verdict.answer}: {self.verdict.method} against {self.reference}, {methods} methods)"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(line)}</li>" for line in self.warnings)
        notes = f"<ul>{notes}</ul>" if notes else ""
        html = f"<p><b>{escape(self.verdict.sentence)}</b></p>\n{super()._repr_html_()}\n{notes}"
        return with_picture(html, f"gained over {self.reference}", self.plot)

    def __str__(self) -> str:
        count = len(self.comparison.references)
        chosen = f"Reference: {self.reference}, of {count} two-stage models the best on {len(self.parts.valid)} "
        chosen += (
            f"validation instances. {_count(len(self.trials), 'trial')}, {_count(self.plan.epochs, 'epoch')}, "
            f"{duration(self.seconds)}."
        )
        failed = [f"{name} failed: {reason}" for name, reason in self.failures.items()]
        notes = [f"- {line}" for line in (*failed, *self.warnings)]
        wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in notes]
        head = [textwrap.fill(self.verdict.sentence, WIDTH), "", textwrap.fill(chosen, WIDTH), ""]
        return "\n".join([*head, self._table().text(), *([""] if wrapped else []), *wrapped])

    def _table(self) -> Table:
        return self.comparison.scores(units=self.units)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
