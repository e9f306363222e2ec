"""Functions and methods that `torch.compile` leaves alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])

WHY = (
    "foresolve solves and checks on numbers, outside of compiled graphs: the graph breaks here and continues after it. "
    "Drop `fullgraph=True`, or compile the model alone: `fit(torch.compile(model), loss, data)`"
)

_DISABLED: dict[Any, Any] = {}  # one for each function: Dynamo would compile again for another


def uncompiled(function: Function) -> Function:
    """A function that runs as it is inside of what `torch.compile` compiles; elsewhere it costs nothing.

    `torch.compiler.disable` as a decorator would import Dynamo, which takes longer than all of foresolve.

    Example
    -------
    >>> import torch
    >>> @uncompiled
    ... def half(x): return torch.from_numpy(x.numpy() / 2)
    >>> half(torch.tensor([2.0]))
    tensor([1.])
    """

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if not torch.compiler.is_dynamo_compiling():
            return function(*arguments, **keywords)
        torch._dynamo.graph_break(msg=WHY)
        if function not in _DISABLED:
            _DISABLED[function] = torch.compiler.disable(function, reason=WHY)
        return _DISABLED[function](*arguments, **keywords)

    return call  # type: ignore[return-value]


class OnNumbers:
    """Methods of problems and layers that work on numbers: in every subclass, those of these names are `uncompiled`.

    To make one is among them: a step that predicts constraints makes a problem.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = {"__init__", "objective", "solve", "decide", "maximizer", "argmax", "check"}
        for name in names & vars(cls).keys():
            setattr(cls, name, uncompiled(vars(cls)[name]))
