"""What is minimised."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.problems.base import Problem


class Loss(nn.Module):
    """`loss(theta_hat, batch) -> (B,)`: one number for each instance, to be minimised; the caller takes the mean.

    Attributes
    ----------
    needs_decision: whether it uses the best decision under the truth (`batch.best()`), so that a data set should
        work it out beforehand.
    """

    needs_decision: bool = False

    @abstractmethod
    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`, differentiable in `theta_hat`."""

    def __call__(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        batch.check_prediction(theta_hat)
        self.check_problem(batch.problem)
        return super().__call__(theta_hat, batch)

    def check_problem(self, problem: Problem) -> None:
        """Raise an error that says so, if the loss cannot serve this problem."""
        reason = self.refuses(problem)
        if reason:
            raise checks.fail(
                "problem", f"one that {type(self).__name__} can serve", f"{type(problem).__name__}: {reason}"
            )

    def refuses(self, problem: Problem) -> str:
        """Why the loss cannot serve a problem; empty where it can."""
        return ""
