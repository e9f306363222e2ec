"""BLAS on one thread, while loops over small matrices run.

A matrix of some hundred rows is factorized before a second thread has woken up; on a machine that does anything else
besides, waiting for that thread costs many times the work itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

# A matrix with more rows than this is worth all threads.
LARGE = 1_000


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


# The limit is one of the process: who comes second, or asks again from within, leaves it to the first.
_HELD = threading.Lock()


@contextmanager
def one_thread(size: int) -> Iterator[None]:
    """BLAS of NumPy and SciPy on one thread for matrices of `size` rows, unless these are `LARGE`."""
    if size > LARGE or not _HELD.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _HELD.release()
