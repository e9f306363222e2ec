"""Modules that solve, as functions that `torch.func` can transform.

A solver needs numbers. The transforms hand out tensors without: of a whole batch (`vmap`), or of one that is being
differentiated (`grad`, `vjp`, `jvp`). So a call under a transform becomes one primitive, `_Primitive`. Where it comes
to numbers, its `Computation` runs as it always does, and keeps the graph that autograd has of it. Its derivatives are
primitives again, worked out on that graph: they can be transformed in turn, to any order that the graph allows.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from foresolve._base.autograd import cut, ended, stacked
from foresolve.errors import ForesolveError

Tensors = tuple[Tensor, ...]
Dims = Sequence[int | None]
Graph = tuple[Tensors, Tensors]  # leaves, and what autograd made of them

NO_SUCH_ORDER = (
    "{name} has no derivative in forward mode (`jvp`, `jacfwd`, `hessian`), or of this order. In reverse mode "
    "`torch.func.vjp`, `grad` and `jacrev`, or `backward()`, give the first one"
)


class Computation(ABC):
    """Tensors to tensors, worked out on numbers; `wanted` says of which inputs there is a derivative."""

    name: str
    wanted: tuple[bool, ...]

    @abstractmethod
    def values(self, inputs: Tensors) -> Tensors:
        """The outputs, without a graph."""

    @abstractmethod
    def graph(self, inputs: Tensors) -> Graph:
        """The outputs, with one."""

    @abstractmethod
    def over(self, size: int, dims: Dims, inputs: Tensors) -> Tensors:
        """The outputs where inputs have a dimension of `vmap`, which is the first of the outputs."""

    @property
    @abstractmethod
    def source(self) -> Source:
        """The function that all is a derivative of."""

    @abstractmethod
    def slice(self, i: int) -> Self:
        """The same computation for one slice, with a graph of its own."""


class Source(Computation):
    """A function that is no derivative; if `alone`, slices are worked out one by one, else folded into one batch."""

    alone: bool

    @property
    def source(self) -> Source:
        return self

    @abstractmethod
    def folded(self, size: int, dim: int | None, tensor: Tensor) -> Tensor:
        """`tensor` for all slices, in one."""

    @abstractmethod
    def unfolded(self, size: int, outputs: Tensors) -> Tensors:
        """Outputs with the dimension of the slices again."""

    def over(self, size: int, dims: Dims, inputs: Tensors) -> Tensors:
        if self.alone:
            return stacked([applied(self.slice(i), sliced(i, dims, inputs)) for i in range(size)])
        return self.unfolded(size, applied(self, tuple(self.folded(size, d, t) for d, t in zip(dims, inputs))))


class _Derived(Computation):
    """A derivative of a computation: of its inputs, and of directions beside them."""

    def __init__(self, of: Computation, directions: int) -> None:
        self.of, self.name = of, of.name
        self.wanted = (*of.wanted, *(True,) * directions)

    @abstractmethod
    def products(self, graph: Graph, directions: Tensors, *, attached: bool) -> Tensors: ...

    def values(self, inputs: Tensors) -> Tensors:
        inputs, directions = self._split(inputs)
        with torch.enable_grad():
            products = self.products(self.of.graph(inputs), tuple(d.detach() for d in directions), attached=False)
        return tuple(product.detach() for product in products)

    def graph(self, inputs: Tensors) -> Graph:
        inputs, directions = self._split(inputs)
        with torch.enable_grad():
            graph, leaves = self.of.graph(inputs), tuple(d.detach().requires_grad_() for d in directions)
            products = self.products(graph, leaves, attached=True)
        self._refuse_ends(products)
        return (*graph[0], *leaves), products

    def _refuse_ends(self, products: Tensors, end: Callable[[Any], bool] = ended) -> None:
        """Nothing passes there, and where autograd has cut its graph it would take what lies behind for zero."""
        if any(end(node) for product in products for node in nodes(product)):
            raise ForesolveError(NO_SUCH_ORDER.format(name=self.name))

    def _split(self, tensors: Sequence[Any]) -> tuple[Any, Any]:
        count = len(self.of.wanted)
        return tuple(tensors[:count]), tuple(tensors[count:])

    def over(self, size: int, dims: Dims, inputs: Tensors) -> Tensors:
        own = all(dim is None for dim in self._split(dims)[0])  # slices of directions alone
        source = self.source
        if own or source.alone:
            parts = (self if own else self.slice(i) for i in range(size))
            return stacked([applied(part, sliced(i, dims, inputs)) for i, part in enumerate(parts)])
        return source.unfolded(size, applied(self, tuple(source.folded(size, d, t) for d, t in zip(dims, inputs))))

    @property
    def source(self) -> Source:
        return self.of.source

    def slice(self, i: int) -> Self:
        twin = copy.copy(self)
        twin.of = self.of.slice(i)
        return twin


class _Vjp(_Derived):
    """Gradients of the inputs for gradients of the outputs."""

    def products(self, graph: Graph, directions: Tensors, *, attached: bool) -> Tensors:
        leaves = tuple(leaf for leaf, want in zip(graph[0], self.of.wanted) if want)
        return _gradients(graph[1], leaves, directions, attached=attached)


class _Jvp(_Derived):
    """Changes of the outputs for changes of the inputs: the transpose of the gradients, which are linear."""

    def products(self, graph: Graph, directions: Tensors, *, attached: bool) -> Tensors:
        leaves = tuple(leaf for leaf, want in zip(graph[0], self.of.wanted) if want)
        weights = tuple(torch.zeros_like(output).requires_grad_() for output in graph[1])
        try:
            products = _gradients(graph[1], leaves, weights, attached=True)
        except ForesolveError as error:
            raise ForesolveError(NO_SUCH_ORDER.format(name=self.name)) from error
        self._refuse_ends(products, cut)  # what depends on the inputs alone is no matter here
        return _gradients(products, weights, directions, attached=attached)


class _Primitive(Function):
    @staticmethod
    def forward(computation: Computation, *inputs: Tensor) -> Tensors:
        if forward_ad._current_level >= 0:
            inputs = tuple(forward_ad.unpack_dual(tensor).primal for tensor in inputs)
        return computation.values(inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        ctx.computation = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        computation = ctx.computation
        gradients = iter(applied(_Vjp(computation, len(grads)), (*ctx.saved_tensors, *grads)))
        return None, *(next(gradients) if want else None for want in computation.wanted)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensors:
        computation, inputs = ctx.computation, ctx.saved_tensors
        changes = tuple(
            torch.zeros_like(tensor) if tangent is None else tangent
            for tensor, tangent, want in zip(inputs, tangents[1:], computation.wanted) if want
        )  # fmt: skip
        return applied(_Jvp(computation, len(changes)), (*inputs, *changes))

    @staticmethod
    def vmap(  # type: ignore[override]
        info: Any, in_dims: Dims, computation: Computation, *inputs: Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        outputs = computation.over(info.batch_size, in_dims[1:], inputs)
        return outputs, (0,) * len(outputs)


def applied(computation: Computation, inputs: Tensors) -> Tensors:
    outputs: Any = _Primitive.apply(computation, *inputs)
    return outputs


def _gradients(outputs: Tensors, leaves: Tensors, weights: Tensors, *, attached: bool) -> Tensors:
    """`sum_o weights_o' d outputs_o` in each leaf; zeros where nothing depends on one."""
    pairs = [(output, weight) for output, weight in zip(outputs, weights) if output.requires_grad]
    if not pairs:
        return tuple(torch.zeros_like(leaf) for leaf in leaves)
    attached_outputs, their_weights = zip(*pairs)
    return torch.autograd.grad(
        attached_outputs, leaves, their_weights,
        create_graph=attached, retain_graph=True, allow_unused=True, materialize_grads=True,
    )  # fmt: skip


def nodes(output: Tensor) -> Iterator[Any]:
    """The graph behind a tensor."""
    open_, seen = [output.grad_fn], set()
    while open_:
        node = open_.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            open_ += [parent for parent, _ in node.next_functions]


def sliced(i: int, dims: Dims, tensors: Tensors) -> Tensors:
    return tuple(tensor if dim is None else tensor.select(dim, i) for dim, tensor in zip(dims, tensors))
