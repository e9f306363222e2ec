"""Sampled rows of nodes that reach a target, and the extension of influence spread and its derivatives on them.

`influence.py` has the formulas. Rows are padded to a power of two with a node that is never chosen (`1 - x = 1`), so a
product that leaves one node out is a quotient of dense arrays; a zero `1 - x` becomes `TINY` and cancels, as for
facility location, and sums that leave one out are prefix and suffix sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from foresolve.sets.functions.cascades import CascadeGraph, LiveGraphs, changes, draw_targets, padded
from foresolve.sets.functions.extension import TINY, Local, cleaned

CHUNK = 2**22  # entries of the matrix of rows and items at once


class ReachingSets:
    """The sampled rows of one instance, and, once they are asked for, what they become when arcs are switched.

    Attributes
    ----------
    weight: `(rows,)`, of each row in `F`.
    graph: `(rows,)`, the graph it was found in.
    parts: numbers of rows and their nodes `(., width)`, by width.
    size: entries in all parts.
    """

    def __init__(
        self,
        network: CascadeGraph,
        theta: np.ndarray,
        candidates: np.ndarray,
        weights: np.ndarray,
        samples: int,
        targets: int,
        seed: int,
        device: torch.device,
    ) -> None:
        self.network, self.theta, self.device = network, theta, device
        self.graphs, self.seed = samples, seed
        self.targets = draw_targets(candidates, samples, targets, seed)
        flat, graph = self.targets.reshape(-1), np.repeat(np.arange(samples), targets)
        self.members = self._live().sources(flat, graph)
        self.weight = self._tensor(weights[flat] * (len(candidates) / max(targets, 1) / samples))
        self.graph = self._tensor(graph)
        self.parts = self._padded(*self.members, len(flat))
        self.size = sum(index.numel() for _, index in self.parts)

    def _live(self) -> LiveGraphs:
        return LiveGraphs(self.network, self.theta, self.graphs, self.seed)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _padded(self, owner: np.ndarray, node: np.ndarray, count: int) -> list[tuple[Tensor, Tensor]]:
        return [(self._tensor(ids), self._tensor(index)) for ids, index in padded(owner, node, count, self.network.n)]

    @cached_property
    def switched(self) -> Switched:
        return Switched(self)


class Switched:
    """Rows under single arcs that are switched, with the weight that each change has in the derivative."""

    def __init__(self, rows: ReachingSets) -> None:
        switches = changes(rows._live(), rows.theta, rows.targets, *rows.members)
        self.row, self.edge, self.present = (rows._tensor(a) for a in (switches.row, switches.edge, switches.present))
        chance = rows.theta[switches.edge]
        share = np.where(switches.present, chance, 1 - chance) * switches.share
        self.weight = rows.weight[self.row] / rows._tensor(share)
        self.parts = rows._padded(switches.owner, switches.node, len(switches.row))
        self.graphs = switches.graphs


class InfluenceLocal(Local):
    """`rows[b]` belong to instance `b`."""

    def __init__(self, rows: list[ReachingSets], x: Tensor, edges: int) -> None:
        self.rows, self.x, self.edges = rows, x, edges
        self._q = pad((1 - x).clamp_min(TINY), (0, 1), value=1.0)  # the last node fills rows up

    @cached_property
    def _missed(self) -> list[Tensor]:
        """Products `P(R)` of each row `(rows,)`, for each instance."""
        return [_products(rows.parts, q, len(rows.weight)) for rows, q in zip(self.rows, self._q)]

    @cached_property
    def value(self) -> Tensor:  # type: ignore[override]
        each = [(rows.weight * (1 - missed)).sum() for rows, missed in zip(self.rows, self._missed)]
        return torch.stack(each) if each else self.x.new_zeros(0)

    @cached_property
    def error(self) -> Tensor:
        """`(B,)`: the standard error of `value`, from the spread between the graphs."""
        each = []
        for rows, missed in zip(self.rows, self._missed):
            total = self.x.new_zeros(rows.graphs).index_add_(0, rows.graph, rows.weight * (1 - missed))
            each.append(total.std() * math.sqrt(rows.graphs))  # of a sum of equal shares
        return torch.stack(each) if each else self.x.new_zeros(0)

    @cached_property
    def gradient(self) -> Tensor:  # type: ignore[override]
        out = torch.zeros_like(self._q)
        for b, (rows, missed) in enumerate(zip(self.rows, self._missed)):
            for ids, index in rows.parts:
                q = _take(self._q[b], index)
                _add(out[b], index, (rows.weight[ids] * missed[ids]).unsqueeze(-1) / q)
        size = [rows.weight.sum() for rows in self.rows]
        return cleaned(out[:, :-1], torch.stack(size).unsqueeze(-1)) if size else out[:, :-1]

    def hessian(self, index: Tensor) -> Tensor:
        f = index.shape[-1]
        out = self.x.new_zeros(*index.shape, f)
        for b, (rows, missed) in enumerate(zip(self.rows, self._missed)):
            place = torch.full((self._q.shape[-1],), f, device=index.device)
            place[index[b]] = torch.arange(f, device=index.device)
            for ids, nodes in rows.parts:
                for numbers, part in zip(ids.split(max(1, CHUNK // (f + 1))), nodes.split(max(1, CHUNK // (f + 1)))):
                    # The root is taken apart, so that factors 1e100 and 1e-100 meet in the product only.
                    entries = (rows.weight[numbers] * missed[numbers]).sqrt().unsqueeze(-1) / _take(self._q[b], part)
                    matrix = self.x.new_zeros(len(numbers), f + 1).scatter_(-1, _take(place, part), entries)[:, :f]
                    out[b] -= matrix.mT @ matrix
        out.diagonal(dim1=-2, dim2=-1).zero_()
        return out

    def product(self, v: Tensor) -> Tensor:
        out = torch.zeros_like(self._q)
        for b, (rows, missed) in enumerate(zip(self.rows, self._missed)):
            ratio = pad(v[b], (0, 1)) / self._q[b]
            for ids, index in rows.parts:
                terms = _take(ratio, index)
                before = pad(terms[:, :-1], (1, 0)).cumsum(-1)
                after = pad(terms[:, 1:], (0, 1)).flip(-1).cumsum(-1).flip(-1)
                weight = (rows.weight[ids] * missed[ids]).unsqueeze(-1)
                _add(out[b], index, -weight / _take(self._q[b], index) * (before + after))
        return out[:, :-1]

    def cross(self, v: Tensor) -> Tensor:
        """An unbiased estimate."""
        return self._by_edge(lambda b: self._cross_terms(b, v[b]))

    def slope(self) -> Tensor:
        """An unbiased estimate."""
        return self._by_edge(self._slope_terms)

    def slope_error(self) -> Tensor:
        """`(B, edges)`: the standard error of `slope`, from the spread between the graphs."""
        out = self.x.new_zeros(len(self.rows), self.edges)
        for b, rows in enumerate(self.rows):
            switched = rows.switched
            cell = rows.graph[switched.row] * self.edges + switched.edge
            total = self.x.new_zeros(switched.graphs * self.edges).index_add_(0, cell, self._slope_terms(b))
            out[b] = total.reshape(switched.graphs, self.edges).std(0) * math.sqrt(switched.graphs)
        return out

    def _by_edge(self, terms: Callable[[int], Tensor]) -> Tensor:
        out = self.x.new_zeros(len(self.rows), self.edges)
        for b, rows in enumerate(self.rows):
            out[b].index_add_(0, rows.switched.edge, terms(b))
        return out

    def _slope_terms(self, b: int) -> Tensor:
        """Weighted `P(absent) - P(present)`: the set is what the arc adds, or the row without it."""
        switched = self.rows[b].switched
        row = self._missed[b][switched.row]
        without = _products(switched.parts, self._q[b], len(row))
        return switched.weight * torch.where(switched.present, without - row, row * (1 - without))

    def _cross_terms(self, b: int, v: Tensor) -> Tensor:
        """The same for `G(R) = v' grad h = sum_{i in R} v_i P(R \\ i)`; `G(A + B) = G(A) P(B) + P(A) G(B)`."""
        rows, switched = self.rows[b], self.rows[b].switched
        ratio = pad(v, (0, 1)) / self._q[b]
        missed = self._missed[b][switched.row]
        slope = (self._missed[b] * _sums(rows.parts, ratio, len(rows.weight)))[switched.row]
        without = _products(switched.parts, self._q[b], len(missed))
        without_slope = without * _sums(switched.parts, ratio, len(missed))
        gain = missed * without_slope - slope * (1 - without)
        return switched.weight * torch.where(switched.present, slope - without_slope, gain)


def _take(values: Tensor, index: Tensor) -> Tensor:
    return values.index_select(0, index.reshape(-1)).reshape(index.shape)


def _add(out: Tensor, index: Tensor, values: Tensor) -> None:
    out.index_add_(0, index.reshape(-1), values.reshape(-1))


def _products(parts: list[tuple[Tensor, Tensor]], q: Tensor, count: int) -> Tensor:
    out = q.new_ones(count)
    for ids, index in parts:
        out[ids] = _take(q, index).prod(-1)
    return out


def _sums(parts: list[tuple[Tensor, Tensor]], values: Tensor, count: int) -> Tensor:
    out = values.new_zeros(count)
    for ids, index in parts:
        out[ids] = _take(values, index).sum(-1)
    return out
