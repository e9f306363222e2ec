"""The words of set functions and matroids for the mistakes that users make most, in one place."""

from __future__ import annotations

from collections.abc import Callable

import networkx
import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.sets import (
    FacilityLocation,
    GraphicMatroid,
    InfluenceSpread,
    LaminarMatroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    SetFunction,
    UniformMatroid,
    swap_rounding,
)

COVERAGE, FACILITY = ProbabilisticCoverage(), FacilityLocation()


class Summed(SetFunction):
    """Sums over the batch too."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum()


WORDS: dict[str, tuple[Callable[[], object], str]] = {
    "k": (
        lambda: UniformMatroid(3, 4),
        "`k` must be at most `n` (3); got 4",
    ),
    "groups": (
        lambda: PartitionMatroid([[0, 1], [1, 2]], 1),
        "`groups` must be a partition of the items; got item 1 twice",
    ),
    "sets": (
        lambda: LaminarMatroid(4, [[0, 1], [3], [1, 2]], 1),
        "`sets` must be nested or disjoint, any two of them; got sets 0 and 2, which share 1 item and each have others",
    ),
    "graph": (
        lambda: GraphicMatroid.from_networkx(networkx.DiGraph([(0, 1)])),
        "`graph` must be undirected; got DiGraph. Use `graph.to_undirected()`",
    ),
    "draws": (
        lambda: COVERAGE.of(torch.square).check_theta(torch.full((2, 3), 2.0), 2),
        "`select(theta)` must be in [0, 1] for ProbabilisticCoverage(); got 4 at [0, 0] (6 such "
        "entries). Put a sigmoid or a clamp behind the model. Draws around a prediction stay within "
        "`f.of(select, theta_bounds=(low, high))`",
    ),
    "theta": (
        lambda: COVERAGE.check_theta(torch.full((2, 3), 1.5), 2),
        "`theta` must be in [0, 1]; got 1.5 at [0, 0] (6 such entries). Put a sigmoid or a clamp behind the model",
    ),
    "shape of theta": (
        lambda: FACILITY.check_theta(torch.ones(2, 3), 4),
        "`theta` must be (*batch, 4, targets) to match the problem; got (2, 3)",
    ),
    "costs for gains": (
        lambda: FACILITY.check_theta(-torch.ones(2, 3), 2),
        "`theta` must be >= 0; got -1 at [0, 0]. End the network in softplus, exp or relu",
    ),
    "edges": (
        lambda: InfluenceSpread(networkx.DiGraph([(0, 1)])),
        "`edges` must be pairs of node numbers; got a graph. Use `InfluenceSpread.from_networkx(graph)`",
    ),
    "weight": (
        lambda: -1.0 * FACILITY,
        "`weight` must be a finite number >= 0; got -1.0. A negative term is not submodular",
    ),
    "terms": (
        lambda: FACILITY + InfluenceSpread([(0, 1)]),
        "`terms` must be functions with the same theta_dims; got [1, 2]. Give a term the part it needs "
        "with `f.of(select, theta_dims)`",
    ),
    "value": (
        lambda: Summed().multilinear(torch.ones(2, 3), torch.ones(2, 3)),
        "`Summed.value(...)` must be (1, 2) for sets (1, 2, 3); got (). Sum over the last dimensions "
        "only; those in front are the batch",
    ),
    "config": (
        lambda: Summed().config(),
        "Summed cannot be written to a file: it gives no `config()`",
    ),
    "x": (
        lambda: swap_rounding(torch.ones(2, 3), UniformMatroid(3, 1), torch.Generator()),
        "`x` must be in the matroid's independence polytope; got instance 0, where set 0 is exceeded by 2",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_a_mistake_is_told(name: str) -> None:
    call, words = WORDS[name]
    with pytest.raises(ForesolveError) as caught:
        call()
    assert str(caught.value) == words
