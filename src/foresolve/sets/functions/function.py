r"""Set functions and their multilinear extensions.

The multilinear extension of `f` at `x` in `[0, 1]^n` is the mean of `f(S)` over random sets that hold item `i` with
probability `x_i`, independently:

    F(x) = E f(S) = sum_S f(S) prod_{i in S} x_i prod_{i not in S} (1 - x_i).

It is linear in each coordinate, so `d F / d x_i = F(x | x_i = 1) - F(x | x_i = 0)` and the Hessian has a zero diagonal.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply
from foresolve._base.randomness import Seed, as_generator
from foresolve.errors import ForesolveError
from foresolve.sets.functions.extension import Extension, ExtensionGradient, Local, flatten
from foresolve.sets.functions.sparse import refuse_sparse
from foresolve.solvers.submodular.cuts import Parts, WholeParts
from foresolve.solvers.submodular.increments import Increments, ValueIncrements, Values

CHUNK = 2**22  # numbers (entries of a set or of its parameters, whichever are more) that `value` is given at once


class SetFunction(ABC):
    r"""A monotone submodular function of sets of `n` items, with parameters `theta` `(*batch, *shape)`.

    Subclass it and give `value`: this is all that greedy choices, layers and rounding need. Call `super().__init__`
    only to choose how the extension is estimated. There are three ways to have the extension:

    - nothing more: it is the mean over `samples` random sets, `S_s = {i : u_si < x_i}`, and its derivatives are the
      means of differences, `dF/dx_i = E[f(S + i) - f(S - i)]`, unbiased and, at 0/1 points `x`, exact for `F`;
    - override `multilinear` with a formula in torch: derivatives then come from autograd, exactly;
    - derive from `ClosedForm` and give `local`, with every derivative by hand: the fastest.

    Greedy choices and exact solves ask for `increments` (and `cuts`); by default these are differences of `value`, and
    a function that gives its own is solved as fast as those of foresolve.

    **Randomness.** The `u_si` come from a fresh generator at each call, seeded with the function's `seed`: equal calls
    give equal numbers, all instances and all points share the draws (so differences between them are less noisy than
    the values), and no global state is touched. `with_seed` gives the same function with other draws.

    Parameters
    ----------
    samples: random sets per estimate; the error falls as `1 / sqrt(samples)`.
    seed: an integer >= 0, or a generator from which one is drawn.

    Attributes
    ----------
    parallel: whether groups of instances may be worked on by several threads at once, as those of a `ClosedForm` are.
    theta_dims: how many trailing dimensions of `theta` belong to one instance.
    theta_bounds: between which each parameter must lie.
    data_dims: tensors that the function holds as attributes, by name, and how many of their trailing dimensions belong
        to one instance: `{"weights": 1}` for weights `(targets,)` or `(*batch, targets)`. What is in front of those is
        the batch: `batch_shape`, `select` and `to` follow, so that each instance keeps its data in subsets and shuffled
        batches. In `value` their batch shape broadcasts against the last dimensions of the batch.
    batch_shape: `()` unless the function holds data of its own for each instance.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import SetFunction
    >>> class Diminishing(SetFunction):
    ...     def value(self, mask, theta):
    ...         return (mask * theta).sum(-1).sqrt()
    >>> f, x, theta = Diminishing(samples=4000), torch.tensor([0.5, 0.5]), torch.tensor([1.0, 4.0])
    >>> f.value(torch.tensor([1.0, 1.0]), theta)
    tensor(2.2361)
    >>> bool((f.multilinear(x, theta) - (1 + 2 + 5**0.5) / 4).abs() < 0.1)
    True
    >>> theta.requires_grad_()
    tensor([1., 4.], requires_grad=True)
    >>> f.multilinear(x, theta).backward()  # the root has no slope at the empty set, whose value stays 0 all the same
    >>> bool((theta.grad - torch.tensor([(1 + 5**-0.5) / 8, (0.5 + 5**-0.5) / 8])).abs().max() < 0.02)
    True
    """

    parallel: bool = False
    theta_dims: int = 1
    theta_bounds: tuple[float, float] = (-math.inf, math.inf)
    data_dims: ClassVar[Mapping[str, int]] = {}
    samples: int = 128
    seed: int = 0

    def __init__(self, samples: int = 128, seed: Seed = 0) -> None:
        self.samples = checks.positive_int("samples", samples)
        self.seed = _number(seed)

    @abstractmethod
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`.

        The batch shapes of `mask` and `theta` broadcast; what foresolve's estimates pass has equal ones, `theta` as a
        view that is never copied, and the mask in the dtype of `theta`. For gradients in `theta`, compute it with
        operations that torch differentiates.
        """

    @property
    def batch_shape(self) -> torch.Size:
        """`()` unless the function holds data of its own for each instance."""
        return checks.broadcast_batch({f"`{name}`": batch for name, (_, batch) in self._data().items()})

    def _data(self) -> dict[str, tuple[Tensor, torch.Size]]:
        """The tensors of `data_dims` that are there, and the batch shape of each."""
        held = {name: (vars(self).get(name), dims) for name, dims in self.data_dims.items()}
        return {name: (data, data.shape[: data.ndim - dims]) for name, (data, dims) in held.items() if data is not None}

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> SetFunction:
        """The function of some instances of a flattened batch; itself where it holds no data for each instance."""
        if not self.batch_shape:
            return self
        if not self.data_dims:
            expected = "one whose `data_dims` names the tensors that it holds for each instance"
            remedy = "A class with a `batch_shape` of its own overrides `select` too"
            raise checks.fail("function", expected, type(self).__name__, remedy)
        chosen = copy.copy(self)
        for name, (data, own) in self._data().items():
            if own:
                shape = data.shape[len(own) :]
                vars(chosen)[name] = data.expand(*batch, *shape).reshape(math.prod(batch), *shape)[index]
        return chosen

    @property
    def sampled(self) -> bool:
        """True if `F` is estimated at random sets: then, with fixed draws, `multilinear` is a step function of `x`, and
        its derivatives agree with it only on average; a solver should take averaged steps with fresh draws."""
        kind = type(self)
        return kind.multilinear is SetFunction.multilinear and kind.local is SetFunction.local

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        """`F(x, theta)` `(*batch,)`, differentiable twice in `x`, once in `theta`, and once in each."""
        return self.extension(x, theta)

    def extension(self, x: Tensor, theta: Tensor) -> Tensor:
        """The same by way of `local`: where `multilinear` is a formula of your own, its derivatives are checked."""
        flat = flatten(self, x, theta)
        return flat.restore(apply(Extension, flat.x, flat.theta, flat.function))

    def local(self, x: Tensor, theta: Tensor) -> Local:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        from foresolve.sets.functions.formula import AutogradLocal
        from foresolve.sets.functions.sampled import SampledLocal

        return SampledLocal(self, x, theta) if self.sampled else AutogradLocal(self, x, theta)

    def with_seed(self, seed: int) -> Self:
        """The same function with other random draws; itself where it draws none."""
        if not self.sampled:
            return self
        twin = copy.copy(self)
        twin.seed = checks.positive_int("seed", seed, zero=True)
        return twin

    def increments(self, theta: Tensor, n: int) -> Increments:
        """Increments for greedy choices and exact solves, of a flat batch `theta` `(B, *shape)` without a graph.

        They are those of the batch's first `count` instances, one or more: the caller comes back for the others. By
        default of one, as differences of `value`; a function that knows a faster way gives its own.
        """
        return ValueIncrements(_values(self, theta, n), n, 4.0 * theta[0].numel())

    def cuts(self, theta: Tensor, n: int) -> Parts:
        """Parts that exact solves by cuts ask for, of one instance `(1, *shape)`: linear bounds, tighter the more parts
        the function is the sum of. By default it is a whole."""
        return WholeParts(_values(self, theta, n), n)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that is another function than its parent does not inherit the parent's ways to work it out."""
        super().__init_subclass__(**kwargs)
        if {"value", "multilinear", "local"} & vars(cls).keys():
            for name in {"increments", "cuts"} - vars(cls).keys():
                setattr(cls, name, vars(SetFunction)[name])

    def theta_shape(self, n: int) -> tuple[int | None, ...]:
        """The shape of one instance's parameters for `n` items; `None` for sizes that the function leaves open."""
        return (None,) * self.theta_dims

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor, or an error that says why it does not suit `n` items."""
        refuse_sparse(theta, type(self).__name__)
        theta = checks.as_tensor("theta", theta)
        if theta.ndim < self.theta_dims:
            raise checks.fail("theta", f"a batch of {self.theta_dims}-dimensional arrays", str(tuple(theta.shape)))
        checks.finite("theta", theta)
        return theta

    def to(self, device: torch.device | str) -> SetFunction:
        """The same function on another device, with the tensors that `data_dims` names."""
        if not self.data_dims:
            return self
        moved = copy.copy(self)
        vars(moved).update({name: data.to(device) for name, (data, _) in self._data().items()})
        return moved

    def config(self) -> dict[str, Any]:
        """Settings that make the same function again by `from_config`: numbers, strings, lists, dicts and tensors."""
        raise ForesolveError(f"{type(self).__name__} cannot be written to a file: it gives no `config()`")

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The function that `config()` describes; by default its entries are the arguments of the class."""
        return cls(**config)

    def gradient(self, x: Tensor, theta: Tensor) -> Tensor:
        """`grad_x F` `(*batch, n)`, differentiable once more in both."""
        flat = flatten(self, x, theta)
        return flat.restore(apply(ExtensionGradient, flat.x, flat.theta, flat.function))

    def hessian_product(self, x: Tensor, theta: Tensor, v: Tensor) -> Tensor:
        """The Hessian of `F` in `x` times `v`, `(*batch, n)`."""
        flat = flatten(self, x, theta)
        return flat.restore(flat.local().product(flat.directions(v)))

    def cross_product(self, x: Tensor, theta: Tensor, v: Tensor) -> Tensor:
        """The derivative of `v' grad_x F` in `theta`, `(*batch, *shape)`; the tensor of all of them is never built."""
        flat = flatten(self, x, theta)
        cross = flat.local().cross(flat.directions(v))
        return cross.to(theta.dtype).reshape((*flat.batch, *cross.shape[1:]))

    def of(
        self,
        select: Callable[[Tensor], Tensor],
        theta_dims: int | None = None,
        theta_bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> SetFunction:
        """The function `S -> f(S, select(theta))`; see `foresolve.sets.Selected`."""
        from foresolve.sets.functions.selected import Selected

        return Selected(self, select, theta_dims, theta_bounds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __add__(self, other: Any) -> SetFunction:
        from foresolve.sets.functions.sums import WeightedSum

        return WeightedSum([self, other]) if isinstance(other, SetFunction) else NotImplemented

    def __mul__(self, weight: Any) -> SetFunction:
        from foresolve.sets.functions.sums import WeightedSum

        return NotImplemented if isinstance(weight, SetFunction) else WeightedSum([self], [weight])

    __rmul__ = __mul__


class ClosedForm(SetFunction):
    """A set function whose extension has a formula; subclasses give `value` and `local`."""

    parallel = True


def _number(seed: Seed) -> int:
    """A seed as it is; from a generator, one that is drawn."""
    generator = as_generator("seed", seed)
    if not isinstance(seed, torch.Generator):
        return int(seed)
    return int(torch.randint(2**62, (), generator=generator, device=generator.device))


def _values(function: SetFunction, theta: Tensor, n: int) -> Values:
    """`f` of sets as arrays, for the first instance of a flat batch."""
    if function.batch_shape:
        function = function.select(0, function.batch_shape)
    parameters = theta[0].double()
    size = max(1, CHUNK // max(n, parameters.numel()))

    def values(sets: np.ndarray) -> np.ndarray:
        masks = torch.from_numpy(sets).to(parameters).split(size)
        with torch.no_grad():  # which belongs to a thread
            parts = [function.value(mask, parameters.expand(len(mask), *parameters.shape)) for mask in masks]
        return torch.cat(parts).double().cpu().numpy()

    return values
