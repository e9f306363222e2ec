"""All kinds of draws, how many of each a run takes, and what must hold for them beyond being right."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.stress import curved, curved_blocks, curved_predicted, linear, losses, predicted, sets
from tests.stress.catalogue_draws import CATALOGUE
from tests.stress.curved_draws import EVERYDAY_CURVED
from tests.stress.curved_scaled_draws import BLOCKS, SCALED_CURVED
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


# A warning about one of these is a failure.
STEADY = {
    "plain", "plain, larger", "relative gamma", "tied", "on a kink", "dependent rows", "per instance",
    "more rows than variables", "sparse", "fixed variables", "free variables", "rows without entries", "integrality",
    "infeasible", "mixed batch", "matching", "assignment", "top k", "path: grid", "path: neighbours", "path: graph",
    "max flow", "min cost flow", "knapsack", "path: large grid", "predicted: plain", "predicted: per instance",
    "predicted: sparse", "predicted: fixed variables", "warm start: plain", "warm start: tied",
    "warm start: matching", "warm start: path: grid", *EVERYDAY_CURVED, *BLOCKS,
} - {"quadratic: on a kink"}  # fmt: skip
# Where it is not that of the group: what takes long is drawn less.
SHARES = {
    "plain": 2.0, "plain, larger": 0.3, "several troubles at once": 2.0, "integrality without bounds": 0.02,
    "path: grid": 0.4, "path: neighbours": 0.4, "path: large grid": 0.1, "real programs": 0.5,
}  # fmt: skip
WARM = ("plain", "tied", "matching", "path: grid")


def _kinds() -> Iterator[Kind]:
    linear_draws = {**EVERYDAY, **SCALED, **CATALOGUE}
    groups: list[tuple[float, dict[str, tuple[Any, Check]]]] = [
        (1.0, {name: (build, linear.check) for name, build in linear_draws.items()}),
        (0.3, {f"warm start: {name}": (linear_draws[name], linear.check_warm) for name in WARM}),
        (0.3, {name: (build, predicted.check) for name, build in predicted.PREDICTED.items()}),
        (0.7, {name: (build, sets.check) for name, build in SETS.items()}),
        (0.5, losses.LOSSES),
        (0.35, {name: (build, curved.check) for name, build in {**EVERYDAY_CURVED, **SCALED_CURVED}.items()}),
        (0.03, {name: (build, curved_blocks.check) for name, build in BLOCKS.items()}),
        (0.2, {name: (build, curved_predicted.check) for name, build in curved_predicted.PREDICTED.items()}),
    ]
    for share, group in groups:
        for name, (build, check) in group.items():
            yield Kind(name, build, check, SHARES.get(name, share), name in STEADY)


KINDS: dict[str, Kind] = {kind.name: kind for kind in _kinds()}
