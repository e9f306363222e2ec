"""The kernel behind `fused.py`; imported only where Triton is.

The Schur complement is inverted in place by the sweep operator, which needs no pivots for a positive definite matrix.
`S` and `Z` live in memory, not in registers, while that happens: of several 64 x 64 tiles in float64 only one fits.
"""

# pyright: reportMissingImports=false, reportIndexIssue=false, reportArgumentType=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from foresolve.solvers.active_set import SHIFT
from foresolve.solvers.interior import FLOOR, LIFT, VANISHED
from foresolve.solvers.polytope import Polytope


@triton.jit
def _inverse(grid, p, q, L, R, BL: tl.constexpr, BR: tl.constexpr):
    """Minus the inverse of `diag(q) - grid' diag(1/p) grid`."""
    li, rj = tl.arange(0, BL), tl.arange(0, BR)
    A = tl.where(rj[:, None] == rj[None, :], q[None, :], 0.0)
    for k in range(L):
        v = tl.sum(tl.where(li[:, None] == k, grid, 0.0), 0)
        A -= v[:, None] * (v / tl.sum(tl.where(li == k, p, 0.0), 0))[None, :]
    for k in range(R):
        at_row, at_column = rj[:, None] == k, rj[None, :] == k
        v = tl.sum(tl.where(at_row, A, 0.0), 0)
        pivot = tl.sum(tl.where(rj == k, v, 0.0), 0)
        u = v / pivot
        A = tl.where(at_row, u[None, :], tl.where(at_column, u[:, None], A - v[:, None] * u[None, :]))
        A = tl.where(at_row & at_column, -1.0 / pivot, A)
    return A


@triton.jit
def _solve(inverse, grid, p, left, right):
    """The system with diagonal blocks `p`, `q` and off-diagonal block `grid`, by its Schur complement."""
    left = left / p
    second = -tl.sum(inverse * (right - tl.sum(grid * left[:, None], 0))[None, :], 1)
    return left - tl.sum(grid * second[None, :], 1) / p, second


@triton.jit
def _total(tile):
    return tl.sum(tl.sum(tile, 1), 0)


@triton.jit
def _largest(tile):
    return tl.max(tl.max(tile, 1), 0)


