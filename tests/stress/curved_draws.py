"""Random quadratic programs: the sets of linear ones, with a `Q` in every form and with the troubles of real ones.

Parts of `Q` are numbers of a few bits and columns are scaled by powers of two, so that products are exact: what is
positive semidefinite on paper is so in floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import torch

from tests.stress import draws
from tests.stress.curved_models import Curve, CurvedDraw
from tests.stress.draws import Builder, Generator, coarse, power
from tests.stress.models import Draw

CurvedBuilder = Callable[[Generator], CurvedDraw]
PARTS = ("forward", "gradient", "duals", "exact")
FORMS = ("diagonal", "dense", "sparse", "low rank", "factor", "leaning")


# -- forms of Q --------------------------------------------------------------------------------------------------------


def variances(rng: Generator, n: int) -> np.ndarray:
    return rng.integers(1, 33, n) / 16.0


def gram(rng: Generator, n: int, rank: int, *, density: float = 1.0) -> np.ndarray:
    factor = coarse(rng, n, rank) * (rng.random((n, rank)) < density)
    return factor @ factor.T


def parts_of(rng: Generator, form: str, n: int) -> dict[str, np.ndarray]:
    """The parts of one `Q`: definite, but for "factor" and "leaning"."""
    few = int(rng.integers(1, max(2, n // 2 + 1)))
    if form == "diagonal":
        return {"diagonal": variances(rng, n)}
    if form == "dense":
        return {"Q": gram(rng, n, int(rng.integers(1, n + 1))) + np.diag(variances(rng, n))}
    if form == "sparse":
        return {"Q": gram(rng, n, n, density=1.5 / n) + np.diag(variances(rng, n))}
    if form == "low rank":
        return {"diagonal": variances(rng, n), "factor": coarse(rng, n, few)}
    if form == "factor":
        return {"factor": coarse(rng, n, int(rng.integers(1, n + 1)))}
    assert form == "leaning"
    return {"Q": gram(rng, n, n - 1)}


def _leans(Q: np.ndarray, rows: np.ndarray) -> bool:
    """Whether `Q` is definite on the null space of some rows, by a margin."""
    basis = scipy.linalg.null_space(rows) if len(rows) else np.eye(len(Q))
    return not basis.shape[1] or bool(np.linalg.eigvalsh(basis.T @ Q @ basis)[0] > 1e-3)


def scaled(parts: dict[str, np.ndarray], scale: np.ndarray) -> dict[str, np.ndarray]:
    """`S Q S` for a diagonal `S`."""
    turned = {
        "Q": lambda Q: Q * scale * scale[:, None],
        "diagonal": lambda d: d * scale**2,
        "factor": lambda V: V * scale[:, None],
    }
    return {name: turned[name](part) for name, part in parts.items()}


def dense(parts: dict[str, np.ndarray]) -> np.ndarray:
    if "Q" in parts:
        return parts["Q"]
    total = parts["factor"] @ parts["factor"].swapaxes(-1, -2) if "factor" in parts else 0.0
    if "diagonal" in parts:
        total = total + parts["diagonal"][..., None] * np.eye(parts["diagonal"].shape[-1])
    return total


def twos(rng: Generator, low: float, high: float, size: Any = None) -> Any:
    """Powers of two, from ten to the `low` to ten to the `high`."""
    return 2.0 ** np.round(rng.uniform(low, high, size) * np.log2(10))


# -- draws -------------------------------------------------------------------------------------------------------------


def bent(
    rng: Generator,
    draw: Draw,
    parts: dict[str, np.ndarray],
    gamma: float | None,
    *,
    leaning: bool = False,
    **changes: Any,
) -> CurvedDraw:
    """A linear draw with a `Q`; unconstrained, decisions would be where the linear draw's would, or far beyond them."""
    gamma_before = draw.gamma or 0.5
    aim = draw.theta.double().numpy() / (2 * gamma_before)
    H = dense(parts) + 2 * (gamma or 0.0) * np.eye(aim.shape[-1])
    theta = (H @ aim[..., None])[..., 0] if H.ndim == 2 else np.einsum("...ij,...j->...i", H, aim)
    if rng.random() < 0.3:  # pulls where there is no curvature
        theta = theta + rng.standard_normal(theta.shape) * np.abs(theta).max(initial=0.0)
    form = ("dense", "sparse", "torch")[int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
    given = {"parts": PARTS, **changes}
    facts = dict(draw.facts) | given.pop("facts", {})
    return CurvedDraw(
        draw.model, torch.from_numpy(np.ascontiguousarray(theta)).to(draw.theta.dtype), gamma, draw.cotangent,
        form=draw.form, sense=draw.sense, facts=facts, curve=Curve(parts, form, leaning), **given,
    )  # fmt: skip


def gamma_of(rng: Generator, form: str) -> float | None:
    """0 for most; a form that is not definite needs one."""
    if form == "factor":
        return float(power(rng, -2, 0))
    return (0.0, 0.0, None, float(power(rng, -2, 0)))[int(rng.integers(4))]


def any_form(rng: Generator, draw: Draw, *forms: str, **changes: Any) -> CurvedDraw:
    """A linear draw with a form of the given ones; one that leans where the rows allow it."""
    form = forms[int(rng.integers(len(forms)))] if forms else FORMS[int(rng.integers(len(FORMS)))]
    parts = parts_of(rng, form, draw.model.n)
    gamma = gamma_of(rng, form)
    leaning = form == "leaning" and draw.model.A_eq.ndim == 2 and _leans(parts["Q"], draw.model.A_eq)
    if form == "leaning" and not leaning:
        gamma = float(power(rng, -2, 0))
    return bent(rng, draw, parts, gamma, leaning=leaning and not gamma, **changes)


def of_form(form: str) -> CurvedBuilder:
    def build(rng: Generator) -> CurvedDraw:
        n = int(rng.integers(2, 11))
        m_eq = int(rng.integers(1, n // 3 + 2)) if form == "leaning" else None
        return any_form(rng, draws.draw_of(rng, draws.set_of(rng, n, m_eq)), form)

    return build


def on_set(builder: Builder, *forms: str, keep: bool = False, **changes: Any) -> CurvedBuilder:
    """The sets of a kind of linear draws; `keep`: with their parameters, where these are what the kind is about."""

    def build(rng: Generator) -> CurvedDraw:
        linear = builder(rng)
        draw = any_form(rng, linear, *forms, **changes)
        return replace(draw, theta=linear.theta) if keep else draw

    return build


def factorized(rng: Generator) -> CurvedDraw:
    """A sparse `Q` that takes the way of a large one."""
    draw = any_form(rng, draws.plain(rng), "sparse", facts={"few": 0})
    return replace(draw, curve=replace(draw.curve, form="sparse"))


def per_instance(rng: Generator) -> CurvedDraw:
    """A `Q` for each instance, on constraints that are shared or not."""
    linear = draws.per_instance(rng) if rng.random() < 0.5 else draws.draw_of(
        rng, draws.set_of(rng), shape=((3,), (2, 3))[int(rng.integers(2))])  # fmt: skip
    form = ("diagonal", "dense", "sparse", "low rank", "factor")[int(rng.integers(5))]
    first = parts_of(rng, form, linear.model.n)
    count = int(np.prod(linear.batch))
    all_ = [first]
    while len(all_) < count:
        other = parts_of(rng, form, linear.model.n)
        if all(other[name].shape == part.shape for name, part in first.items()):
            all_.append(other)
    shared = "diagonal" if form == "low rank" and rng.random() < 0.5 else None
    parts = {
        name: part if name == shared else np.stack([one[name] for one in all_]).reshape(*linear.batch, *part.shape)
        for name, part in first.items()
    }
    return bent(rng, linear, parts, gamma_of(rng, form))


def vertices(rng: Generator) -> CurvedDraw:
    """Gains so large that decisions lie in corners."""
    draw = any_form(rng, draws.plain(rng), "diagonal", "dense", "low rank")
    return replace(draw, theta=draw.theta * float(power(rng, 1, 3)))


def on_a_kink(rng: Generator) -> CurvedDraw:
    """`theta` is made from a decision and multipliers of what is tight there, of which a third are 0."""
    linear = draws.on_a_kink(rng)
    draw = any_form(rng, linear, "diagonal", "dense", "sparse", "low rank")
    gamma = (0.0, 0.5)[int(rng.integers(2))]
    x, H = linear.facts["x"], dense(draw.curve.parts) + 2 * gamma * np.eye(linear.model.n)
    theta = linear.theta + torch.from_numpy((H - np.eye(len(x))) @ x)
    return replace(draw, theta=theta, gamma=gamma, facts={})


EVERYDAY_CURVED: dict[str, CurvedBuilder] = {
    **{f"quadratic: {form}": of_form(form) for form in FORMS},
    "quadratic: sparse, factorized": factorized,
    "quadratic: per instance": per_instance,
    "quadratic: vertices": vertices,
    "quadratic: tied": on_set(draws.tied, "diagonal", "dense", "low rank", keep=True),
    "quadratic: on a kink": on_a_kink,
    "quadratic: dependent rows": on_set(draws.dependent),
    "quadratic: more rows than variables": on_set(draws.many_rows),
    "quadratic: fixed variables": on_set(draws.fixed_variables),
    "quadratic: free variables": on_set(draws.free_variables),
    "quadratic: mixed batch": on_set(draws.mixed_batch),
    "quadratic: warm start": on_set(draws.plain, facts={"warm": True}),
}
