"""Worker processes: results and errors in order, shared by copies, gone when closed."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections.abc import Iterator

import pytest

from foresolve.errors import ForesolveError
from foresolve.solvers.processes import ProcessPool
from mistakes import mistake


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    pool = ProcessPool(math.sqrt, 1, None, ())
    yield pool
    pool.close()


def test_results_and_errors_in_the_order_of_the_items(pool: ProcessPool) -> None:
    results = pool.map([4.0, -1.0, 9.0])
    assert results[0::2] == [2.0, 3.0]
    assert isinstance(results[1], ValueError)
    assert pool.map([]) == []


def test_copies_share_the_processes_of_the_original(pool: ProcessPool) -> None:
    assert copy.deepcopy(pool) is pool
    assert pickle.loads(pickle.dumps(pool)) is pool


def test_a_copy_that_outlives_the_original_has_its_own() -> None:
    pool = ProcessPool(math.sqrt, 2, None, ())
    stored, token = pickle.dumps(pool), pool.token
    del pool
    restored = pickle.loads(stored)
    assert restored.token == token
    assert restored.count == 2
    assert pickle.loads(stored) is restored


def test_a_process_that_dies_is_an_error_and_the_next_call_starts_anew() -> None:
    pool = ProcessPool(os._exit, 1, None, ())
    with mistake("", "__main__", kind=ForesolveError):
        pool.map([3])
    pool.function = math.sqrt
    assert pool.map([16.0]) == [4.0]
    pool.close()


def test_closing_is_no_end(pool: ProcessPool) -> None:
    pool.close()
    assert pool.map([1.0]) == [1.0]
    pool.close()
    pool.close()


def test_a_function_that_cannot_travel_is_refused() -> None:
    with mistake("solve", "workers=0"):
        ProcessPool(lambda item: item, 1, None, ())
