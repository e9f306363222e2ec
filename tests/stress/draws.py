"""Random linear programs with the troubles of real ones: each kind is a function of a generator.

Numbers that must add up exactly (dependent rows, ties, decisions on the edge of feasibility) are multiples of a power
of two, so that no rounding decides what an instance is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tests.stress.models import Draw, Model

Generator = np.random.Generator
SHAPES = ((), (1,), (3,), (2, 3), (0,), (4,))
DTYPES = (torch.float64, torch.float64, torch.float64, torch.float32, torch.bfloat16)


def coarse(rng: Generator, *shape: int) -> np.ndarray:
    """Numbers of a few bits; about a tenth are 0."""
    return rng.integers(-32, 33, shape) * (rng.random(shape) > 0.1) / 16.0


def power(rng: Generator, low: float, high: float, size: Any = None) -> Any:
    """Ten to the power of a uniform draw."""
    return 10.0 ** rng.uniform(low, high, size)


def set_of(
    rng: Generator,
    n: int | None = None,
    m_eq: int | None = None,
    m_ub: int | None = None,
    *,
    exact: bool = False,
    tight: float = 0.0,
) -> Model:
    """A feasible set around a point of its own; `exact`: numbers of a few bits; `tight`: how many rows lack slack."""
    n = int(rng.integers(2, 11)) if n is None else n
    m_eq = int(rng.integers(0, n // 3 + 1)) if m_eq is None else m_eq
    m_ub = int(rng.integers(0, 7)) if m_ub is None else m_ub
    normal = coarse if exact else lambda r, *shape: r.standard_normal(shape)
    A_eq, A_ub = normal(rng, m_eq, n), normal(rng, m_ub, n)
    lower, upper = -rng.integers(0, 17, n) / 16.0, rng.integers(1, 17, n) / 16.0
    inside = lower + (upper - lower) * rng.integers(1, 16, n) / 16.0
    slack = rng.integers(1, 17, m_ub) / 16.0 * (rng.random(m_ub) >= tight)
    return Model(A_ub, A_ub @ inside + slack, A_eq, A_eq @ inside, lower, upper)


def draw_of(rng: Generator, model: Model, *, reach: float = 2.0, shape: tuple[int, ...] | None = None,
            **changes: Any) -> Draw:  # fmt: skip
    """Parameters for a set, with `theta / 2 gamma` of the size `reach`; shapes, dtypes and gamma vary."""
    shape = SHAPES[int(rng.choice(len(SHAPES), p=[0.2, 0.2, 0.25, 0.2, 0.03, 0.12]))] if shape is None else shape
    gamma = float(power(rng, -2, 1)) if rng.random() < 0.8 else float(2.0 ** rng.integers(-3, 3))
    theta = 2 * gamma * reach * rng.standard_normal((*shape, model.n))
    dtype = DTYPES[int(rng.choice(len(DTYPES), p=[0.3, 0.3, 0.2, 0.12, 0.08]))]
    cotangent = torch.from_numpy(rng.standard_normal((*shape, model.n))).to(dtype)
    sense = "max" if rng.random() < 0.7 else "min"
    form = ("dense", "sparse", "torch")[int(rng.choice(3, p=[0.6, 0.2, 0.2]))]
    draw = Draw(model, torch.from_numpy(theta).to(dtype), gamma, cotangent, form=form, sense=sense)
    return replace(draw, **changes)


def double(draw: Draw) -> Draw:
    """The same with parameters in float64."""
    return replace(draw, theta=draw.theta.double(), cotangent=draw.cotangent.double())


# -- everyday programs -------------------------------------------------------------------------------------------------


def plain(rng: Generator) -> Draw:
    return draw_of(rng, set_of(rng))


def larger(rng: Generator) -> Draw:
    """20 to 40 variables."""
    n = int(rng.integers(20, 41))
    shape = ((), (2,))[int(rng.integers(2))]
    return draw_of(rng, set_of(rng, n, int(rng.integers(0, 8)), int(rng.integers(0, 15))), shape=shape)


def relative(rng: Generator) -> Draw:
    """The layer's own gamma."""
    return replace(double(draw_of(rng, set_of(rng))), gamma=None)


def tied(rng: Generator) -> Draw:
    """Whole numbers, or sixteenths like the bounds: slacks and multipliers vanish together."""
    draw = draw_of(rng, set_of(rng, exact=True, tight=0.5))
    unit = 1.0 if rng.random() < 0.5 else 0.0625
    theta = torch.round(draw.theta.float() / draw.gamma * unit**0.5 / unit) * unit
    theta = theta * (rng.random() > 0.05)  # sometimes nothing is worth anything
    return replace(draw, theta=theta.to(draw.theta.dtype), gamma=0.5)


