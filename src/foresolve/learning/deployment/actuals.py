"""What turned out to be true, matched with the instances that were decided."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, frames
from foresolve.data.frames.columns import parameter_table
from foresolve.data.frames.forms import Form, as_theta, as_titles, joined, named_axes
from foresolve.data.frames.keys import Keys, keys_listed
from foresolve.data.frames.missing import refuse
from foresolve.errors import Phrase, Setting
from foresolve.problems.base import Problem

REMEDY = Phrase("To leave out instances whose truth is not complete: ", Setting("missing", "drop"))


def read_actuals(
    actuals: Any,
    problem: Problem,
    keys: Keys | None,
    count: int,
    variable: str | Sequence[str] | None,
    value: str | None,
    missing: str = "refuse",
) -> tuple[Tensor, np.ndarray]:
    """True parameters `(B, ...)` of instances with these keys: a frame or file by key and name, arrays by position.

    Second, the places of the `B` instances among the `count`: with `missing="drop"` those whose truth is complete.
    """
    if isinstance(actuals, str | os.PathLike) or hasattr(actuals, "columns"):
        names = () if variable is None else as_titles("variable", variable)
        table = frames.as_frame("actuals", actuals, names if keys is None else (*names, *keys.names))
        return _matched(table, problem, keys, variable, value, missing)
    theta = torch.as_tensor(actuals) if missing == "drop" else problem.check_theta(actuals)
    if len(theta) != count:
        raise checks.fail("actuals", Phrase(f"of the {count} instances of ", Setting("features")), f"{len(theta)}")
    lost = theta.reshape(count, -1).isnan().any(-1).cpu().numpy()
    places = _known(lost, missing)
    return problem.check_theta(theta[torch.from_numpy(places).to(theta.device)]), places


def _matched(
    frame: Any,
    problem: Problem,
    keys: Keys | None,
    variable: str | Sequence[str] | None,
    value: str | None,
    missing: str,
) -> tuple[Tensor, np.ndarray]:
    """Parameters of a frame, in the order of the keys."""
    if not len(frame):
        raise checks.fail("actuals", "a table with at least one row", "none")
    frame = _with_keys(frame, keys)
    if keys is None or any(title not in frame.columns for title in keys.names):
        wanted = "keys in both tables" if keys is None else f"the key columns {', '.join(keys.names)}"
        remedy = "Rows are matched by key. To go by position, pass an array: `actuals.to_numpy()`"
        raise checks.fail("actuals", f"a frame with {wanted}", f"one with {frames.listed(frame.columns, 5)}", remedy)
    form = Form.of(keys.names, variable, value, None)
    axes = named_axes(problem, form.variable)
    table, own = parameter_table("actuals", frame, form, axes, alone=True)
    rows = own.places(keys)
    if missing == "refuse" and (rows < 0).any():
        got = f"one without {keys_listed(keys, np.flatnonzero(rows < 0))}"
        raise checks.fail("actuals", Phrase("a frame with the instances of ", Setting("features")), got, REMEDY)
    table = table[rows]
    flat = np.isnan(table).reshape(len(table), -1)
    if missing == "refuse" and flat.any():
        refuse("actuals", flat, keys, joined(axes), REMEDY)
    places = _known((rows < 0) | flat.any(-1), missing)
    return problem.check_theta(torch.from_numpy(as_theta(table[places], problem))), places


def _known(lost: np.ndarray, missing: str) -> np.ndarray:
    """The places of instances whose truth is there; an error where there is none."""
    if missing == "drop" and lost.all():
        raise checks.fail("actuals", Phrase("complete for some instance of ", Setting("features")), "none that is")
    return np.flatnonzero(~lost)


def _with_keys(frame: Any, keys: Keys | None) -> Any:
    """A frame whose index holds the keys, with these as columns."""
    if keys is None or any(title in frame.columns for title in keys.names):
        return frame
    if Keys.of_index(frame.index).names != keys.names:
        return frame
    return frame.set_axis(frame.index.set_names(list(keys.names)), axis=0).reset_index()
