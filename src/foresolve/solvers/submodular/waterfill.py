r"""Water-filling: the shift that brings clipped numbers to a given total, for many disjoint groups at once.

For numbers `y`, upper bounds `v >= 0` and a total `c`, find `t` with

    h(t) = sum_i clip(y_i - t, 0, v_i) = c.

`h` falls from `sum v` to 0, is linear between the breakpoints `y_i` (below which item i rises from 0) and `y_i - v_i`
(below which it stays at `v_i`), and its slope is minus the number of items in between, the free ones. So: sort the
breakpoints, add up `h` from above, find the piece that holds `c`, and solve its linear equation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

# Relative rounding error allowed to a sum of upper bounds that is compared with a total.
ROUNDING = 8 * torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class Segments:
    """Disjoint groups of `n` items: the members in order of their segment, and where each segment starts.

    Attributes
    ----------
    items: `(m,)` the items that belong to a segment, those of segment 0 first.
    label: `(m,)` the segment of each of these.
    start, size: `(count,)` the place of each segment's first member in `items`, and its number of members.
    covers_all: there is one segment, and every item is in it.
    """

    n: int
    count: int
    items: Tensor
    label: Tensor
    start: Tensor
    size: Tensor
    covers_all: bool

    @staticmethod
    def of(label: np.ndarray, count: int) -> Segments:
        """Make segments of the segment of each item `(n,)`, -1 for none."""
        label = np.asarray(label, dtype=np.int64)
        order = np.argsort(label, kind="stable")
        items = order[label[order] >= 0]
        size = np.bincount(label[items], minlength=count)
        start = np.cumsum(size) - size
        arrays = (torch.from_numpy(a.astype(np.int64)) for a in (items, label[items], start, size))
        return Segments(len(label), count, *arrays, covers_all=count == 1 and len(items) == len(label))

    def to(self, device: torch.device | str) -> Segments:
        """The same segments on another device."""
        tensors = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: v.to(device) for name, v in tensors.items() if isinstance(v, Tensor)})

    def take(self, values: Tensor) -> Tensor:
        """`(B, n)` to the members' `(B, m)`."""
        return values if self.covers_all else values.index_select(1, self.items)

    def put(self, values: Tensor, into: Tensor) -> Tensor:
        """`into` `(B, n)` with the members' `(B, m)` in their places."""
        return values if self.covers_all else into.index_copy(1, self.items, values)

    def sum(self, values: Tensor, label: Tensor | None = None) -> Tensor:
        """The segments' sums `(B, count)` of the members' `(B, m)`."""
        if self.covers_all:
            return values.sum(1, keepdim=True)
        return values.new_zeros(len(values), self.count).index_add(1, self.label if label is None else label, values)

    def spread(self, values: Tensor, label: Tensor | None = None) -> Tensor:
        """The segments' `(B or 1, count)` to their members' `(B or 1, m)`; a single column where it is one for all."""
        return values if self.covers_all else values.index_select(1, self.label if label is None else label)


def waterfill(y: Tensor, upper: Tensor, segments: Segments, totals: Tensor) -> tuple[Tensor, Tensor]:
    """The shift `t` `(B, count)` of each segment, and the values `clip(y - t, 0, upper)` `(B, n)`.

    Where the upper bounds do not exceed the total, `t` is -inf and the values are the bounds; items in no segment keep
    their bound. Where every `t` of an interval would do (all items at a bound), it is the interval's middle.
    Nothing waits for the device.

    Parameters
    ----------
    y: `(B, n)` finite numbers, float64.
    upper: `(B, n)` bounds >= 0.
    totals: `(count,)` totals >= 0, float64.
    """
    if segments.items.numel() == 0 or len(y) == 0:
        return y.new_full((len(y), segments.count), -torch.inf), upper
    y, bound, total = segments.take(y), segments.take(upper), totals[None]
    close = y - bound
    high, low, flat = _piece(y, bound, close, segments, total)

    # Numbers relative to `high`, near which the free items lie: their differences are exact, so the values are as
    # accurate next to 1e8 as next to 1, though `t` itself is not.
    near = y - segments.spread(high)
    top = close >= segments.spread(high)
    free = (near >= 0) & ~top
    held = torch.where(top, bound, torch.where(free, near, 0.0))
    many = segments.sum(free.to(y))
    shift = torch.where(flat, (low - high) / 2, (segments.sum(held) - total) / many.clamp_min(1) * (many > 0))
    x = (near - segments.spread(shift)).clamp_min(0).minimum(bound)
    # One Newton step removes what rounding in `close` and in the search has left.
    inside = segments.sum(((x > 0) & (x < bound)).to(y))
    shift = shift + torch.where(flat, 0.0, (segments.sum(x) - total) / inside.clamp_min(1) * (inside > 0))
    x = (near - segments.spread(shift)).clamp_min(0).minimum(bound)

    slack = segments.sum(bound) <= total
    x = torch.where(segments.spread(slack), bound, x)
    return torch.where(slack, -torch.inf, high + shift), segments.put(x, upper)


