"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from foresolve._base import checks
from foresolve.errors import ForesolveError
from foresolve.learning.named_losses import as_loss
from foresolve.learning.study.dates import Last
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.methods import Boosted, Focused, Forest, MeanMethod, Method, Network, Ridge
from foresolve.learning.study.parts import Parts
from foresolve.losses.base import Loss, why_not
from foresolve.losses.prediction import OF_PREDICTION
from foresolve.problems.base import Problem

BOOSTED = "boosted "  # before the name of a loss


def default_methods(problem: Problem) -> tuple[str, ...]:
    """SPO+ on a network and on trees and the smoothed decision for linear problems; for others the latter alone."""
    if {"linear", "exact", "fixed"} <= problem.traits:
        return "spo+", "decision", f"{BOOSTED}spo+"
    return "decision", f"{BOOSTED}decision"


def candidates(references: Any, methods: Any, problem: Problem) -> tuple[str, ...]:
    """The names of what a study may train; whether the data suits them all is known later."""
    predicting = list(REFERENCES) if references is None else _listed("references", references)
    deciding = default_methods(problem) if methods is None else _listed("methods", methods)
    return tuple(dict.fromkeys([*predicting, *(str(name).lower() for name in deciding)]))


def two_stage(names: Any, parts: Parts, facts: Facts) -> tuple[list[Method], dict[str, str]]:
    """Two-stage methods, by default all that suit the data, and why others cannot be had."""
    dated, positive = parts.train.times is not None, bool((parts.train.theta > 0).all())
    impossible = {
        "last value": "" if dated else "rows are not dated",
        "log ridge": "" if positive else "parameters are not all positive",
    }
    if names is None:
        suited = {"last value": dated, "log ridge": facts.positive}
        names = [name for name in REFERENCES if suited.get(name, True)]
    made, failures = [], {}
    for name in _listed("references", names):
        checks.one_of("references", name, REFERENCES)
        if impossible.get(name):
            failures[name] = impossible[name]
        else:
            made.append(REFERENCES[name](parts))
    if not made:
        raise checks.fail("references", "at least one that the data allows", str(failures or "none"))
    return made, failures


def last_value(parts: Parts) -> Last:
    """With all rows whose truth is known, whatever part they are in: each row looks at earlier ones only."""
    times, theta = [], []
    for part in (parts.train, parts.valid, parts.test):
        known = np.ones(len(part), dtype=bool)
        if part.imputed is not None:
            known = ~part.imputed.cpu().numpy()
        moments = part.times
        if moments is None:
            raise ForesolveError("not all parts are dated")
        times.append(moments[known])
        theta.append(part.theta[torch.from_numpy(known)])
    return Last(np.concatenate(times), torch.cat(theta))


REFERENCES: dict[str, Callable[[Parts], Method]] = {
    "mean": lambda parts: MeanMethod(),
    "last value": last_value,
    "ridge": lambda parts: Ridge(),
    "log ridge": lambda parts: Ridge(logarithms=True),
    "forest": lambda parts: Forest(),
    "boosted trees": lambda parts: Boosted(),
    "network": lambda parts: Network(),
}


def focused(names: Any, problem: Problem) -> tuple[list[Method], dict[str, str]]:
    """Decision-focused methods, and why others do not work with the problem."""
    made: list[Method] = []
    failures: dict[str, str] = {}
    for given in _listed("methods", default_methods(problem) if names is None else names):
        boosted = isinstance(given, str) and given.lower().startswith(BOOSTED)
        loss = as_loss(given[len(BOOSTED) :] if boosted else given, problem)
        name = str(given).lower() if isinstance(given, str) else type(given).__name__
        if isinstance(loss, OF_PREDICTION):
            remedy = "Losses of prediction are references: they make the network of the two-stage models"
            raise checks.fail("methods", "losses of decisions", repr(name), remedy)
        if name in failures or any(method.name == name for method in made):
            raise checks.fail("methods", "different ones", f"{name!r} twice")
        reason = why_not(loss, problem)
        if reason:
            failures[name] = reason
        else:
            made.append(Boosted(name, loss) if boosted else Focused(name, loss))
    if not made:
        told = "; ".join(f"{name}: {reason}" for name, reason in failures.items()) or "none"
        raise checks.fail("methods", "at least one that works with the problem", told)
    return made, failures


def _listed(name: str, given: Any) -> list[Any]:
    """Names or losses as a list; a single one may stand alone."""
    if isinstance(given, str | Loss):
        return [given]
    if not isinstance(given, Iterable):
        raise checks.fail(name, "a list of names", repr(given))
    return list(given)
