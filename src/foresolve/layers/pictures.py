"""How layers smooth, in pictures: from the center to a vertex as gamma falls, and along a line of parameters."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, shortened, tidy
from foresolve._base.drawing.palette import FAINT, GRAY, INK, SEQUENCE
from foresolve._base.extras import need
from foresolve.errors import ForesolveWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.problems.base import Problem

SIZE = (7.0, 4.0)
POINTS, SLOPES = 121, 13
MOST = len(SEQUENCE)  # variables in color: those that move most


def draw_path(gammas: np.ndarray, xs: Tensor, vertex: Tensor, own: float | None, names: Any, ax: Any) -> Axes:
    """Decisions `(gammas, n)` as gamma falls to the right, the best decision without smoothing as dots at the end."""
    ax = as_axes(ax, SIZE)
    moving = _moving(torch.cat([xs, vertex[None]]))
    for i in set(range(xs.shape[1])) - set(moving):
        ax.plot(gammas, xs[:, i], color=FAINT, linewidth=0.8, zorder=1)
    end = gammas.min() / 1.6
    for color, i in zip(SEQUENCE, moving):
        ax.plot([*gammas, end], [*xs[:, i].tolist(), xs[-1, i].item()], color=color, linewidth=1.8, zorder=2)
        ax.plot([end], [vertex[i].item()], "o", color=color, markersize=6, zorder=3, clip_on=False)
    ax.set_xscale("log")
    ax.set_xlim(gammas.max(), end)
    ax.set_xlabel("gamma (log scale): smoother to the left, sharper to the right", fontsize=9)
    ax.set_ylabel("decision x", fontsize=9)
    entries = _entries(moving, xs.shape[1], names)
    entries.append(legends.mark("best decision without smoothing", INK, "o"))
    if own is not None and end < own < gammas.max():
        ax.axvline(own, color=INK, linestyle=":", linewidth=1.2)
        entries.append(legends.mark("gamma of the layer", INK, "", line=":"))
    tidy(ax, "y")
    legends.under(ax, entries)
    return ax


def draw_response(layer: Any, theta: Tensor, toward: Tensor, problem: Problem, ax: Any) -> Axes:
    """What a layer gives, and the slopes that it passes back, on the way from `theta` to `toward`."""
    ax = as_axes(ax, SIZE)
    layer, share = copy.deepcopy(layer), torch.linspace(0, 1, POINTS, dtype=torch.float64)
    line = (theta + _along(share, theta) * (toward - theta)).double()
    few = line[:: POINTS // (SLOPES - 1)].clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForesolveWarning)  # kinks and vertices are what the picture is about
        xs, best = layer(line, problem).detach().double().cpu(), problem.maximizer(line).double().cpu()
        moving = _moving(torch.cat([xs, best]), most=4)
        at = layer(few, problem)
    for color, i in zip(SEQUENCE, moving):
        ax.plot(share, best[:, i], color=color, linewidth=1.0, linestyle="--", zorder=1)
        ax.plot(share, xs[:, i], color=color, linewidth=2.0, zorder=2)
        gradient = torch.zeros_like(few)
        if at.requires_grad:
            (gradient,) = torch.autograd.grad(at[:, i].sum(), few, retain_graph=True)
        slope = (gradient * (toward - theta)).reshape(SLOPES, -1).sum(-1)
        _draw_slopes(ax, share[:: POINTS // (SLOPES - 1)].numpy(), at[:, i].detach().cpu().numpy(), slope.cpu().numpy())
    ax.set_xlabel("share of the way from theta to another theta", fontsize=9)
    ax.set_ylabel("decision x", fontsize=9)
    ax.margins(0.03, 0.08)
    tidy(ax, "y")
    entries = [
        *_entries(moving, xs.shape[1], problem.names)[: len(moving)],
        legends.mark("layer", INK, "", line="-"),
        legends.mark("best decision", INK, "", line="--"),
        legends.mark("slope passed back", INK, "_"),
    ]
    legends.under(ax, entries)
    return ax


def one_instance(name: str, theta: Any, problem: Problem) -> Tensor:
    """Parameters of one instance, for a problem of one."""
    if problem.batch_shape:
        remedy = "Take one: `problem.select(torch.tensor([i]))` and its shared form"
        raise checks.fail("problem", "shared by all instances", f"a batch {tuple(problem.batch_shape)}", remedy)
    theta, dims = problem.check_theta(theta).detach(), len(problem.theta_shape)
    while theta.ndim > dims and theta.shape[0] == 1:
        theta = theta[0]
    if theta.ndim != dims:
        raise checks.fail(name, "that of one instance", f"shape {tuple(theta.shape)}", f"Take one: `{name}[i]`")
    return theta


def as_gammas(gammas: Any, usual: Sequence[float]) -> np.ndarray:
    """Smoothings to draw, from the largest down."""
    if gammas is None:
        return np.geomspace(usual[0], usual[1], 60)
    values = checks.as_tensor("gammas", gammas).double().flatten().numpy()
    if len(values) < 2 or not (values > 0).all():
        raise checks.fail("gammas", "at least two numbers > 0", f"{len(values)} numbers, the least {values.min():g}")
    return np.sort(values)[::-1]


def _along(share: Tensor, theta: Tensor) -> Tensor:
    return share.reshape(-1, *[1] * theta.ndim).to(theta.device)


def _moving(xs: Tensor, most: int = MOST) -> list[int]:
    """The variables that change most, in their own order."""
    spread = (xs.amax(0) - xs.amin(0)).cpu()
    return sorted(spread.topk(min(most, len(spread))).indices.tolist())


def _entries(moving: list[int], n: int, names: Any) -> list[Any]:
    called = [f"x{i}" if names is None else shortened(names[i], 16) for i in moving]
    entries = [legends.mark(name, color, "", line="-") for name, color in zip(called, SEQUENCE)]
    if n > len(moving):
        entries.append(legends.mark(f"{n - len(moving)} more", GRAY, "", line="-"))
    return entries


def _draw_slopes(ax: Axes, places: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> None:
    """Short lines of one length as they are seen."""
    collections: Any = need("matplotlib.collections", "a picture", "plot")
    low, high = ax.get_ylim()
    steep = slopes / max(high - low, 1e-12) * SIZE[1] / SIZE[0]  # in units of the picture
    across = 0.026 / np.sqrt(1 + np.square(steep))
    start = np.stack([places - across, values - across * slopes], 1)
    end = np.stack([places + across, values + across * slopes], 1)
    ax.add_collection(collections.LineCollection(list(np.stack([start, end], 1)), colors=INK, linewidths=1.5, zorder=4))
