"""Baselines that learn from a table of rows, and how features become one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.models.pairs import pair
from foresolve.models.targets import TargetBaseline, Transform

CHUNK = 2**22  # numbers of a table of pairs, of distances, of nodes, at once


class TableBaseline(TargetBaseline):
    """A baseline that learns from a table of rows; a subclass gives `fit_table` and `predict_table`.

    A row of its table is an item where features are `(N, items, d)` and parameters `(N, items, ...)`; a pair where
    features are two sides, `(N, L, d)` and `(N, R, e)`, and parameters `(N, L * R)`; an instance otherwise. Both
    methods see the targets as `transform` makes them.

    Parameters
    ----------
    fitted: as in `Baseline`.
    transform: of the parameters, before they are fitted: `None`, "log" or "scale" (of each output of a row).

    Attributes
    ----------
    chosen: the number that cross-validation chose in `fit`; `None` where it had none to choose.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import TableBaseline
    >>> class Median(TableBaseline):
    ...     def fit_table(self, rows, targets, weights=None):
    ...         self.median = targets.median(0).values
    ...     def predict_table(self, rows):
    ...         return self.median.expand(len(rows), -1)
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> Median().fit(data)(features).shape
    torch.Size([64, 4])
    """

    chosen: float | int | None = None

    def __init__(self, fitted: dict[str, Any] | None = None, transform: Transform | None = None) -> None:
        super().__init__(fitted, transform)
        chosen = None if fitted is None else fitted.get("chosen")
        if chosen is not None and self._fitted is not None:
            checks.between("chosen", chosen, "[0, inf)")
            self.chosen = self._fitted["chosen"] = chosen

    def fit(self, train: Any) -> Self:
        layout, shape = layout_of(train.features, train.theta)
        table, outputs, weights = self._tables(train, layout)
        drawn = self.sample(len(table))
        if drawn is not None:  # before the conversion: doubles of all rows may take a gigabyte
            table, outputs = table[drawn.to(table.device)], outputs[drawn.to(outputs.device)]
            weights = None if weights is None else weights[drawn.to(weights.device)]
        given = () if weights is None else (weights,)
        self.chosen = None
        self.fit_table(table.to(torch.float64, copy=True), self._targets(outputs.double()), *given)
        self._fitted = {"layout": layout, "shape": list(shape)}
        if self.chosen is not None:
            self._fitted["chosen"] = self.chosen
        return self

    def _tables(self, train: Any, layout: str) -> tuple[Tensor, Tensor, Tensor | None]:
        """Rows `(R, d)`, their parameters `(R, o)` and their weights `(R,)`, those of an instance after each other."""
        table = _joined([rows for _, rows in _rows(train.features, layout, len(train.theta))])
        outputs = train.theta.detach().reshape(len(table), -1)
        weights = self._weights(train)
        if weights is not None:  # the rows of an instance count as it does
            weights = weights.repeat_interleave(len(table) // len(train.theta))
        return table, outputs, weights

    def forward(self, features: Any) -> Tensor:
        layout, shape = self._layout()["layout"], self._layout()["shape"]
        first = pair(features)[0] if layout == "pair" else features
        outputs = [
            self._restored(self.predict_table(rows.double())).reshape(size, *_between(features, layout), *shape)
            for size, rows in _rows(features, layout, len(first))
        ]
        theta = _joined(outputs).to(float_dtype(first))
        return theta.flatten(1, 2) if layout == "pair" else theta

    def sample(self, count: int) -> Tensor | None:
        """Positions of the rows to learn from, of `count`; `None` for all."""
        return None

    @abstractmethod
    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        """Learn outputs `(R, o)` from rows `(R, d)`, both float64; one that is `weighted` also gets weights `(R,)`."""

    @abstractmethod
    def predict_table(self, rows: Tensor) -> Tensor:
        """Outputs `(R, o)` for rows `(R, d)`."""

    def _check_width(self, rows: Tensor, width: int) -> None:
        if rows.shape[1] != width:
            raise checks.fail("features", f"of {width} numbers a row, as in training", str(rows.shape[1]))


def layout_of(features: Any, theta: Tensor) -> tuple[str, tuple[int, ...]]:
    """The layout of a row of the table, and the shape of its outputs."""
    if isinstance(features, dict | tuple):
        a, b = pair(features)
        if theta.ndim != 2 or theta.shape[1] != a.shape[1] * b.shape[1]:
            expected = f"(N, {a.shape[1] * b.shape[1]}), one for each pair of the features"
            raise checks.fail("theta", expected, str(tuple(theta.shape)))
        return "pair", ()
    lead = features.ndim - 1
    if lead >= 2 and features.shape[:-1] == theta.shape[:lead]:
        return "item", tuple(theta.shape[lead:])
    return "instance", tuple(theta.shape[1:])


def first_table(features: Any) -> Tensor:
    """The features, or those of the left side: their length, dtype and device are those of all."""
    return pair(features)[0] if isinstance(features, dict | tuple) else features


def float_dtype(table: Tensor) -> torch.dtype:
    """The dtype of predictions from it: its own, or torch's default where it has none that is floating."""
    return table.dtype if table.is_floating_point() else torch.get_default_dtype()


def _joined(parts: list[Tensor]) -> Tensor:
    """One after the other; a single part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _between(features: Any, layout: str) -> tuple[int, ...]:
    """The dimensions between the instance and its outputs."""
    if layout == "pair":
        a, b = pair(features)
        return a.shape[1], b.shape[1]
    return tuple(features.shape[1:-1]) if layout == "item" else ()


def _rows(features: Any, layout: str, count: int) -> Iterator[tuple[int, Tensor]]:
    """The number of instances and their rows `(R, d)`, a part at a time."""
    if layout != "pair":
        lead = features.ndim - 1 if layout == "item" else 1
        yield count, features.reshape(math.prod(features.shape[:lead]), math.prod(features.shape[lead:]))
        return
    a, b = pair(features)
    numbers = a.shape[1] * b.shape[1] * (a.shape[2] + b.shape[2])
    for left, right in zip(*(side.split(max(1, CHUNK // max(1, numbers))) for side in (a, b)), strict=True):
        nodes = left.unsqueeze(2).expand(-1, -1, b.shape[1], -1), right.unsqueeze(1).expand(-1, a.shape[1], -1, -1)
        yield len(left), torch.cat(nodes, -1).flatten(0, 2)


def check_bounds(bounds: Sequence[float | None]) -> tuple[float | None, float | None]:
    """`(low, high)` of predictions, numbers or `None`."""
    low, high = bounds
    if not all(end is None or (isinstance(end, int | float) and not math.isnan(end)) for end in (low, high)):
        raise checks.fail("bounds", "(low, high), numbers or None", f"{bounds!r:.60}")
    return low, high
