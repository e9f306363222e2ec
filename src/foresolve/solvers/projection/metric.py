r"""The metric of a projection: `H` of `min 1/2 x'Hx - s'x`, and the linear systems that it makes with rows.

With `H = I` the program is the Euclidean projection of `s`; with any positive definite `H` it is that of `H^{-1} s` in
the norm of `H`. A quadratic program is such a projection, and all that the solvers ask of `H` is here:

    apply, reach   H x, |H| |x|
    h              diag(H): what a coordinate alone would feel; the units between gradients and x
    system         the saddle point system of some free variables and rows, factorized (`saddle.py`)

Each structure has a class: nothing (`IDENTITY`), a diagonal, a factor `V V'` beside it, a dense matrix, entries of a
sparse one. A new structure is a new subclass, and nothing else changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from torch import Tensor

from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.projection.rows import Rows, times
from foresolve.solvers.projection.saddle import Saddle, SaddleTerms, SeparableSaddle


class Metric(ABC):
    """`H`, shared by a batch or one per instance.

    Attributes
    ----------
    h: its diagonal `(1 or B, n)`, positive.
    separable: whether it is its diagonal.
    pursued: whether Newton's method is tried before an interior point method, since it mostly succeeds.
    correctors: how often a step of that method may be corrected: more often where factors are dear and solves cheap.
    """

    h: Any
    separable: bool = False
    pursued: bool = False
    correctors: int = 0
    side: int = 0  # of the dense matrix that `system` factorizes, beside that of the rows

    @cached_property
    def unit(self) -> Any:
        """A typical size of `H`, `(1 or B, 1)`."""
        return namespace(self.h).positive_median(self.h)

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """`H x`, `(B, n)`."""

    @abstractmethod
    def reach(self, x: Array) -> Array:
        """`|H| |x|`, `(B, n)`: the terms of `H x`."""

    @abstractmethod
    def select(self, index: Array) -> Metric:
        """The metric of some instances of a batch."""

    @abstractmethod
    def system(self, terms: SaddleTerms) -> Saddle:
        """The saddle point system of `terms`, factorized."""

    def divided(self, gradient: Array) -> Array:
        """A gradient in units of `x`."""
        return gradient / self.h

    def target(self, point: Array, pull: Array, x: Array) -> Array:
        """The target of each coordinate if the others stayed at `x`: `x + (s - pull - H x) / h`."""
        return x + (point - pull - self.apply(x)) / self.h

    def rounding(self, x: Array) -> Array:
        """The terms that `target` sums beside `s` and `pull`, in units of gradients."""
        return self.reach(x)

    def reinforced(self, rows: Rows, equality: Array) -> Metric:
        """Definite everywhere, where it is so on the null space of the equality rows alone; itself otherwise."""
        return self

    # -- where a problem made it: tensors ------------------------------------------------------------------------------

    def numeric(self) -> Metric:
        """The same numbers as the solvers want them, out of the autograd graph."""
        return self

    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors that gradients may be asked for."""
        return ()

    def gradients(self, u: Array, x: Array) -> tuple[Array, ...]:
        """Gradients of `-u'(dH)x`, shaped like `tensors()`; sums over the batch where these are shared."""
        return ()


class Identity(Metric):
    """`H = I`."""

    separable = True
    h = 1.0

    @cached_property
    def unit(self) -> float:
        return 1.0

    def apply(self, x: Array) -> Array:
        return x

    def reach(self, x: Array) -> Array:
        return abs(x)

    def select(self, index: Array) -> Metric:
        return self

    def divided(self, gradient: Array) -> Array:
        return gradient

    def target(self, point: Array, pull: Array, x: Array) -> Array:
        return point - pull

    def rounding(self, x: Array) -> float:
        return 0.0

    def system(self, terms: SaddleTerms) -> Saddle:
        return SeparableSaddle(terms, self.h)


IDENTITY = Identity()


class DiagonalMetric(Metric):
    """`H = diag(shift)`, `shift > 0` `(1 or B, n)`."""

    separable = True

    def __init__(self, shift: Any) -> None:
        self.shift = self.h = shift

    def apply(self, x: Array) -> Array:
        return self.h * x

    def reach(self, x: Array) -> Array:
        return self.h * abs(x)

    def select(self, index: Array) -> Metric:
        return DiagonalMetric(chosen(self.shift, index))

    def target(self, point: Array, pull: Array, x: Array) -> Array:
        return (point - pull) / self.h

    def rounding(self, x: Array) -> float:
        return 0.0

    def system(self, terms: SaddleTerms) -> Saddle:
        return SeparableSaddle(terms, self.h)

    def numeric(self) -> Metric:
        return DiagonalMetric(to_array(self.shift))

    def tensors(self) -> tuple[Tensor, ...]:
        return (self.shift,)

    def gradients(self, u: Array, x: Array) -> tuple[Array, ...]:
        return (summed(-u * x, self.shift),)


def chosen(array: Array, index: Array) -> Array:
    """The entries of some instances; everything where all share it."""
    return array[index] if len(array) > 1 else array


def summed(terms: Array, like: Array) -> Array:
    """Gradients `(B, ...)` of data that may be shared by the batch."""
    return terms.sum(0)[None] if len(like) == 1 else terms


def product(matrix: Array, x: Array) -> Array:
    """The product with a symmetric matrix, shared or one per instance."""
    return x @ matrix[0] if len(matrix) == 1 else times(matrix, x)
