"""A few instances to look at: the truth, what each model predicts and decides, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.prediction import as_model, inference, predict
from foresolve.problems.base import Problem

COUNT, MOST, FEW = 8, 24, 6
LEAST = 1e-6  # of an entry that is more than a solver's tolerance
LONGEST = 400  # characters of a decision in words


def examples(
    models: Mapping[str, Any], data: DecisionDataset, *, count: int = COUNT, most: int = MOST
) -> dict[str, Any]:
    """Predictions and decisions of models on some instances, as plain values for JSON.

    Instances are picked evenly along the data, whatever came of them; of their items those that some decision uses, and
    then those with the largest true parameters.

    Parameters
    ----------
    models: by name.
    data: with true parameters.
    count, most: how many instances, and how many items of each.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> theta = torch.tensor([[0.1, 0.7], [0.9, 0.2]])
    >>> data = DecisionDataset(theta, theta, foresolve.TopK(2, 1, names=["tea", "rum"]))
    >>> shown = examples({"truth": lambda features: features, "worst": lambda features: -features}, data)
    >>> [(choice["method"], choice["words"], round(choice["cost"], 1)) for choice in shown["instances"][0]["choices"]]
    [('truth', 'rum', 0.0), ('worst', 'tea', 0.6)]
    """
    count, most = checks.positive_int("count", count), checks.positive_int("most", most)
    if not data.has_theta:
        return {"instances": []}
    places = sorted(set(np.linspace(0, len(data) - 1, min(count, len(data))).round().astype(int).tolist()))
    part = data.subset(torch.tensor(places)).solve(progress=False)
    made = {name: _decided(as_model(model), part) for name, model in models.items()}
    truth, names = measures(part.problem, part.theta), item_names(part.problem)
    instances = [_instance(part, made, truth, names, i, label_of(data, place), most) for i, place in enumerate(places)]
    return {
        "item": "item", "parameter": "parameter", "instances": instances,
        "picked": f"{len(places)} of {len(data)} instances, evenly along the data, whatever came of them.",
    }  # fmt: skip


def measures(problem: Problem, theta: Tensor) -> Tensor | None:
    """A number for each variable `(B, n)`: its own parameter, or the sum of its row; `None` where it has neither."""
    n = problem.n
    if n is None:
        return None
    if theta[0].numel() == n:
        return theta.flatten(1)
    return theta.sum(-1) if theta.ndim == 3 and theta.shape[1] == n else None


def item_names(problem: Problem) -> list[str]:
    """What the variables are called, or their numbers."""
    return [str(name) for name in (range(problem.n or 0) if problem.names is None else problem.names)]


def in_words(problem: Problem, x: Tensor) -> str:
    """A decision as text, cut where it is long."""
    told = problem.words(x)
    parts = [" – ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in told] \
        if isinstance(told, list | tuple) else [str(told)]  # fmt: skip
    text = ", ".join(parts)
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(", ")[0] + ", …"


def matters(rows: Sequence[Tensor], truth: Tensor, most: int = MOST) -> list[int]:
    """The places of the items that some decision uses, in order, then of a few others with the largest true parameters.

    Of too many that decisions use, those with the largest true parameters stay.
    """
    used = torch.stack([row.abs() for row in rows]).amax(0)
    first = (used > LEAST).nonzero().flatten().tolist()
    by_size, known = truth.abs().argsort(descending=True, stable=True).tolist(), set(first)
    if len(first) > most:
        first = sorted([place for place in by_size if place in known][:most])
    rest = [place for place in by_size if place not in known]
    return [*first, *rest[: min(FEW, most - len(first))]]


def _decided(model: Any, part: DecisionDataset) -> tuple[Tensor, Tensor | None, Tensor]:
    """Decisions, the predictions by variable, and values in the problem's own sense."""
    with inference(model):
        theta_hat = predict(model, part.features).to(part.theta)
        x = part.problem.decide(theta_hat)[0].to(part.theta)
        value = part.problem.signed(part.problem.objective(x, part.theta))
    return x, measures(part.problem, theta_hat), value


def _instance(
    part: DecisionDataset, made: Mapping[str, Any], truth: Tensor | None, names: list[str], i: int, label: str,
    most: int,
) -> dict[str, Any]:  # fmt: skip
    problem = part.problem
    best, optimum = part.decisions[i], part.problem.signed(part.values)[i]
    kept = [] if truth is None else matters([best, *(x[i] for x, _, _ in made.values())], truth[i], most)
    sign = 1.0 if part.problem.sense == "max" else -1.0

    def listed(row: Tensor | None) -> list[float]:
        return [] if row is None else [float(row[place]) for place in kept]

    choices = [
        {
            "method": name, "value": float(value[i]), "cost": sign * float(optimum - value[i]),
            "words": in_words(problem, x[i]), "predictions": listed(None if hat is None else hat[i]),
            "chosen": listed(x[i]),
        }
        for name, (x, hat, value) in made.items()
    ]  # fmt: skip
    return {
        "label": label, "optimum": float(optimum), "items": [names[place] for place in kept],
        "truth": listed(None if truth is None else truth[i]), "best": listed(best),
        "best_words": in_words(problem, best), "choices": choices,
        "left_out": 0 if truth is None else truth.shape[1] - len(kept),
    }  # fmt: skip


def label_of(data: DecisionDataset, place: int) -> str:
    """The key of an instance, or its number."""
    key = str(place) if data.keys is None else data.keys[place]
    return ", ".join(key) if isinstance(key, tuple) else key
