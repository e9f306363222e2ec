"""One thread for BLAS, for as long as anyone asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from foresolve.solvers import threads
from foresolve.solvers.threads import LARGE, one_thread

np.linalg.cholesky(np.eye(2))  # BLAS is loaded


def counts() -> list[int]:
    return [library.get_num_threads() for library in ThreadpoolController().select(user_api="blas").lib_controllers]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Whatever the tests were started with; the right to set limits is given back, so that any thread may take it."""
    libraries, before = ThreadpoolController().select(user_api="blas").lib_controllers, counts()

    def set_all(numbers: list[int]) -> None:
        for library, number in zip(libraries, numbers, strict=True):
            library.set_num_threads(number)
            getattr(library, "clear_controlling_thread", lambda force: None)(force=True)

    set_all([2] * len(libraries))
    yield
    set_all(before)


def test_the_limit_ends_with_the_scope() -> None:
    before = counts()
    assert set(before) == {2}
    with one_thread(10):
        assert set(counts()) == {1}
        with one_thread(10):
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before


def test_large_matrices_have_all_threads() -> None:
    before = counts()
    with one_thread(LARGE + 1):
        assert counts() == before


def test_an_error_ends_it_too() -> None:
    before = counts()
    with pytest.raises(ZeroDivisionError), one_thread(10):
        raise ZeroDivisionError
    assert counts() == before
    assert not threads._HELD.locked()


def test_scopes_of_threads_that_overlap() -> None:
    """The first to come is the first to go; in the end nothing is left of either."""
    before, entered, inside, left = counts(), threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with one_thread(10):
            entered.set()
            inside.wait(10)
        left.set()

    other = threading.Thread(target=first)
    other.start()
    assert entered.wait(10)
    assert set(counts()) == {1}
    with one_thread(10):
        inside.set()
        assert left.wait(10)
        assert counts() == before
    other.join()
    assert counts() == before
    with one_thread(10):
        assert set(counts()) == {1}
