"""One thread for NumPy, SciPy and torch, for as long as anyone asks for it, and not for others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from foresolve.solvers.thread_pools import SHARED, Pool, SharedLimit, own_limit, pools
from foresolve.solvers.threads import LARGE, MANY, in_threads, one_blas_thread, one_torch_thread

STRICT = not sys.platform.startswith("linux")  # elsewhere libraries may offer other pools than are looked for here


def settings() -> dict[str, int]:
    """What users see: threads by library, as other tools tell them, and those of torch."""
    seen = {library["filepath"]: library["num_threads"] for library in threadpool_info()}
    return seen | {"torch": torch.get_num_threads(), "mkl": pools().torch[-1].get()}


def blas_threads() -> list[int]:
    return [pool.get() for pool in (*pools().shared, *pools().blas)]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Whatever the tests were started with."""
    openmp = pools().torch[:-1] or pools().torch  # all but MKL's, also where scikit-learn has brought its own
    known = [*pools().shared, *pools().blas, *openmp]
    before = [pool.get() for pool in known]
    for pool in known:
        pool.set(2)
    yield
    for pool, number in zip(known, before, strict=True):
        pool.set(number)


class TestBlas:
    def test_the_limit_ends_with_the_scope(self) -> None:
        before = settings()
        assert max(blas_threads()) == 2
        with one_blas_thread(100):
            assert set(blas_threads()) == {1}
            with one_blas_thread(100):
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
            assert torch.get_num_threads() == before["torch"]
        assert settings() == before

    def test_large_matrices_have_all_threads(self) -> None:
        before = settings()
        with one_blas_thread(LARGE + 1):
            assert settings() == before

    def test_an_error_ends_it_too(self) -> None:
        before = settings()
        with pytest.raises(ZeroDivisionError), one_blas_thread(100):
            raise ZeroDivisionError
        assert settings() == before

    def test_the_last_of_several_threads_lifts_it(self) -> None:
        before, entered, inside = settings(), threading.Event(), threading.Event()

        def first() -> None:
            with one_blas_thread(100):
                entered.set()
                inside.wait(10)

        other = threading.Thread(target=first)
        other.start()
        assert entered.wait(10)
        with one_blas_thread(100):
            inside.set()
            other.join(10)
            assert set(blas_threads()) == {1}  # the first to come has gone
        assert settings() == before

    def test_what_somebody_sets_meanwhile_stays(self) -> None:
        numbers = [2]
        pool = Pool(lambda: numbers[0], lambda number: numbers.__setitem__(0, number))
        limit = SharedLimit(lambda: [pool])
        with limit.scope():
            assert numbers == [1]
            pool.set(3)
        assert numbers == [3]

    @pytest.mark.parametrize("interrupted", [1, 2])
    def test_an_interrupt_on_the_way_in_or_out_leaves_nothing(self, interrupted: int) -> None:
        """A user who presses ctrl-C while a limit is being set or lifted."""
        numbers, calls = [2], []

        def set_(number: int) -> None:
            calls.append(number)
            if len(calls) == interrupted:
                raise KeyboardInterrupt
            numbers[0] = number

        limit = SharedLimit(lambda: [Pool(lambda: numbers[0], set_)])
        with pytest.raises(KeyboardInterrupt), limit.scope():
            pass
        with limit.scope():
            assert numbers == [1]
        assert numbers == [2]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_child_of_a_process_with_a_limit_has_none(self) -> None:
        """The thread whose scope it was is not there to lift it."""
        before, entered, done = blas_threads(), threading.Event(), threading.Event()

        def hold() -> None:
            with one_blas_thread(100):
                entered.set()
                done.wait(30)

        other = threading.Thread(target=hold)
        other.start()
        assert entered.wait(10)
        child = os.fork()
        if child == 0:  # nothing of pytest may run here
            right = blas_threads() == before and not SHARED._scopes
            with one_blas_thread(100):
                right = right and set(blas_threads()) == {1}
            os._exit(0 if right and blas_threads() == before else 1)
        done.set()
        other.join(10)
        assert os.waitpid(child, 0)[1] == 0
        assert blas_threads() == before


