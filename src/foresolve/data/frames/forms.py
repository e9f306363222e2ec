"""How a user's tables are laid out, and what the problem calls its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foresolve._base import checks, frames
from foresolve._base.frames import JOINT
from foresolve.data.frames.pivot import Axes
from foresolve.problems.base import Problem


@dataclass(frozen=True, eq=False)
class Form:
    """How the tables are laid out; `DecisionDataset.from_frames` documents it."""

    key: tuple[str, ...]
    variable: tuple[str, ...] = ()
    value: str | None = None
    columns: tuple[str, ...] | None = None
    encode: Mapping[str, Any] | None = None
    weights: str | None = None
    dates: str | bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of names, which are text in files of text."""
        stated = [title for title, kind in (self.encode or {}).items() if kind == "category"]
        return *self.key, *self.variable, *stated

    @classmethod
    def of(cls, key: Any, variable: Any, value: Any, columns: Any, **others: Any) -> Form:
        """From what the user gave."""
        if (variable is None) != (value is None):
            remedy = "`variable` names the columns that name variables, `value` the one with their parameters"
            raise checks.fail("value", "given where `variable` is, and only there", repr(value), remedy)
        listed = None if columns is None else as_titles("columns", columns)
        return cls(as_titles("key", key), () if variable is None else as_titles("variable", variable), value, listed,
                   **others)  # fmt: skip


def as_titles(name: str, titles: Any) -> tuple[str, ...]:
    """Names of columns, given as one or as several."""
    several = (titles,) if isinstance(titles, str) else titles
    if not isinstance(several, Sequence) or not several or not all(isinstance(title, str) for title in several):
        raise checks.fail(name, "the name of a column, or several of them", repr(titles))
    if len(set(several)) < len(several):
        raise checks.fail(name, "different columns", ", ".join(map(repr, several)))
    return tuple(several)


def named_axes(problem: Problem, variable: Sequence[str]) -> Axes:
    """The names along each axis of the parameters, as many as there are columns that name variables."""
    axes = problem.theta_axes
    if axes is None:
        remedy = (
            "Give it names: `names=[...]`, or make it from your own table, `from_frame`. Tables are matched by name; "
            "to go by position, pass arrays to `DecisionDataset(features, theta, problem)`"
        )
        raise checks.fail("problem", "one whose parameters have names", repr(problem), remedy)
    texts = tuple(tuple(frames.as_texts(axis)) for axis in axes)
    if len(variable) in (0, 1) and len(texts) > 1:
        return (joined(texts),)
    if variable and len(variable) != len(texts):
        expected = f"{len(texts)} columns, one for each axis of the parameters" if len(texts) > 1 else "one column"
        remedy = ""
        if len(texts) == 1:
            joint = f" + {JOINT!r} + ".join(f"table[{title!r}]" for title in variable)
            remedy = f"Join them to the names of the problem, such as {texts[0][0]!r}: `table['name'] = {joint}`"
        raise checks.fail("variable", expected, ", ".join(map(repr, variable)), remedy)
    return texts


def joined(axes: Axes) -> tuple[str, ...]:
    names = axes[0]
    for axis in axes[1:]:
        names = tuple(f"{a}{JOINT}{b}" for a in names for b in axis)
    return names


def as_theta(table: np.ndarray, problem: Problem) -> np.ndarray:
    """`(N, *axes)` in the shape of the problem's parameters."""
    axes = problem.theta_axes or ()
    sizes = [len(axis) for axis in axes]
    shape = [int(np.prod(sizes))] if len(problem.theta_shape) == 1 else sizes
    return table.reshape(len(table), *shape)
