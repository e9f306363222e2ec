"""Models behind the transformers of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from torch import Tensor, nn

from foresolve._base.extras import need
from foresolve.learning.features import as_input
from foresolve.models.reference import Reference
from foresolve.models.scikit_learn import estimator_table, fitted_names
from foresolve.problems.base import Problem


class Transformed(Reference):
    """`model(transformer.transform(features))`: the transformers of a pipeline, fitted, in front of a module.

    Parameters
    ----------
    transformer: fitted, for example `pipeline[:-1]`. It gets tables as the caller has them: frames with their names.
    model: the module behind it.
    """

    takes_frames = True

    def __init__(self, transformer: Any, model: nn.Module) -> None:
        super().__init__()
        self.transformer, self.model = transformer, model

    def known_columns(self) -> tuple[str, ...] | None:
        """Those that the transformer was fitted with."""
        return fitted_names(self.transformer)

    def forward(self, features: Any) -> Tensor:
        """Predicted parameters `(B, ...)`."""
        table = self.transformer.transform(estimator_table(self.transformer, features))
        return self.model(as_input(self.model, table.toarray() if sp.issparse(table) else table))


def decision_model(estimator: Any) -> nn.Module | None:
    """The module in a fitted `DecisionEstimator`, behind the transformers of the pipeline that it ends.

    `None` for any other estimator, which is asked for predictions as it is.
    """
    steps = list(estimator.steps) if hasattr(estimator, "steps") else [("", estimator)]
    last = vars(steps[-1][1]) if steps and hasattr(steps[-1][1], "__dict__") else {}
    model = last.get("model_")
    if not isinstance(model, nn.Module) or not isinstance(last.get("problem_"), Problem):
        return None
    if len(steps) == 1:
        return model
    return Transformed(need("sklearn.pipeline", "a pipeline", "learn").Pipeline(steps[:-1]), model)