def on_a_kink(rng: Generator) -> Draw:
    """`theta` is made from a decision and multipliers of what is tight there, of which a third are 0."""
    n, m_eq, m_ub = int(rng.integers(2, 9)), int(rng.integers(0, 2)), int(rng.integers(1, 5))
    A_eq, A_ub = coarse(rng, m_eq, n), coarse(rng, m_ub, n)
    lower, upper = -rng.integers(0, 17, n) / 16.0, rng.integers(1, 17, n) / 16.0
    side = rng.integers(-1, 2, n)
    x = np.select([side < 0, side > 0], [lower, upper], 0.0)
    tight = rng.random(m_ub) < 0.6
    model = Model(A_ub, A_ub @ x + np.where(tight, 0.0, 0.5), A_eq, A_eq @ x, lower, upper)
    y, w = tight * rng.integers(0, 3, m_ub) / 16.0, side * rng.integers(0, 3, n) / 16.0
    s = x + A_eq.T @ (rng.integers(-2, 3, m_eq) / 16.0) + A_ub.T @ y + w
    draw = double(draw_of(rng, model, shape=(1,), sense="max"))
    return replace(draw, theta=torch.from_numpy(s)[None], gamma=0.5, facts={"x": x})


def dependent(rng: Generator) -> Draw:
    """Rows that repeat others, add them up, or are empty."""
    model = set_of(rng, exact=True, tight=0.3)
    A_eq, b_eq, A_ub, b_ub = model.A_eq, model.b_eq, model.A_ub, model.b_ub
    if len(A_eq):
        weights = rng.integers(-2, 3, (int(rng.integers(1, 3)), len(A_eq))).astype(float)
        A_eq, b_eq = np.concatenate([A_eq, weights @ A_eq]), np.concatenate([b_eq, weights @ b_eq])
    if len(A_ub):
        weights = rng.integers(0, 3, (int(rng.integers(1, 4)), len(A_ub))).astype(float)
        A_ub, b_ub = np.concatenate([A_ub, weights @ A_ub]), np.concatenate([b_ub, weights @ b_ub])
    if rng.random() < 0.5:
        A_ub, b_ub = np.concatenate([A_ub, np.zeros((1, model.n))]), np.append(b_ub, rng.integers(0, 2))
    return draw_of(rng, model.changed(A_eq=A_eq, b_eq=b_eq, A_ub=A_ub, b_ub=b_ub))


def many_rows(rng: Generator) -> Draw:
    """More rows than variables."""
    n = int(rng.integers(2, 8))
    return draw_of(rng, set_of(rng, n, int(rng.integers(0, n)), int(rng.integers(n, 4 * n)), exact=rng.random() < 0.5))


def per_instance(rng: Generator) -> Draw:
    """Constraints of each instance's own, all of them or some."""
    shape = ((3,), (4,), (2, 3))[int(rng.integers(3))]
    first = set_of(rng)
    parts = {name: [] for name in ("A_ub", "b_ub", "A_eq", "b_eq", "lower", "upper")}
    for _ in range(int(np.prod(shape))):
        one = set_of(rng, first.n, len(first.A_eq), len(first.A_ub))
        for name in parts:
            parts[name].append(getattr(one, name))
    if rng.random() < 0.5:  # only the sides and the bounds differ: feasible around the first one's point
        shift = rng.integers(0, 9, (*shape, len(first.b_ub))) / 16.0
        lower = first.lower - rng.integers(0, 9, (*shape, first.n)) / 16.0
        model = first.changed(b_ub=first.b_ub + shift, lower=lower)
    else:
        stacked = {name: np.stack(part).reshape(*shape, *part[0].shape) for name, part in parts.items()}
        model = Model(**stacked)
    return draw_of(rng, model, shape=shape)


