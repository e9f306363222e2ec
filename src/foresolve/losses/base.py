"""The base class of losses: what `fit` minimizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.compiling import uncompiled
from foresolve._base.keywords import check_keywords
from foresolve._base.module_calls import called, transforming
from foresolve._base.progress import Progress
from foresolve.data.batch import TABLES, Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.data.solutions import Failure
from foresolve.errors import ForesolveWarning, InvalidInputError, SolverError
from foresolve.layers.base import Layer
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.problems.base import Problem
from foresolve.problems.traits import check_words, missing, require

FROM_DECISIONS = "FenchelYoung(layer), CaVE() or Imitation(layer)"
ANY_DECISIONS = (
    "from decisions alone, Imitation(PerturbedAdditive()) learns with any problem, FenchelYoung(PerturbedAdditive()) "
    "with linear objectives over sets that `theta` does not move"
)

Repair = Callable[[Tensor, Any], Tensor]


class Loss(nn.Module):
    """`loss(theta_hat, batch) -> (B,)`: one number for each instance, to be minimized; the caller takes the mean.

    Attributes
    ----------
    needs: what a problem must offer, in the words of `foresolve.problems.TRAITS`; others are refused before any work.
    uses_best: whether it looks at the best decision under the truth (`batch.best()`), so that `prepare` has it worked
        out beforehand.
    repair: `repair(x, problem) -> x`, what is carried out of a decision under the true constraints, for problems whose
        constraints `theta` makes; validation on regret goes by it too.
    keep: the share of the way to the best decision that smoothed layers keep where nothing is said of their `gamma`, or
        two, at the beginning of a training and at its end (`CalibratedGamma`).
    lr: the learning rate that `fit` begins with where it is given none.
    uses_theta: whether it looks at the true parameters; without, it learns from decisions alone (`batch.target()`).

    Examples
    --------
    >>> import torch, foresolve
    >>> class Absolute(foresolve.Loss):
    ...     def forward(self, theta_hat, batch):
    ...         return (theta_hat - batch.theta).abs().mean(-1)
    >>> batch = foresolve.Batch(features=torch.zeros(2, 1), theta=torch.zeros(2, 3), problem=foresolve.TopK(3, k=1))
    >>> Absolute()(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 3.0]]), batch)
    tensor([2., 1.])
    """

    needs: tuple[str, ...] = ()
    uses_best: bool = False
    uses_theta: bool = True
    repair: Repair | None = None
    keep: float | tuple[float, float] = 0.9
    lr: float = 1e-3

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_words(vars(cls).get("needs", ()), cls.__name__)

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        check_keywords(cls, keywords)
        return super().__new__(cls)

    @abstractmethod
    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`, differentiable in `theta_hat`."""

    @uncompiled
    def __call__(self, theta_hat: Tensor, batch: Batch, *others: Any) -> Tensor:
        if others or not isinstance(batch, Batch):
            got = f"{1 + len(others)} arguments" if others else type(batch).__name__
            remedy = "A loss is called as `loss(theta_hat, batch)`, with `batch` from `data.loader(32)`; docs/pyepo.md"
            raise checks.fail("batch", "a Batch and the last argument", got, remedy)
        self.check_data(batch)
        batch.check_prediction(theta_hat)
        if len(batch) == 0:
            return theta_hat.sum().expand(0)  # no numbers, attached to the graph as others are
        if transforming(theta_hat):
            return self._transformed(theta_hat, batch)
        return super().__call__(theta_hat, batch)

    def _transformed(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """The same under transforms of `torch.func`, for which the tables of the batch are tensors too."""
        tables = {name: table for name in TABLES if isinstance(table := vars(batch).get(name), Tensor)}

        def arguments(theta_hat: Tensor, *values: Tensor) -> tuple[Tensor, Batch]:
            return theta_hat, batch.replaced(**dict(zip(tables, values)))

        shared = not batch.problem.batch_shape
        return called(self, arguments, [theta_hat, *tables.values()], folds=True, alone=not shared)

    def gradient(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        r"""The gradient of each instance's own loss for its prediction, of the shape of `theta_hat`, detached.

        .. math:: g_i = \frac{\partial}{\partial \hat\theta_i} \sum_j \ell_j(\hat\theta)

        Row `i` is the gradient of loss `i` where losses of a batch do not depend on each other's predictions. It is
        what drives models that autograd does not reach, such as trees (`foresolve.models.BoostedTrees`). A loss that
        draws samples draws them, as when it is called.

        Examples
        --------
        >>> import torch, foresolve
        >>> from foresolve.losses import SPOPlus
        >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
        >>> SPOPlus().gradient(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))
        tensor([[ 2., -2.]])
        """
        leaf = theta_hat.detach().clone().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(self(leaf, batch).sum(), leaf)
        return gradient

    def prepare(
        self,
        data: DecisionDataset,
        *,
        valid: bool = False,
        on_failure: Failure = "raise",
        progress: bool | Progress | None = None,
    ) -> DecisionDataset:
        """Do what has to be done once, before training: `fit` calls it, and trains on the data that it gives back.

        Parameters
        ----------
        data: those to train on, or with `valid`, once the former are prepared, those on which the loss is watched.
        on_failure, progress: as in `DecisionDataset.solve`.
        """
        self.check_data(data)
        if self.uses_best:
            data = data.solve(on_failure=on_failure, progress=progress)
        if not valid and data.has_theta:
            self._calibrate(data, on_failure)
        self._prepare(data, valid, progress)
        return data

    def _calibrate(self, data: DecisionDataset, on_failure: Failure) -> None:
        """Let layers work out their smoothing on the truth, as far as there are decisions under it."""
        for layer in self.smoothed_layers:
            try:
                layer.calibrate(data.problem, data.theta, self.keep)
            except SolverError as error:
                if on_failure == "raise":
                    raise
                message = f"gamma is not calibrated, and follows the rule {layer.gamma}: under the truth, {error}"
                checks.warn(message, ForesolveWarning)

    @property
    def smoothed_layers(self) -> list[SmoothedLayer]:
        """The layers with a `gamma`."""
        return [module for module in self.modules() if isinstance(module, SmoothedLayer)]

    def _prepare(self, data: DecisionDataset, valid: bool, progress: bool | Progress | None) -> None:
        """Do what else has to be done once with the data, whose best decisions are known by then."""

    def check_data(self, data: DecisionDataset | Batch) -> None:
        """Refuse data without what the loss needs: of the problem, and of the truth."""
        trait = None if data.has_theta else missing(data.problem, self.needs)
        if trait is not None:  # with a remedy of its own: those of the traits look at the truth
            remedy = f"{type(self).__name__} needs {trait.wanted}; {ANY_DECISIONS}"
            raise checks.fail("problem", trait.expected, f"{type(data.problem).__name__}: {trait.lacking}", remedy)
        self.check_problem(data.problem)
        if self.uses_theta and not data.has_theta:
            expected = f"known for {type(self).__name__}, which looks at the true parameters"
            raise checks.fail("theta", expected, "decisions alone", self._instead())

    def _instead(self) -> str:
        """The remedy if only decisions are known."""
        return f"Learn from decisions with {FROM_DECISIONS}"

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that lacks what the loss needs."""
        require(problem, self.needs, type(self).__name__)


def why_not(method: Loss | Layer, problem: Problem) -> str:
    """The reason why a loss or layer does not work with a problem; empty where it does.

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
