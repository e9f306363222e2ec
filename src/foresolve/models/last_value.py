"""Forecasts that repeat an earlier truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError
from foresolve.models.reference import Baseline
from foresolve.models.table import float_dtype


class LastValue(Baseline):
    """Columns of the features that hold an earlier truth, as the prediction: what a forecast must beat.

    `DecisionDataset.lagged` appends such columns. With the lag of a season it is the seasonal naive forecast: today as
    a week ago.

    Parameters
    ----------
    columns: positions of the columns, one for each parameter of an instance, in their order; `range(3, 8)` for those
        from 3 up to 8, negative ones from the end. By default the last ones: of `data.lagged(1, 7)`, lag 7.

    Examples
    --------
    Two prices a day and the day of the week, for two weeks:

    >>> import torch
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.models import LastValue
    >>> from foresolve.problems import TopK
    >>> day = torch.arange(14.0)
    >>> prices = torch.stack([day, 10 * (day % 7)], 1)
    >>> data = DecisionDataset((day % 7).unsqueeze(1), prices, TopK(2, 1)).lagged(1, 7)
    >>> data.features[0], data.theta[0]
    (tensor([ 0.,  6., 60.,  0.,  0.]), tensor([7., 0.]))
    >>> LastValue().fit(data)(data.features)[:2]
    tensor([[ 0.,  0.],
            [ 1., 10.]])
    >>> LastValue(columns=range(1, 3)).fit(data)(data.features)[:2]
    tensor([[ 6., 60.],
            [ 7.,  0.]])
    """

    weighted = True  # of the training data it takes the shape alone
    uses_theta = False
    _buffers_of_fit = ("places", "width")
    places: Tensor  # (parameters of an instance,), positions of columns
    width: Tensor  # (), columns of the features

    def __init__(self, columns: Sequence[int] | None = None, fitted: dict[str, Any] | None = None) -> None:
        super().__init__(fitted)
        self._config = {"columns": None if columns is None else _integers(columns)}

    def fit(self, train: Any) -> Self:
        """Find the columns; an error where they are none of the features'."""
        shape = train.theta.shape[1:] if train.has_theta else train.problem.theta_shape
        if None in shape:
            raise checks.fail("train", "with `theta`, whose size the problem leaves open", "decisions alone")
        width, count = _width(train.features), math.prod(shape)
        columns = self._config["columns"]
        columns = list(range(-count, 0)) if columns is None else columns
        remedy = "`data.lagged(1)` appends the parameters of the row before"
        if len(columns) != count:
            raise checks.fail("columns", f"{count}, one for each parameter of an instance", str(len(columns)), remedy)
        outside = [column for column in columns if not -width <= column < width]
        if outside:
            raise checks.fail("columns", f"among the {width} of the features", str(outside[0]), remedy)
        device = train.features.device
        self.places = torch.tensor(columns, dtype=torch.int64, device=device) % width
        self.width = torch.tensor(width, device=device)
        self._fitted = {"layout": "instance", "shape": list(shape)}
        return self

    def forward(self, features: Any) -> Tensor:
        shape = self._layout()["shape"]
        width = _width(features)
        if width != int(self.width):
            raise checks.fail("features", f"of {int(self.width)} numbers a row, as in training", str(width))
        return features[:, self.places].reshape(len(features), *shape).to(float_dtype(features))

    def validate(self) -> None:
        sound = (
            self.width.ndim == 0
            and self.places.shape == (math.prod(self._layout()["shape"]),)
            and bool(((self.places >= 0) & (self.places < self.width)).all())
        )
        if not sound:
            raise ForesolveError("the columns of LastValue are none of the features'")


def _integers(columns: Any) -> list[int]:
    """Positions, fit for JSON."""
    try:
        numbers = [int(column) for column in columns]
        sound = not isinstance(columns, str) and all(a == b for a, b in zip(numbers, columns, strict=True))
    except (TypeError, ValueError):
        sound, numbers = False, []
    if not sound:
        raise checks.fail("columns", "positions of columns, as integers", repr(columns))
    return numbers


def _width(features: Any) -> int:
    """The number of columns of one table `(N, d)`."""
    if not isinstance(features, Tensor) or features.ndim != 2:
        got = str(tuple(features.shape)) if isinstance(features, Tensor) else type(features).__name__
        raise checks.fail("features", "one table (N, d) for LastValue", got)
    return features.shape[1]
