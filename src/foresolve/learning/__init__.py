"""Training, scoring and deployment: `fit`, `evaluate`, `compare`, `study`, `Policy`, the scikit-learn estimator."""

from typing import TYPE_CHECKING, Any

from foresolve.learning.comparison import Comparison, compare
from foresolve.learning.deployment.certificate import Certificate, Verification
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.deployment.monitoring import Monitoring
from foresolve.learning.evaluation import evaluate
from foresolve.learning.examples import examples
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.paired import PairedComparison
from foresolve.learning.pictures.curves import plot_learning
from foresolve.learning.pictures.instance import draw_instance
from foresolve.learning.policy import Policy
from foresolve.learning.report import Report
from foresolve.learning.scikit_learn.scorers import regret_scorer
from foresolve.learning.study.result import Study
from foresolve.learning.study.running import StudyInterrupted, StudyProgress
from foresolve.learning.study.studying import study
from foresolve.learning.study.verdict import Verdict

if TYPE_CHECKING:
    from foresolve.learning.scikit_learn.estimator import DecisionEstimator
    from foresolve.learning.scikit_learn.pipeline import DecisionPipeline

__all__ = [
    "Certificate",
    "Comparison",
    "DecisionEstimator",
    "DecisionPipeline",
    "Decisions",
    "History",
    "Monitoring",
    "PairedComparison",
    "Policy",
    "Report",
    "Study",
    "StudyInterrupted",
    "StudyProgress",
    "Verdict",
    "Verification",
    "compare",
    "draw_instance",
    "evaluate",
    "examples",
    "fit",
    "plot_learning",
    "regret_scorer",
    "study",
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
