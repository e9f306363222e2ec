"""Regressors of scikit-learn, and of whatever has its interface, as models."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.reading import one_line
from foresolve.errors import ForesolveError
from foresolve.models.table import TableBaseline
from foresolve.models.targets import Transform, check_positive, checked_transform


class ScikitLearn(TableBaseline):
    r"""Any regressor of scikit-learn (or with its interface) that predicts several outputs.

    A policy with it is saved through skops, where skops holds all its types safe to load; otherwise it says so. Weights
    of instances become its `sample_weight`, where its `fit` has one.

    Parameters
    ----------
    estimator: an unfitted regressor, or a pipeline that ends with one.
    copy: `fit` fits a clone of it, `model.fitted`; otherwise the estimator itself.
    transform: "log" fits :math:`\log \theta` and predicts :math:`\exp` of what the regressor says: with squared errors,
        of a lognormal the median, which is less than its mean. "scale" divides each output by its standard deviation,
        where the regressor adds up their errors. `model.fitted` is then scikit-learn's `TransformedTargetRegressor`
        around a clone of the estimator, `model.fitted.regressor_`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from sklearn.linear_model import Ridge
    >>> from foresolve.models import ScikitLearn
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> model = ScikitLearn(Ridge(alpha=0.1)).fit(data)
    >>> model(features).shape
    torch.Size([64, 4])
    """

    weighted = True
    takes_frames = True

    def __init__(self, estimator: Any, *, copy: bool = True, transform: Transform | None = None) -> None:
        super().__init__()  # the fitted regressor holds the transform, and is saved with it
        if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
            raise checks.fail("estimator", "a regressor with `fit` and `predict`", type(estimator).__name__)
        self.estimator, self.copy = estimator, bool(copy)
        self.transform: Transform | None = checked_transform(transform)
        if transform is not None and not copy:
            raise checks.fail("copy", "True with a `transform`", "False", "scikit-learn fits a clone of the regressor")

    @classmethod
    def trained(cls, estimator: Any) -> Self:
        """The model of a regressor that is fitted already; a row of what it was fitted on is an instance.

        It is the regressor itself, not a copy (a `Policy` takes one): fitted again, it predicts anew.

        Examples
        --------
        >>> import torch
        >>> from sklearn.linear_model import LinearRegression
        >>> from foresolve.models import ScikitLearn
        >>> regressor = LinearRegression().fit([[0.0], [1.0]], [[0.0, 1.0], [2.0, 1.0]])
        >>> ScikitLearn.trained(regressor)(torch.tensor([[0.5]])).round(decimals=6)
        tensor([[1., 1.]])
        """
        model = cls(estimator)
        check_fitted(estimator)
        model.fitted, model._fitted = estimator, {"layout": "instance", "shape": [-1]}
        return model

    def known_columns(self) -> tuple[str, ...] | None:
        """The columns that the estimator was fitted with; `None` before, and where it was fitted with arrays."""
        return None if self._fitted is None else fitted_names(self.fitted)

    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        y = outputs.cpu().numpy()
        base = need("sklearn.base", "a regressor of scikit-learn", "learn")
        self.fitted = base.clone(self.estimator) if self.copy else self.estimator
        if self.transform == "log":
            check_positive(outputs)
        if self.transform is not None:
            self.fitted = _transformed(self.fitted, self.transform)
        options = {} if weights is None else {_weight_name(self.fitted): weights.cpu().numpy()}
        self.fitted.fit(rows.cpu().numpy(), y.ravel() if y.shape[1] == 1 else y, **options)

    def predict_table(self, rows: Tensor) -> Tensor:
        return self._outputs(rows).reshape(len(rows), -1).to(rows.device)

    def forward(self, features: Any) -> Tensor:
        """Predicted parameters; of frames, arrays and lists too, where a row is an instance."""
        if self._layout()["layout"] != "instance" or isinstance(features, Tensor):
            return super().forward(features)
        outputs = self._outputs(features)
        return outputs.reshape(len(outputs), *self._layout()["shape"])

    def _outputs(self, table: Any) -> Tensor:
        try:
            outputs = np.asarray(self.fitted.predict(estimator_table(self.fitted, table)), dtype=np.float64)
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            if isinstance(error, ForesolveError):
                raise
            name = type(self.fitted).__name__
            raise checks.fail("features", f"a table that {name} can predict from", one_line(error)) from error
        return torch.from_numpy(np.array(outputs, copy=not outputs.flags.writeable))


def _transformed(estimator: Any, transform: Transform) -> Any:
    """The regressor of transformed targets, of parts that skops holds safe to load."""
    library = need("sklearn.compose", "a transform of targets", "learn")
    if transform == "log":
        return library.TransformedTargetRegressor(estimator, func=np.log, inverse_func=np.exp, check_inverse=False)
    scaler = need("sklearn.preprocessing", "a transform of targets", "learn").StandardScaler(with_mean=False)
    return library.TransformedTargetRegressor(estimator, transformer=scaler, check_inverse=False)


def estimator_table(estimator: Any, table: Any) -> Any:
    """Features as a fitted estimator wants them.

    Where it was fitted with names, a frame as it is, so that the names are compared, and an array with those names, in
    their order; where it was not, an array.
    """
    if isinstance(table, Tensor):
        table = table.detach().cpu().numpy()
    elif hasattr(table, "column_names"):
        table = table.to_pandas()  # Arrow's
    names, name = fitted_names(estimator), type(estimator).__name__
    if names is None:
        table = table.to_numpy() if hasattr(table, "to_numpy") else table
        shape, width = np.shape(table), getattr(estimator, "n_features_in_", None)
        if width is not None and len(shape) == 2 and shape[1] != width:
            raise checks.fail("features", f"(N, {width}), as {name} was fitted with", str(shape))
        return table
    if hasattr(table, "columns"):
        return table
    array = np.asarray(table)
    if array.ndim != 2 or array.shape[1] != len(names):
        expected = f"(N, {len(names)}), a column for each of the names that {name} was fitted with"
        raise checks.fail("features", expected, str(array.shape))
    return need("pandas", "an estimator that was fitted with a frame", "learn").DataFrame(array, columns=names)


def fitted_names(estimator: Any) -> tuple[str, ...] | None:
    """The names of the columns that an estimator was fitted with; `None` where they were none, or no strings.

    Of a pipeline, its own record, or that of the first step that does something ("passthrough" keeps none).
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    if hasattr(estimator, "best_estimator_"):
        return fitted_names(estimator.best_estimator_)
    steps = [step for _, step in getattr(estimator, "steps", ()) if step is not None and step != "passthrough"]
    return fitted_names(steps[0]) if steps else None


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator of scikit-learn that has not been fitted; of others only they know."""
    base = sys.modules.get("sklearn.base")  # an object of its classes is there only where they are
    if base is None or not isinstance(estimator, base.BaseEstimator):
        return
    validation, name = need("sklearn.utils.validation", "an estimator", "learn"), type(estimator).__name__
    try:
        validation.check_is_fitted(estimator)
    except need("sklearn.exceptions", "an estimator", "learn").NotFittedError as error:
        remedy = "Fit it first, `model.fit(X, y)` or `foresolve.fit(model, None, train)`"
        raise checks.fail("model", "a fitted estimator", f"{name}, which is not fitted", remedy) from error


def _weight_name(estimator: Any) -> str:
    """The argument of `fit` that takes weights; a pipeline hands it to its last step, a search to what it searches."""
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        return f"{name}__{_weight_name(last)}"
    if need("sklearn.utils.validation", "weights", "learn").has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    keywords = inspect.signature(estimator.fit).parameters.values()
    if inner is not None and any(keyword.kind is keyword.VAR_KEYWORD for keyword in keywords):
        return _weight_name(inner)
    remedy = f"`{type(estimator).__name__}.fit` has no `sample_weight`: leave the weights out"
    raise checks.fail("train", "without weights", "a data set with weights", remedy)
