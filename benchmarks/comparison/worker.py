"""One source tree, kept alive: reads requests from stdin, answers on stdout, a JSON object a line. Used by compare.py.

{"case": NAME, "answers": PATH}   set up, and save the answers to every draw
{"seconds": S}                    the times of as many calls as fit into S seconds, three at the least
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.comparison.cases import CASES, DRAWS, Step

LEAST_CALLS, MOST_CALLS = 3, 200


def prepare(name: str, path: str) -> Step:
    step = CASES[name]()
    answers = {f"{key}_{draw}": value.numpy() for draw in range(DRAWS) for key, value in step(draw).items()}
    np.savez(path, **answers)  # type: ignore[arg-type]
    return step


def timed(step: Step, seconds: float, cpu: bool) -> list[float]:
    clock = time.process_time if cpu else time.perf_counter
    times: list[float] = []
    started = time.perf_counter()
    while len(times) < LEAST_CALLS or (time.perf_counter() - started < seconds and len(times) < MOST_CALLS):
        begin = clock()
        step(len(times))
        times.append(clock() - begin)
    return times


def main() -> None:
    # torch says of every sparse tensor that its support is new.
    warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)
    step: Step | None = None
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if "case" in request:
                    step, answer = prepare(request["case"], request["answers"]), {}
                else:
                    assert step is not None
                    answer = {"times": timed(step, request["seconds"], request["cpu"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
