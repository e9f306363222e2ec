"""What is minimised."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn

from foresolve._base.progress import Progress
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset, Failure
from foresolve.errors import InvalidInputError
from foresolve.layers.base import Layer
from foresolve.problems.base import Problem
from foresolve.problems.traits import check_words, missing, require


class Loss(nn.Module):
    """`loss(theta_hat, batch) -> (B,)`: one number for each instance, to be minimised; the caller takes the mean.

    Attributes
    ----------
    needs: what a problem must offer, in the words of `foresolve.problems.TRAITS`; others are refused before any work.
    uses_best: whether it looks at the best decision under the truth (`batch.best()`), so that `prepare` has it worked
        out beforehand.
    """

    needs: tuple[str, ...] = ()
    uses_best: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_words(vars(cls).get("needs", ()), cls.__name__)

    @abstractmethod
    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`, differentiable in `theta_hat`."""

    def __call__(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        batch.check_prediction(theta_hat)
        self.check_problem(batch.problem)
        if len(batch) == 0:
            return theta_hat.sum().expand(0)  # no numbers, attached to the graph as others are
        return super().__call__(theta_hat, batch)

    def prepare(
        self,
        data: DecisionDataset,
        *,
        valid: bool = False,
        on_failure: Failure = "raise",
        progress: bool | Progress | None = None,
    ) -> DecisionDataset:
        """What has to be done once, before training: `fit` calls it, and trains on the data that it gives back.

        Parameters
        ----------
        data: those to train on, or with `valid`, once the former are prepared, those on which the loss is watched.
        on_failure, progress: as in `DecisionDataset.solve`.
        """
        self.check_problem(data.problem)
        if self.uses_best:
            data = data.solve(on_failure=on_failure, progress=progress)
        self._prepare(data, valid, progress)
        return data

    def _prepare(self, data: DecisionDataset, valid: bool, progress: bool | Progress | None) -> None:
        """What else a loss has to do once with the data, whose best decisions are known by then."""

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that lacks what the loss needs."""
        require(problem, self.needs, type(self).__name__)


def why_not(method: Loss | Layer, problem: Problem) -> str:
    """Why a loss or layer does not work with a problem; empty where it does.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.losses import SPOPlus, why_not
    >>> problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    >>> why_not(SPOPlus(), problem)
    'its objective is not linear in x'
    >>> why_not(SPOPlus(), foresolve.TopK(3, 1))
    ''
    """
    trait = missing(problem, method.needs)
    if trait is not None:
        return trait.lacking
    try:
        method.check_problem(problem)
    except InvalidInputError as error:  # for a reason of its own, that no trait has a word for
        return str(error)
    return ""
