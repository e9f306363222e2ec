"""The pools of threads of NumPy, SciPy and torch: how many each may use, and limits that end with their scope."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import scipy.linalg
import torch
from threadpoolctl import LibController, ThreadpoolController

# What calls it: they are loaded before anyone looks for their libraries, and no other library matters here.
CALLERS = (scipy.linalg, torch)


class Pool(NamedTuple):
    """The number of threads that a library may use, for the thread that asks or for all of the process."""

    get: Callable[[], int]
    set: Callable[[int], object]


class Pools(NamedTuple):
    """Attributes
    ----------
    torch: those of torch, whose limits are the calling thread's own.
    blas: those of NumPy and SciPy where limits are the calling thread's own (OpenBLAS on OpenMP).
    shared: those of NumPy and SciPy where limits are the process's.
    """

    torch: tuple[Pool, ...]
    blas: tuple[Pool, ...]
    shared: tuple[Pool, ...]


# The names of OpenBLAS's functions, which builds put something before and behind.
AFFIXES = tuple(product(("", "scipy_"), ("", "64_", "_64")))


@lru_cache(maxsize=1)
def pools() -> Pools:
    """The pools of the libraries that are loaded; looked for once."""
    of_torch, own, shared = [], [], []
    for library in ThreadpoolController().lib_controllers:
        about = library.info()
        if about["user_api"] == "openmp":
            of_torch.append(_openmp(library))
        elif about["internal_api"] == "openblas" and about["threading_layer"] == "openmp":
            own.append(_openmp(library))
        else:
            shared.append(_shared(library, about["internal_api"]))
    return Pools((*of_torch, *_static_mkl()), tuple(own), tuple(shared))


def _openmp(library: LibController) -> Pool:
    return Pool(library.dynlib.omp_get_max_threads, library.dynlib.omp_set_num_threads)


def _shared(library: Any, kind: str) -> Pool:
    """OpenBLAS is asked itself: threadpoolctl does nothing, without a word, for all threads but the first that came."""
    for before, behind in AFFIXES if kind == "openblas" else ():
        get, set_ = (f"{before}openblas_{name}_num_threads{behind}" for name in ("get", "set"))
        if hasattr(library.dynlib, set_):
            return Pool(getattr(library.dynlib, get), getattr(library.dynlib, set_))
    return Pool(library.get_num_threads, library.set_num_threads)


def _static_mkl() -> Iterator[Pool]:
    """The MKL within torch, where there is one; after OpenMP, which it follows until somebody sets its number."""
    for path in (Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"):
        with suppress(OSError, AttributeError):
            mkl = ctypes.CDLL(str(path))
            yield Pool(mkl.MKL_Get_Max_Threads, mkl.MKL_Set_Num_Threads_Local)


@contextmanager
def own_limit(limited: Sequence[Pool]) -> Iterator[None]:
    """Pools on one thread, for the calling thread alone."""
    before: list[tuple[Pool, int]] = []
    try:
        for pool in limited:
            if (number := pool.get()) > 1:
                before.append((pool, number))
                pool.set(1)
        yield
    finally:
        for pool, number in reversed(before):
            pool.set(number)


class SharedLimit:
    """Pools of the process on one thread: the first scope to begin sets that, the last one to end lifts it.

    What somebody else has set meanwhile stays.
    """

    def __init__(self, limited: Callable[[], Sequence[Pool]]) -> None:
        self._limited = limited
        self._scopes: set[object] = set()
        self._before: list[tuple[Pool, int]] | None = None
        self._lock = threading.RLock()  # a signal handler may come by while it is held

    @contextmanager
    def scope(self) -> Iterator[None]:
        token = object()
        try:
            self._begin(token)
            yield
        finally:
            self._end(token)

    def _begin(self, token: object) -> None:
        with self._lock:
            self._scopes.add(token)
            if self._before is None:
                self._before = [(pool, number) for pool in self._limited() if (number := pool.get()) > 1]
            if len(self._scopes) == 1:
                for pool, _ in self._before:
                    pool.set(1)

    def _end(self, token: object) -> None:
        with self._lock:
            self._scopes.discard(token)
            if not self._scopes and self._before is not None:
                for pool, number in self._before:
                    if pool.get() == 1:
                        pool.set(number)
                self._before = None

    def forked(self) -> None:
        """Forget the scopes of a parent process: their threads are not there in a child."""
        self._lock = threading.RLock()
        for token in list(self._scopes):
            self._end(token)


SHARED = SharedLimit(lambda: pools().shared)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHARED.forked)
