"""The kernel behind `fused.py`; imported only where Triton is."""

# pyright: reportMissingImports=false, reportIndexIssue=false, reportArgumentType=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _solve(inverse, scaled, p, left, right):
    """`M^{-1}` applied to `(left, right)`; `inverse` is minus the inverse of the Schur complement."""
    t = right - tl.sum(scaled * left[:, None], 0)
    second = -tl.sum(inverse * t[None, :], 1)
    first = left / p - tl.sum(scaled * second[None, :], 1)
    return first, second


@triton.jit
def _kernel(
    point_ptr, lower_ptr, rhs_ptr, equality_ptr, x_ptr, y_ptr, S_ptr, Z_ptr, scale_ptr, count_ptr, error_ptr, spent_ptr,
    L, R, pairs, lower_stride, rhs_stride, accuracy, max_iter, floor, lift, vanished,
    HAS_ROWS: tl.constexpr, BL: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, m = L * R, L + R
    li, rj = tl.arange(0, BL), tl.arange(0, BR)
    in_l, in_r = li < L, rj < R
    inside = in_l[:, None] & in_r[None, :]
    at = li[:, None] * R + rj[None, :]

    s = tl.load(point_ptr + b * n + at, mask=inside, other=0.0)
    low = tl.load(lower_ptr + b * lower_stride + at, mask=inside, other=0.0)
    S = tl.load(S_ptr + b * pairs + at, mask=inside, other=1.0)
    Z = tl.load(Z_ptr + b * pairs + at, mask=inside, other=0.0)
    yl = tl.load(y_ptr + b * m + li, mask=in_l, other=0.0)
    yr = tl.load(y_ptr + b * m + L + rj, mask=in_r, other=0.0)
    rhs_l = tl.load(rhs_ptr + b * rhs_stride + li, mask=in_l, other=0.0)
    rhs_r = tl.load(rhs_ptr + b * rhs_stride + L + rj, mask=in_r, other=0.0)
    live_l = tl.where(in_l & (tl.load(equality_ptr + li, mask=in_l, other=1) == 0), 1.0, 0.0).to(tl.float64)
    live_r = tl.where(in_r & (tl.load(equality_ptr + L + rj, mask=in_r, other=1) == 0), 1.0, 0.0).to(tl.float64)
    Sl, Sr = live_l * 0.0 + 1.0, live_r * 0.0 + 1.0
    if HAS_ROWS:
        Sl = tl.load(S_ptr + b * pairs + n + li, mask=in_l, other=1.0)
        Sr = tl.load(S_ptr + b * pairs + n + L + rj, mask=in_r, other=1.0)
    Zl, Zr = live_l * yl, live_r * yr
    scale, count = tl.load(scale_ptr + b), tl.load(count_ptr + b)
    unit_l = tl.sqrt(R.to(tl.float64)) * (1.0 + tl.abs(rhs_l))
    unit_r = tl.sqrt(L.to(tl.float64)) * (1.0 + tl.abs(rhs_r))

    it = 0
    error = scale * 0.0
    going = 1
    while going == 1:
        x = tl.where(inside, S + low, 0.0)
        dual = tl.where(inside, s - x - yl[:, None] - yr[None, :] + Z, 0.0)
        pl = tl.where(in_l, rhs_l - tl.sum(x, 1) - live_l * Sl, 0.0)
        pr = tl.where(in_r, rhs_r - tl.sum(x, 0) - live_r * Sr, 0.0)
        product = S * Z
        mu = (tl.sum(tl.sum(product, 1), 0) + tl.sum(Sl * Zl, 0) + tl.sum(Sr * Zr, 0)) / count
        gap = tl.max(tl.max(tl.abs(dual), 1), 0) / scale
        gap = tl.maximum(gap, tl.maximum(tl.max(tl.abs(pl) / unit_l, 0), tl.max(tl.abs(pr) / unit_r, 0)))
        error = tl.maximum(gap, mu / scale)
        going = ((error > accuracy) & (mu > vanished * scale) & (it < max_iter)).to(tl.int32)
        if going == 1:
            inv = 1.0 / S
            ratio = Z * inv
            d = tl.where(inside, 1.0 / (1.0 + ratio), 0.0)
            el, er = live_l * Sl / (Zl + 1.0 - live_l), live_r * Sr / (Zr + 1.0 - live_r)
            p = tl.where(in_l, tl.sum(d, 1) * (1.0 + lift) + el + floor * R, 1.0)
            q = tl.where(in_r, tl.sum(d, 0) * (1.0 + lift) + er + floor * L, 1.0)
            scaled = d / p[:, None]
            A = tl.where(rj[:, None] == rj[None, :], q[None, :], 0.0)
            for k in range(L):  # Triton's dot does not take these operands in float64
                v = tl.sum(tl.where(li[:, None] == k, d, 0.0), 0)
                A -= v[:, None] * (v / tl.sum(tl.where(li == k, p, 0.0), 0))[None, :]
            for k in range(R):
                at_row, at_column = rj[:, None] == k, rj[None, :] == k
                v = tl.sum(tl.where(at_row, A, 0.0), 0)
                pivot = tl.sum(tl.where(rj == k, v, 0.0), 0)
                u = v / pivot
                A = tl.where(at_row, u[None, :], tl.where(at_column, u[:, None], A - v[:, None] * u[None, :]))
                A = tl.where(at_row & at_column, -1.0 / pivot, A)

            # Predictor: aim for S Z = 0.
            r = dual - Z
            g = d * r
            dyl, dyr = _solve(A, scaled, p, tl.sum(g, 1) - pl - live_l * Sl, tl.sum(g, 0) - pr - live_r * Sr)
            px = d * (r - dyl[:, None] - dyr[None, :]) * inv
            bend = tl.where(inside, px * (px + 1.0), 0.0)
            tl_, tr_ = -live_l * (1.0 + el * dyl / Sl), -live_r * (1.0 + er * dyr / Sr)
            bend_l, bend_r = tl_ * (tl_ + 1.0), tr_ * (tr_ + 1.0)
            far = tl.maximum(tl.max(tl.max(bend, 1), 0), tl.maximum(tl.max(bend_l, 0), tl.max(bend_r, 0)))
            step = 1.0 / tl.maximum(tl.sqrt(tl.maximum(far, 0.0) + 0.25) + 0.5, 1.0)
            curved = tl.sum(tl.sum(product * bend, 1), 0) + tl.sum(Sl * Zl * bend_l, 0) + tl.sum(Sr * Zr * bend_r, 0)
            ahead = (1.0 - step) * mu - step * step * curved / count
            share = tl.minimum(tl.maximum(ahead / mu, 0.0), 1.0)
            centring = share * share * share * mu

            # Corrector.
            aim = tl.where(inside, centring * inv - Z * (1.0 - bend), 0.0)
            pull_l = (live_l * centring / Sl - Zl * (1.0 - bend_l)) * el
            pull_r = (live_r * centring / Sr - Zr * (1.0 - bend_r)) * er
            r = dual + aim
            g = d * r
            dyl, dyr = _solve(A, scaled, p, tl.sum(g, 1) - pl + pull_l, tl.sum(g, 0) - pr + pull_r)
            dx = d * (r - dyl[:, None] - dyr[None, :])
            dZ = aim - ratio * dx
            dSl, dSr = live_l * (pull_l - el * dyl), live_r * (pull_r - er * dyr)
            block = tl.where(inside, tl.maximum(-dx * inv, -dZ / tl.where(inside, Z, 1.0)), 0.0)
            block_l = tl.maximum(-dSl / Sl, -live_l * dyl / (Zl + 1.0 - live_l))
            block_r = tl.maximum(-dSr / Sr, -live_r * dyr / (Zr + 1.0 - live_r))
            blocking = tl.maximum(tl.max(tl.max(block, 1), 0), tl.maximum(tl.max(block_l, 0), tl.max(block_r, 0)))
            step = 1.0 / tl.maximum(blocking, 1.0)
            shorten = tl.minimum(tl.maximum(1.0 - mu / scale, 0.9), 0.9999)
            step = tl.where(step < 1.0, step * shorten, 0.9999)
            total = tl.sum(tl.sum(tl.abs(dx), 1), 0) + tl.sum(tl.abs(dyl), 0) + tl.sum(tl.abs(dyr), 0)
            sound = (total < 1e300) & (blocking < 1e300)  # false for NaN too: such a step is not taken
            going = sound.to(tl.int32)
            step = tl.where(sound, step, 0.0)
            S = tl.where(inside & sound, S + step * dx, S)
            Z = tl.where(inside & sound, Z + step * dZ, Z)
            Sl, Sr = tl.where(sound, Sl + step * dSl, Sl), tl.where(sound, Sr + step * dSr, Sr)
            yl, yr = tl.where(in_l & sound, yl + step * dyl, yl), tl.where(in_r & sound, yr + step * dyr, yr)
            Zl, Zr = live_l * yl, live_r * yr
            it += 1

    tl.store(x_ptr + b * n + at, S + low, mask=inside)
    tl.store(S_ptr + b * pairs + at, S, mask=inside)
    tl.store(Z_ptr + b * pairs + at, Z, mask=inside)
    tl.store(y_ptr + b * m + li, yl, mask=in_l)
    tl.store(y_ptr + b * m + L + rj, yr, mask=in_r)
    if HAS_ROWS:
        tl.store(S_ptr + b * pairs + n + li, Sl, mask=in_l)
        tl.store(S_ptr + b * pairs + n + L + rj, Sr, mask=in_r)
        tl.store(Z_ptr + b * pairs + n + li, Zl, mask=in_l)
        tl.store(Z_ptr + b * pairs + n + L + rj, Zr, mask=in_r)
    tl.store(error_ptr + b, error)
    tl.store(spent_ptr + b, it)


def launch(
    point: Tensor, polytope: Any, state: Any, spent: Tensor, accuracy: float, max_iter: int, warps: int,
    constants: dict[str, float],
) -> None:  # fmt: skip
    """One program an instance; `state` and `spent` are written in place."""
    rows = polytope.rows
    lower, rhs = (a if a.stride(-1) == 1 else a.contiguous() for a in (polytope.lower, polytope.rhs))
    side = max(16, triton.next_power_of_2(max(rows.left, rows.right)))
    with torch.cuda.device(point.device):
        _kernel[(point.shape[0],)](
            point, lower, rhs, polytope.equality.to(torch.int8), state.x, state.y, state.S, state.Z,
            state.scale.contiguous(), state.count.contiguous(), state.error, spent,
            rows.left, rows.right, state.S.shape[1], lower.stride(0), rhs.stride(0), accuracy, max_iter,
            constants["floor"], constants["lift"], constants["vanished"],
            HAS_ROWS=state.layout.rows, BL=side, BR=side, num_warps=warps,
        )  # fmt: skip
