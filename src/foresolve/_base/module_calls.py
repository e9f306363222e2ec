"""Calls of layers and losses under transforms of `torch.func`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from foresolve._base import functorch
from foresolve._base.transforms import Graph, Source, Tensors, applied, nodes
from foresolve.errors import ForesolveError

STRANGERS = (
    "`torch.func` reaches what {name} is called with and its own parameters (`gamma`); here something else requires "
    "grad, such as constraints of the problem. `torch.autograd.grad` and `backward()` reach these; or detach them"
)


def transforming(tensor: Tensor) -> bool:
    """True for a call with this tensor under a transform of `torch.func`, or in forward mode."""
    if functorch.active():
        return True
    if forward_ad._current_level < 0:
        return False
    if functorch.in_old_vmap():
        raise ForesolveError(
            '`vectorize=True` with `strategy="forward-mode"` does not reach solvers', remedy="`torch.func.jacfwd` does"
        )
    return forward_ad.unpack_dual(tensor).tangent is not None


def called(
    module: nn.Module, arguments: Callable[..., tuple[Any, ...]], data: Sequence[Tensor], *, folds: bool, alone: bool
) -> Tensor:
    """`module(*arguments(*data))` under transforms.

    Parameters
    ----------
    folds: whether a batch of batches is called as one batch; otherwise, with one more leading dimension.
    alone: whether `vmap` has to call the module for each of its slices.
    """
    hidden = {
        name: tensor
        for name, tensor in (*module.named_parameters(), *module.named_buffers())
        if functorch.wrapped(tensor) or tensor.requires_grad
    }
    return applied(_ModuleCall(module, arguments, data, hidden, folds, alone), (*data, *hidden.values()))[0]


class _ModuleCall(Source):
    def __init__(
        self, module: nn.Module, arguments: Callable[..., tuple[Any, ...]], data: Sequence[Tensor],
        hidden: dict[str, Tensor], folds: bool, alone: bool,
    ) -> None:  # fmt: skip
        self.module, self.arguments, self.names = module, arguments, tuple(hidden)
        self.name, self.folds = type(module).__name__, folds
        # What gradients of a tensor that all slices share are made of, only slices by themselves can tell.
        self.alone = alone or bool(hidden)
        self.wanted = tuple(_differentiated(tensor) for tensor in (*data, *hidden.values()))
        self.attached = torch.is_grad_enabled()
        self._graph: Graph | None = None
        self._slices: dict[int, Self] = {}

    def values(self, inputs: Tensors) -> Tensors:
        self._graph = self._built(inputs)
        return tuple(output.detach() for output in self._graph[1])

    def graph(self, inputs: Tensors) -> Graph:
        """The graph of the call itself: what it has drawn, its derivative has drawn too."""
        shapes = [tensor.shape for tensor in inputs]
        if self._graph is None or [leaf.shape for leaf in self._graph[0]] != shapes:
            self._graph = self._built(inputs)
        return self._graph

    def _built(self, inputs: Tensors) -> Graph:
        leaves = tuple(
            tensor.detach().requires_grad_(want and self.attached) for tensor, want in zip(inputs, self.wanted)
        )
        count = len(inputs) - len(self.names)
        with torch.set_grad_enabled(self.attached):
            arguments, hidden = self.arguments(*leaves[:count]), dict(zip(self.names, leaves[count:]))
            output = torch.func.functional_call(self.module, hidden, arguments) if hidden else self.module(*arguments)
        _refuse_strangers(output, leaves, self.name)
        return leaves, (output,)

    def slice(self, i: int) -> Self:
        if i not in self._slices:
            twin = copy.copy(self)
            twin._graph, twin._slices = None, {}
            self._slices[i] = twin
        return self._slices[i]

    def folded(self, size: int, dim: int | None, tensor: Tensor) -> Tensor:
        tensor = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        return tensor.flatten(0, 1) if self.folds else tensor

    def unfolded(self, size: int, outputs: Tensors) -> Tensors:
        return tuple(output.unflatten(0, (size, -1)) for output in outputs) if self.folds else outputs


def _differentiated(tensor: Tensor) -> bool:
    if not tensor.is_floating_point():
        return False
    forward = forward_ad._current_level >= 0 and not functorch.wrapped(tensor)
    return functorch.tracked(tensor) or (forward and forward_ad.unpack_dual(tensor).tangent is not None)


def _refuse_strangers(output: Tensor, leaves: Tensors, name: str) -> None:
    """Gradients of what the transforms do not know of would be lost without a word."""
    known = {id(leaf) for leaf in leaves}
    for node in nodes(output):
        variable = getattr(node, "variable", None)  # of a node that the gradient of a leaf ends in
        if variable is not None and id(variable) not in known:
            raise ForesolveError(STRANGERS.format(name=name))
