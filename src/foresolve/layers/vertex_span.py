r"""The directions of the face that holds a point, where only vertices can be asked for.

Where `x` is the best point for a smoothed objective of slope `u`, it moves within the face of vertices that are best
for `u`. The vertices that `x` is made of need not span that face: with ties, a few of them may do. Others are found by
asking for the best vertex of `u` plus a little of a random direction across their span, both ways: as long as the
answer is as good for `u`, it is a vertex of the face that they did not reach; when neither way answers, there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

SEED = 0x5BA7
# The share of the terms of `u` that the random direction gets, what a vertex may lose under `u` and still be of the
# face, and the share of the direction that it has to go.
PUSH = 1e-5
LOSS = 1e-9
STRIDE = 1e-6
# Of the terms of `u`: what their difference may be by rounding.
NOISE = 1e-10

Oracle = Callable[[Tensor, Tensor], Tensor]


def spanning(
    vertices: Tensor, used: Tensor, x: Tensor, u: Tensor, size: Tensor, oracle: Oracle
) -> tuple[Tensor, Tensor]:
    """More vertices `(B, K, n)`, and which of them count `(B, K)`, until they span the face of each `x` `(B, n)`.

    `size` `(B,)` is that of the terms of which `u` is the difference: inside the polytope `u` itself is their rounding,
    and counts as zero. `oracle(gains, index)` gives the best vertices of the instances `index`.
    """
    u, size = torch.where(u.abs() > NOISE * size[:, None], u, 0.0), size[:, None]
    generator = torch.Generator().manual_seed(SEED)
    live = torch.arange(len(x), device=x.device)
    for _ in range(x.shape[-1]):
        differences = (vertices[live] - x[live, None]) * used[live, :, None].to(x)
        direction = _across(differences, torch.randn(1, x.shape[-1], generator=generator, dtype=x.dtype).to(x))
        unit = PUSH * size[live] / direction.abs().amax(-1, keepdim=True).clamp_min(1e-300)
        reached = torch.zeros(len(live), dtype=torch.bool, device=x.device)
        for sign in (1.0, -1.0):
            new = oracle(u[live] + sign * unit * direction, live)
            step = new - x[live]
            far = sign * (direction * step).sum(-1) > STRIDE * (direction.abs() * step.abs()).sum(-1)
            found = far & ((u[live] * step).sum(-1) >= -LOSS * size[live, 0] * step.abs().sum(-1))
            vertices = torch.cat([vertices, vertices.new_zeros(len(vertices), 1, x.shape[-1])], 1)
            used = torch.cat([used, used.new_zeros(len(used), 1)], 1)
            vertices[live, -1], used[live, -1] = new, found
            reached |= found
        live = live[reached]
        if len(live) == 0:
            break
    return vertices, used


def _across(differences: Tensor, g: Tensor) -> Tensor:
    """What of `g` `(1, n)` is orthogonal to the differences `(B, K, n)` of each instance."""
    values, basis = torch.linalg.eigh(differences @ differences.mT)
    inverse = torch.where(values > 1e-10 * values.amax(-1, keepdim=True).clamp_min(1e-300), 1 / values, 0.0)
    inner = (basis.mT @ (differences @ g[0])[..., None])[..., 0] * inverse
    return g - ((basis @ inner[..., None]).mT @ differences)[:, 0]
