from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from foresolve._base.configs import describe, exported, restore, size, tensor, whole
from foresolve.errors import ForesolveError
from mistakes import mistake


class Shape:
    pass


class Square(Shape):
    def __init__(self, side: int) -> None:
        self.side = side

    def config(self) -> dict[str, Any]:
        return {"side": self.side}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Square:
        return cls(size(config, "side"))


class Tilted(Square):
    """A user's own."""


ALLOWED = {"Square": Square}


def test_comes_back() -> None:
    twin = restore(describe(Square(3), ALLOWED), ALLOWED, "shapes")
    assert type(twin) is Square
    assert twin.side == 3


def test_only_what_is_exactly_on_the_list_is_written() -> None:
    namesake = type("Square", (Square,), {})
    for stranger in (Tilted(3), namesake(3), Shape()):
        with mistake("", type(stranger).__name__, kind=ForesolveError):
            describe(stranger, ALLOWED)


@pytest.mark.parametrize("config", [None, 3, [], {}, {"class": "Tilted"}, {"class": ["Square"]}, {"class": None}])
def test_only_what_is_on_the_list_is_read(config: Any) -> None:
    with mistake("", "shapes", "Square", kind=ForesolveError):
        restore(config, ALLOWED, "shapes")


@pytest.mark.parametrize("side", [-1, 2.0, True, "3", None])
def test_sizes_are_whole_numbers(side: Any) -> None:
    with mistake("", "Square", "`side`", kind=ForesolveError):
        restore({"class": "Square", "side": side}, ALLOWED, "shapes")
    with pytest.raises(ValueError, match="`side`"):
        whole("side", side)


def test_tensors_are_tensors() -> None:
    assert tensor({"a": torch.ones(2)}, "a").tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="`a` must be a tensor; got list"):
        tensor({"a": [1.0]}, "a")


def test_the_list_is_what_a_floor_exports() -> None:
    floor: Any = SimpleNamespace(
        __all__=["Shape", "Square", "area"], Shape=Shape, Square=Square, Tilted=Tilted, area=len
    )
    assert exported(floor, Shape) == {"Square": Square}
