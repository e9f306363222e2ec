"""Keyword arguments by the names that other packages have for them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from torch import nn

from foresolve._base import checks
from foresolve.errors import InvalidInputError

# What a name elsewhere (PyEPO, scikit-learn) may be here: the first that the class takes.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "n_samples": ("samples",),
    "num_samples": ("samples",),
    "lambd": ("lam", "gamma"),
    "tau": ("temperature",),
    "sigma": ("temperature",),
    "random_state": ("seed",),
}
HINTS = {
    "optmodel": "The problem comes with the data: `DecisionDataset(features, theta, problem)`",
    "processes": "Worker processes belong to the problem: `OracleProblem(..., workers=2)`",
    "reduction": "Losses are one number for each instance; `fit` takes the mean",
    "solve_ratio": "Solved decisions are kept in a pool: `SolutionPool(solve_ratio=0.1)`, for the losses that compare",
}


def check_keywords(kind: type, given: Iterable[str]) -> None:
    """Refuse keyword arguments that a class does not take where the intended one is known.

    >>> from foresolve.layers import PerturbedAdditive
    >>> PerturbedAdditive(n_samples=3)
    Traceback (most recent call last):
    foresolve.errors.InvalidInputError: PerturbedAdditive takes no `n_samples`. Did you mean `samples`?
    """
    own = kind.__init__ is not nn.Module.__init__  # which takes anything, and hands it on to be refused
    parameters = inspect.signature(kind.__init__).parameters if own else {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in given:
        if name in parameters:
            continue
        known = [other for other in ELSEWHERE.get(name, ()) if other in parameters]
        remedy = f"Did you mean `{known[0]}`?" if known else HINTS.get(name, "")
        remedy = remedy or checks.did_you_mean(name, [other for other in parameters if other != "self"], code=True)
        if remedy:
            raise InvalidInputError(f"{kind.__name__} takes no `{name}`", remedy=remedy)
