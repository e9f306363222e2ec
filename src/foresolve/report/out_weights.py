"""Row sums of `theta`, true and predicted, and how well they agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foresolve._base.checks import fail

Picture = Mapping[str, np.ndarray]


def weights(picture: Picture, method: str) -> tuple[np.ndarray, np.ndarray]:
    """The true and the predicted row sums of all test instances, flat, in double precision."""
    true, predicted = (np.ravel(picture[f"{name}_weight"]).astype(np.float64) for name in ("true", "predicted"))
    if true.shape != predicted.shape:
        raise fail(f"predicted_weight of {method}", f"{true.shape}, as true_weight", str(predicted.shape))
    return true, predicted


def r_squared(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The squared Pearson correlation; `None` where one of the two does not vary.

    >>> round(r_squared(np.array([1.0, 2.0, 3.0]), np.array([-20.0, -40.0, -60.0])), 6)
    1.0
    """
    x, y = true - true.mean(), predicted - predicted.mean()
    scale = float(x @ x) * float(y @ y)
    tiny = np.finfo(np.float64).eps * len(true)
    if float(x @ x) <= tiny * float(true @ true) or float(y @ y) <= tiny * float(predicted @ predicted):
        return None
    return float(x @ y) ** 2 / scale
