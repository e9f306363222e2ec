from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from foresolve._base.randomness import Seeded, as_generator, as_seed, begin_epoch, generator, own_randomness
from mistakes import mistake


class Noise(Seeded):
    """A module that draws and remembers how often."""

    def __init__(self, seed: int | torch.Generator = 0) -> None:
        super().__init__()
        self._seed(seed)
        self.calls = 0

    def forward(self, size: int) -> Tensor:
        self.calls += 1
        return torch.rand(size, generator=self.generator)

    def get_extra_state(self) -> dict[str, Any]:
        return super().get_extra_state() | {"calls": self.calls}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        super().set_extra_state(state)
        self.calls = state["calls"]


def test_a_seed_makes_the_generator_that_manual_seed_makes() -> None:
    plain = torch.rand(5, generator=torch.Generator().manual_seed(7))
    for seed in (7, np.int64(7)):
        assert torch.equal(torch.rand(5, generator=as_generator("seed", seed)), plain)


def test_a_generator_is_used_and_advanced() -> None:
    source = torch.Generator().manual_seed(7)
    assert as_generator("seed", source) is source
    torch.rand(3, generator=as_generator("seed", source, cpu=True))
    assert not torch.equal(source.get_state(), torch.Generator().manual_seed(7).get_state())


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, None, "7"])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    with mistake("seed", "torch.Generator"):
        as_generator("seed", seed)


def test_seeds_for_what_is_not_torch() -> None:
    assert as_seed("seed", np.int64(5)) == 5
    source = torch.Generator().manual_seed(0)
    seeds = [as_seed("seed", source) for _ in range(3)]
    assert len(set(seeds)) == 3
    assert seeds[0] == as_seed("seed", torch.Generator().manual_seed(0))
    with mistake("seed", "got -1"):
        as_seed("seed", -1)


@pytest.mark.cuda
def test_where_the_cpu_is_asked_for_other_generators_are_refused() -> None:
    with mistake("seed", "CPU", "cuda"):
        as_generator("seed", torch.Generator("cuda"), cpu=True)


def test_a_seeded_module_goes_on_and_starts_afresh() -> None:
    noise = Noise(3)
    first, second = noise(4), noise(4)
    assert not torch.equal(first, second)
    noise.reset(3)
    assert torch.equal(noise(4), first)


def test_the_state_of_the_draws_is_in_the_state_dict_with_that_of_the_subclass() -> None:
    noise = nn.Sequential(Noise(3))
    noise(4)
    state = noise.state_dict()
    expected = noise(4)
    resumed = nn.Sequential(Noise(99))
    resumed.load_state_dict(state)
    assert torch.equal(resumed(4), expected)
    assert resumed[0].calls == 2


def test_two_modules_may_share_a_generator() -> None:
    shared = torch.Generator().manual_seed(0)
    first, second = Noise(shared), Noise(shared)
    together = torch.cat([first(2), second(2)])
    assert torch.equal(together, torch.rand(4, generator=torch.Generator().manual_seed(0)))


def test_each_key_has_a_generator_of_its_own() -> None:
    draws = {float(torch.rand(1, generator=generator(*key))) for key in [(0,), (1,), (0, 1), (1, 1), (-1,)]}
    assert len(draws) == 5
    assert torch.equal(generator(1, 2).get_state(), generator(1, 2).get_state())


def test_the_global_generator_is_put_back() -> None:
    device, before = torch.device("cpu"), torch.get_rng_state()
    with own_randomness(device):
        begin_epoch(device, 0, 1)
        first = torch.rand(3)
        begin_epoch(device, 0, 1)
        assert torch.equal(torch.rand(3), first)
    assert torch.equal(torch.get_rng_state(), before)
