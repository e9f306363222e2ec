"""The slopes that gradients claim, against differences, and the verdict in words."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.testing.differences import Comparison, Line, compare, directions, nearest_kink
from foresolve.testing.report import Finding

MOST_ENTRIES = 64  # that are compared one by one to say where a gradient is wrong
KINK_LINES = 2  # directions along which the next kink is looked for


class Slopes:
    """One number for each instance, `values(leaves)` `(*batch,)`, and its gradients in the leaves.

    Parameters
    ----------
    leaves: the first has rows of its own for the instances, `(*batch, *shape)`, or one row for all; all instances share
        the others.
    names: of the leaves.
    dims: how many dimensions `shape` has.
    bounds: between which entries of the first leaf must stay.
    unit: the magnitude of the values, `(B,)`, one for each instance of the flattened batch.
    """

    def __init__(
        self, values: Callable[[Sequence[Tensor]], Tensor], leaves: Sequence[Tensor], names: Sequence[str],
        *, dims: int, bounds: tuple[float, float], unit: Tensor, seed: int,
    ) -> None:  # fmt: skip
        self.values, self.leaves, self.names = values, list(leaves), names
        self.dims, self.bounds, self.unit = dims, bounds, _positive(unit.detach().double())
        self.generator = torch.Generator().manual_seed(seed)

    def line(self, k: int, direction: Tensor) -> Line:
        """The values along a direction of one leaf."""

        def along(times: Sequence[float]) -> Tensor:
            moves = (
                torch.tensor(times, dtype=torch.float64).reshape(-1, *[1] * direction.ndim).to(direction) * direction
            )
            with torch.no_grad():
                if k == 0 and self.stacked:
                    return self._values([self.leaves[0] + moves, *self.leaves[1:]])
                before, after = self.leaves[:k], self.leaves[k + 1 :]
                return torch.cat([self._values([*before, self.leaves[k] + move, *after]) for move in moves])

        return along

    def _values(self, leaves: Sequence[Tensor]) -> Tensor:
        """`(T, B)`, for leaves as they are (`T` = 1) or with one more dimension ahead."""
        return self.values(leaves).double().reshape(-1, len(self.unit))

    @functools.cached_property
    def stacked(self) -> bool:
        """Whether many points side by side have the values of each alone: then they are computed at once.

        Not where samples depend on the shape of the batch, nor where the batch is fixed, as for losses.
        """
        leaf = self.leaves[0]
        points = [leaf, leaf + 1e-3 * (leaf.mean() - leaf)]  # within whatever interval the entries are in
        with torch.no_grad():
            apart = torch.cat([self._values([point, *self.leaves[1:]]) for point in points])
            try:
                together = self._values([torch.stack(points), *self.leaves[1:]])
            except Exception:  # whatever it raises, it takes no such batch
                return False
        return together.shape == apart.shape and bool(((together - apart).abs() <= 1e-9 * self.unit).all())

    def rows(self, k: int) -> tuple[Tensor, Tensor]:
        """The leaf as instances `(B or 1, *shape)`, and how far each may be moved, `(B or 1,)`."""
        leaf = self.leaves[k]
        if k:
            return leaf.unsqueeze(0), _size(leaf.reshape(1, -1))
        rows = leaf.reshape(-1, *leaf.shape[leaf.ndim - self.dims :])
        low, high = self.bounds
        room = torch.minimum(rows - low, high - rows).flatten(1).amin(1)
        if float(room.min()) <= 0:
            expected = f"inside of its bounds ({low:g}, {high:g}), for differences to both sides"
            raise checks.fail(self.names[0], expected, f"an entry at a bound in instance {int(room.argmin())}")
        return rows, torch.minimum(_size(rows.flatten(1)), room)

    def gradients(self, k: int) -> Tensor | None:
        """The gradient of each instance's value in one leaf, `(B, *shape)`; `None` where the graph does not lead there.

        With rows for the instances the gradient of the sum holds them all: values of other instances do not depend on
        a row (which another promise is about).
        """
        leaves = [leaf.clone().requires_grad_(j == k) for j, leaf in enumerate(self.leaves)]
        values = self.values(leaves).flatten()
        if not values.requires_grad:
            return None
        if k == 0 and len(self.rows(0)[0]) == len(values):
            (gradient,) = torch.autograd.grad(values.sum(), leaves[0])
            return gradient.reshape(len(values), *gradient.shape[gradient.ndim - self.dims :])
        return torch.stack([torch.autograd.grad(value, leaves[k], retain_graph=True)[0] for value in values])

    def compare(self, k: int, gradients: Tensor, moves: list[Tensor]) -> Comparison:
        """Slopes and differences along moves of the leaf, `(B or 1, *shape)` each."""
        lines = [self.line(k, move.reshape(self.leaves[k].shape)) for move in moves]
        flat = gradients.double().flatten(1) if gradients.ndim > 1 else gradients.double()[:, None]
        slopes = torch.stack([(flat * move.reshape(len(move), -1)).sum(-1) for move in moves])
        return compare(lines, slopes, self.unit)

    def judge(self, k: int, count: int, tol: float) -> tuple[Finding, Comparison | None]:
        """The verdict on the gradient in one leaf, and the numbers that it comes from."""
        promise, gradients = f"gradient for {self.names[k]}", self.gradients(k)
        if gradients is None:
            remedy = f"keep every operation from `{self.names[k]}` on in torch, without `detach()` or `.item()`"
            return Finding(promise, "failed", detail=f"no gradient reaches {self.names[k]}", remedy=remedy), None
        rows, size = self.rows(k)
        comparison = self.compare(k, gradients, list(directions(rows, size, count, self.generator)))
        return decide(promise, comparison, tol, lambda: self.where(k, gradients)), comparison

    def where(self, k: int, gradients: Tensor) -> str:
        """The entry at which the gradient is most wrong, with both numbers."""
        rows, size = self.rows(k)
        entries = gradients.reshape(len(gradients), -1).abs().amax(0).nan_to_num(nan=math.inf)
        moves = []
        for j in entries.argsort(descending=True)[:MOST_ENTRIES].tolist():
            move = torch.zeros_like(rows).reshape(len(rows), -1)
            move[:, j] = size.to(move)
            moves.append((j, move.reshape(rows.shape)))
        comparison = self.compare(k, gradients, [move for _, move in moves])
        place, i = divmod(int(comparison.error.nan_to_num(nan=math.inf).argmax()), comparison.error.shape[1])
        claimed, actual = (
            float(tensor[place, i] / size[i % len(size)]) for tensor in (comparison.slopes, comparison.differences)
        )
        entry = torch.unravel_index(torch.tensor(moves[place][0]), rows.shape[1:]) if rows.ndim > 1 else ()
        there = f"entry [{', '.join(str(int(part)) for part in entry)}] of instance {i}"
        return f"most at {there}: the gradient says {claimed:.6g}, differences {actual:.6g}"

    def kinks(self, comparison: Comparison) -> Tensor:
        """The distance of each instance to the nearest kink along some directions of the first leaf, `(B,)`."""
        distance = torch.where(comparison.kink.any(0), 0.0, torch.inf).double()
        for move in directions(*self.rows(0), KINK_LINES, self.generator):
            line, length = self.line(0, move.reshape(self.leaves[0].shape)), move.flatten(1).double().norm(dim=1)
            distance = torch.minimum(distance, length * nearest_kink(line, comparison.scale))
        return distance


def decide(promise: str, comparison: Comparison, tol: float, where: Callable[[], str]) -> Finding:
    """The verdict in words."""
    error, kink, undecided = comparison.error, comparison.kink, comparison.undecided
    worst, counts = float(error.max()) if error.numel() else 0.0, _counts(comparison, tol)
    if not worst <= tol:
        remedy = (
            "look at the backward pass, its sign and its factors; a gradient that is not meant to be that of the value "
            "is excused with `smooth=False`"
        )
        return Finding(promise, "failed", worst, tol, f"{counts}; {where()}", remedy)
    judged = int((~kink & ~undecided).sum())
    if int(undecided.sum()) > judged:
        detail = f"{counts}: the differences settle at no step, so the value jumps, or is known too roughly"
        remedy = "solve more accurately, and draw the same samples at each call; or `smooth=False`"
        return Finding(promise, "failed", float((comparison.doubt / comparison.scale).max()), tol, detail, remedy)
    if error.numel() and not judged:
        return Finding(promise, "not applicable", detail=f"{counts}; draw other parameters")
    return Finding(promise, "passed", worst, tol, counts)


def _counts(comparison: Comparison, tol: float) -> str:
    wrong, kink, undecided = ~(comparison.error <= tol), comparison.kink, comparison.undecided
    parts = [f"{int(wrong.sum())} of {wrong.numel()} slopes are wrong"]
    if bool(kink.any()):
        d, i = (int(part) for part in kink.nonzero()[0])
        right, left = (float(side) for side in comparison.sides[:, d, i])
        parts.append(f"{int(kink.sum())} at a kink (instance {i}: {left:.6g} to one side, {right:.6g} to the other)")
    if bool(undecided.any()):
        parts.append(f"{int(undecided.sum())} undecided")
    return ", ".join(parts)


def _positive(unit: Tensor) -> Tensor:
    """Magnitudes, for an instance whose value is 0 that of the others; 1 where all are 0."""
    mean = float(unit.mean()) if unit.numel() else 0.0
    return torch.where(unit > 0, unit, mean if mean > 0 else 1.0)


def _size(flat: Tensor) -> Tensor:
    """The largest entry of each row; 1 where all are 0."""
    size = flat.abs().amax(1) if flat.shape[1] else flat.new_ones(len(flat))
    return torch.where(size == 0, 1.0, size)
