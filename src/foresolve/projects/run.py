"""A run: the folder that training leaves behind, with all that deciding and judging need."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from foresolve._base import checks, files, reading
from foresolve._base.container import Container
from foresolve._base.table_files import read_table
from foresolve.errors import FileError, ForesolveWarning
from foresolve.learning.policy import Policy
from foresolve.learning.study.contrast import Contrast
from foresolve.projects.columns import table
from foresolve.projects.deciding import CHUNK, POLICY, RECORD, Decided, Form, decide_file
from foresolve.projects.scores import scores_of
from foresolve.projects.settings import Settings
from foresolve.projects.toml import NAME

if TYPE_CHECKING:
    from foresolve.learning.deployment.monitoring import Monitoring
    from foresolve.learning.report import Report
    from foresolve.learning.study.result import Study

AGAIN = "Train again, or read it with the version that wrote it"
RUN = Container("a run", "foresolve run", 2, older=(1,))
STUDY_RESULT = Container("what a study found", "foresolve study result", 3, remedy=AGAIN)
EXAMPLES_SHOWN = Container("examples of a study", "foresolve study examples", 1)
STUDY, SCORES, EXAMPLES = "study.json", "scores.csv", "examples.json"
POLICIES, TRAINING = "policies", "training"


class Run:
    """The folder of a project's finished study.

    The folder has the settings (`foresolve.toml`), what the study found (`study.json`), the scores of every method on
    each test instance (`scores.csv`), a few of these instances to look at (`examples.json`), the policy to deploy
    (`policy/`), others that were asked for (`policies/`), and what training needs to continue after it was stopped
    (`training/`).

    Attributes
    ----------
    folder: where it is.
    settings: that it was trained with.
    record: what it is: version, date, method of its policy.
    """

    def __init__(self, folder: Path, settings: Settings, record: dict[str, Any]) -> None:
        self.folder, self.settings, self.record = folder, settings, record

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """A run that has finished."""
        folder = checks.path("folder", folder)
        path = folder / RECORD
        if not path.is_file():
            if (folder / TRAINING).is_dir():
                raise FileError(folder, "holds a run that has not finished", "Continue it: `foresolve train --resume`")
            raise FileError(folder, "holds no run", "`foresolve train` makes one")
        record = RUN.read(path)
        files.field(record, "policy", str, path)
        if not all(isinstance(name, str) for name in files.field(record, "policies", list, path)):
            raise FileError(path, "is damaged: `policies` must be names")
        return cls(folder, Settings.read(folder / NAME, files=False), record)

    @classmethod
    def write(
        cls, folder: Path, settings: Settings, study: Study, keep: Sequence[str] = (), budget: float | None = None
    ) -> Self:
        """Keep what a study found; `keep` names methods whose policies are kept beside the chosen one's, or "all";
        `budget` is what it had instead of that of the settings.
        """
        names = study.deployable
        kept = names if "all" in keep else [name for name in dict.fromkeys(keep) if name in names]
        for name in keep:
            if name not in [*names, "all"]:
                checks.warn(f"the policy of {name!r} is not kept: {_why_not(study, name)}", ForesolveWarning)
        files.write_text(folder / NAME, settings.text)
        method, note = _deployed(study)
        STUDY_RESULT.write(folder / STUDY, study.to_dict())
        files.write_text(folder / SCORES, scores_of(study).to_csv(index=False, lineterminator="\n"))
        EXAMPLES_SHOWN.write(folder / EXAMPLES, study.examples())
        study.policy(method).save(folder / POLICY)
        for name in kept:
            study.policy(name).save(folder / POLICIES / slug(name))
        record = {
            "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "problem": settings.problem, "policy": method, "note": note, "policies": kept, "budget": budget,
            "files": {key: files.sha256(settings.file(section, key)) for section, key in settings.files()},
        }  # fmt: skip
        RUN.write(folder / RECORD, record)  # last: now it has finished
        return cls(folder, settings, RUN.sealed(record))

    @property
    def method(self) -> str:
        """The method of the policy."""
        return str(self.record["policy"])

    @property
    def note(self) -> str:
        """Remarks on the policy; mostly empty."""
        return str(self.record.get("note", ""))

    def study(self) -> dict[str, Any]:
        """The results of the study, as in `Study.to_dict`."""
        path = self.folder / STUDY
        if self.record["schema"] in RUN.older:
            raise FileError(path, "was written by an older version of foresolve", AGAIN)
        return STUDY_RESULT.read(path)

    def comparison(self) -> Contrast:
        """Every method of the study on test data, as in `Study.comparison`."""
        study = self.study()
        with reading.understood(self.folder / STUDY):
            return Contrast.from_dict(study["comparison"])

    def verdict(self) -> dict[str, Any]:
        """The verdict of the study, with its `sentence`."""
        path = self.folder / STUDY
        verdict = files.field(self.study(), "verdict", dict, path)
        files.field(verdict, "sentence", str, path)
        return verdict

    def examples(self) -> dict[str, Any]:
        """A few test instances, as `Study.examples` says them; none in old runs."""
        path = self.folder / EXAMPLES
        return EXAMPLES_SHOWN.read(path) if path.is_file() else {"instances": []}

    def scores(self, method: str | None = None) -> Any:
        """A frame with the score of a method on each test instance; by default that of the policy's."""
        scores = read_table(self.folder / SCORES)
        if "method" not in scores.columns:
            raise FileError(self.folder / SCORES, "is damaged: it has no column `method`")
        if method is None and self.method not in set(scores["method"]):
            raise FileError(self.folder / SCORES, f"is damaged: it has no scores of {self.method[:60]!r}")
        method = checks.one_of("method", method or self.method, list(dict.fromkeys(scores["method"])))
        return scores[scores["method"] == method].reset_index(drop=True)

    def policy(self, method: str | None = None) -> Policy:
        """The policy that the study chose, or another that was kept."""
        return Policy.load(self.policy_folder(method))

    def policy_folder(self, method: str | None = None) -> Path:
        """The folder of a policy."""
        if method is None or method == self.method:
            return self.folder / POLICY
        kept = [self.method, *self.record["policies"]]
        remedy = f"Keep it when training: `foresolve train --keep {method!r}`"
        checks.one_of("method", method, kept, checks.did_you_mean(method, kept) or remedy)
        return self.folder / POLICIES / slug(method)

    def decide(
        self,
        data: str | Path,
        out: str | Path,
        *,
        method: str | None = None,
        form: Form = "long",
        certify: bool = False,
        chunk: int = CHUNK,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Decided:
        """Decide every instance of a file: `decide_file` with the run's policy."""
        return decide_file(self.policy(method), data, out, form=form, certify=certify, chunk=chunk, progress=progress)

    def evaluate(
        self, data: Any, actuals: Any = None, *, method: str | None = None, missing: str | None = None
    ) -> Report:
        """The policy's score on instances whose truth is known, values in the user's own sense: a cost is a cost.

        `data`, `actuals` and `missing` as for `monitor`; a warning says how many instances are left out.
        """
        policy = self.policy(method)
        monitoring = self._monitoring(policy, data, actuals, missing)
        report = monitoring.report
        if monitoring.left_out:
            checks.warn(f"{monitoring.left_out} instances without their whole truth are left out", ForesolveWarning)
        return report if policy.problem.sense == "max" else _as_costs(report)

    def monitor(
        self, data: Any, actuals: Any = None, *, method: str | None = None, missing: str | None = None
    ) -> Monitoring:
        """The realized regret of decisions, and the drift since training.

        `actuals` has the columns that the parameters had in training; `None` where they are columns of `data`.
        `missing` says what becomes of instances whose truth is not complete: "drop" leaves them out, "refuse" does not;
        by default they are left out unless missing ones were refused in training.
        """
        return self._monitoring(self.policy(method), data, actuals, missing)

    def _monitoring(self, policy: Policy, data: Any, actuals: Any, missing: str | None) -> Monitoring:
        own = self.settings.values.data
        actuals = data if actuals is None else actuals
        if isinstance(actuals, str | Path):
            actuals = table(self.settings, Path(actuals))
        if missing is None:
            missing = "refuse" if own.missing.parameters == "refuse" else "drop"
        return policy.monitor(data, actuals, variable=own.variable, value=own.value, missing=missing)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.settings.problem}, policy of {self.method})"


