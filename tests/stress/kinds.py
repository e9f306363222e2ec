"""All kinds of draws, how many of each a run takes, and what must hold for them beyond being right."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.stress import linear, losses, predicted, sets
from tests.stress.catalogue_draws import CATALOGUE
from tests.stress.draws import EVERYDAY
from tests.stress.outcomes import Verdict
from tests.stress.scaled_draws import SCALED
from tests.stress.set_draws import SETS

Check = Callable[[Any, np.random.Generator], list[Verdict]]


@dataclass(frozen=True)
class Kind:
    """`build(rng)` draws, `check(draw, rng)` judges.

    Attributes
    ----------
    share: draws of this kind for each draw of a kind with share 1.
    steady: whether a warning is a failure: everyday programs are answered, not warned of.
    """

    name: str
    build: Callable[[np.random.Generator], Any]
    check: Check
    share: float = 1.0
    steady: bool = False

    def generator(self, seed: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.name.encode()), seed])

    def verdicts(self, seed: int) -> list[Verdict]:
        """Everything about one draw, from its kind and seed alone; nothing where its data are not at hand."""
        rng = self.generator(seed)
        draw = self.build(rng)
        with np.errstate(all="ignore"):  # decisions that are far off overflow in the measuring
            return [] if draw is None else self.check(draw, rng)


STEADY = {
    "plain", "relative gamma", "tied", "dependent rows", "more rows than variables", "per instance", "sparse",
    "fixed variables", "free variables", "rows without entries", "integrality", "infeasible", "mixed batch",
    "matching", "assignment", "top k", "path: grid", "path: neighbours", "path: graph", "max flow", "min cost flow",
    "knapsack", "path: large grid", "predicted: plain", "predicted: per instance", "predicted: sparse",
    "predicted: fixed variables",
}  # fmt: skip
SHARES = {
    "plain": 2.0, "path: grid": 0.4, "path: neighbours": 0.4, "path: large grid": 0.1, "real programs": 0.5,
    "integrality without bounds": 0.02,
}  # fmt: skip

KINDS: dict[str, Kind] = (
    {
        name: Kind(name, build, linear.check, SHARES.get(name, 1.0), name in STEADY)
        for name, build in {**EVERYDAY, **SCALED, **CATALOGUE}.items()
    }
    | {
        name: Kind(name, build, predicted.check, SHARES.get(name, 0.3), name in STEADY)
        for name, build in predicted.PREDICTED.items()
    }
    | {name: Kind(name, build, sets.check, SHARES.get(name, 0.7), name in STEADY) for name, build in SETS.items()}
    | {
        name: Kind(name, build, check, SHARES.get(name, 0.5), name in STEADY)
        for name, (build, check) in losses.LOSSES.items()
    }
)