@triton.jit
def _kernel(
    point_ptr, lower_ptr, rhs_ptr, equality_ptr, tolerance_ptr, S_ptr, Z_ptr, y_ptr, spent_ptr,
    L, R, lower_stride, rhs_stride, accuracy, max_iter, floor, lift, vanished, shift,
    BL: tl.constexpr, BR: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, m = L * R, L + R
    li, rj = tl.arange(0, BL), tl.arange(0, BR)
    in_l, in_r = li < L, rj < R
    inside = in_l[:, None] & in_r[None, :]
    at = li[:, None] * R + rj[None, :]
    point_at, low_at = point_ptr + b * n + at, lower_ptr + b * lower_stride + at
    S_at, Z_at = S_ptr + b * n + at, Z_ptr + b * n + at
    rhs_l = tl.load(rhs_ptr + b * rhs_stride + li, mask=in_l, other=0.0)
    rhs_r = tl.load(rhs_ptr + b * rhs_stride + L + rj, mask=in_r, other=0.0)
    live_l = tl.where(in_l & (tl.load(equality_ptr + li, mask=in_l, other=1) == 0), 1.0, 0.0).to(tl.float64)
    live_r = tl.where(in_r & (tl.load(equality_ptr + L + rj, mask=in_r, other=1) == 0), 1.0, 0.0).to(tl.float64)
    wl, wr = (R + 0 * li).to(tl.float64), (L + 0 * rj).to(tl.float64)  # squared row norms
    norm_l, norm_r = tl.sqrt(wl), tl.sqrt(wr)

    # `interior.initial_state`.
    s = tl.load(point_at, mask=inside, other=0.0)
    low = tl.load(low_at, mask=inside, other=0.0)
    reach = tl.maximum(tl.maximum(tl.max(tl.abs(rhs_l) / norm_l, 0), tl.max(tl.abs(rhs_r) / norm_r, 0)), 1.0)
    size = _total(tl.abs(s)) / n + 0.5
    scale = tl.maximum(_largest(tl.abs(s)), 1.0)
    count = n + tl.sum(live_l, 0) + tl.sum(live_r, 0)
    x = tl.where(inside, tl.maximum(low + reach, 0.0), 0.0)
    yl, yr = live_l * size / norm_l, live_r * size / norm_r
    slope = x - s + yl[:, None] + yr[None, :]
    tl.store(S_at, x - low, mask=inside)
    tl.store(Z_at, tl.maximum(slope, 0.0) + size, mask=inside)
    Sl = tl.where(live_l > 0, tl.maximum(rhs_l - tl.sum(x, 1), norm_l * reach), 1.0)
    Sr = tl.where(live_r > 0, tl.maximum(rhs_r - tl.sum(x, 0), norm_r * reach), 1.0)

    it = 0
    going = 1
    while going == 1:
        tl.debug_barrier()
        S = tl.load(S_at, mask=inside, other=1.0, volatile=True)
        Z = tl.load(Z_at, mask=inside, other=0.0, volatile=True)
        Zl, Zr = live_l * yl, live_r * yr
        el, er = live_l * Sl / (Zl + 1.0 - live_l), live_r * Sr / (Zr + 1.0 - live_r)
        d = tl.where(inside, 1.0 / (1.0 + Z / S), 0.0)
        p = tl.where(in_l, tl.sum(d, 1) * (1.0 + lift) + el + floor * wl, 1.0)
        q = tl.where(in_r, tl.sum(d, 0) * (1.0 + lift) + er + floor * wr, 1.0)
        A = _inverse(d, p, q, L, R, BL, BR)

        S = tl.load(S_at, mask=inside, other=1.0, volatile=True)
        Z = tl.load(Z_at, mask=inside, other=0.0, volatile=True)
        s = tl.load(point_at, mask=inside, other=0.0, volatile=True)
        low = tl.load(low_at, mask=inside, other=0.0, volatile=True)
        inv = 1.0 / S
        d = tl.where(inside, 1.0 / (1.0 + Z * inv), 0.0)
        x = tl.where(inside, S + low, 0.0)
        dual = tl.where(inside, s - x - yl[:, None] - yr[None, :] + Z, 0.0)
        pl = tl.where(in_l, rhs_l - tl.sum(x, 1) - live_l * Sl, 0.0)
        pr = tl.where(in_r, rhs_r - tl.sum(x, 0) - live_r * Sr, 0.0)
        mu = (_total(S * Z) + tl.sum(Sl * Zl, 0) + tl.sum(Sr * Zr, 0)) / count

        # Predictor: aim for S Z = 0.
        g = d * (dual - Z)
        dyl, dyr = _solve(A, d, p, tl.sum(g, 1) - pl - live_l * Sl, tl.sum(g, 0) - pr - live_r * Sr)
        px = (g - d * (dyl[:, None] + dyr[None, :])) * inv
        bend = tl.where(inside, px * (px + 1.0), 0.0)
        go_l, go_r = -live_l * (1.0 + el * dyl / Sl), -live_r * (1.0 + er * dyr / Sr)
        bend_l, bend_r = go_l * (go_l + 1.0), go_r * (go_r + 1.0)
        far = tl.maximum(_largest(bend), tl.maximum(tl.max(bend_l, 0), tl.max(bend_r, 0)))
        step = 1.0 / tl.maximum(tl.sqrt(tl.maximum(far, 0.0) + 0.25) + 0.5, 1.0)
        curved = _total(S * Z * bend) + tl.sum(Sl * Zl * bend_l, 0) + tl.sum(Sr * Zr * bend_r, 0)
        share = tl.minimum(tl.maximum(((1.0 - step) * mu - step * step * curved / count) / mu, 0.0), 1.0)
        centring = share * share * share * mu

        # Corrector.
        aim = tl.where(inside, centring * inv - Z * (1.0 - bend), 0.0)
        pull_l = (live_l * centring / Sl - Zl * (1.0 - bend_l)) * el
        pull_r = (live_r * centring / Sr - Zr * (1.0 - bend_r)) * er
        g = d * (dual + aim)
        dyl, dyr = _solve(A, d, p, tl.sum(g, 1) - pl + pull_l, tl.sum(g, 0) - pr + pull_r)
        dx = g - d * (dyl[:, None] + dyr[None, :])
        dZ = aim - Z * inv * dx
        dSl, dSr = live_l * (pull_l - el * dyl), live_r * (pull_r - er * dyr)
        block = tl.where(inside, tl.maximum(-dx * inv, -dZ / tl.where(inside, Z, 1.0)), 0.0)
        block_l = tl.maximum(-dSl / Sl, -live_l * dyl / (Zl + 1.0 - live_l))
        block_r = tl.maximum(-dSr / Sr, -live_r * dyr / (Zr + 1.0 - live_r))
        blocking = tl.maximum(_largest(block), tl.maximum(tl.max(block_l, 0), tl.max(block_r, 0)))
        step = 1.0 / tl.maximum(blocking, 1.0)
        shorten = tl.minimum(tl.maximum(1.0 - mu / scale, 0.9), 0.9999)
        step = tl.where(step < 1.0, step * shorten, 0.9999)
        reach_y = tl.sum(tl.abs(dyl), 0) + tl.sum(tl.abs(dyr), 0)
        sound = (_total(tl.abs(dx)) + reach_y < 1e300) & (blocking < 1e300)  # NaN fails both: such a step is not taken
        S = tl.where(inside & sound, S + step * dx, S)
        Z = tl.where(inside & sound, Z + step * dZ, Z)
        tl.store(S_at, S, mask=inside)
        tl.store(Z_at, Z, mask=inside)
        Sl, Sr = tl.where(sound, Sl + step * dSl, Sl), tl.where(sound, Sr + step * dSr, Sr)
        yl, yr = tl.where(in_l & sound, yl + step * dyl, yl), tl.where(in_r & sound, yr + step * dyr, yr)
        it += 1
        # The linear residuals shrink by 1 - step; mu is that of the new point.
        gap = tl.maximum(
            tl.max(tl.abs(pl) / (norm_l * (1.0 + tl.abs(rhs_l))), 0),
            tl.max(tl.abs(pr) / (norm_r * (1.0 + tl.abs(rhs_r))), 0),
        )
        gap = (1.0 - step) * tl.maximum(gap, _largest(tl.abs(dual)) / scale)
        mu = (_total(tl.where(inside, S * Z, 0.0)) + tl.sum(Sl * live_l * yl, 0) + tl.sum(Sr * live_r * yr, 0)) / count
        error = tl.maximum(gap, mu / scale)
        going = ((error > accuracy) & (mu > vanished * scale) & (it < max_iter) & sound).to(tl.int32)

    # `active_set.polish`, from the face that the interior point method points to.
    tl.debug_barrier()
    s = tl.load(point_at, mask=inside, other=0.0, volatile=True)
    low = tl.load(low_at, mask=inside, other=0.0, volatile=True)
    S = tl.load(S_at, mask=inside, other=1.0, volatile=True)
    Z = tl.load(Z_at, mask=inside, other=0.0, volatile=True)
    free = inside & (Z <= S)
    act_l = tl.where(in_l & ((live_l == 0) | (yl * wl > Sl)), 1.0, 0.0).to(tl.float64)
    act_r = tl.where(in_r & ((live_r == 0) | (yr * wr > Sr)), 1.0, 0.0).to(tl.float64)
    tolerance = tl.load(tolerance_ptr + b)
    steps = 0
    going = 1
    while going == 1:
        grid = tl.where(free, act_l[:, None] * act_r[None, :], 0.0)
        weight = tl.where(free, 1.0, 0.0).to(tl.float64)
        p = act_l * tl.sum(weight, 1) + shift * wl + 1.0 - act_l
        q = act_r * tl.sum(weight, 0) + shift * wr + 1.0 - act_r
        A = _inverse(grid, p, q, L, R, BL, BR)
        yl, yr = yl * act_l, yr * act_r
        for _ in tl.static_range(2):
            x = tl.where(free, s - yl[:, None] - yr[None, :], low)
            ul, ur = _solve(A, grid, p, act_l * (tl.sum(x, 1) - rhs_l), act_r * (tl.sum(x, 0) - rhs_r))
            yl, yr = yl + ul * act_l, yr + ur * act_r
        t = s - yl[:, None] - yr[None, :]
        free = inside & (t > low)
        x = tl.where(free, t, low)
        slack_l, slack_r = rhs_l - tl.sum(x, 1), rhs_r - tl.sum(x, 0)
        act_l = tl.where(in_l & ((live_l == 0) | (yl * wl > slack_l)), 1.0, 0.0).to(tl.float64)
        act_r = tl.where(in_r & ((live_r == 0) | (yr * wr > slack_r)), 1.0, 0.0).to(tl.float64)
        off_l = tl.where(live_l == 0, slack_l, tl.minimum(slack_l, yl * wl))
        off_r = tl.where(live_r == 0, slack_r, tl.minimum(slack_r, yr * wr))
        off_l, off_r = tl.where(in_l, tl.abs(off_l) / norm_l, 0.0), tl.where(in_r, tl.abs(off_r) / norm_r, 0.0)
        residual = tl.maximum(tl.max(off_l, 0), tl.max(off_r, 0))
        steps += 1
        going = ((residual > tolerance) & (steps < STEPS)).to(tl.int32)

    tl.store(y_ptr + b * m + li, yl, mask=in_l)
    tl.store(y_ptr + b * m + L + rj, yr, mask=in_r)
    tl.store(spent_ptr + b, it + steps)


def launch(
    point: Tensor, polytope: Polytope, tolerance: Tensor, accuracy: float, max_iter: int, warps: int
) -> tuple[Tensor, Tensor]:
    """One program an instance; returns its multipliers and the systems it solved."""
    rows = polytope.rows
    left, right = rows.left, rows.right  # type: ignore[attr-defined]
    point = point.contiguous()
    lower, rhs = (a if a.stride(-1) == 1 else a.contiguous() for a in (polytope.lower, polytope.rhs))
    S, Z = torch.empty_like(point), torch.empty_like(point)
    y = point.new_empty(point.shape[0], rows.m)
    spent = torch.empty(point.shape[0], dtype=torch.int64, device=point.device)
    side = max(16, triton.next_power_of_2(max(left, right)))
    with torch.cuda.device(point.device):
        _kernel[(point.shape[0],)](
            point, lower, rhs, polytope.equality.to(torch.int8), tolerance.contiguous(), S, Z, y, spent,
            left, right, lower.stride(0), rhs.stride(0), accuracy, max_iter, FLOOR, LIFT, VANISHED, SHIFT,
            BL=side, BR=side, STEPS=3, num_warps=warps,
        )  # fmt: skip
    return torch.nan_to_num(y), spent