def fill_units(y: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`waterfill` for one segment of all items with bounds of 1 and a whole total `0 < k < n`, in half the operations.

    Among bounds of 1 a flat piece holds `k` if and only if the `k`-th largest number exceeds the next by 1 or more.
    """
    point, order = torch.cat([y, y - 1], 1).sort(dim=1, descending=True)
    count = torch.where(order < y.shape[1], 1.0, -1.0).cumsum(1)
    gap = point[:, :-1] - point[:, 1:]
    reached = (count[:, :-1] * gap).cumsum(1)
    flat = (count[:, 2 * k - 1 : 2 * k] == 0) & (gap[:, 2 * k - 1 : 2 * k] > 0)
    place = torch.where(flat, 2 * k - 1, (reached < k).sum(1, keepdim=True))
    high = point.gather(1, place)
    near = y - high
    many = ((near >= 0) & (near < 1)).sum(1, keepdim=True)
    level = (near.clamp(0, 1).sum(1, keepdim=True) - k) / many.clamp_min(1)
    shift = torch.where(flat, -gap[:, 2 * k - 1 : 2 * k] / 2, level)
    x = (near - shift).clamp(0, 1)
    # One Newton step removes what rounding in the search has left.
    inside = ((x > 0) & (x < 1)).sum(1, keepdim=True)
    shift = shift + (x.sum(1, keepdim=True) - k) / inside.clamp_min(1) * (inside > 0)
    return high + shift, (near - shift).clamp(0, 1)


def _piece(y: Tensor, bound: Tensor, close: Tensor, segments: Segments, total: Tensor) -> tuple[Tensor, ...]:
    """The ends `high`, `low` `(B, count)` of the linear piece of `h` that holds the total, and whether it is flat."""
    m = y.shape[1]
    point, order = torch.cat([y, close], 1).sort(dim=1, descending=True)
    ends = 2 * segments.start
    last = (ends + 2 * segments.size - 1).clamp(0, 2 * m - 1)
    label: Tensor | None = None
    if not segments.covers_all:
        label = segments.label.repeat_interleave(2)  # of each place, once sorted by segment
        place = torch.cat([segments.label, segments.label])[order].argsort(dim=1, stable=True)
        point, order = point.gather(1, place), order.gather(1, place)
    opens = order < m
    count = (2 * opens.to(torch.int64) - 1).cumsum(1)  # free items just below a point; 0 at the end of each segment
    gap = torch.nn.functional.pad(point[:, :-1] - point[:, 1:], (0, 1))
    reached = (count * gap).cumsum(1)  # h at the next point
    filled = torch.cat([torch.zeros_like(bound), bound], 1).gather(1, order).cumsum(1)  # the part of items at a bound
    if not segments.covers_all:
        before = (ends - 1).clamp_min(0)
        reached, filled = (
            a - segments.spread(a.index_select(1, before) * (ends > 0), label) for a in (reached, filled)
        )
    goal = segments.spread(total, label)
    slots = torch.arange(2 * m, device=y.device)
    # With no free item, h is a sum of bounds: it does not depend on the scale of y, and for bounds of 1 it is exact.
    level = (count == 0) & (gap > 0) & ((filled - goal).abs() <= ROUNDING * (m + goal))
    if label is None:
        first = torch.where(level, slots, 2 * m).amin(1, keepdim=True)
    else:
        level = level & (slots != segments.spread(last[None], label))  # the last gap leads to the next segment
        first = last.new_full((len(y), segments.count), 2 * m)
        first = first.scatter_reduce(1, label.expand(len(y), -1), torch.where(level, slots, 2 * m), "amin")
    flat = first < 2 * m
    place = torch.minimum(ends + segments.sum((reached < goal).to(torch.int64), label), last)
    place = torch.where(flat, first, place)
    return point.gather(1, place), point.gather(1, torch.minimum(place + 1, last)), flat
