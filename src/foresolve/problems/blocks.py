"""From what users have (NumPy, SciPy sparse, torch dense or sparse) to rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.sparse_rows import SparseRows

# A dense matrix with fewer entries than this share is stored by its entries.
SPARSE_SHARE = 0.1
SPARSE_SIZE = 10_000


class Block:
    """One of `A_ub`, `A_eq`: `dense` `(*batch, m, n)`, or entries `index` (2, nnz) with `values` (*batch, nnz)."""

    def __init__(self, name: str, matrix: Any) -> None:
        self.dense: Tensor | None = None
        if scipy.sparse.issparse(matrix):
            entries = scipy.sparse.coo_array(matrix)
            entries.sum_duplicates()
            index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
            self._sparse(tuple(matrix.shape), index, torch.tensor(entries.data, dtype=torch.float64))
        elif isinstance(matrix, Tensor) and matrix.layout != torch.strided:
            self._from_torch_sparse(name, matrix)
        else:
            self._from_dense(name, checks.as_tensor(name, matrix))
        checks.finite(name, self.values)

    def _sparse(self, shape: tuple[int, ...], index: Tensor, values: Tensor) -> None:
        self.m, self.n = shape[-2:]
        self.index, self.values = index, values
        self.batch = values.shape[:-1]

    def _from_dense(self, name: str, matrix: Tensor) -> None:
        if matrix.ndim < 2:
            raise checks.fail(name, "a matrix (*batch, rows, variables)", f"shape {tuple(matrix.shape)}")
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
        values, index = entries.values(), entries.indices()
        if not values.is_floating_point():
            values = values.double()
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


def stack(blocks: list[Block], n: int, device: torch.device) -> Rows:
    """All blocks one above the other, as one set of rows in float64."""
    batch = torch.broadcast_shapes(*(block.batch for block in blocks)) if blocks else torch.Size()
    if not blocks:
        return DenseRows(torch.zeros(0, n, dtype=torch.float64, device=device))
    if all(block.dense is not None for block in blocks):
        parts = [block.values.double().expand(*batch, -1, -1) for block in blocks]
        rows = torch.cat(parts, -2)
        return DenseRows(rows.reshape(-1, *rows.shape[-2:]) if batch else rows)
    offset, indices, values = 0, [], []
    for block in blocks:
        index, value = block.entries()
        indices.append(index + torch.tensor([[offset], [0]], device=index.device))
        values.append(value.double().expand(*batch, -1))
        offset += block.m
    joined = torch.cat(values, -1)
    return SparseRows(offset, n, torch.cat(indices, 1), joined.reshape(-1, joined.shape[-1]) if batch else joined)


def split_bounds(bounds: Any) -> tuple[Any, Any]:
    """`(lower, upper)` of a pair, a list of pairs or `scipy.optimize.Bounds`."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return bounds.lb, bounds.ub
    if isinstance(bounds, tuple) and len(bounds) == 2:
        return bounds
    pairs = np.asarray([[np.nan if b is None else b for b in pair] for pair in bounds], dtype=float)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise checks.fail("bounds", "a tuple (lower, upper) or a list of n (min, max) pairs", f"shape {pairs.shape}")
    return np.nan_to_num(pairs[:, 0], nan=-np.inf), np.nan_to_num(pairs[:, 1], nan=np.inf)


def count_variables(n: int | None, blocks: dict[str, Block], lower: Any, upper: Any) -> int:
    """The number of variables, on which every argument must agree."""
    sizes = {name: block.n for name, block in blocks.items()}
    for name, bound in (("lower", lower), ("upper", upper)):
        if np.ndim(bound.detach().cpu() if isinstance(bound, Tensor) else bound):
            sizes[name] = np.shape(bound)[-1]
    if n is not None:
        sizes["n"] = checks.positive_int("n", n)
    if not sizes:
        raise checks.InvalidInputError(
            "the number of variables is unknown: give `n`, a constraint matrix or vector bounds"
        )
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise checks.InvalidInputError(f"the arguments disagree on the number of variables: {counts}")
    return next(iter(sizes.values()))


def right_hand_side(name: str, side: Any, block: Block) -> Tensor:
    """`(*batch, rows)`, checked against its matrix."""
    tensor = checks.as_tensor(name, side)
    if tensor.ndim == 0:
        tensor = tensor[None]
    checks.last_dim(name, tensor, block.m, f"the {block.m} rows of A{name[1:]}")
    checks.finite(name, tensor)
    return tensor


def as_bound(name: str, value: Any, n: int, device: torch.device) -> Tensor:
    """A bound as `(*batch, n)`; `None` means no bound."""
    value = (-np.inf if name == "lower" else np.inf) if value is None else value
    tensor = checks.as_tensor(name, value)
    tensor = tensor.to(device) if not isinstance(value, Tensor) else tensor
    if tensor.ndim == 0:
        tensor = tensor.expand(n)
    checks.last_dim(name, tensor, n, f"the {n} variables")
    checks.finite(name, tensor, allow_infinite=True)
    impossible = np.inf if name == "lower" else -np.inf
    if bool((tensor == impossible).any()):
        raise checks.fail(name, f"free of {impossible}", f"{impossible}")
    return tensor


def as_integrality(value: Any, n: int) -> Tensor:
    """Flags `(n,)` of the integer variables."""
    flags = np.asarray(0 if value is None else value.cpu() if isinstance(value, Tensor) else value)
    if flags.shape not in {(), (n,)}:
        raise checks.fail("integrality", f"a number or ({n},)", f"shape {flags.shape}")
    if not np.isin(flags, (0, 1)).all():
        raise checks.fail("integrality", "0 (continuous) or 1 (integer) for each variable", str(np.unique(flags)))
    flags = np.broadcast_to(flags, (n,))
    return torch.from_numpy(flags.astype(bool))


def common_device(blocks: dict[str, Block], rhs: list[Tensor], lower: Any, upper: Any) -> torch.device:
    """Tensors decide the device and must agree; NumPy input follows them."""
    places = {name: block.values.device for name, block in blocks.items()}
    places |= {f"b ({i})": side.device for i, side in enumerate(rhs)}
    places |= {name: b.device for name, b in (("lower", lower), ("upper", upper)) if isinstance(b, Tensor)}
    devices = set(places.values()) or {torch.device("cpu")}
    if len(devices) > 1:
        locations = ", ".join(f"{name} on {device}" for name, device in places.items())
        raise checks.InvalidInputError(
            f"constraints must live on one device; got {locations}. Build on the CPU, then `.to()`"
        )
    return devices.pop()
