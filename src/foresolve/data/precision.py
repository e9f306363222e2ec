"""Numbers that single precision cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveWarning

LEAST = 1e-3  # of a column's range: what rounding may take


def warn_of_lost_digits(name: str, array: np.ndarray, table: Tensor, titles: Sequence[str] | None = None) -> None:
    """Say so where rounding `array` to the dtype of `table`, both `(N, ...)`, takes much of what a column varies by."""
    if array.size == 0 or table.dtype.itemsize >= array.dtype.itemsize:
        return
    exact, rounded = array.reshape(len(array), -1), table.detach().cpu().double().numpy().reshape(len(array), -1)
    if not np.isfinite(rounded).all():  # refused elsewhere
        return
    extent, lost = np.ptp(exact, axis=0), np.abs(rounded - exact).max(0)
    bad = np.flatnonzero((extent > 0) & (lost > LEAST * extent))
    if not len(bad):
        return
    place = int(bad[0])
    label = f"column {place}" if titles is None or len(titles) != len(extent) else repr(titles[place])
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    checks.warn(
        f"`{name}` loses its digits in {str(table.dtype).removeprefix('torch.')}: {label}{more} varies by only "
        f"{extent[place]:.3g} near {exact[0, place]:.6g}. Subtract what is common to all, or call "
        "`torch.set_default_dtype(torch.float64)` first",
        ForesolveWarning,
    )
