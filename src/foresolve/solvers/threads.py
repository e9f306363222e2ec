"""One thread where several would wait for each other, and several where each has work of its own.

A product of matrices of some hundred rows is over before a second thread has woken up; on a machine that does anything
else besides, waiting for that thread costs many times the work itself. So the calls that make up a solve keep NumPy,
SciPy and torch on one thread while matrices are small. What is large keeps all threads, and parts of a batch go to
threads that need not wait for each other. `torch.set_num_threads`, which speaks for the process, is never called, and
what users have set holds again when a scope ends.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

import torch

from foresolve.solvers.thread_pools import SHARED, own_limit, pools

Result = TypeVar("Result")

# A matrix with more rows than this is worth all threads, and so are operations of torch on more numbers than these.
LARGE, MANY = 1_000, 2**20


class _Outer(threading.local):
    """The number of threads that torch may use outside of the scope that this thread is in."""

    count: int | None = None


_OUTER = _Outer()


@contextmanager
def one_blas_thread(rows: int) -> Iterator[None]:
    """NumPy's and SciPy's linear algebra on one thread, unless matrices with this many rows are `LARGE`."""
    if rows > LARGE:
        yield
    else:
        with SHARED.scope(), own_limit(pools().blas):
            yield


@contextmanager
def one_torch_thread(numbers: int) -> Iterator[None]:
    """torch on one thread, for what the calling thread does, unless its operations are on more than `MANY` numbers."""
    if numbers > MANY or _OUTER.count is not None:
        yield
        return
    try:
        _OUTER.count = torch.get_num_threads()
        with own_limit(pools().torch):
            yield
    finally:
        _OUTER.count = None


def in_threads(work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`work(*job)` of every job, in their order, on as many threads as torch may use, each with one for its own calls.

    It pays where the work leaves the interpreter alone for milliseconds, as sparse factorizations and operations of
    torch on many numbers do. Whoever is free takes the next job, so that a busy core holds nobody up.
    """
    available = torch.get_num_threads() if _OUTER.count is None else _OUTER.count
    count = min(len(jobs), available)
    if count <= 1 or torch._C._len_torch_function_stack():  # a mode, as a default device is, is one thread's alone
        return [work(*job) for job in jobs]
    results: list[Any] = [None] * len(jobs)
    errors: dict[int, BaseException] = {}
    numbers, around = itertools.count(), _surroundings()

    def serve() -> None:
        i = -1
        try:
            with one_blas_thread(0), _alone(), around():
                while not errors and (i := next(numbers)) < len(jobs):
                    results[i] = work(*jobs[i])
        except BaseException as error:
            errors[i] = error

    # Made anew each time: threads that are kept would be missing in a process that was forked.
    others = [threading.Thread(target=copy_context().run, args=(serve,), daemon=True) for _ in range(1, count)]
    try:
        for thread in others:
            thread.start()
        serve()
        for thread in others:
            thread.join()
    except BaseException as error:  # somebody does not want to wait: the others stop after the job they are at
        errors[-1] = error
        raise
    if errors:
        raise errors[min(errors)]  # of the first job that fails, however many threads there are: they begin in order
    return results


def _surroundings() -> Callable[[], AbstractContextManager[None]]:
    """The settings of torch in the calling thread, for others to do the same."""
    graph, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    lower, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    @contextmanager
    def around() -> Iterator[None]:
        with torch.inference_mode(inference), torch.set_grad_enabled(graph), torch.autocast("cpu", dtype, lower):
            yield

    return around


@contextmanager
def _alone() -> Iterator[None]:
    """One of several threads at work: it has none to hand work to."""
    before = _OUTER.count
    try:
        with own_limit(pools().torch):
            _OUTER.count = 1
            yield
    finally:
        _OUTER.count = before
