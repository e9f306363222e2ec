"""Draws that end, never end, or take their process with them: what the runner is tried out on."""

from __future__ import annotations

import os
import time

from tests.stress.outcomes import Outcome, Verdict
from tests.stress.runner import Result


def rehearse(kind: str, seed: int) -> Result:
    """`kind` is "ends", "sleeps" or "dies"."""
    if kind == "sleeps":
        time.sleep(600)
    if kind == "dies":
        os._exit(3)
    return Result(kind, seed, [Verdict("forward", Outcome.RIGHT)])
