"""Many threads on one policy: the same answers, flat memory, and the user's settings as they were."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from threadpoolctl import threadpool_info

from tests.soak.cases import Case, policy, requests
from tests.soak.memory import flat

THREADS = 16
LIMIT = 1_200.0  # seconds, after which threads are taken to wait for each other


def together(work: Callable[[int], None], threads: int) -> None:
    """`work(k)` in threads `k`, at once; the first error of any is raised, and so is a thread that does not end."""
    errors: list[BaseException] = []
    begin = threading.Barrier(threads)

    def serve(k: int) -> None:
        try:
            begin.wait()
            work(k)
        except BaseException as error:
            errors.append(error)

    serving = [threading.Thread(target=serve, args=(k,), daemon=True) for k in range(threads)]
    for thread in serving:
        thread.start()
    for thread in serving:
        thread.join(LIMIT)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in serving), "threads hang"


def settings() -> list[object]:
    return [torch.get_num_threads(), *((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())]


def decisions(case: Case, calls: int) -> str:
    """`decide` of one policy, in all threads."""
    shared, asked, before = policy(case), requests(32), settings()
    right = [shared.decide(features).x for features in asked]

    def work(k: int, share: int) -> None:
        for i in range(k, k + share):
            x = shared.decide(asked[i % len(asked)]).x
            assert torch.equal(x, right[i % len(asked)]), f"another decision in thread {k}, call {i}"

    note = flat(lambda count: together(lambda k: work(k, max(1, count // THREADS)), THREADS), calls)
    assert settings() == before, f"threads of libraries: {before} before, {settings()} after"
    return note


def gradients(case: Case, calls: int) -> str:
    """Forward and backward of one layer, in all threads."""
    layer, problem, before = case.layer, case.problem, settings()

    def step(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        theta = case.theta(3, seed).requires_grad_()
        x = layer(theta, problem)
        x.square().sum().backward()
        assert theta.grad is not None
        return x.detach(), theta.grad

    right = [step(seed) for seed in range(16)]

    def work(k: int, share: int) -> None:
        for i in range(k, k + share):
            for mine, expected in zip(step(i % 16), right[i % 16], strict=True):
                assert torch.equal(mine, expected), f"another step in thread {k}, call {i}"

    note = flat(lambda count: together(lambda k: work(k, max(1, count // THREADS)), THREADS), calls)
    assert settings() == before, f"threads of libraries: {before} before, {settings()} after"
    return note
