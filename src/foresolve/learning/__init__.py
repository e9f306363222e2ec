"""Training, scoring, and what is kept: `fit`, `evaluate`, `compare`, `Policy`, the scikit-learn estimator."""

from typing import TYPE_CHECKING, Any

from foresolve.learning.comparison import Comparison, compare
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.policy import Policy
from foresolve.learning.report import Report
from foresolve.learning.scikit_learn.scorers import regret_scorer

if TYPE_CHECKING:
    from foresolve.learning.scikit_learn.estimator import DecisionEstimator
    from foresolve.learning.scikit_learn.pipeline import DecisionPipeline

__all__ = [
    "Comparison",
    "DecisionEstimator",
    "DecisionPipeline",
    "History",
    "Policy",
    "Report",
    "compare",
    "evaluate",
    "fit",
    "regret_scorer",
]


def __getattr__(name: str) -> Any:
    """What derives from scikit-learn's classes, which are imported when it is first asked for.

    Where they are not installed it is there all the same, and names the extra when it is made.
    """
    if name == "DecisionEstimator":
        from foresolve.learning.scikit_learn.estimator import DecisionEstimator

        return DecisionEstimator
    if name == "DecisionPipeline":
        from foresolve.learning.scikit_learn.pipeline import DecisionPipeline

        return DecisionPipeline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
