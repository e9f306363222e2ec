"""The door to the CUDA kernel; what the kernel computes is compared on a GPU, in `tests/layers/test_cuda.py`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from foresolve.problems import BipartiteMatching
from foresolve.solvers.projection import matching_kernel


class Compiled:
    """What torch gives back for a kernel, with a memory of how it was used."""

    def __init__(self) -> None:
        self.granted: list[int] = []
        self.launches: list[dict[str, Any]] = []

    def set_shared_memory_config(self, shared_bytes: int) -> None:
        self.granted.append(shared_bytes)

    def __call__(self, **launch: Any) -> None:
        self.launches.append(launch)


def test_shared_memory_is_asked_for_where_more_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled()
    monkeypatch.setattr(torch.cuda, "_compile_kernel", lambda source, name: compiled, raising=False)
    kernel = matching_kernel._Kernel("", "matching")
    for shared_bytes in (60_000, 50_000, 90_000):
        kernel.launch(3, matching_kernel.THREADS, shared_bytes, [1])
    assert compiled.granted == [60_000, 90_000]
    assert [launch["shared_mem"] for launch in compiled.launches] == [60_000, 50_000, 90_000]
    assert compiled.launches[0]["grid"] == (3, 1, 1)


def test_a_torch_without_the_compiler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cuda, "_compile_kernel", raising=False)
    with pytest.raises(AttributeError):
        matching_kernel._Kernel("", "matching")


def test_the_general_code_serves_the_cpu() -> None:
    set_ = BipartiteMatching(4, 4).polytope(torch.Size([2])).expand(2)
    assert not matching_kernel.applies(torch.zeros(2, 16, dtype=torch.float64), set_)
    assert not matching_kernel.applies(torch.zeros(2, 16, dtype=torch.float64).numpy(), set_.numeric())
