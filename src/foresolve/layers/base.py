"""How gradients pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.compiling import OnNumbers, uncompiled
from foresolve._base.keywords import check_keywords
from foresolve._base.module_calls import called, transforming
from foresolve.layers import pictures
from foresolve.problems.base import Problem
from foresolve.problems.traits import check_words, require

# `(theta, y, problem, truth) -> (*batch,)`: what the decisions `y` lack in the smoothed problem of `theta`; a smoothing
# that follows the data follows the true parameters, and is a fixed unit where these are not known (`None`).
Shortfall = Callable[[Tensor, Tensor, Problem, Tensor | None], Tensor]


class Layer(OnNumbers, nn.Module):
    """`layer(theta, problem) -> x`: a differentiable stand-in for `problem.solve(theta)`.

    Attributes
    ----------
    needs: what a problem must offer, in the words of `foresolve.problems.TRAITS`; others are refused before any work.
    fenchel_young_needs: what its loss needs beside that, in the same words.

    Examples
    --------
    >>> import torch, foresolve
    >>> class Rounded(foresolve.Layer):
    ...     needs = ("linear",)
    ...     def forward(self, theta, problem):
    ...         self.check_problem(problem)
    ...         return problem.solve(theta.detach()) + theta - theta.detach()
    >>> theta = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> Rounded()(theta, foresolve.TopK(3, k=1)).sum().backward()
    >>> theta.grad
    tensor([1., 1., 1.])
    """

    needs: tuple[str, ...] = ()
    fenchel_young_needs: tuple[str, ...] = ("linear",)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_words(vars(cls).get("needs", ()), cls.__name__)

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        check_keywords(cls, keywords)
        return super().__new__(cls)

    @abstractmethod
    def forward(self, theta: Tensor, problem: Any) -> Tensor:
        """Decisions `(*batch, n)`, differentiable in `theta`."""

    @uncompiled
    def __call__(self, theta: Tensor, problem: Problem) -> Tensor:
        self.check_problem(problem)
        theta = checks.as_tensor("theta", theta)
        if transforming(theta):
            alone = theta.ndim - len(problem.theta_shape) < len(problem.batch_shape)
            return called(self, lambda theta: (theta, problem), [theta], folds=False, alone=alone)
        return super().__call__(theta, problem)

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that lacks what the layer needs."""
        require(problem, self.needs, type(self).__name__)

    def plot_response(self, theta: Any, toward: Any, problem: Problem, ax: Any = None) -> Any:
        """Draw decisions, and the slopes that pass back, on the way from `theta` to another one; give the axes back.

        Dashed is the best decision, which jumps; the layer follows it, or gives it and passes a slope all the same. The
        variables that change most are shown. Layers that draw are copied: their generator stays where it is.

        Parameters
        ----------
        theta, toward: parameters of one instance each.
        problem: one that all instances share.
        ax: matplotlib axes; by default those of a new figure.
        """
        self.check_problem(problem)
        ends = pictures.one_instance("theta", theta, problem), pictures.one_instance("toward", toward, problem)
        return pictures.draw_response(self, *ends, problem, ax)

    def fenchel_young(self) -> Shortfall:
        """The loss that belongs to the layer, for `FenchelYoung`; only layers that smooth a problem have one."""
        expected = "one that smooths a linear problem, such as QuadraticRelaxation or PerturbedAdditive"
        raise checks.fail("layer", expected, type(self).__name__, "Others go into DecisionLoss")


def gains(theta: Tensor, problem: Problem) -> Tensor:
    """The coefficients `c` `(*batch, n)` of a linear objective, float64, attached to `theta`.

    Layers work on `c`, which is maximized whatever the problem's sense; the sign comes back with `gain`'s gradient.
    """
    return problem.gain(expanded(theta, problem))


def expanded(theta: Tensor, problem: Problem) -> Tensor:
    """`theta` checked, in float64, with the batch dimensions of the problem too; attached to its graph."""
    flat, batch = problem.flatten(theta)
    return flat.reshape(*batch, *flat.shape[1:])
