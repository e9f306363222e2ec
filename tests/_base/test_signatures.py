from __future__ import annotations

import functools

from torch import nn

from foresolve._base.signatures import accepts, needed, takes_any


class Network(nn.Module):
    def __init__(self, inputs: int, outputs: int, *, width: int, depth: int = 2) -> None:
        super().__init__()


def test_what_has_no_default() -> None:
    assert needed(Network) == ["inputs", "outputs", "width"]
    assert needed(functools.partial(Network, width=3)) == ["inputs", "outputs"]
    assert needed(lambda: None) == []
    assert needed(nn.Module) == []  # takes any, and needs none
    assert needed(dict.fromkeys) == ["iterable"]
    assert needed(max) is None  # written in C, with several


def test_any_number_of_arguments() -> None:
    assert takes_any(nn.Sequential)
    assert not takes_any(Network)


def test_whether_it_can_be_called_so() -> None:
    assert not accepts(Network, 1, 2)  # it needs a width
    assert accepts(functools.partial(Network, width=3), 1, 2)
    assert not accepts(functools.partial(Network, width=3), 1)
    assert accepts(max, 1, 2)  # written in C: it does not tell
