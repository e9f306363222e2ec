"""Batches of inputs in child processes; one that neither answers nor ends is ended, and the rest goes on after it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from tests.fuzz.worker import SECONDS

BATCH = 1000
START = 300.0  # seconds for imports and for writing the sound files
GRACE = 10.0  # seconds beyond the limit of an input, after which a process that does not listen is ended

Result = dict[str, Any]


def run(kinds: list[str], count: int, first: int, jobs: int, seconds: float = SECONDS) -> Iterator[tuple[str, Result]]:
    """`count` inputs of each kind, in the order in which batches end."""
    batches = [
        (kind, at, min(at + BATCH, first + count)) for at in range(first, first + count, BATCH) for kind in kinds
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_batch, *batch, seconds) for batch in batches]):
            yield from future.result()


def _batch(kind: str, first: int, last: int, seconds: float) -> list[tuple[str, Result]]:
    """All inputs of a batch, with as many processes as it takes."""
    results: list[tuple[str, Result]] = []
    while first < last:
        answers, lost = _process(kind, first, last, seconds)
        results += [(kind, answer) for answer in answers]
        if lost is None:
            break
        results.append((kind, lost))
        first = lost["seed"] + 1
    return results


def _process(kind: str, first: int, last: int, seconds: float) -> tuple[list[Result], Result | None]:
    """What one process answered, and the input that it did not survive."""
    command = [sys.executable, "-m", "tests.fuzz.worker", kind, str(first), str(last), str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    errors: list[bytes] = []
    listener = threading.Thread(target=lambda: errors.append(child.stderr.read()))  # type: ignore[union-attr]
    listener.start()
    answers, seed, verdict = _listen(child, seconds)
    listener.join()
    child.stderr.close()  # type: ignore[union-attr]
    if seed is None and child.returncode == 0:
        return answers, None
    if seed is None and not answers:
        raise RuntimeError(f"{kind}: nothing could be written: {b''.join(errors).decode(errors='replace')[-2000:]}")
    note = f"exit status {child.returncode}: {b''.join(errors).decode(errors='replace').strip()[-300:]}"
    return answers, {"seed": first if seed is None else seed, "file": "", "how": "", "verdict": verdict, "note": note}


def _listen(child: subprocess.Popen[bytes], seconds: float) -> tuple[list[Result], int | None, str]:
    """Answers, the input that has none, and what became of the process."""
    answers: list[Result] = []
    seed: int | None = None
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    rest, deadline = b"", time.monotonic() + START
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                child.kill()
                child.wait()
                child.stdout.close()
                return answers, seed, "hang"
            chunk = child.stdout.read()
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in map(json.loads, lines):
                seed = line.get("begins")
                if seed is None:
                    answers.append(line)
            deadline = time.monotonic() + seconds + GRACE
    child.stdout.close()
    child.wait()
    return answers, seed, "died"
