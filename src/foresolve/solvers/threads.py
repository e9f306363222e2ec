"""BLAS on one thread while loops over small matrices run, and such loops on several threads.

A matrix of some hundred rows is factorized before a second thread has woken up; on a machine that does anything else
besides, waiting for that thread costs many times the work itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import torch
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

# A matrix with more rows than this is worth all threads; a product with fewer terms BLAS leaves to one anyway.
LARGE, SMALL = 1_000, 2**18


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


# The limit is one of the process: who comes second, or asks again from within, leaves it to the first.
_HELD = threading.Lock()


@contextmanager
def one_thread(m: int, n: int) -> Iterator[None]:
    """BLAS of NumPy and SciPy on one thread, for products of `m x n` matrices with their transposes and their factors.

    It is left as it is where these are `LARGE` or `SMALL`.
    """
    if m > LARGE or m * m * n < SMALL or not _HELD.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _HELD.release()


def in_threads(work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`work(*job)` of every job, in their order, on as many threads as torch may use.

    It pays where the work leaves the interpreter alone for milliseconds, as sparse factorizations do.
    """
    count = min(len(jobs), torch.get_num_threads())
    if count <= 1:
        return [work(*job) for job in jobs]
    results: list[Any] = [None] * len(jobs)
    errors: list[BaseException] = []

    def serve(first: int) -> None:
        try:
            for i in range(first, len(jobs), count):
                results[i] = work(*jobs[i])
        except BaseException as error:
            errors.append(error)

    # Made anew each time: threads that are kept would be missing in a process that was forked.
    others = [threading.Thread(target=serve, args=(first,), daemon=True) for first in range(1, count)]
    for thread in others:
        thread.start()
    serve(0)
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return results
