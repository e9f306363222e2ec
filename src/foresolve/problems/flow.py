"""Maximum and minimum-cost flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.graphs import as_arcs, as_ends
from foresolve.problems.incidence import incidence
from foresolve.problems.linear import LinearProgram, Sense


class _Flow(LinearProgram):
    """Flows on given arcs: what `MaxFlow` and `MinCostFlow` share."""

    def _flow(
        self, ends: tuple[np.ndarray, np.ndarray, int], nodes: np.ndarray, supply: Tensor, capacity: Any, sense: Sense
    ) -> None:
        self._tails, self._heads, self.n_nodes = ends
        self._row_nodes = nodes
        upper = checks.as_tensor("capacity", capacity)
        if bool((upper < 0).any()):
            where = (upper < 0).nonzero()[0].tolist()
            raise checks.fail("capacity", ">= 0 on every arc", f"{upper[tuple(where)].item()} at {where}")
        checks.same_device("capacity", upper, supply.device)
        rows = incidence(self._tails, self._heads, nodes, self.n_nodes).to(supply.device)
        equality = torch.ones(len(nodes), dtype=torch.bool, device=supply.device)
        self._set(rows, torch.Size(), supply, equality, (0.0, upper), sense=sense)

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """`(tail, head)` of each entry of `theta`."""
        return list(zip(self._tails.tolist(), self._heads.tolist(), strict=True))

    @property
    def capacity(self) -> Tensor:
        """The most that flows on each arc, `(n_arcs,)` or `(*batch, n_arcs)`."""
        return self.upper

    def _name(self, kind: str, index: int) -> str:
        if kind == "A_eq":
            return f"node {self._row_nodes[index]}"
        return f"arc {self._tails[index]} -> {self._heads[index]}"


class MaxFlow(_Flow):
    r"""The flow of greatest worth from `source` to `target`; `theta` `(*batch, n_arcs)` is the worth of a unit of flow.

    .. math::
        \max_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a = \sum_{a \text{ enters } v} x_a
        \;\; \forall v \ne \text{source}, \text{target}, \quad 0 \le x \le \text{capacity}

    The plain maximum flow is `solve(flow_value_theta())`. Solved by HiGHS; integer capacities give integer flows.

    Parameters
    ----------
    arcs: pairs `(tail, head)` of node numbers, in the order of `theta`.
    source, target: two different nodes.
    capacity: `>= 0`, a number, `(n_arcs,)` or `(*batch, n_arcs)`; tensors that require grad get it from a layer.
    n_nodes: the number of nodes, by default the largest number in `arcs` plus one.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.problems.MaxFlow([(0, 1), (0, 2), (1, 3), (2, 3)], 0, 3, capacity=[2.0, 3.0, 1.0, 4.0])
    >>> problem.solve(problem.flow_value_theta())
    tensor([1., 3., 1., 3.], dtype=torch.float64)
    """

    def __init__(self, arcs: Any, source: int, target: int, capacity: Any, n_nodes: int | None = None) -> None:
        ends = as_arcs(arcs, n_nodes)
        self.source, self.target = as_ends(source, target, ends[2])
        inner = np.setdiff1d(np.arange(ends[2]), [self.source, self.target])
        device = capacity.device if isinstance(capacity, Tensor) else None
        self._flow(ends, inner, torch.zeros(len(inner), dtype=torch.float64, device=device), capacity, "max")

    def flow_value_theta(self) -> Tensor:
        """The `theta` whose objective is the value of the flow: +1 on arcs out of the source, -1 into it."""
        signs = (self._tails == self.source).astype(np.float64) - (self._heads == self.source)
        return torch.from_numpy(signs).to(self.device)


class MinCostFlow(_Flow):
    r"""The cheapest flow that carries every node's supply; `theta` `(*batch, n_arcs)` is the cost of a unit of flow.

    .. math::
        \min_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a - \sum_{a \text{ enters } v} x_a
        = \text{supply}_v \;\; \forall v, \quad 0 \le x \le \text{capacity}

    Solved by HiGHS; integer supplies and capacities give integer flows.

    Parameters
    ----------
    arcs: pairs `(tail, head)` of node numbers, in the order of `theta`.
    supply: `(n_nodes,)` or `(*batch, n_nodes)`, negative for demand; it sums to 0.
    capacity: `>= 0`, a number, `(n_arcs,)` or `(*batch, n_arcs)`.
    sense: with "max", `theta` is a worth, as in `MaxFlow`.

    Examples
    --------
    >>> import torch, foresolve
    >>> arcs = [(0, 1), (0, 2), (1, 2)]
    >>> problem = foresolve.problems.MinCostFlow(arcs, supply=[2.0, 0.0, -2.0], capacity=[9.0, 1.0, 9.0])
    >>> problem.solve(torch.tensor([1.0, 1.0, 1.0]))
    tensor([1., 1., 1.])
    """

    def __init__(self, arcs: Any, supply: Any, capacity: Any = np.inf, sense: Sense = "min") -> None:
        amounts = checks.as_tensor("supply", supply)
        if not isinstance(supply, Tensor) and isinstance(capacity, Tensor):
            amounts = amounts.to(capacity.device)
        if not isinstance(capacity, Tensor):
            capacity = checks.as_tensor("capacity", capacity).to(amounts.device)
        size = amounts.shape[-1] if amounts.ndim else 0
        ends = as_arcs(arcs, None)
        if size < ends[2]:
            expected = f"(*batch, n_nodes) with a number for each of the {ends[2]} nodes in `arcs`"
            raise checks.fail("supply", expected, f"shape {tuple(amounts.shape)}")
        checks.finite("supply", amounts)
        total, scale = amounts.detach().sum(-1), amounts.detach().abs().sum(-1)
        if bool((total.abs() > 1e-6 * (1 + scale)).any()):
            worst = total.flatten()[total.abs().argmax()]
            raise checks.fail(
                "supply", "such that it sums to 0 (what leaves arrives)", f"a sum of {worst.item():.6g}",
                "Add a node that takes the surplus",
            )  # fmt: skip
        self._flow((ends[0], ends[1], size), np.arange(size), amounts, capacity, sense)

    @property
    def supply(self) -> Tensor:
        """What each node sends out, `(n_nodes,)` or `(*batch, n_nodes)`."""
        return self._rhs
