"""Random linear programs in which one number is large, small or nearly dependent, and units that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from tests.stress.draws import Builder, Generator, double, draw_of, power, set_of
from tests.stress.models import Draw, Model


def _middle(model: Model) -> np.ndarray:
    return (model.lower + model.upper) / 2


def no_limit(rng: Generator) -> Draw:
    """One inequality with a right-hand side that never binds: 1e4 to 1e12 for "no limit"."""
    model = set_of(rng, m_eq=int(rng.integers(0, 3)), n=int(rng.integers(3, 9)), m_ub=int(rng.integers(1, 5)))
    b_ub = model.b_ub.copy()
    b_ub[int(rng.integers(len(b_ub)))] = float(power(rng, 4, 12))
    return draw_of(rng, model.changed(b_ub=b_ub))


def large_side(rng: Generator) -> Draw:
    """One right-hand side that is large and binds: a variable of its own scale makes it so."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=1, m_ub=int(rng.integers(1, 5)))
    size, j = float(power(rng, 4, 12)), int(rng.integers(model.n))
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[j], upper[j] = (0.0, 2 * size)
    inside = np.where(np.arange(model.n) == j, size, _middle(model))
    b_eq, b_ub = (
        model.A_eq @ inside,
        model.A_ub @ inside + rng.random(len(model.b_ub)) * np.abs(model.A_ub[:, j]) * size,
    )
    return double(draw_of(rng, model.changed(lower=lower, upper=upper, b_eq=b_eq, b_ub=b_ub)))


def large_entry(rng: Generator) -> Draw:
    """One entry of 1e3 to 1e8 in a row, as in a big-M row; in half of the draws its variable is at a bound there."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=int(rng.integers(0, 3)), m_ub=int(rng.integers(1, 5)))
    name = "A_eq" if len(model.A_eq) and rng.random() < 0.4 else "A_ub"
    A = getattr(model, name).copy()
    j, sign = int(rng.integers(model.n)), (-1) ** int(rng.integers(2))
    A[int(rng.integers(len(A))), j] = sign * float(power(rng, 3, 8))
    inside = _middle(model)
    if rng.random() < 0.5:
        inside[j] = model.lower[j] if rng.random() < 0.5 else model.upper[j]
    slack = 0.0 if name == "A_eq" else rng.random(len(A)) * 0.2
    return draw_of(rng, model.changed(**{name: A, "b" + name[1:]: A @ inside + slack}))


def big_m_fixed(rng: Generator) -> Draw:
    """A large coefficient on a variable that is fixed, at 0 or elsewhere."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=int(rng.integers(1, 3)), m_ub=int(rng.integers(0, 4)))
    j, lower, upper = int(rng.integers(model.n)), model.lower.copy(), model.upper.copy()
    lower[j] = upper[j] = 0.0 if rng.random() < 0.5 else 1.0
    A_eq, A_ub = model.A_eq.copy(), model.A_ub.copy()
    A_eq[0, j] = float(power(rng, 3, 8))
    if len(A_ub):
        A_ub[0, j] = -float(power(rng, 3, 8))
    inside = (lower + upper) / 2
    b_ub = A_ub @ inside + 0.1 * rng.random(len(A_ub))
    return draw_of(rng, Model(A_ub, b_ub, A_eq, A_eq @ inside, lower, upper))


def empty_row(rng: Generator) -> Draw:
    """A row without entries whose right-hand side is large."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=int(rng.integers(0, 3)), m_ub=int(rng.integers(1, 4)))
    A_ub = np.concatenate([model.A_ub, np.zeros((1, model.n))])
    return draw_of(rng, model.changed(A_ub=A_ub, b_ub=np.append(model.b_ub, float(power(rng, 4, 12)))))


def _columns(rng: Generator, span: float) -> Draw:
    """Columns in units of their own; half of the draws keep the box of all variables, half move it with the units."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=int(rng.integers(0, 3)), m_ub=int(rng.integers(1, 5)))
    scale = power(rng, -span, span, model.n)
    A_eq, A_ub, lower, upper = model.A_eq * scale, model.A_ub * scale, model.lower, model.upper
    if rng.random() < 0.5:
        lower, upper = lower / scale, upper / scale
    inside = (lower + upper) / 2
    slack = 0.1 * rng.random(len(A_ub)) * (np.abs(A_ub) @ np.abs(upper - lower))
    moved = Model(A_ub, A_ub @ inside + slack, A_eq, A_eq @ inside, lower, upper)
    return double(draw_of(rng, moved, reach=2.0 * float(np.median(upper - lower))))


