"""The classes of scikit-learn that ours derive from; where it is not installed, stand-ins that name the extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from foresolve._base.extras import need

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metaestimators import available_if
except ImportError:
    if TYPE_CHECKING:
        raise

    class RegressorMixin:
        """Stands in for scikit-learn's."""

    class BaseEstimator:
        """Stands in for scikit-learn's: the class can be imported and read about, and says what it needs when made."""

        def __new__(cls, *_: Any, **__: Any) -> Self:
            need("sklearn", cls.__name__, "learn")
            return super().__new__(cls)

    class Pipeline(BaseEstimator):
        """Stands in for scikit-learn's."""

    def available_if(check: Callable[[Any], bool]) -> Callable[[Any], Any]:
        """Stands in for scikit-learn's: there is no object to ask."""
        return lambda method: method


__all__ = ["BaseEstimator", "Pipeline", "RegressorMixin", "available_if"]
