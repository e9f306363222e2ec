"""Numbers that are affine in what is predicted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs


class Affine:
    r"""`known + S theta`: how predicted parameters make coefficients, right-hand sides or bounds.

    .. math:: a(\theta) = a_0 + S \theta, \qquad S \in \mathbb{R}^{n \times p} \text{ sparse}

    `S` says which numbers are predicted, which are tied to each other, with which sign and weight; `known` is what is
    known of them beforehand. `problem.parametrized(Affine(...))` takes it.

    Parameters
    ----------
    matrix: `S` `(n, p)`: NumPy, SciPy sparse, torch.
    known: a number, `(n,)`, or `(*batch, n)` where instances differ in what is known.

    Examples
    --------
    >>> import torch
    >>> from foresolve.problems import Affine
    >>> Affine([[1.0], [-1.0]], known=[0.0, 0.5])(torch.tensor([2.0]))  # sold and bought at one price, with a fee
    tensor([ 2.0000, -1.5000])
    >>> Affine.tied([0, 1, 0], factor=[1.0, 1.0, -1.0])(torch.tensor([2.0, 3.0]))
    tensor([ 2.,  3., -2.])
    >>> Affine.part([1], known=[5.0, 0.0, 7.0])(torch.tensor([2.0]))
    tensor([5., 2., 7.])
    """

    def __init__(self, matrix: Any, known: Any = 0.0) -> None:
        self.shape, self.row, self.column, self.value = _entries(matrix)
        self.known = _as_known(known, self.shape[0], self.value.device)

    @classmethod
    def part(cls, predicted: Any, known: Any) -> Self:
        """Some numbers are predicted, the others known.

        Parameters
        ----------
        predicted: the positions of the predicted numbers, in the order of `theta`, or a mask `(n,)`.
        known: all numbers, `(n,)` or `(*batch, n)`; those that are predicted do not count.
        """
        numbers = checks.as_tensor("known", known).double()
        if numbers.ndim == 0:
            raise checks.fail("known", "(n,) or (*batch, n), a number for each", "a single number")
        n = numbers.shape[-1]
        chosen = _as_index("predicted", predicted, n)
        numbers = numbers.clone()
        numbers[..., chosen] = 0.0
        entries = (np.ones(len(chosen)), (chosen.numpy(), np.arange(len(chosen))))
        return cls(scipy.sparse.coo_array(entries, shape=(n, len(chosen))), numbers)

    @classmethod
    def tied(cls, index: Any, factor: Any = 1.0, known: Any = 0.0, *, size: int | None = None) -> Self:
        """Number `j` is `factor_j theta[index_j] + known_j`.

        Parameters
        ----------
        index: `(n,)`, which parameter moves each number; -1 for none.
        factor: a number or `(n,)`.
        known: as for `Affine`.
        size: the number of parameters; by default as many as `index` names.
        """
        which = _as_integers("index", index)
        if bool((which < -1).any()):
            raise checks.fail("index", "parameters 0, 1, 2, ..., or -1 for none", str(int(which.min())))
        least = int(which.max(initial=-1)) + 1
        count = max(least, 1) if size is None else checks.positive_int("size", size)
        if count < least:
            raise checks.fail("size", f"above the largest index ({least - 1})", str(size))
        factors = checks.as_tensor("factor", factor).double().cpu().numpy()
        if factors.shape not in ((), which.shape):
            raise checks.fail("factor", f"a number or ({len(which)},)", str(factors.shape))
        factors = np.broadcast_to(factors, which.shape)
        moved = np.flatnonzero(which >= 0)
        return cls(scipy.sparse.coo_array((factors[moved], (moved, which[moved])), shape=(len(which), count)), known)

    @classmethod
    def block(cls, start: int, count: int, *, size: int) -> Self:
        """The numbers are `theta[start : start + count]`, of `size` parameters: one prediction for several parts.

        Examples
        --------
        >>> import torch
        >>> from foresolve.problems import Affine
        >>> Affine.block(1, 2, size=4)(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([2., 3.])
        """
        count, size = checks.positive_int("count", count), checks.positive_int("size", size)
        if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start <= size - count:
            raise checks.fail("start", f"between 0 and size - count = {size - count}", repr(start))
        return cls.tied(np.arange(start, start + count), size=size)

    @property
    def batch_shape(self) -> torch.Size:
        """That of what is known; `()` where all instances share it."""
        return self.known.shape[:-1]

    @property
    def device(self) -> torch.device:
        """Where the numbers live."""
        return self.value.device

    def __call__(self, theta: Tensor) -> Tensor:
        """`known + S theta`, `(*batch, n)` for `theta` `(*batch, p)`; differentiable."""
        return self.known.to(theta.dtype) + self.spread(theta)

    def spread(self, theta: Tensor) -> Tensor:
        """`S theta`: what a change of `theta` changes."""
        checks.last_dim("theta", theta, self.shape[1], f"the {self.shape[1]} parameters of the `Affine`")
        if self._single is not None:  # at most one parameter moves a number: no sums
            column, factor = self._single
            return theta[..., column] * factor.to(theta.dtype)
        terms = theta[..., self.column] * self.value.to(theta.dtype)
        zeros = terms.new_zeros(*terms.shape[:-1], self.shape[0])
        return zeros.index_add(-1, self.row, terms)

    @cached_property
    def _single(self) -> tuple[Tensor, Tensor] | None:
        n = self.shape[0]
        if len(self.row) > n or bool((torch.bincount(self.row, minlength=n) > 1).any()):
            return None
        column, factor = torch.zeros(n, dtype=torch.long, device=self.device), self.value.new_zeros(n)
        return column.index_copy(0, self.row, self.column), factor.index_copy(0, self.row, self.value)

    @cached_property
    def moved(self) -> Tensor:
        """Which numbers `theta` moves, `(n,)`."""
        mask = torch.zeros(self.shape[0], dtype=torch.bool, device=self.device)
        mask[self.row[self.value != 0]] = True
        return mask

    @cached_property
    def used(self) -> Tensor:
        """Which parameters move a number, `(p,)`."""
        mask = torch.zeros(self.shape[1], dtype=torch.bool, device=self.device)
        mask[self.column[self.value != 0]] = True
        return mask

    @cached_property
    def unit(self) -> float:
        r"""The size of the moved numbers in units of the parameters, :math:`\sqrt{\sum_{jk} S_{jk}^2 / \#moved}`."""
        count = int(self.moved.sum())
        return float((self.value.square().sum() / count).sqrt()) if count else 1.0

    def select(self, index: Tensor) -> Affine:
        """That of some instances `(B,)`; itself where all share it."""
        if not self.batch_shape:
            return self
        twin = copy.copy(self)
        twin.known = self.known[index]
        return twin

    def expand(self, batch: torch.Size) -> Affine:
        """With what is known for each instance of a batch; itself where all share it."""
        if self.batch_shape in (batch, torch.Size()):
            return self
        twin = copy.copy(self)
        twin.known = self.known.expand(*batch, -1)
        return twin

    def to(self, device: torch.device) -> Affine:
        """The same on another device."""
        twin = copy.copy(self)
        twin.row, twin.column, twin.value, twin.known = (
            part.to(device) for part in (self.row, self.column, self.value, self.known)
        )
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached, which follows the device."""
        return {name: self.__dict__[name] for name in ("shape", "row", "column", "value", "known")}

    def non_negative_box(self) -> tuple[Tensor, Tensor]:
        """Between which each parameter keeps all numbers `>= 0` that follow it alone: `(*batch, p)` twice."""
        alone = torch.bincount(self.row, minlength=self.shape[0])[self.row] == 1
        column, value = self.column[alone], self.value[alone]
        bound = -self.known[..., self.row[alone]] / value
        column = column.expand(bound.shape)
        sides = []
        for sign, reduce in ((1.0, "amax"), (-1.0, "amin")):
            side = bound.new_full((*self.batch_shape, self.shape[1]), -sign * torch.inf)
            chosen = torch.where(sign * value > 0, bound, -sign * torch.inf)
            sides.append(side.scatter_reduce(-1, column, chosen, reduce))
        return sides[0], sides[1]

    def __repr__(self) -> str:
        batch = f", known for a batch {tuple(self.batch_shape)}" if self.batch_shape else ""
        return f"Affine({self.shape[0]} numbers, {self.shape[1]} parameters, {int(self.moved.sum())} moved{batch})"

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        return {"shape": list(self.shape), "index": torch.stack([self.row, self.column]), "value": self.value,
                "known": self.known}  # fmt: skip

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes, checked entry by entry."""
        n, p = (configs.whole("shape", size) for size in config["shape"])
        index, value = configs.tensor(config, "index").long(), configs.tensor(config, "value").double()
        limits = torch.tensor([[n], [p]])
        if index.ndim != 2 or index.shape != (2, len(value)) or bool(((index < 0) | (index >= limits)).any()):
            raise ValueError(f"`index` must be (2, {len(value)}) within ({n}, {p})")
        entries = scipy.sparse.coo_array((value.numpy(), tuple(index.numpy())), shape=(n, p))
        return cls(entries, configs.tensor(config, "known"))


def _entries(matrix: Any) -> tuple[tuple[int, int], Tensor, Tensor, Tensor]:
    """Shape, rows, columns and values of what is not zero, duplicates summed."""
    device = torch.device("cpu")
    if isinstance(matrix, Tensor):
        device, matrix = matrix.device, matrix.detach().to_dense().cpu().numpy()
    try:
        dense = matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise checks.fail("matrix", "(n, p) of numbers", f"{type(matrix).__name__} ({error})") from error
    if len(dense.shape) != 2 or 0 in dense.shape:
        raise checks.fail("matrix", "(n, p) with n, p >= 1", f"shape {dense.shape}")
    array = scipy.sparse.coo_array(dense)
    array.sum_duplicates()
    value = torch.from_numpy(np.asarray(array.data, dtype=np.float64))
    checks.finite("matrix", value)
    row, column = (torch.from_numpy(part.astype(np.int64)) for part in array.coords)
    return (dense.shape[0], dense.shape[1]), row.to(device), column.to(device), value.to(device)


def _as_known(known: Any, n: int, device: torch.device) -> Tensor:
    numbers = checks.as_tensor("known", known).double()
    numbers = numbers.expand(n) if numbers.ndim == 0 else numbers
    checks.last_dim("known", numbers, n, f"the {n} rows of `matrix`")
    checks.finite("known", numbers)
    return numbers if isinstance(known, Tensor) else numbers.to(device)


def _as_integers(name: str, value: Any) -> np.ndarray:
    numbers = np.asarray(value.cpu() if isinstance(value, Tensor) else value)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise checks.fail(name, "a list of integers", f"{numbers.dtype} {numbers.shape}")
    return numbers


def _as_index(name: str, value: Any, n: int) -> Tensor:
    """Distinct positions below `n`, of a mask or a list of them."""
    numbers = np.asarray(value.cpu() if isinstance(value, Tensor) else value)
    if numbers.dtype == bool and numbers.shape == (n,):
        numbers = np.flatnonzero(numbers)
    numbers = _as_integers(name, numbers)
    if len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= n or len(np.unique(numbers)) < len(numbers):
        raise checks.fail(name, f"distinct positions from 0 to {n - 1}, at least one, or a mask", str(numbers.tolist()))
    return torch.from_numpy(numbers.astype(np.int64))
