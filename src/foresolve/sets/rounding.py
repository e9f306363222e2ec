r"""Rounding of points of a matroid polytope to independent sets: pipage and swap rounding.

The multilinear extension `F` of a submodular function is convex along `e_i - e_j`, so moving along such a line to an
end, by `up` or back by `down`, the better end is no worse; and a random end, `up` with the probability
`down / (up + down)`, keeps the mean of `x` and does not lower the mean of `F`. Each method here is a sequence of such
moves inside of the polytope, until every coordinate is 0 or 1.

References
----------
Calinescu, Chekuri, Pál and Vondrák, Maximizing a monotone submodular function subject to a matroid constraint, 2011.
Chekuri, Vondrák and Zenklusen, Dependent randomized rounding via exchange properties of combinatorial structures, 2010.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.sets.decomposition import ONE, SetCombination, decompose, units
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.laminar import LaminarMatroid
from foresolve.sets.matroids.matroid import Matroid

# From `x` `(B, n + 1 or more)`, the items `i`, `j` `(B,)` and the lengths `up`, `down` `(B,)`: whether to go to
# `x + up (e_i - e_j)`, or else to `x - down (e_i - e_j)`. Columns from `n` on are no items.
Choice = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def swap_rounding(x: Tensor, matroid: Matroid, seed: Seed = 0) -> Tensor:
    """Random independent sets with the mean `x` `(*batch, n)`, and `E f(S) >= F(x)` for every submodular `f`.

    `x` is written as a combination of independent sets, and these are merged two by two: items in which two of them
    differ are exchanged, in favor of either with a probability in proportion to its weight. The rounding does
    not know `f`, so its promise holds for predicted and true parameters alike, and for functions that are not monotone.

    Parameters
    ----------
    x: points of the independence polytope, up to rounding errors.
    seed: an integer >= 0, or a generator, which advances with every call.

    Returns
    -------
    0/1 `(*batch, n)` in the dtype of `x`.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import UniformMatroid
    >>> from foresolve.sets import swap_rounding
    >>> x = torch.tensor([1.0, 0.5, 0.25, 0.25])
    >>> swap_rounding(x, UniformMatroid(4, 2), seed=0)
    tensor([1., 0., 0., 1.])
    """
    x = checks.as_tensor("x", x)
    sets = _tournament(decompose(x, matroid), matroid, _random(seed))
    return sets.reshape(x.shape).to(x.dtype)


def randomized_pipage(x: Tensor, matroid: Matroid, seed: Seed = 0) -> Tensor:
    """Random independent sets with the mean `x` `(*batch, n)`, and `E f(S) >= F(x)` for every submodular `f`.

    For laminar matroids two fractional items at a time move against each other, by at most `n` steps; for others it is
    `swap_rounding`. Parameters and result are as there.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import UniformMatroid, randomized_pipage
    >>> sets = randomized_pipage(torch.full((1000, 4), 0.5), UniformMatroid(4, k=2), seed=0)
    >>> sets.sum(-1).unique(), bool((sets.mean(0) - 0.5).abs().max() < 0.05)
    (tensor([2.]), True)
    """
    if not isinstance(matroid, LaminarMatroid):
        return swap_rounding(x, matroid, seed)
    x = checks.as_tensor("x", x)
    return _walk(units(x, matroid), matroid, _random(seed)).reshape(x.shape).to(x.dtype)


def pipage(x: Tensor, function: SetFunction, theta: Tensor, matroid: Matroid) -> Tensor:
    """Independent sets with `f(S, theta) >= F(x, theta)`, without randomness.

    Every step goes to the better end of a line along which `F` is convex. The sets have as many items as `sum(x)`, or
    the next integer below or above: from a base comes a base. A slack budget is not filled up.

    Parameters
    ----------
    x: `(*batch, n)` points of the independence polytope, up to rounding errors.
    function: a submodular function, with its parameters `theta` `(*batch, *shape)`; `F` is its `multilinear`.

    Returns
    -------
    0/1 `(*batch, n)` in the dtype of `x`; the batch shapes of `x` and `theta` broadcast.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import ProbabilisticCoverage, UniformMatroid, pipage
    >>> theta = torch.tensor([[0.9, 0.0], [0.8, 0.1], [0.0, 0.5]])
    >>> x = torch.tensor([0.5, 0.5, 1.0])
    >>> pipage(x, ProbabilisticCoverage(), theta, UniformMatroid(3, k=2))
    tensor([1., 0., 1.])
    """
    x = checks.as_tensor("x", x)
    theta = function.check_theta(theta, matroid.n).detach()
    checks.last_dim("x", x, matroid.n, "the matroid")
    shapes = {"`x`": x.shape[:-1], "`theta`": theta.shape[: theta.ndim - function.theta_dims]}
    batch = checks.broadcast_batch({**shapes, "the function's data": function.batch_shape})
    x = x.detach().expand(*batch, matroid.n)

    def better(x: Tensor, i: Tensor, j: Tensor, up: Tensor, down: Tensor) -> Tensor:
        with torch.no_grad():
            ends = [_moved(x, i, j, length)[:, : matroid.n].reshape(*batch, matroid.n) for length in (up, -down)]
            above, below = (function.multilinear(end, theta).reshape(-1) for end in ends)
        return above >= below

    if isinstance(matroid, LaminarMatroid):
        sets = _walk(units(x, matroid), matroid, better)
    else:
        sets = _sequence(decompose(x, matroid), matroid, better)
    return sets.reshape(x.shape).to(x.dtype)


def _random(seed: Seed) -> Choice:
    generator = as_generator("seed", seed)

    def choose(x: Tensor, i: Tensor, j: Tensor, up: Tensor, down: Tensor) -> Tensor:
        draw = torch.rand(len(x), generator=generator, device=generator.device, dtype=torch.float64)
        return draw.to(x.device) * (up + down) < down

    return choose


def _moved(x: Tensor, i: Tensor, j: Tensor, length: Tensor) -> Tensor:
    """`x + length (e_i - e_j)` in each row."""
    return x.scatter_add(1, i[:, None], length[:, None]).scatter_add(1, j[:, None], -length[:, None])


def _walk(amounts: Tensor, matroid: LaminarMatroid, choose: Choice) -> Tensor:
    """Move pairs of fractional items until none is left: 0/1 `(B, n)` from integers in units of `1 / ONE`.

    A pair is taken from a smallest set of the family with two fractional items (or from all items). A set that holds
    but one of the pair has no other fractional item, so its slack is that item's distance from 1 plus an integer, and
    the pair can move until one of the two is 0 or 1. A last one alone goes either way. The sums are exact.
    """
    n = matroid.n
    by_size = sorted(range(len(matroid.sets)), key=lambda s: len(matroid.sets[s]))
    member = torch.zeros(len(by_size) + 1, n, dtype=torch.bool)
    for place, s in enumerate(by_size):
        member[place, torch.from_numpy(matroid.sets[s])] = True
    member[-1] = True
    member = member.to(amounts.device)
    amounts = torch.nn.functional.pad(amounts, (0, 1))
    for _ in range(n):
        amount = amounts[:, :n]
        fractional = (amount > 0) & (amount < ONE)
        if not bool(fractional.any()):
            break
        several = fractional.double() @ member.double().mT >= 2
        several[:, -1] = True
        candidates = fractional & member[several.to(torch.uint8).argmax(1)]
        # The two nearest to 1/2, first those that may be taken; the column `n` stands in for a missing one.
        score = torch.where(candidates, ONE // 2 - (amount - ONE // 2).abs(), -1)
        top = torch.nn.functional.pad(score, (0, 2), value=-1).topk(2, dim=1)
        i, j = torch.where(top.values >= 0, top.indices, n).unbind(1)
        at_i, at_j = (amounts.gather(1, k[:, None])[:, 0] for k in (i, j))
        lone, none = j == n, i == n
        up = torch.where(lone, ONE - at_i, torch.minimum(ONE - at_i, at_j)).masked_fill(none, 0)
        down = torch.where(lone, at_i, torch.minimum(at_i, ONE - at_j)).masked_fill(none, 0)
        upwards = choose(amounts.double() / ONE, i, j, up.double() / ONE, down.double() / ONE)
        amounts = _moved(amounts, i, j, torch.where(upwards, up, -down))
        amounts[:, n] = 0
    return amounts[:, :n] == ONE


def _fill(sets: Tensor, rank: int) -> Tensor:
    """Sets `(B, m, n)` of at most `rank` items filled up to just as many, `(B, m, n + rank)`.

    The fillers are no items, but sets of at most `rank` items and fillers, the items of which are independent, are
    those of a matroid, too.
    """
    missing = rank - sets.sum(-1, keepdim=True)
    return torch.cat([sets, torch.arange(rank, device=sets.device) < missing], -1)


def _tournament(combination: SetCombination, matroid: Matroid, choose: Choice) -> Tensor:
    """One independent set `(B, n)`, boolean: neighbors are merged at random, then the winners, all pairs at once.

    For choices that do not depend on `x` this is as good as one merge after the other: each exchange leaves the mean
    of the combination's sum as it is.
    """
    weights, sets = combination.weights, _fill(combination.sets, matroid.rank)
    while sets.shape[1] > 1:
        if sets.shape[1] % 2:
            weights, sets = torch.nn.functional.pad(weights, (0, 1)), torch.cat([sets, sets[:, -1:]], 1)
        left, right = sets[:, 0::2].flatten(0, 1), sets[:, 1::2].flatten(0, 1)
        first, second = weights[:, 0::2].flatten(), weights[:, 1::2].flatten()
        merged, _ = _merge(left.double(), left, right, first, second, matroid, choose)
        weights = weights[:, 0::2] + weights[:, 1::2]
        sets = merged.reshape(*weights.shape, sets.shape[2])
    return sets[:, 0, : matroid.n]


def _sequence(combination: SetCombination, matroid: Matroid, choose: Choice) -> Tensor:
    """One independent set `(B, n)`, boolean: the sets are merged one after the other, by choices that look at `x`."""
    weights, sets = combination.weights, _fill(combination.sets, matroid.rank)
    x = (weights[..., None] * sets).sum(1)
    current, total = sets[:, 0], weights[:, 0]
    for q in range(1, sets.shape[1]):
        current, x = _merge(x, current, sets[:, q], total, weights[:, q], matroid, choose)
        total = total + weights[:, q]
    return current[:, : matroid.n]


def _merge(
    x: Tensor, left: Tensor, right: Tensor, first: Tensor, second: Tensor, matroid: Matroid, choose: Choice
) -> tuple[Tensor, Tensor]:
    """The set `(B, n + rank)` that two, of the weights `first` and `second` `(B,)`, become, and `x` after that."""
    right = torch.where((second > 0)[:, None], right, left)
    left = torch.where((first > 0)[:, None], left, right)
    while bool((left != right).any()):
        differ = (left & ~right).any(1)
        i = (left & ~right).to(torch.uint8).argmax(1)
        partners = matroid._exchanges(left, right, i) & differ[:, None]
        j = torch.where(differ, partners.to(torch.uint8).argmax(1), i)
        # In favor of the first, `right - j + i`: `x` moves by the weight of the second. Or the other way round.
        up, down = torch.where(differ, second, 0.0), torch.where(differ, first, 0.0)
        upwards = choose(x, i, j, up, down)
        x = _moved(x, i, j, torch.where(upwards, up, -down))
        right, left = _swapped(right, j, i, differ & upwards), _swapped(left, i, j, differ & ~upwards)
    return left, x


def _swapped(sets: Tensor, out: Tensor, into: Tensor, where: Tensor) -> Tensor:
    """The sets, with `out` replaced by `into` in the rows `where`."""
    swapped = sets.scatter(1, out[:, None], False).scatter(1, into[:, None], True)
    return torch.where(where[:, None], swapped, sets)
