"""How a process ends that has solvers, threads and models in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 120.0  # seconds: an end that takes longer is a hang

START = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from tests.soak.cases import cases, policy, requests
shared, asked, stop = policy(cases()["program (HiGHS)"]), requests(8), threading.Event()
shared.decide(asked[0])
"""
SERVE = """
def serve():
    while not stop.is_set():
        for features in asked: shared.decide(features)
workers = ThreadPoolExecutor(8)
for _ in range(8): workers.submit(serve)
print("ready", flush=True)
try:
    serve()
finally:
    stop.set()
"""
READY = 'print("ready", flush=True)\n'
ENDS = {
    "idle": START + READY,
    "with calls on the way": START + "workers = ThreadPoolExecutor(8)\n"
    "for i in range(64): workers.submit(shared.decide, asked[i % 8])\n" + READY + "sys.exit(0)\n",
    "ctrl-C": START + SERVE,
    "SIGTERM": START + SERVE,
}  # fmt: skip
SIGNALS = {"ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM}
STATUS = {"idle": 0, "with calls on the way": 0, "ctrl-C": -signal.SIGINT, "SIGTERM": -signal.SIGTERM}


def ending(kind: str, times: int) -> str:
    """Processes that end while nothing or everything runs: with the right status, in time, without a complaint."""
    slowest = 0.0
    for turn in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", ENDS[kind]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
            begin = time.monotonic()
            if kind in SIGNALS:
                time.sleep(0.02 * turn)  # at another point of a solve each time
                process.send_signal(SIGNALS[kind])
            _, errors = process.communicate(timeout=LIMIT)
            slowest = max(slowest, time.monotonic() - begin)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == STATUS[kind], f"status {process.returncode}: {errors}"
        complaints = errors.strip().splitlines()
        right = complaints[-1:] == ["KeyboardInterrupt"] if kind == "ctrl-C" else not complaints
        assert right, f"says on the way out: {errors}"
    return f"{times} times, at most {slowest:.1f} s"
