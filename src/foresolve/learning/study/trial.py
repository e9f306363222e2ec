"""One training with one of a method's settings."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, fields
from typing import Any

from torch import nn

from foresolve.errors import ForesolveError
from foresolve.learning.evaluation import evaluate
from foresolve.learning.study.methods import Context, Family, Method, Settings, quiet, refusal


@dataclass(frozen=True)
class Trial:
    """The result of a trial.

    Attributes
    ----------
    method, family: what was trained.
    number: of the settings, 0 for the default.
    settings: what was tried.
    regret: mean on validation data; `None` where it failed.
    seconds: of training and validation.
    failure: why there is no model; empty where there is.
    history: of a network's training, as `History.to_dict` says it; `None` for other models.
    improving: whether it was still getting better on validation data when its epochs or trees were used up.
    """

    method: str
    family: Family
    number: int
    settings: Settings
    regret: float | None
    seconds: float
    failure: str = ""
    history: dict[str, Any] | None = None
    improving: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Any) -> Trial:
        """The inverse of `to_dict`; an error if the document is not sound."""
        if not isinstance(document, dict) or set(document) | {"history", "improving"} != {
            item.name for item in fields(cls)
        }:
            raise ForesolveError("a trial must have the entries " + ", ".join(item.name for item in fields(cls)))
        kinds = {"method": str, "family": str, "number": int, "settings": dict, "seconds": int | float, "failure": str}
        for name, kind in {**kinds, "regret": int | float | None, "improving": bool}.items():
            if not isinstance(document.get(name, False), kind):
                raise ForesolveError(f"`{name}` of a trial cannot be {str(document[name])[:40]!r}")
        if document["family"] not in list(Family):
            raise ForesolveError(f"`family` of a trial cannot be {document['family'][:40]!r}")
        return cls(**{**document, "family": Family(document["family"])})

    @property
    def rank(self) -> tuple[float, int]:
        """Trials are chosen by the least of it: regret, then the order of settings."""
        return (math.inf if self.regret is None else self.regret, self.number)


def run_trial(method: Method, settings: Settings, number: int, context: Context) -> tuple[Trial, nn.Module | None]:
    """Train and validate; an error ends the trial, not the study, and is kept as its reason."""
    began = time.perf_counter()
    model, regret, failure = None, None, ""
    context.histories.clear()
    try:
        model = method.train(settings, number, context)
        with quiet():
            seen = method.seen(context.valid, settings)
            regret = float(evaluate(model, seen, metrics=False, bootstrap=0).regret)
    except Exception as error:  # whatever a loss or a solver of the user's raises: the others continue
        failure = refusal(error)
    if regret is not None and not math.isfinite(regret):
        failure, regret = f"its regret on validation data is {regret}", None
    seconds = time.perf_counter() - began
    history = context.histories.pop() if context.histories else None
    improving = not failure and model is not None and method.improving(model, history)
    trial = Trial(
        method=method.name, family=method.info.family, number=number, settings=dict(settings), regret=regret,
        seconds=seconds, failure=failure, history=history, improving=improving,
    )  # fmt: skip
    return trial, None if failure else model
