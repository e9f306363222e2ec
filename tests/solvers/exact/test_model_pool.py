"""A pool of models: results in order, one thread a model, models used again."""

from __future__ import annotations

import _thread
import signal
import threading
import time

import pytest

from foresolve.solvers.exact import model_pool
from foresolve.solvers.exact.model_pool import ModelPool


class Busy:
    """A model that notices when two threads use it at once."""

    built = 0

    def __init__(self) -> None:
        type(self).built += 1
        self.lock = threading.Lock()

    def square(self, number: int) -> int:
        assert self.lock.acquire(blocking=False), "two threads use one model"
        time.sleep(0.002 * (number % 3))
        self.lock.release()
        return number * number

    def cancel(self) -> None:
        raise AssertionError("nobody was interrupted")


class Endless:
    """A model that works until it is told to stop."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def work(self, job: int) -> int:
        _thread.interrupt_main()
        assert self.stopped.wait(60)
        return job

    def cancel(self) -> None:
        self.stopped.set()


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_pool.os, "cpu_count", lambda: 4)
    Busy.built = 0


def test_results_come_in_the_order_of_the_jobs() -> None:
    pool = ModelPool(Busy)
    assert pool.map(Busy.square, range(30)) == [number**2 for number in range(30)]
    assert pool.map(Busy.square, []) == []


def test_models_are_kept_between_calls() -> None:
    pool = ModelPool(Busy)
    for _ in range(6):
        pool.map(Busy.square, range(12))
    assert 1 <= Busy.built <= 4


def test_calls_from_several_threads_do_not_share_a_model() -> None:
    pool = ModelPool(Busy)
    results: list[list[int]] = []
    threads = [threading.Thread(target=lambda: results.append(pool.map(Busy.square, range(20)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[number**2 for number in range(20)]] * 3


def test_an_error_reaches_the_caller_and_the_pool_lives_on() -> None:
    pool = ModelPool(Busy)

    def fail(model: Busy, number: int) -> int:
        if number == 5:
            raise ValueError("five")
        return model.square(number)

    with pytest.raises(ValueError, match="five"):
        pool.map(fail, range(9))
    assert pool.map(Busy.square, range(9)) == [number**2 for number in range(9)]


def test_work_is_done_off_the_calling_thread() -> None:
    """HiGHS keeps a setting per thread; a job on the caller's would meet what others set there."""
    idents = ModelPool(Busy).map(lambda model, job: threading.get_ident(), [0])
    assert idents != [threading.get_ident()]


def test_an_interrupt_stops_the_models_at_work_and_they_are_not_used_again() -> None:
    pool = ModelPool(Endless)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores interrupts
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.map(Endless.work, range(50))
    finally:
        signal.signal(signal.SIGINT, before)
    assert not pool._idle
    assert pool.map(lambda model, job: job, [1, 2]) == [1, 2]
