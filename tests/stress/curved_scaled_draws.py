"""Random quadratic programs whose `Q` is singular, nearly so, or in units that differ, on sets that may be so too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
import torch

from tests.stress import draws, scaled_draws
from tests.stress.curved_draws import (
    CurvedBuilder,
    any_form,
    bent,
    dense,
    gamma_of,
    gram,
    on_set,
    parts_of,
    scaled,
    twos,
    variances,
)
from tests.stress.curved_models import CurvedDraw
from tests.stress.draws import Generator, coarse, power
from tests.stress.models import Model


def semidefinite(rng: Generator) -> CurvedDraw:
    """Directions, or variables, without curvature, and a gamma that may be small."""
    linear = draws.plain(rng)
    n = linear.model.n
    Q = gram(rng, n, int(rng.integers(0, n)))
    if rng.random() < 0.3:
        idle = rng.random(n) < 0.4
        Q[idle], Q[:, idle] = 0.0, 0.0
    return bent(rng, linear, {"Q": Q}, float(power(rng, -5, 0)))


def nearly_singular(rng: Generator) -> CurvedDraw:
    """Curvature of 2^-10 to 2^-40 in some directions; a gamma of 0 where the library takes it for definite."""
    linear = draws.double(draws.plain(rng))
    n = linear.model.n
    small = 2.0 ** -int(rng.integers(10, 41)) * variances(rng, n)
    factor = coarse(rng, n, int(rng.integers(1, max(2, n))))
    parts = {"diagonal": small, "factor": factor}
    Q = dense(parts)
    scale = np.sqrt(Q.diagonal())
    definite = float(np.linalg.eigvalsh(Q / scale / scale[:, None])[0]) > 1e-10
    gamma = 0.0 if definite or rng.random() < 0.3 else float(power(rng, -8, -3))
    given = {"Q": Q} if rng.random() < 0.6 and (gamma or definite) else parts
    return bent(rng, linear, given, gamma)


def warm_and_nearly_singular(rng: Generator) -> CurvedDraw:
    """From the solution for other parameters."""
    return replace(nearly_singular(rng), facts={"warm": True})


def entries_wide(rng: Generator) -> CurvedDraw:
    """Entries of 1e-6 to 1e6 by columns of 1e-3 to 1e3, in the set of an ordinary program, or in one scaled against."""
    linear = draws.double(draws.plain(rng))
    scale = twos(rng, -3, 3, linear.model.n)
    form = ("diagonal", "dense", "sparse", "low rank")[int(rng.integers(4))]
    parts = scaled(parts_of(rng, form, linear.model.n), scale)
    if rng.random() < 0.5:
        model, unit = linear.model, 1 / scale
        matrices = {"A_eq": model.A_eq * scale, "A_ub": model.A_ub * scale}
        model = model.changed(**matrices, lower=model.lower * unit, upper=model.upper * unit)
        linear = replace(linear, model=model, theta=linear.theta * torch.from_numpy(unit))
    return bent(rng, linear, parts, 0.0)


def weak(rng: Generator) -> CurvedDraw:
    """`Q` of 1e-9 to 1e9 of what `theta` would have it be: next to none, or all."""
    draw = any_form(rng, draws.double(draws.plain(rng)), "diagonal", "dense", "low rank")
    factor = float(twos(rng, -9, 9))
    parts = scaled(draw.curve.parts, np.full(draw.model.n, factor**0.5))
    return replace(draw, gamma=0.0, curve=replace(draw.curve, parts=parts))


def units(rng: Generator) -> CurvedDraw:
    """The whole objective in units of 1e-30 to 1e30."""
    draw = any_form(rng, draws.double(draws.plain(rng)), "diagonal", "dense", "sparse", "low rank")
    size = 4.0 ** int(rng.integers(-50, 51))
    parts = scaled(draw.curve.parts, np.full(draw.model.n, size**0.5))
    return replace(draw, gamma=0.0, theta=draw.theta * size, curve=replace(draw.curve, parts=parts))


def several(rng: Generator) -> CurvedDraw:
    """The troubles of linear programs, and a `Q` with its own."""
    linear = draws.double(scaled_draws.several(rng))
    linear = replace(linear, facts={})
    form = ("diagonal", "dense", "sparse", "low rank", "factor")[int(rng.integers(5))]
    parts = parts_of(rng, form, linear.model.n)
    if rng.random() < 0.5:
        parts = scaled(parts, twos(rng, -2, 2, linear.model.n))
    return bent(rng, linear, parts, gamma_of(rng, form) or (0.25 if form == "factor" else 0.0))


def blocks(rng: Generator) -> CurvedDraw:
    """Many small programs side by side: a large sparse one that exact arithmetic can solve."""
    count = int(rng.integers(22, 30))
    sets = [draws.set_of(rng, 10, int(rng.integers(0, 3)), int(rng.integers(0, 4))) for _ in range(count)]
    joined = {name: scipy.linalg.block_diag(*(getattr(one, name) for one in sets)) for name in ("A_ub", "A_eq")}
    rest = {name: np.concatenate([getattr(one, name) for one in sets]) for name in ("b_ub", "b_eq", "lower", "upper")}
    Q = scipy.linalg.block_diag(*(parts_of(rng, "sparse", 10)["Q"] for _ in range(count)))
    linear = draws.double(draws.draw_of(rng, Model(**joined, **rest), shape=((), (2,))[int(rng.integers(2))]))
    draw = bent(rng, linear, {"Q": Q}, 0.0, facts={"blocks": count})
    return replace(draw, form="sparse", curve=replace(draw.curve, form="sparse"), parts=("forward", "gradient"))


SCALED_CURVED: dict[str, CurvedBuilder] = {
    "quadratic: semidefinite": semidefinite,
    "quadratic: nearly singular": nearly_singular,
    "quadratic: warm start, nearly singular": warm_and_nearly_singular,
    "quadratic: entries 1e-6..1e6": entries_wide,
    "quadratic: Q 1e-9..1e9 of theta": weak,
    "quadratic: units of the objective": units,
    "quadratic: row scales 1e-8..1e8": on_set(scaled_draws.row_scales),
    "quadratic: column scales 1e-3..1e3": on_set(scaled_draws.columns),
    "quadratic: nearly dependent rows": on_set(scaled_draws.near_dependent),
    "quadratic: big-M on a fixed variable": on_set(scaled_draws.big_m_fixed),
    "quadratic: small units of x": on_set(scaled_draws.small_units),
    "quadratic: large units of x": on_set(scaled_draws.large_units),
    "quadratic: near infeasible": on_set(draws.near_infeasible),
    "quadratic: several troubles at once": several,
}
BLOCKS: dict[str, CurvedBuilder] = {"quadratic: many blocks": blocks}
