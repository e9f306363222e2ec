"""What a process holds, and whether it grows."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path

MEGABYTE = 2**20
# What a process may grow by after its warm-up. Arenas of the allocator come and go by a few megabytes with the timing
# of threads; one small tensor left behind a call (a kilobyte with the objects around it) is 10 MB in 10,000 calls.
ALLOWED = 8 * MEGABYTE
WARM_UP = 0.3  # share of the calls: caches fill, every thread gets its arena, every pool its models


def resident() -> int:
    """Bytes in memory, once what nobody holds has been given back."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def growth(run: Callable[[int], object], calls: int) -> int:
    """By how many bytes the process is larger after `run(calls)` than after the warm-up before it."""
    run(max(1, round(WARM_UP * calls)))
    before = resident()
    run(calls)
    return resident() - before


def flat(run: Callable[[int], object], calls: int) -> str:
    """That growth in words; more than `ALLOWED` fails."""
    grown = growth(run, calls)
    assert grown <= ALLOWED, f"grew by {grown / MEGABYTE:.1f} MB in {calls} calls"
    return f"{grown / MEGABYTE:+.1f} MB in {calls:,} calls"
