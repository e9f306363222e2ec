"""From what users have (NumPy, SciPy sparse, torch dense or sparse) to rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, frames
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.sparse_rows import SparseRows

# A dense matrix with fewer entries than this share is stored by its entries.
SPARSE_SHARE = 0.1
SPARSE_SIZE = 10_000

_ELSEWHERE = "The objective is not part of the problem: give it as `theta` to `problem.solve(theta)` or to a layer"
_FIRST = f"It is the first argument, for there is no `c` as in linprog. {_ELSEWHERE}"
_MEANT = {
    "c": _ELSEWHERE,
    "lower": "Write `bounds=(lower, upper)`",
    "upper": "Write `bounds=(lower, upper)`",
    "lb": "Write `bounds=(lb, ub)`",
    "ub": "Write `bounds=(lb, ub)`",
}


class Block:
    """One of `A_ub`, `A_eq`: `dense` `(*batch, m, n)`, or entries `index` (2, nnz) with `values` (*batch, nnz)."""

    def __init__(self, name: str, matrix: Any) -> None:
        self.dense: Tensor | None = None
        if scipy.sparse.issparse(matrix):
            entries = scipy.sparse.coo_array(matrix)
            entries.sum_duplicates()
            index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
            self._sparse(tuple(matrix.shape), index, checks.as_tensor(name, entries.data))
        elif isinstance(matrix, Tensor) and matrix.layout != torch.strided:
            self._from_torch_sparse(name, matrix)
        else:
            self._from_dense(name, checks.as_tensor(name, matrix))
        self._check_finite(name)

    def _check_finite(self, name: str) -> None:
        try:
            checks.finite(name, self.values)
        except checks.InvalidInputError:
            if self.dense is not None:
                raise
            wrong = (~torch.isfinite(self.values)).nonzero()[0]
            place = [*wrong[:-1].tolist(), *self.index[:, wrong[-1]].tolist()]
            raise checks.fail(name, "finite", f"{self.values[tuple(wrong)].item():g} at {place}") from None

    def _sparse(self, shape: tuple[int, ...], index: Tensor, values: Tensor) -> None:
        self.m, self.n = shape[-2:]
        self.index, self.values = index, values
        self.batch = values.shape[:-1]

    def _from_dense(self, name: str, matrix: Tensor) -> None:
        if matrix.ndim < 2:
            remedy = f"One row is `[[...]]`. {_FIRST if name == 'A_ub' else ''}".rstrip()
            raise checks.fail(name, "a matrix (*batch, rows, variables)", f"shape {tuple(matrix.shape)}", remedy)
        if matrix.ndim == 2 and not matrix.requires_grad and matrix.numel() >= SPARSE_SIZE:
            index = matrix.nonzero().T
            if index.shape[1] <= SPARSE_SHARE * matrix.numel():
                self._sparse(tuple(matrix.shape), index, matrix[index[0], index[1]])
                return
        self.dense = self.values = matrix
        self.m, self.n = matrix.shape[-2:]
        self.batch = matrix.shape[:-2]

    def _from_torch_sparse(self, name: str, matrix: Tensor) -> None:
        entries = matrix if matrix.layout == torch.sparse_coo else matrix.to_sparse_coo()
        entries = entries.coalesce()
        values, index = checks.as_tensor(name, entries.values()), entries.indices()
        if entries.dense_dim() or entries.sparse_dim() not in {2, 3}:
            raise checks.fail(name, "a sparse (rows, variables) or (batch, rows, variables)", str(tuple(matrix.shape)))
        if entries.sparse_dim() == 2:
            self._sparse(tuple(matrix.shape), index, values)
            return
        # One pattern for all instances: the union of theirs.
        keys, position = torch.unique(index[1] * matrix.shape[2] + index[2], return_inverse=True)
        union = torch.stack([keys // matrix.shape[2], keys % matrix.shape[2]])
        filled = values.new_zeros(matrix.shape[0], len(keys)).index_put((index[0], position), values)
        self._sparse(tuple(matrix.shape), union, filled)

    def entries(self) -> tuple[Tensor, Tensor]:
        """`(index, values)`; a dense block lists every position, so that its gradient is dense too."""
        if self.dense is None:
            return self.index, self.values
        row = torch.arange(self.m).repeat_interleave(self.n)
        column = torch.arange(self.n).repeat(self.m)
        return torch.stack([row, column]).to(self.dense.device), self.dense.flatten(-2)


def no_rows(n: int, batch: torch.Size, device: torch.device) -> DenseRows:
    """Where there are no constraints but bounds; dense, for there is nothing to be sparse about."""
    shape = (batch.numel(), 0, n) if batch else (0, n)
    return DenseRows(torch.zeros(shape, dtype=torch.float64, device=device))


def stack(blocks: list[Block], n: int, device: torch.device) -> Rows:
    """All blocks one above the other, as one set of rows in float64."""
    batch = torch.broadcast_shapes(*(block.batch for block in blocks)) if blocks else torch.Size()
    if not any(block.m for block in blocks):
        return no_rows(n, batch, device)
    if all(block.dense is not None for block in blocks):
        parts = [block.values.double().expand(*batch, -1, -1) for block in blocks]
        rows = torch.cat(parts, -2)
        return DenseRows(rows.reshape(batch.numel(), *rows.shape[-2:]) if batch else rows)
    offset, indices, values = 0, [], []
    for block in blocks:
        index, value = block.entries()
        indices.append(index + torch.tensor([[offset], [0]], device=index.device))
        values.append(value.double().expand(*batch, -1))
        offset += block.m
    joined = torch.cat(values, -1)
    joined = joined.reshape(batch.numel(), joined.shape[-1]) if batch else joined
    return SparseRows(offset, n, torch.cat(indices, 1), joined)


def count_variables(n: int | None, blocks: dict[str, Block], lower: Any, upper: Any) -> int:
    """The number of variables, on which every argument must agree; a bound of length 1 may be that of all."""
    sizes = {name: block.n for name, block in blocks.items()}
    if n is not None:
        sizes["n"] = checks.positive_int("n", n)
    vectors = {name: bound.shape[-1] for name, bound in (("lower", lower), ("upper", upper)) if bound.ndim}
    known = bool(sizes) or any(size != 1 for size in vectors.values())
    sizes |= {name: size for name, size in vectors.items() if size != 1 or not known}
    if not sizes:
        raise checks.fail("n", "given, or a constraint matrix or vector bounds", "none of them")
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise checks.InvalidInputError(f"the arguments disagree on the number of variables: {counts}")
    return checks.positive_int("the number of variables", next(iter(sizes.values())))


def right_hand_side(name: str, side: Any, block: Block) -> Tensor:
    """`(*batch, rows)`, checked against its matrix."""
    tensor = checks.as_tensor(name, side)
    if tensor.ndim == 0:
        tensor = tensor[None]
    checks.last_dim(name, tensor, block.m, f"the {block.m} rows of A{name[1:]}")
    checks.finite(name, tensor)
    return tensor


def as_integrality(value: Any, n: int) -> Tensor:
    """Flags `(n,)` of the integer variables."""
    try:
        flags = np.asarray(0 if value is None else value.cpu() if isinstance(value, Tensor) else value)
    except ValueError as error:
        raise checks.fail("integrality", f"a number or ({n},)", f"{type(value).__name__} of uneven rows") from error
    if flags.shape not in {(), (n,)}:
        remedy = "It is shared by all instances" if flags.ndim > 1 else ""
        raise checks.fail("integrality", f"a number or ({n},)", f"shape {flags.shape}", remedy)
    if not np.isin(flags, (0, 1)).all():
        raise checks.fail("integrality", "0 (continuous) or 1 (integer) for each variable", str(np.unique(flags)))
    flags = np.broadcast_to(flags, (n,))
    return torch.from_numpy(flags.astype(bool))


def as_names(names: Any, n: int) -> tuple[Any, ...] | None:
    """A name for each variable, no name twice."""
    if names is None:
        return None
    expected = f"a name for each of the {n} variables"
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise checks.fail("names", expected, repr(names), "Give a list of them")
    names = tuple(names)
    if len(names) != n:
        raise checks.fail("names", expected, f"{len(names)} names")
    if any(name is None or (isinstance(name, float) and math.isnan(name)) for name in names):
        raise checks.fail("names", expected, "a missing one")
    repeated = next((name for name, count in Counter(frames.as_texts(names)).items() if count > 1), None)
    if repeated is not None:
        raise checks.fail("names", "different from each other", f"{repeated!r} more than once")
    return names


def refuse_keywords(owner: type, unknown: Mapping[str, Any]) -> None:
    """An error for the first keyword argument that a class does not have, with what may have been meant."""
    for name in unknown:
        known = [key for key, part in signature(owner).parameters.items() if part.kind != part.VAR_KEYWORD]
        guess = checks.did_you_mean(name, known, code=True)
        reason = f"{owner.__name__} has no argument `{name}`, only {', '.join(known)}"
        raise checks.InvalidInputError(reason, remedy=_MEANT.get(name, guess))


def common_device(tensors: Mapping[str, Any]) -> torch.device:
    """Tensors decide the device and must agree; NumPy input follows them."""
    places = {name: tensor.device for name, tensor in tensors.items() if isinstance(tensor, Tensor)}
    devices = set(places.values()) or {torch.device("cpu")}
    if len(devices) > 1:
        locations = ", ".join(f"{name} on {device}" for name, device in places.items())
        raise checks.InvalidInputError(
            f"constraints must live on one device; got {locations}", remedy="Build on the CPU, then `.to()`"
        )
    return devices.pop()