def sparse(rng: Generator) -> Draw:
    n = int(rng.integers(8, 25))
    model = set_of(rng, n, int(rng.integers(0, n // 4)), int(rng.integers(1, n)))
    keep_eq, keep_ub = (rng.random(a.shape) < 0.25 for a in (model.A_eq, model.A_ub))
    inside = (model.lower + model.upper) / 2
    A_eq, A_ub = model.A_eq * keep_eq, model.A_ub * keep_ub
    A_eq = A_eq[np.abs(A_eq).sum(-1) > 0]
    model = model.changed(A_eq=A_eq, b_eq=A_eq @ inside, A_ub=A_ub, b_ub=A_ub @ inside + rng.random(len(A_ub)) / 4)
    return draw_of(rng, model, form="sparse")


def fixed_variables(rng: Generator) -> Draw:
    model = set_of(rng, int(rng.integers(3, 11)))
    inside = model.lower + (model.upper - model.lower) / 2
    chosen = rng.random(model.n) < 0.4
    lower, upper = np.where(chosen, inside, model.lower), np.where(chosen, inside, model.upper)
    sides = {"b_eq": model.A_eq @ inside, "b_ub": model.A_ub @ inside + rng.random(len(model.b_ub))}
    return draw_of(rng, model.changed(lower=lower, upper=upper, **sides))


def free_variables(rng: Generator) -> Draw:
    model = set_of(rng)
    lower = np.where(rng.random(model.n) < 0.5, -np.inf, model.lower)
    upper = np.where(rng.random(model.n) < 0.5, np.inf, model.upper)
    return draw_of(rng, model.changed(lower=lower, upper=upper))


def integer_variables(rng: Generator) -> Draw:
    """0/1 and small integer variables, some or all; decisions of `solve` only."""
    n = int(rng.integers(2, 9))
    model = set_of(rng, n, int(rng.integers(0, 2)), int(rng.integers(1, 5)), exact=True)
    most = rng.integers(1, 3, n).astype(float)
    inside = np.floor(rng.random(n) * (most + 1))
    every = rng.random() < 0.7
    integrality = np.ones(n, int) if every else (rng.random(n) < 0.6).astype(int)
    sides = {"b_eq": model.A_eq @ inside, "b_ub": model.A_ub @ inside + rng.integers(0, 17, len(model.b_ub)) / 16.0}
    model = replace(model.changed(lower=np.zeros(n), upper=most, **sides), integrality=integrality)
    return draw_of(rng, model, parts=("exact",))


def unbounded_integers(rng: Generator) -> Draw:
    """Integers without a bound that two equalities with real coefficients leave no choice: nothing to find, quickly."""
    n = int(rng.integers(3, 6))
    A_eq = rng.standard_normal((2, n))
    empty, bounds = np.zeros((0, n)), (np.zeros(n), np.full(n, np.inf))
    model = Model(empty, np.zeros(0), A_eq, A_eq @ np.full(n, 0.5), *bounds, np.ones(n, int))
    return draw_of(rng, model, shape=(), parts=("exact",))


def no_entries(rng: Generator) -> Draw:
    """Rows without a single entry, or no rows at all; in half of the draws the layer's own gamma."""
    model = set_of(rng, m_eq=0, m_ub=int(rng.integers(0, 4)))
    A_ub, b_ub = np.zeros_like(model.A_ub), np.abs(model.b_ub) * (rng.random(len(model.b_ub)) < 0.7)
    draw = double(draw_of(rng, model.changed(A_ub=A_ub, b_ub=b_ub)))
    return replace(draw, gamma=None if rng.random() < 0.5 else draw.gamma)


# -- no decision, or hardly one ----------------------------------------------------------------------------------------


def infeasible(rng: Generator) -> Draw:
    """Two rows that contradict each other by a wide margin, or a row that the bounds forbid."""
    model = set_of(rng)
    row = rng.standard_normal(model.n)
    if rng.random() < 0.5:
        A_ub = np.concatenate([model.A_ub, [row, -row]])
        b_ub = np.concatenate([model.b_ub, [0.25, -0.25 - power(rng, -1, 1)]])
        return draw_of(rng, model.changed(A_ub=A_ub, b_ub=b_ub))
    most = np.maximum(row * model.lower, row * model.upper).sum()
    A_eq, b_eq = np.concatenate([model.A_eq, [row]]), np.append(model.b_eq, most + power(rng, -1, 1))
    return draw_of(rng, model.changed(A_eq=A_eq, b_eq=b_eq))


def near_infeasible(rng: Generator) -> Draw:
    """A slab whose width is a small power of ten, or minus that."""
    model = set_of(rng, exact=True, m_eq=0, m_ub=int(rng.integers(0, 3)))
    row = coarse(rng, model.n)
    row[0] = 1.0
    inside = model.lower + (model.upper - model.lower) / 2
    width = float(power(rng, -9, -2)) * (1 if rng.random() < 0.6 else -1)
    A_ub = np.concatenate([model.A_ub, [row, -row]])
    b_ub = np.concatenate([model.A_ub @ inside + 0.25, [row @ inside, width - row @ inside]])
    return double(draw_of(rng, model.changed(A_ub=A_ub, b_ub=b_ub), facts={"width": width}))


def mixed_batch(rng: Generator) -> Draw:
    """Feasible and infeasible instances side by side."""
    model = set_of(rng, m_ub=int(rng.integers(1, 6)))
    count = int(rng.integers(2, 6))
    b_ub = np.repeat(model.b_ub[None], count, 0)
    least = np.minimum(model.A_ub * model.lower, model.A_ub * model.upper).sum(-1)
    bad = rng.random(count) < 0.4
    b_ub[bad, 0] = least[0] - 0.5
    return draw_of(rng, model.changed(b_ub=b_ub), shape=(count,))


Builder = Callable[[Generator], Draw]
EVERYDAY: dict[str, Builder] = {
    "plain": plain,
    "plain, larger": larger,
    "relative gamma": relative,
    "tied": tied,
    "on a kink": on_a_kink,
    "dependent rows": dependent,
    "more rows than variables": many_rows,
    "per instance": per_instance,
    "sparse": sparse,
    "fixed variables": fixed_variables,
    "free variables": free_variables,
    "rows without entries": no_entries,
    "integrality": integer_variables,
    "integrality without bounds": unbounded_integers,
    "infeasible": infeasible,
    "near infeasible": near_infeasible,
    "mixed batch": mixed_batch,
}
