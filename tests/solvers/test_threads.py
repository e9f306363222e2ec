"""One thread for BLAS, for as long as anyone asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from foresolve.solvers import threads
from foresolve.solvers.threads import LARGE, in_threads, one_thread

np.linalg.cholesky(np.eye(2))  # BLAS is loaded


def counts() -> list[int]:
    return [library.get_num_threads() for library in threads._libraries().lib_controllers]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Whatever the tests were started with; the right to set limits is given back, so that any thread may take it."""
    libraries, before = threads._libraries().lib_controllers, counts()

    def set_all(numbers: list[int]) -> None:
        for library, number in zip(libraries, numbers, strict=True):
            library.set_num_threads(number)
            getattr(library, "clear_controlling_thread", lambda force: None)(force=True)

    set_all([2] * len(libraries))
    yield
    set_all(before)


def test_the_limit_ends_with_the_scope() -> None:
    before = counts()
    assert max(before) == 2
    with one_thread(100, 100):
        assert set(counts()) == {1}
        with one_thread(100, 100):
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before


@pytest.mark.parametrize("shape", [(LARGE + 1, 5), (10, 10)])
def test_large_matrices_have_all_threads_and_small_ones_need_none(shape: tuple[int, int]) -> None:
    before = counts()
    with one_thread(*shape):
        assert counts() == before


def test_an_error_ends_it_too() -> None:
    before = counts()
    with pytest.raises(ZeroDivisionError), one_thread(100, 100):
        raise ZeroDivisionError
    assert counts() == before
    assert not threads._HELD.locked()


def test_scopes_of_threads_that_overlap() -> None:
    """The first to come is the first to go; in the end nothing is left of either."""
    before, entered, inside, left = counts(), threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with one_thread(100, 100):
            entered.set()
            inside.wait(10)
        left.set()

    other = threading.Thread(target=first)
    other.start()
    assert entered.wait(10)
    assert set(counts()) == {1}
    with one_thread(100, 100):
        inside.set()
        assert left.wait(10)
        assert counts() == before
    other.join()
    assert counts() == before
    with one_thread(100, 100):
        assert set(counts()) == {1}


class TestInThreads:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_results_come_in_the_order_of_the_jobs(self, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        seen: set[int] = set()

        def work(a: int, b: int) -> int:
            seen.add(threading.get_ident())
            meeting.wait(10)
            return 10 * a + b

        meeting = threading.Barrier(threads)  # all threads are at work at once, or none gets on
        assert in_threads(work, [(i, 1) for i in range(2 * threads)]) == [10 * i + 1 for i in range(2 * threads)]
        assert len(seen) == threads
        assert in_threads(work, []) == []

    def test_an_error_of_any_thread_is_raised(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
        for numbers in ([(0,), (1,)], [(1,), (0,)]):
            with pytest.raises(ZeroDivisionError):
                in_threads(lambda i: 1 / i, numbers)
