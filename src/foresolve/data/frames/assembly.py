"""From a user's tables to those of a data set, matched by key and by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from foresolve._base import checks, frames
from foresolve._base.table_files import TableFile
from foresolve.data.frames import filling
from foresolve.data.frames.columns import feature_reader, instance_times, parameter_table, weight_column
from foresolve.data.frames.forms import Form, as_theta, joined, named_axes
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.leaks import check_leaks
from foresolve.data.frames.missing import Missing, Rule, as_rules, warn_of_same_times
from foresolve.data.frames.origin import Origin
from foresolve.data.frames.reader import FrameReader, RawTable, as_features
from foresolve.data.precision import warn_of_lost_digits
from foresolve.problems.base import Problem


class Tables(NamedTuple):
    """What a data set is made of."""

    features: Tensor
    theta: Tensor
    weights: Tensor | None
    names: tuple[str, ...]
    origin: Origin


class Matched(NamedTuple):
    """Instances that both tables have, in the order of keys (of time, where they are dated), NaN where they lack some.

    `rows` are those of the features' table; `left_out` counts instances that only one table has.
    """

    features: np.ndarray
    theta: np.ndarray
    keys: Keys
    times: np.ndarray | None
    rows: np.ndarray
    left_out: int

    def select(self, keep: np.ndarray) -> Matched:
        """Some of them."""
        times = None if self.times is None else self.times[keep]
        parts = self.features[keep], self.theta[keep], self.keys.select(keep), times, self.rows[keep]
        return Matched(*parts, self.left_out + int((~keep).sum()))


def assemble(features: Any, theta: Any, problem: Problem, form: Form, missing: Any) -> Tables:
    """Features and parameters of the same instances; `theta` is `None` where both are in one table."""
    rules = as_rules(missing)
    inputs = frames.as_frame("features", features, form.names)
    truth = inputs if theta is None else frames.as_frame("theta", theta, form.names)
    file = features.settings if isinstance(features, TableFile) else {}
    for name, table in (("features", inputs), ("theta", truth)):
        if not len(table):
            raise checks.fail(name, "a table with at least one row", "none")
    for title in form.key:
        frames.column("features", inputs, title, "key")
    axes = named_axes(problem, form.variable)
    targets = parameter_table("features" if theta is None else "theta", truth, form, axes, alone=theta is not None)
    reader = feature_reader(inputs, form, axes, problem, rules[0], file, joint=theta is None)
    raw = reader.raw("features", inputs)
    matched = _matched(raw, targets, instance_times(inputs, raw, form, reader), rules)
    names = (form.value or "",) if reader.variable else joined(axes)
    check_leaks(matched.features, matched.theta, reader.encoding, names)
    counts = filling.count_missing(matched.features, reader.encoding), int(np.isnan(matched.theta).sum())
    matched = matched.select(filling.kept_instances(*matched[:3], rules, reader, joined(axes)))
    weights = weight_column(inputs, form, raw, reader)
    return _tables(matched, reader, Missing(*counts, matched.left_out, rules), problem, joined(axes), weights)


def _matched(raw: RawTable, targets: RawTable, times: np.ndarray | None, rules: tuple[Rule, Rule]) -> Matched:
    (rows, truths), left_out = filling.common_instances(raw.keys, targets.keys, rules)
    order = raw.keys.select(rows).order()
    if times is not None:
        times = times[rows]
        order = order[np.argsort(times[order], kind="stable")]
        times = times[order]
    rows, truths = rows[order], truths[order]
    return Matched(raw.table[rows], targets.table[truths], raw.keys.select(rows), times, rows, left_out)


def _tables(
    matched: Matched, reader: FrameReader, missing: Missing, problem: Problem, names: tuple[str, ...],
    weights: np.ndarray | None,
) -> Tables:  # fmt: skip
    """With what takes the place of missing entries."""
    holes = np.isnan(matched.features), np.isnan(matched.theta)
    if "previous" in missing.rules and matched.times is None and (holes[0].any() or holes[1].any()):
        remedy = "Say which column is the date, `dates=...`, or choose another rule"
        raise checks.fail("missing", "another rule where rows have no dates", "'previous'", remedy)
    for part, rule in zip((matched.features, matched.theta), missing.rules, strict=True):
        if rule == "previous":
            warn_of_same_times(part, matched.keys, matched.times)
    table, reader = filling.fill_features(matched.features, holes[0], reader, matched.keys)
    wanted = filling.fill_theta(matched.theta, holes[1], missing.rules[1], matched.keys, names)
    origin = Origin(
        matched.keys, matched.times, reader, missing, holes[0] if holes[0].any() else None,
        as_theta(holes[1], problem) if holes[1].any() else None,
    )  # fmt: skip
    weight = None if weights is None else as_features(weights[matched.rows])
    features, theta = as_features(table), as_features(as_theta(wanted, problem))
    width = table.shape[-1]
    warn_of_lost_digits("features", table.reshape(-1, width), features.reshape(-1, width), reader.names)
    warn_of_lost_digits("theta", wanted, theta, names)
    return Tables(features, theta, weight, reader.names, origin)
