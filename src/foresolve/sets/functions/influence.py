r"""Influence spread under the independent cascade, by reverse reachable sets.

Draw a live-edge graph: each arc `e` is there with probability `theta_e`. A set `S` then activates node `t` if and only
if it meets the row `R_t` of all nodes that reach `t` (Borgs et al., "Maximizing social influence in nearly optimal
time", SODA 2014). So, given the graphs, the spread is a coverage function, and its extension is exact in `x`: with
`P(R) = prod_{u in R} (1 - x_u)`,

    F           = mean over graphs of sum_t w_t (1 - P(R_t))
    dF/dx_i     = mean of sum_{t : i in R_t} w_t P(R_t - i),            d2F/dx_i dx_l = -mean of sum w_t P(R_t - i - l).

**Derivative in theta.** With the uniforms fixed, the graphs are piecewise constant in `theta`. But `E h` is linear in
each `theta_e`, so for any `h` of the graph `d/dtheta_e E h = E[h(e present) - h(e absent)]`. The bracket does not
depend on `e` itself, so it may be averaged over only those graphs in which `e` is absent, weighted by
`1 / (1 - theta_e)`, or over those in which it is present, by `1 / theta_e`: the first where `theta_e <= 1/2`, else the
second. Nothing is divided by less than 1/2, the derivative of `F` is never negative, and unbiased also at 0 and 1.
Only arcs into the row matter: if `e = (u, v)` is absent and `v` is in `R_t` but `u` is not, its presence adds the nodes
outside `R_t` that reach `u`; any other absent arc changes nothing. (The score
`h (e / theta_e - (1 - e) / (1 - theta_e))` has the same mean, but a variance of the order of `1 / theta_e`, and no
answer at 0 and 1.)
"""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve._base.graphs import Graph, as_edges, describe_names, is_networkx, restore_names
from foresolve._base.randomness import Seed
from foresolve.sets.functions.cascades import CascadeGraph
from foresolve.sets.functions.extension import flatten
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.reverse_reach import InfluenceLocal, ReachingSets
from foresolve.sets.functions.sparse import refuse_sparse

KEPT = 2**25  # members of rows that are remembered for other thetas than the last
ALL_TARGETS, SOME_TARGETS = 256, 64