def columns(rng: Generator) -> Draw:
    return _columns(rng, 3)


def columns_wide(rng: Generator) -> Draw:
    return _columns(rng, 6)


def row_scales(rng: Generator) -> Draw:
    model = set_of(rng, m_ub=int(rng.integers(1, 6)))
    eq, ub = (power(rng, -8, 8, len(b)) for b in (model.b_eq, model.b_ub))
    parts = {"A_eq": model.A_eq * eq[:, None], "b_eq": model.b_eq * eq}
    return draw_of(rng, model.changed(**parts, A_ub=model.A_ub * ub[:, None], b_ub=model.b_ub * ub))


def near_dependent(rng: Generator) -> Draw:
    """A row that differs from another by 1e-3 to 1e-10 of it, both equalities or both tight."""
    n = int(rng.integers(3, 9))
    model = set_of(rng, n=n, m_eq=int(rng.integers(1, 3)), m_ub=int(rng.integers(1, 4)))
    inside, epsilon = _middle(model), float(power(rng, -10, -3))
    name = "A_eq" if rng.random() < 0.7 else "A_ub"
    A = getattr(model, name)
    A = np.concatenate([A, A[:1] + epsilon * rng.standard_normal((1, n))])
    draw = draw_of(rng, model.changed(**{name: A, "b" + name[1:]: A @ inside}), facts={"epsilon": epsilon})
    return double(draw)


def _units(rng: Generator, low: float, high: float) -> Draw:
    """All of `x` in other units: right-hand sides and bounds times a power of ten."""
    model, unit = set_of(rng, m_ub=int(rng.integers(1, 6))), float(power(rng, low, high))
    unlimited = rng.random(model.n) < 0.4  # then the rows alone give the scale
    moved = model.changed(
        b_eq=model.b_eq * unit, b_ub=model.b_ub * unit,
        lower=model.lower * unit, upper=np.where(unlimited, np.inf, model.upper * unit),
    )  # fmt: skip
    reach = 2 * unit if rng.random() < 0.6 else float(power(rng, -2, 1))
    return double(draw_of(rng, moved, reach=reach, facts={"unit": unit}))


def small_units(rng: Generator) -> Draw:
    return _units(rng, -12, -3)


def large_units(rng: Generator) -> Draw:
    return _units(rng, 3, 9)


def small_coefficients(rng: Generator) -> Draw:
    """Entries and right-hand sides of 1e-12 to 1e-6 together; `x` is of ordinary size."""
    model, unit = set_of(rng, m_ub=int(rng.integers(1, 6))), float(power(rng, -12, -6))
    parts = {name: getattr(model, name) * unit for name in ("A_eq", "b_eq", "A_ub", "b_ub")}
    return draw_of(rng, model.changed(**parts))


def strength(rng: Generator) -> Draw:
    """`theta / gamma` from 1e-6 to 1e16 on a box of ordinary size."""
    reach = float(power(rng, -6, 16))
    return double(draw_of(rng, set_of(rng), reach=reach, facts={"reach": reach}))


def cents(rng: Generator) -> Draw:
    """Prices and a budget in cents beside rows that count."""
    n = int(rng.integers(3, 11))
    prices = rng.integers(100, 10_000_000, n).astype(float)
    budget = np.round(prices.sum() * rng.uniform(0.1, 0.9))
    counts = (rng.random((int(rng.integers(1, 4)), n)) < 0.6).astype(float)
    A_ub = np.concatenate([prices[None], counts])
    b_ub = np.concatenate([[budget], np.maximum(1.0, np.floor(counts.sum(-1) * rng.random(len(counts))))])
    empty = np.zeros((0, n))
    model = Model(A_ub, b_ub, empty, np.zeros(0), np.zeros(n), np.ones(n))
    return draw_of(rng, model)


def integer_units(rng: Generator) -> Draw:
    """0/1 decisions whose rows are in units of 1e-10 to 1e6."""
    n, unit = int(rng.integers(2, 10)), float(power(rng, -10, 6))
    A_ub = np.round(rng.random((int(rng.integers(1, 3)), n)) * 40 + 1) / 8 * unit
    model = Model(A_ub, A_ub.sum(-1) * 0.45, np.zeros((0, n)), np.zeros(0), np.zeros(n), np.ones(n), np.ones(n, int))
    draw = draw_of(rng, model, parts=("exact",), sense="max", facts={"unit": unit})
    return replace(draw, theta=draw.theta.abs() + torch.finfo(draw.theta.dtype).eps)


