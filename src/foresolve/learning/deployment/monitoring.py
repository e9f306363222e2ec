"""Monitoring of decisions: regret, drift since training, and whether to train again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.table import Table, Tabular
from foresolve.data.dataset import DecisionDataset
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.origin import Origin
from foresolve.data.inputs import first_table, map_tables
from foresolve.learning.deployment.actuals import read_actuals
from foresolve.learning.deployment.drift import Shift, regret_shift, spread_shifts
from foresolve.learning.deployment.intake import take_in
from foresolve.learning.deployment.training_statistics import Moments, predictions
from foresolve.problems.base import Problem

if TYPE_CHECKING:
    from foresolve.learning.policy import Policy
    from foresolve.learning.report import Report

# Fewer instances say little about anything.
LEAST = 30
SHOWN = 5


@dataclass(frozen=True)
class Monitoring(Tabular):
    """The realized regret of decisions, the drift since training, and whether to train again.

    Attributes
    ----------
    regret, interval: mean regret of the decisions under the actual parameters, in the problem's units, and its
        bootstrap interval (`None` for fewer than two instances).
    normalized_regret: `sum regret / sum |optimum|`.
    recorded: the mean regret on the data that was held out at training; `None` where there was none.
    shifts: every quantity that was compared with training: features, predictions, errors, the regret.
    retrain: whether to train again.
    sentence: why, or why not.
    report: of `evaluate`, a row for each instance.
    left_out: how many instances were not judged, for their truth is not complete.
    """

    regret: float
    interval: tuple[float, float] | None
    normalized_regret: float
    recorded: float | None
    shifts: tuple[Shift, ...] = field(repr=False)
    retrain: bool
    sentence: str
    report: Report = field(repr=False)
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.report)

    @property
    def drifted(self) -> tuple[Shift, ...]:
        """The drifted quantities, the largest shifts first; none where there are too few instances to tell."""
        if len(self) < LEAST:
            return ()
        return tuple(sorted((shift for shift in self.shifts if shift.drifted), key=lambda shift: -shift.excess))

    def to_dict(self) -> dict[str, Any]:
        """Numbers, text and lists, fit for JSON."""
        return {
            "instances": len(self),
            "left_out": self.left_out,
            "regret": self.regret,
            "interval": None if self.interval is None else list(self.interval),
            "normalized_regret": self.normalized_regret,
            "recorded": self.recorded,
            "retrain": self.retrain,
            "sentence": self.sentence,
            "shifts": [shift.to_dict() for shift in self.shifts],
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each quantity that was compared."""
        pandas = need("pandas", "a frame", "learn")
        columns = list(Shift.__dataclass_fields__)
        return pandas.DataFrame([shift.to_dict() for shift in self.shifts], columns=[*columns, "drifted"])

    @property
    def headline(self) -> str:
        """The sentence, with how many decisions it is about and how many are left out."""
        without = f" ({self.left_out} more without their whole truth are left out)" if self.left_out else ""
        return f"{len(self)} decisions{without}: {self.sentence}"

    def _table(self) -> Table:
        span = "" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        rows = [
            ("regret", f"{self.regret:.4g}", span, "" if self.recorded is None else f"{self.recorded:.4g}"),
            ("normalized regret", f"{self.normalized_regret:.2%}", "", ""),
        ]
        for shift in self.drifted[:SHOWN]:
            if shift.kind != "regret":
                rows.append((f"{shift.kind} {shift.name!r}", f"{shift.now:.4g}", "drifted", f"{shift.before:.4g}"))
        if len(self.drifted) > SHOWN:
            rows.append((f"... {len(self.drifted) - SHOWN} more have drifted", "", "", ""))
        return Table(("", "now", "", "at training"), rows, self.headline)