class InfluenceSpread(SetFunction):
    r"""The expected weight of the nodes that a cascade reaches from a set of seeds (which count too).

    .. math::
        f(S) = \sum_t w_t \Pr[\,t \text{ is reached from } S \text{ over arcs that are there with } \theta_e]

    It is known through `samples` random graphs, which depend on `seed` alone: for a given `theta` the extension is a
    smooth function of `x` (`sampled` is False: solvers may converge on it), monotone and submodular, and monotone in
    `theta`. It differs from the truth by `standard_error`. All instances share the uniforms. Derivatives in `theta`
    are unbiased estimates, also at 0 and 1; see the module for how.

    Parameters
    ----------
    edges: pairs `(from, to)` of node numbers; `from_networkx` takes those of a graph.
    n_nodes: where there are more nodes than the edges name.
    samples: live-edge graphs; at least 2.
    seed: of the uniforms: an integer >= 0, or a generator from which one is drawn.
    weights: `(n_nodes,)`, `>= 0`; 1 where not given.
    targets: nodes evaluated in each graph, drawn at random; by default all where they are at most 256, else 64. Few
        suit graphs in which cascades run far: time and memory grow with the number of nodes that reach them.

    Shapes
    ------
    `theta` is `(*batch, edges)` with entries in [0, 1]. Sampling runs on the CPU, one instance after the other, and
    what it finds is kept while `theta` stays the same.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import InfluenceSpread
    >>> f = InfluenceSpread([(0, 1), (1, 2)], samples=10_000)
    >>> theta = torch.tensor([0.5, 0.5])
    >>> bool((f.value(torch.tensor([1.0, 0.0, 0.0]), theta) - 1.75).abs() < 0.05)
    True
    """

    def __init__(
        self,
        edges: Any,
        n_nodes: int | None = None,
        samples: int = 128,
        seed: Seed = 0,
        weights: Any = None,
        targets: int | None = None,
    ) -> None:
        super().__init__(samples, seed)
        if self.samples < 2:
            raise checks.fail("samples", "at least 2, or errors could not be estimated", str(samples))
        if is_networkx(edges):
            raise checks.fail("edges", "pairs of node numbers", "a graph", "Use `InfluenceSpread.from_networkx(graph)`")
        self.edges, self.n = as_edges(edges, n_nodes)
        self.nodes: list[Any] | None = None
        self._network = CascadeGraph.of(self.edges, self.n)
        self.weights = np.ones(self.n)
        if weights is not None:
            values = checks.as_tensor("weights", weights).detach().cpu().double()
            checks.last_dim("weights", values, self.n, f"the {self.n} nodes")
            checks.finite("weights", values)
            if values.ndim > 1:
                remedy = "All instances share them; weights of each instance are for `ProbabilisticCoverage`"
                raise checks.fail("weights", f"({self.n},)", str(tuple(values.shape)), remedy)
            checks.non_negative("weights", values)
            self.weights = values.numpy().copy()
        self._candidates = np.flatnonzero(self.weights > 0)
        few = len(self._candidates) <= ALL_TARGETS
        most = (ALL_TARGETS if few else SOME_TARGETS) if targets is None else checks.positive_int("targets", targets)
        self.targets = min(most, len(self._candidates))
        self._known: OrderedDict[tuple[bytes, str], ReachingSets] = OrderedDict()

    @classmethod
    def from_networkx(
        cls, graph: Any, samples: int = 128, seed: Seed = 0, weights: Any = None, targets: int | None = None
    ) -> Self:
        """Cascades on a networkx graph: its arcs are `graph.edges` in order, its `nodes` keep their names.

        An undirected edge gives two arcs with their own probabilities, `(u, v)` then `(v, u)`.
        """
        network = Graph.from_networkx(graph)
        spread = cls(network.pairs, network.n_nodes, samples, seed, weights, targets)
        spread.nodes = list(graph.nodes)
        return spread

    @property
    def sampled(self) -> bool:
        """False: with fixed draws, `F` is smooth in `x`, and its derivatives in `x` agree with it."""
        return False

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`; `theta` that sets share is sampled once."""
        theta = checks.as_tensor("theta", theta)
        if torch.is_grad_enabled() and theta.requires_grad:
            return self.multilinear(mask.to(theta.dtype), theta)
        theta = self.check_theta(theta, mask.shape[-1])
        batch = checks.broadcast_batch({"`mask`": mask.shape[:-1], "`theta`": theta.shape[:-1]})
        which = torch.arange(theta.shape[:-1].numel()).reshape(theta.shape[:-1]).expand(batch).reshape(-1)
        rows = self._rows(theta.reshape(-1, theta.shape[-1]))
        x = mask.expand(*batch, -1).reshape(-1, self.n)
        local = InfluenceLocal([rows[int(k)] for k in which], x.double(), len(self.edges))
        return local.value.to(theta.dtype).reshape(batch)

    def local(self, x: Tensor, theta: Tensor) -> InfluenceLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, edges)`, both float64."""
        rows = self._rows(theta)
        return InfluenceLocal(rows * len(x) if len(rows) == 1 else rows, x, len(self.edges))

    def standard_error(self, x: Tensor, theta: Tensor) -> Tensor:
        """`(*batch,)`: the standard error of `F`."""
        flat = flatten(self, x, theta)
        return flat.restore(self.local(flat.x.detach(), flat.theta.detach()).error)

    def slope_error(self, x: Tensor, theta: Tensor) -> Tensor:
        """`(*batch, edges)`: the standard error of the derivative of `F` in `theta`."""
        flat = flatten(self, x, theta)
        return flat.restore(self.local(flat.x.detach(), flat.theta.detach()).slope_error())

    def with_seed(self, seed: int) -> InfluenceSpread:
        """The same function with other random graphs."""
        twin = copy.copy(self)
        twin.seed, twin._known = checks.positive_int("seed", seed, zero=True), OrderedDict()
        return twin

    theta_bounds = (0.0, 1.0)

    def theta_shape(self, n: int) -> tuple[int | None, ...]:
        """`(edges,)`."""
        return (len(self.edges),)

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor of probabilities `(*batch, edges)`, or an error."""
        refuse_sparse(theta, type(self).__name__)
        theta = checks.as_tensor("theta", theta)
        if n != self.n:
            raise checks.fail("x", f"(*batch, {self.n}) to match the nodes", f"{n} items")
        checks.last_dim("theta", theta, len(self.edges), "the edges")
        checks.unit_interval("theta", theta)
        return theta

    def config(self) -> dict[str, Any]:
        """The graph and how it is sampled; an error where a file cannot keep the names of nodes."""
        settings = {"n_nodes": self.n, "samples": self.samples, "seed": self.seed, "targets": self.targets or None}
        arrays = {"edges": torch.from_numpy(self.edges), "weights": torch.from_numpy(self.weights)}
        return {**arrays, **settings, "nodes": describe_names(self.nodes)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The function of this graph."""
        sizes = {name: configs.size(config, name) for name in ("n_nodes", "samples")}
        spread = cls(**{name: value for name, value in config.items() if name != "nodes"} | sizes)
        spread.nodes = restore_names(config, "nodes", spread.n)
        return spread

    def _rows(self, theta: Tensor) -> list[ReachingSets]:
        """The sampled rows of each instance; those of the last call are kept, and as many of others as fit."""
        arrays = np.ascontiguousarray(theta.detach().double().cpu().numpy())
        now: OrderedDict[tuple[bytes, str], ReachingSets] = OrderedDict()
        keys = [(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), str(theta.device)) for row in arrays]
        for key, row in zip(keys, arrays):
            if key not in now:
                now[key] = self._known.get(key) or self._sample(row, theta.device)
        size = sum(rows.size for rows in now.values())
        for key in reversed(self._known):
            size += self._known[key].size
            if size > KEPT:
                break
            now.setdefault(key, self._known[key])
        self._known = OrderedDict(reversed(now.items()))
        return [now[key] for key in keys]

    def _sample(self, theta: np.ndarray, device: torch.device) -> ReachingSets:
        draw = (self.samples, self.targets, self.seed)
        return ReachingSets(self._network, theta, self._candidates, self.weights, *draw, device)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": OrderedDict()}

    def __repr__(self) -> str:
        return f"InfluenceSpread({self.n} nodes, {len(self.edges)} edges, samples={self.samples}, seed={self.seed})"
