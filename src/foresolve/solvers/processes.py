"""A function in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from foresolve._base import checks
from foresolve.errors import ForesolveError

# By token, the pools of this process: what a copy of one becomes when it arrives here.
_pools: weakref.WeakValueDictionary[str, ProcessPool] = weakref.WeakValueDictionary()


class ProcessPool:
    """`count` processes that start when they are first needed, and stay until `close` or the object is gone.

    Copies, pickled ones too, share the processes of the original as long as it lives in the same process: batches that
    a `DataLoader` sends over do not start processes of their own. Processes are spawned, not forked: they hold neither
    this process's threads nor its libraries (OR-Tools and HiGHS cannot share one).
    """

    def __init__(
        self, function: Callable[[Any], Any], count: int, initializer: Callable[..., Any] | None, initargs: tuple
    ) -> None:
        try:
            pickle.dumps((function, initializer, initargs))
        except Exception as error:
            expected = "a function at the top of a module, for worker processes to find it"
            raise checks.fail(
                "solve", expected, f"{function!r} ({error})", "Move it there, or use workers=0"
            ) from error
        self.function, self.count, self.initializer, self.initargs = function, count, initializer, initargs
        self.token = uuid.uuid4().hex
        self._pool: ProcessPoolExecutor | None = None
        self._owner = os.getpid()
        _pools[self.token] = self

    def map(self, items: Sequence[Any]) -> list[Any]:
        """Results of the function for each item, or the exceptions that it raises."""
        pool = self._start()
        futures: list[Future[Any]] = []
        try:
            futures += [pool.submit(self.function, item) for item in items]
            return [_outcome(future) for future in futures]
        except BrokenProcessPool as error:
            self.close()
            raise ForesolveError(
                "a worker process ended abruptly",
                remedy=(
                    'A script must start its work under `if __name__ == "__main__":`, the oracle must be '
                    "importable from a file, and `ortools` cannot share a process with `highspy`; the process says "
                    "more on stderr"
                ),
            ) from error
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None and self._owner == os.getpid():
            self._finalizer()
        self._pool = None

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None or self._owner != os.getpid():  # a fork has the object but not the processes
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, context, self.initializer, self.initargs)
            self._owner = os.getpid()
            self._finalizer = weakref.finalize(self, self._pool.shutdown, wait=True, cancel_futures=True)
        return self._pool

    def __deepcopy__(self, memo: dict[int, Any]) -> ProcessPool:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.token, self.function, self.count, self.initializer, self.initargs)


def _restore(token: str, *arguments: Any) -> ProcessPool:
    original = _pools.get(token)
    if original is not None:
        return original
    pool = ProcessPool(*arguments)
    pool.token = token
    _pools[token] = pool
    return pool


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:
        return error
