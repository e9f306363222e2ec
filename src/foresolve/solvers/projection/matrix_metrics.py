"""Metrics that couple variables: a few factors, or a full matrix."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

from torch import Tensor

from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.projection.matrix_saddles import DenseSaddle, LowRankSaddle, ReinforcedSaddle
from foresolve.solvers.projection.metric import Metric, chosen, product, summed
from foresolve.solvers.projection.rows import Rows, diagonal, times
from foresolve.solvers.projection.saddle import Saddle, SaddleTerms, filled
from foresolve.solvers.projection.whitening import Whitening
from foresolve.solvers.threads import one_blas_thread


class LowRankMetric(Metric):
    """`H = diag(shift) + V V'` with few columns `V` `(1 or B, n, k)` and `shift > 0` `(1 or B, n)`."""

    pursued = True

    def __init__(self, shift: Any, factor: Any) -> None:
        self.shift, self.factor = shift, factor
        self.side = factor.shape[-1]

    @cached_property
    def h(self) -> Array:
        return self.shift + (self.factor**2).sum(-1)

    @cached_property
    def _sizes(self) -> Array:
        return abs(self.factor)

    def apply(self, x: Array) -> Array:
        return self.shift * x + times(self.factor, _inner(self.factor, x))

    def reach(self, x: Array) -> Array:
        x = abs(x)
        return self.shift * x + times(self._sizes, _inner(self._sizes, x))

    def select(self, index: Array) -> Metric:
        return LowRankMetric(chosen(self.shift, index), chosen(self.factor, index))

    def system(self, terms: SaddleTerms) -> Saddle:
        return LowRankSaddle(terms, self.shift, self.factor)

    def numeric(self) -> Metric:
        return LowRankMetric(to_array(self.shift), to_array(self.factor))

    def tensors(self) -> tuple[Tensor, ...]:
        return self.shift, self.factor

    def gradients(self, u: Array, x: Array) -> tuple[Array, ...]:
        of_u, of_x = _inner(self.factor, u), _inner(self.factor, x)
        terms = u[..., None] * of_x[:, None, :] + x[..., None] * of_u[:, None, :]
        return summed(-u * x, self.shift), summed(-terms, self.factor)


class DenseMetric(Metric):
    """`H = diag(shift) + Q` with a symmetric `Q` `(1 or B, n, n)`.

    `leaning` says that it is definite on the null space of the equality rows alone, and to be `reinforced` by them.
    """

    pursued = True

    def __init__(self, shift: Any, matrix: Any, *, leaning: bool = False) -> None:
        self.shift, self.matrix, self._leaning = shift, matrix, leaning
        self.side = matrix.shape[-1]
        self._whole: Whitening | None = None  # with all variables free, for which many faces ask
        self._recent: tuple[Array, Whitening] | None = None  # of the last face, for which the next step may ask again

    @cached_property
    def full(self) -> Array:
        """`H`, `(1 or B, n, n)`."""
        if not bool((self.shift != 0).any()):
            return self.matrix
        total = self.matrix + namespace(self.shift).zeros_like(self.shift)[..., None]
        on_diagonal = diagonal(total)
        on_diagonal += self.shift
        return total

    @cached_property
    def h(self) -> Array:
        return diagonal(self.full) + 0.0

    @cached_property
    def _sizes(self) -> Array:
        return abs(self.full)

    def apply(self, x: Array) -> Array:
        return product(self.full, x)

    def reach(self, x: Array) -> Array:
        return product(self._sizes, abs(x))

    def select(self, index: Array) -> Metric:
        return self._handed_down(DenseMetric(chosen(self.shift, index), chosen(self.matrix, index)), index)

    def _handed_down(self, twin: DenseMetric, index: Array) -> DenseMetric:
        """Hand down what is worked out already."""
        for name in ("full", "h", "unit", "_sizes"):
            if name in self.__dict__:
                setattr(twin, name, chosen(getattr(self, name), index))
        twin._whole = None if self._whole is None else self._whole.select(index)
        return twin

    def system(self, terms: SaddleTerms) -> Saddle:
        return DenseSaddle(terms, self._whitening(terms, self.full))

    def _whitening(self, terms: SaddleTerms, matrix: Array) -> Whitening:
        if terms.weight is not None:
            return Whitening.of(terms, self.h, matrix)
        if bool(terms.free.all()):
            if self._whole is None:
                self._whole = Whitening.of(terms, self.h, matrix)
            return self._whole
        recent = self._recent
        if recent is None or len(recent[0]) != len(terms.free) or not bool((recent[0] == terms.free).all()):
            recent = self._recent = terms.free, Whitening.of(terms, self.h, matrix)
        return recent[1]

    def numeric(self) -> Metric:
        return DenseMetric(to_array(self.shift), to_array(self.matrix), leaning=self._leaning)

    def reinforced(self, rows: Rows, equality: Array) -> Metric:
        return ReinforcedMetric(self, rows, equality) if self._leaning else self

    def tensors(self) -> tuple[Tensor, ...]:
        return self.shift, self.matrix

    def gradients(self, u: Array, x: Array) -> tuple[Array, ...]:
        left, right = (namespace(u).paired(*pair) for pair in ((u / -2, x), (x, u / -2)))
        if len(self.matrix) == 1:  # the sum over the batch is a product as well
            left, right = (part.swapaxes(0, 1).reshape(1, u.shape[-1], -1) for part in (left, right))
        with one_blas_thread(self.side):
            return summed(-u * x, self.shift), left @ right.swapaxes(-1, -2)


class ReinforcedMetric(DenseMetric):
    """One that is definite on the null space of the equality rows `E` alone.

    `H + E' W E` is definite everywhere, and makes the same decisions: where `E x = b` it differs by a constant. Only
    factorizations see it, with `r + E' W p` in place of `r`.
    """

    def __init__(self, metric: DenseMetric, rows: Rows, equality: Array) -> None:
        super().__init__(metric.shift, metric.matrix)
        xp, self.full = namespace(metric.shift), metric.full
        size = xp.amax(diagonal(self.full), keepdims=True)
        size = xp.where(size > 0, size, 1.0)  # Q may be zero where the rows leave a single point
        self.ballast = xp.where(equality, size / rows.weights, 0.0)
        values = filled(rows)
        self.definite = self.full + (values * self.ballast[..., None]).swapaxes(-1, -2) @ values
        self.h = diagonal(self.definite) + 0.0

    def select(self, index: Array) -> Metric:
        twin = copy.copy(self)
        for name in ("shift", "matrix", "full", "h", "unit", "_sizes", "ballast", "definite"):
            if name in self.__dict__:
                setattr(twin, name, chosen(getattr(self, name), index))
        twin._whole, twin._recent = None if self._whole is None else self._whole.select(index), None
        return twin

    def system(self, terms: SaddleTerms) -> Saddle:
        return ReinforcedSaddle(terms, self._whitening(terms, self.definite), self.ballast)


def _inner(factor: Array, x: Array) -> Array:
    return x @ factor[0] if len(factor) == 1 else times(factor.swapaxes(-1, -2), x)