def monitor(
    policy: Policy,
    features: Any,
    actuals: Any,
    problem: Problem | None = None,
    *,
    variable: Any = None,
    value: str | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    confidence: float = 0.95,
) -> Monitoring:
    """What `policy.monitor` documents."""
    from foresolve.learning.evaluation import evaluate  # which scores policies

    checks.one_of("missing", missing, ("refuse", "drop"), "A truth that is filled in is no truth")
    taken = take_in(features, policy.reader, policy.feature_names)
    if problem is None and policy.problem.batch_shape:
        expected = "given where the policy's has data for each instance"
        raise checks.fail("problem", expected, "None", "Pass theirs: `policy.monitor(features, actuals, problem)`")
    decided = policy.problem if problem is None else problem
    count = len(first_table(taken.features))
    theta, places = read_actuals(actuals, decided, taken.keys, count, variable, value, missing)
    seen, keys = _unnamed(taken.features), taken.keys
    if len(places) < count:
        seen, keys = map_tables(lambda table: table[places], seen), None if keys is None else keys.select(places)
        decided = decided.select(torch.from_numpy(places)) if decided.batch_shape else decided
    data = DecisionDataset(seen, theta, decided)
    data.origin = None if keys is None else Origin(keys)  # so that the report names its instances
    report = evaluate(policy, data, metrics=False, confidence=confidence)
    shifts = _shifts(policy, data, report.instances["regret"], _order(keys, len(data)))
    retrain, sentence = _verdict(policy, shifts, len(data))
    statistics = policy.statistics
    recorded = None if statistics is None or statistics.regret is None else float(statistics.regret.mean[0])
    span = report.intervals.get("regret")
    return Monitoring(report.regret, span, report.normalized_regret, recorded, tuple(shifts), retrain, sentence, report,
                      count - len(data))  # fmt: skip


def _unnamed(features: Any) -> Any:
    """A frame as numbers: its columns are in order, and its rows go by position from here on."""
    return features.to_numpy() if hasattr(features, "columns") and hasattr(features, "to_numpy") else features


def _order(keys: Keys | None, count: int) -> np.ndarray:
    """That of time, where instances are dated: neighbors are then alike, and are taken to be."""
    dated = None if keys is None else keys.times
    return np.arange(count) if dated is None else np.argsort(dated, kind="stable")


def _shifts(policy: Policy, data: DecisionDataset, regret: np.ndarray, order: np.ndarray) -> list[Shift]:
    """Of everything that the policy remembers of training."""
    known = policy.statistics
    if known is None:
        return []
    data = data.subset(torch.from_numpy(order))
    theta_hat = predictions(policy, data).reshape(len(data), -1)
    errors = theta_hat - data.theta.cpu().double().reshape(len(data), -1)
    shifts = [
        *spread_shifts("feature", known.features, data.features),
        *spread_shifts("prediction", known.predictions, theta_hat),
    ]
    if known.errors is not None:
        shifts += spread_shifts("error", known.errors, errors)
    if known.regret is not None:
        shifts.append(regret_shift(known.regret, Moments.of(regret[order][:, None])))
    return shifts


def _verdict(policy: Policy, shifts: list[Shift], count: int) -> tuple[bool, str]:
    if count < LEAST:
        return False, f"{count} instances are too few to tell whether anything has changed ({LEAST} are needed)"
    if policy.statistics is None:
        return False, "nothing to compare with: make the policy with `train=` and `valid=`, what it was trained on"
    drifted = {kind: [shift for shift in shifts if shift.kind == kind and shift.drifted]
               for kind in ("feature", "prediction", "error", "regret")}  # fmt: skip
    moved = {kind: some for kind, some in drifted.items() if some and kind in ("feature", "prediction")}
    if drifted["regret"]:
        shift = drifted["regret"][0]
        return True, f"train again: the regret is {shift.now:.4g}, where it was {shift.before:.4g} at training"
    if drifted["error"]:
        told = f"train again: prediction errors have changed, for {_named(drifted['error'])}"
        return True, told
    if policy.statistics.regret is None and moved:
        told = f"train again: {_drifted(moved)}, and no regret of training is known to compare with"
        return True, told
    if moved:
        return (
            False,
            f"no need to train again: {_drifted(moved)}, but decisions are as good as before",
        )
    return False, "no need to train again: nothing has drifted beyond chance"


def _drifted(moved: dict[str, list[Shift]]) -> str:
    """Which quantities have drifted, as the beginning of a sentence."""
    parts = [f"{len(some)} {kind}{'s' if len(some) > 1 else ''} ({_named(some)})" for kind, some in moved.items()]
    verb = "has" if sum(map(len, moved.values())) == 1 else "have"
    return f"{' and '.join(parts)} {verb} drifted"


def _named(shifts: list[Shift]) -> str:
    ordered = sorted(shifts, key=lambda shift: -shift.excess)
    return ", ".join(repr(shift.name) for shift in ordered[:3]) + (", ..." if len(shifts) > 3 else "")