def _as_costs(report: Report) -> Report:
    """The same with values as costs: `evaluate` has all objectives maximized."""
    instances, spans = dict(report.instances), dict(report.intervals)
    for name in ("value", "optimum"):
        instances[name] = -instances[name]
        if name in spans:
            low, high = spans[name]
            spans[name] = (-high, -low)
    return replace(report, value=-report.value, optimum=-report.optimum, instances=instances, intervals=spans)


def _deployed(study: Study) -> tuple[str, str]:
    """The method to deploy, and a remark on it."""
    if study.chosen in study.deployable:
        return study.chosen, ""
    best = min(study.deployable, key=lambda name: study.trial(name).rank)
    note = (
        f"the {study.chosen} is the best, but it needs the truth of an earlier instance, which is no feature: the "
        f"policy is that of {best}. Give earlier truths as features to do better"
    )
    return best, note


def _why_not(study: Study, name: str) -> str:
    """The reason why a method has no policy to keep."""
    if any(row.name == name for row in study.comparison):
        return "it needs the truth of an earlier instance, which is no feature"
    return study.failures.get(name, "it was not trained")


def slug(method: str) -> str:
    """The name of a method as that of a folder.

    >>> slug("boosted spo+")
    'boosted-spoplus'
    """
    return re.sub(r"\W+", "-", method.replace("+", "plus")).strip("-")
