"""Peak resident memory above what was resident when the measurement began (Linux). Standard library only."""

from __future__ import annotations

import contextlib
import gc


def current_bytes(field: str) -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


class PeakMemory:
    def __init__(self) -> None:
        gc.collect()
        # Sets the high-water mark back to what is resident now; without the right to do so the peak of the
        # imports stays in it, which can only hide a peak that was smaller than theirs.
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
        self.baseline = current_bytes("VmRSS")

    def above_baseline(self) -> int:
        return max(0, current_bytes("VmHWM") - self.baseline)