def theta_units(rng: Generator) -> Draw:
    """`theta` and `gamma` in other units together, 1e-30 to 1e30: the decision stays the same."""
    draw, unit = double(draw_of(rng, set_of(rng))), float(power(rng, -30, 30))
    assert draw.gamma is not None
    return replace(draw, theta=draw.theta * unit, gamma=draw.gamma * unit, facts={"unit": unit})


# -- several at once ---------------------------------------------------------------------------------------------------


def _add_no_limit(rng: Generator, model: Model) -> Model:
    row = rng.standard_normal((1, model.n)) * (rng.random() < 0.8)
    return model.changed(A_ub=np.concatenate([model.A_ub, row]), b_ub=np.append(model.b_ub, float(power(rng, 4, 12))))


def _scale_rows(rng: Generator, model: Model) -> Model:
    eq, ub = (power(rng, -5, 5, len(b)) for b in (model.b_eq, model.b_ub))
    parts = {"A_eq": model.A_eq * eq[:, None], "b_eq": model.b_eq * eq}
    return model.changed(**parts, A_ub=model.A_ub * ub[:, None], b_ub=model.b_ub * ub)


def _scale_columns(rng: Generator, model: Model) -> Model:
    scale = power(rng, -2, 2, model.n)
    bounds = {"lower": model.lower / scale, "upper": model.upper / scale}
    return model.changed(A_eq=model.A_eq * scale, A_ub=model.A_ub * scale, **bounds)


def _scale_all(rng: Generator, model: Model) -> Model:
    unit = float(power(rng, -6, 6))
    return model.changed(**{name: getattr(model, name) * unit for name in ("b_eq", "b_ub", "lower", "upper")})


def _fix_with_big_m(rng: Generator, model: Model) -> Model:
    """A new variable, fixed at 0, with a large coefficient in some row."""
    parts = {}
    for name in ("A_eq", "A_ub"):
        A = getattr(model, name)
        column = np.zeros((len(A), 1))
        if len(A):
            column[int(rng.integers(len(A)))] = float(power(rng, 2, 8))
        parts[name] = np.concatenate([A, column], 1)
    return model.changed(**parts, lower=np.append(model.lower, 0.0), upper=np.append(model.upper, 0.0))


def _repeat_rows(rng: Generator, model: Model) -> Model:
    """Inequalities again, a little looser."""
    slack = float(power(rng, -12, 0)) * np.abs(model.b_ub)
    return model.changed(A_ub=np.concatenate([model.A_ub] * 2), b_ub=np.concatenate([model.b_ub, model.b_ub + slack]))


def _open_bounds(rng: Generator, model: Model) -> Model:
    return model.changed(upper=np.where(rng.random(model.n) < 0.3, np.inf, model.upper))


TROUBLES = (_add_no_limit, _scale_rows, _scale_columns, _scale_all, _fix_with_big_m, _repeat_rows, _open_bounds)


def several(rng: Generator) -> Draw:
    """Two to four of the troubles above in one program."""
    model = set_of(rng, n=int(rng.integers(3, 9)), m_eq=int(rng.integers(0, 3)), m_ub=int(rng.integers(1, 5)))
    chosen = rng.choice(len(TROUBLES), int(rng.integers(2, 5)), replace=False)
    for k in chosen:
        model = TROUBLES[k](rng, model)
    widths = (model.upper - model.lower)[np.isfinite(model.upper) & (model.upper > model.lower)]
    reach = float(np.median(widths)) if len(widths) else 1.0
    facts = {"troubles": [TROUBLES[k].__name__ for k in chosen]}
    return double(draw_of(rng, model, reach=reach * float(power(rng, -1, 2)), facts=facts))


SCALED: dict[str, Builder] = {
    "one large right-hand side, no limit": no_limit,
    "one large right-hand side, binding": large_side,
    "one large entry": large_entry,
    "big-M on a fixed variable": big_m_fixed,
    "empty row, large right-hand side": empty_row,
    "column scales 1e-3..1e3": columns,
    "column scales 1e-6..1e6": columns_wide,
    "row scales 1e-8..1e8": row_scales,
    "nearly dependent rows": near_dependent,
    "small units of x": small_units,
    "large units of x": large_units,
    "small coefficients": small_coefficients,
    "theta / gamma 1e-6..1e16": strength,
    "budget in cents": cents,
    "0/1 rows in other units": integer_units,
    "units of theta 1e-30..1e30": theta_units,
    "several troubles at once": several,
}