class TestTorch:
    def test_the_limit_is_that_of_the_calling_thread(self) -> None:
        before, seen = settings(), []

        def other() -> None:
            thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
            thread.start()
            thread.join(10)

        other()
        with one_torch_thread(MANY):
            assert torch.get_num_threads() == 1
            with one_torch_thread(1):
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
            other()
        assert seen[0] == seen[1]
        assert settings() == before

    def test_large_operations_have_all_threads(self) -> None:
        before = torch.get_num_threads()
        with one_torch_thread(MANY + 1):
            assert torch.get_num_threads() == before

    def test_an_error_ends_it_too(self) -> None:
        before = settings()
        with pytest.raises(ZeroDivisionError), one_torch_thread(1):
            raise ZeroDivisionError
        assert settings() == before

    def test_it_holds_for_mkl_where_torch_has_set_a_number(self) -> None:
        """Then MKL no longer follows OpenMP; in a process of its own, since that is for good."""
        code = (
            "import torch; torch.set_num_threads(2)\n"
            "from foresolve.solvers.thread_pools import pools\n"
            "from foresolve.solvers.threads import one_torch_thread\n"
            "def seen(): return [pool.get() for pool in pools().torch] + [torch.get_num_threads()]\n"
            "before = seen()\n"
            "with one_torch_thread(1): assert set(seen()) == {1}, seen()\n"
            "assert seen() == before and set(before) == {2}, (seen(), before)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_all_pools_are_known_before_the_first_solve() -> None:
    """However late the libraries would have been loaded otherwise."""
    code = (
        "from foresolve.solvers.thread_pools import pools\n"
        "first = pools()\n"
        "import scipy.linalg, scipy.sparse.linalg, numpy, torch, foresolve\n"
        "pools.cache_clear()\n"
        "assert [len(part) for part in pools()] == [len(part) for part in first], (pools(), first)\n"
        "assert first.shared or first.blas or first.torch\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_own_limits_are_restored_in_turn() -> None:
    numbers = {"a": 4, "b": 1, "c": 3}
    limited = [Pool(lambda k=k: numbers[k], lambda number, k=k: numbers.__setitem__(k, number)) for k in numbers]
    with own_limit(limited):
        assert set(numbers.values()) == {1}
    assert numbers == {"a": 4, "b": 1, "c": 3}


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

    def test_the_error_of_the_first_job_that_fails_is_raised(self) -> None:
        for numbers in ([(0,), (1,)], [(1,), (0,)]):
            with pytest.raises(ZeroDivisionError):
                in_threads(lambda i: 1 / i, numbers)
        begun = threading.Barrier(2)

        def fail(i: int) -> None:
            begun.wait(10)
            raise ValueError(i)

        with pytest.raises(ValueError, match="0"):
            in_threads(fail, [(0,), (1,)])

    def test_each_works_alone_as_the_caller_would(self) -> None:
        before = settings()

        def seen(i: int) -> tuple[object, ...]:
            meeting.wait(10)
            inner = in_threads(lambda j: threading.get_ident(), [(0,), (1,)])
            return torch.get_num_threads(), max(blas_threads()), torch.is_grad_enabled(), len(set(inner))

        for graph in (True, False):
            meeting = threading.Barrier(2)
            with torch.set_grad_enabled(graph), one_torch_thread(1):
                assert in_threads(seen, [(0,), (1,)]) == [(1, 1, graph, 1)] * 2
        assert settings() == before

    def test_all_do_what_the_caller_told_torch_and_numpy(self) -> None:
        def seen(i: int) -> tuple[object, ...]:
            meeting.wait(10)
            return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype, np.geterr()["divide"]

        meeting = threading.Barrier(2)
        with torch.autocast("cpu", dtype=torch.bfloat16), np.errstate(divide="raise"):
            assert in_threads(seen, [(0,), (1,)]) == [(torch.bfloat16, "raise")] * 2
        with torch.device("meta"):  # of the calling thread alone
            devices = in_threads(lambda i: (time.sleep(0.01), torch.ones(1).device.type)[1], [(0,), (1,), (2,)])
        assert devices == ["meta"] * 3

    def test_an_interrupt_stops_the_others_after_the_job_they_are_at(self) -> None:
        done, main = [], threading.get_ident()

        def work(i: int) -> None:
            if i < 2:
                meeting.wait(10)
            if threading.get_ident() == main:
                raise KeyboardInterrupt
            done.append(i)
            time.sleep(0.01)

        meeting = threading.Barrier(2)
        with pytest.raises(KeyboardInterrupt):
            in_threads(work, [(i,) for i in range(10_000)])
        assert len(done) < 9_999
