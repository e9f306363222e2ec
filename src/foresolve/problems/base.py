"""What is decided."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import torch
from torch import Tensor

from foresolve._base import checks, devices
from foresolve._base.compiling import OnNumbers
from foresolve._base.copies import SharesGraph
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.affine import Affine
from foresolve.problems.drawings.drawing import Drawing
from foresolve.problems.feasibility import Feasibility
from foresolve.problems.objectives import Objectives
from foresolve.problems.parameters import Parameters

Sense = Literal["max", "min"]


class Problem(Objectives, Drawing, SharesGraph, OnNumbers, ABC):
    """`max_x objective(x, theta)` over a feasible set: immutable data, every tensor `(*batch, ...)`.

    A problem of your own gives `n`, `exact`, `objective`, `solve` and `check`; where its objective is linear in `x`,
    `linear = True` and `argmax` instead of `solve`. Everything else follows, and is overridden where it differs.

    Attributes
    ----------
    exact: whether `solve` is a global optimum (to solver tolerance), not a heuristic.
    linear: whether the objective is `gain(theta)' x + constant(theta)`; gradients of the best value are then decisions.
    sense: with "min", `theta` are costs. The objective is maximized all the same: `gain` turns the sign.
    batch_shape: `()` where all instances share the feasible set (and whatever else the problem holds).
    device: where the problem's tensors live.
    theta_bounds: between which each parameter must lie (probabilities: 0 and 1); draws around predictions are clamped.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.problems import Feasibility
    >>> class BestItem(foresolve.Problem):
    ...     exact, linear, n = True, True, 3
    ...     def objective(self, x, theta):
    ...         return (self.gain(theta) * x).sum(-1)
    ...     def argmax(self, gains):
    ...         return torch.nn.functional.one_hot(gains.argmax(-1), 3).to(gains)
    ...     def check(self, x, tol=1e-6, *, relaxed=False):
    ...         worst = (x.sum(-1) - 1).abs().maximum((-x).amax(-1))
    ...         return Feasibility(worst <= tol, worst)
    >>> problem = BestItem()
    >>> x = problem.solve(torch.tensor([0.3, 0.9, 0.1]))
    >>> x, bool(problem.check(x))
    (tensor([0., 1., 0.]), True)
    """

    exact: bool
    linear: bool = False
    sense: Sense = "max"
    batch_shape: torch.Size = torch.Size()
    device: torch.device = torch.device("cpu")
    theta_bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def definite(self) -> bool:
        """Whether the objective is strictly concave in `x`, so that decisions need no smoothing to have gradients."""
        return bool(self.definite_instances.all())

    @property
    def definite_instances(self) -> Tensor:
        """In which instances it is, `(1 or B,)`."""
        return torch.zeros(1, dtype=torch.bool)

    @property
    def fixed(self) -> bool:
        """Whether the feasible set stays where it is, whatever `theta`."""
        return self.parameters is None or self.parameters.fixed

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient may be asked for of what it is made of: rows, bounds, a quadratic part."""
        return False

    @property
    def traits(self) -> frozenset[str]:
        """What the problem offers to layers and losses, in the words of `foresolve.problems.TRAITS`."""
        offered = {"linear": self.linear, "exact": self.exact, "shared": not self.batch_shape, "fixed": self.fixed}
        return frozenset(word for word, holds in offered.items() if holds)

    # -- the objective: the sign of `sense` lives here and nowhere else -----------------------------------------------

    @abstractmethod
    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """The value of decisions `x` under `theta`, `(*batch,)`, to be maximized; differentiable in both."""

    def gain(self, theta: Tensor) -> Tensor:
        """For linear objectives, the coefficients `(*batch, n)` that are maximized.

        `theta`, or `-theta` for costs; `known + S theta` with that sign where the problem is `parametrized`.
        """
        if not self.linear:
            raise self._unfit("one with a linear objective", "its objective is not linear in x")
        return self._coefficients(theta)

    def _coefficients(self, theta: Tensor) -> Tensor:
        if self.parameters is not None and self.parameters.coefficients is not None:
            theta = self.parameters.coefficients(theta)
        return self.signed(theta)

    def constant(self, theta: Tensor) -> Tensor:
        """The term of the objective without `x`, `(*batch,)`, to be maximized; 0 as a rule."""
        if self.parameters is not None and self.parameters.constant is not None:
            return self.signed(self.parameters.constant(theta)[..., 0])
        return theta.new_zeros(theta.shape[: theta.ndim - len(self.theta_shape)])

    def signed(self, values: Tensor) -> Tensor:
        """Values in the problem's sense as values to be maximized, and back: a change of sign, or none."""
        return values if self.sense == "max" else -values

    # -- decisions ---------------------------------------------------------------------------------------------------

    def argmax(self, gains: Tensor) -> Tensor:
        """For linear objectives, `argmax_x gains' x` over the feasible set: `(*batch, n)`, whatever `sense` and signs.

        What losses and layers call. No gradient passes; an unbounded set raises `UnboundedError`.
        """
        raise self._unfit("one with a linear objective", "it gives no `argmax`")

    def _unfit(self, expected: str, why: str = "", remedy: str = "") -> InvalidInputError:
        return checks.fail("problem", expected, f"{type(self).__name__}: {why}" if why else type(self).__name__, remedy)

    def maximizer(self, theta: Tensor) -> Tensor:
        """The best decision over the feasible set that layers and losses see, for whatever `theta` a model predicts.

        `solve` gives the same, or refuses: on a graph with cycles, a best flow need not be a path (`ShortestPath`).
        """
        checks.has_numbers(theta)
        if not self.linear:
            return self.solve(theta)
        theta = self.check_theta(theta).detach()
        self.batch_for(theta)  # so that an error names what the caller gave
        return self.at(theta).argmax(self.gain(theta)).to(theta)

    def solve(self, theta: Tensor) -> Tensor:
        """The best discrete decision for each instance, in the dtype and on the device of `theta`; no gradient."""
        return self.maximizer(theta)

    def decide(self, theta: Tensor, *, warn: bool = False) -> tuple[Tensor, Tensor]:
        """What is decided where `theta` is a prediction: by `evaluate`, in validation and by a `Policy`.

        Returns
        -------
        The decisions, and which of them had to be adjusted, `(*batch,)`, because `solve` has none for such a `theta`;
        with `warn`, a warning says why and what to do.
        """
        x = self.solve(theta)
        return x, torch.zeros(x.shape[:-1], dtype=torch.bool, device=x.device)

    def discrete(self, x: Tensor, theta: Tensor) -> Tensor:
        """What of a `maximizer` `x` for `theta` is carried out: itself, but for paths, whose cycles are dropped."""
        return x

    def at(self, theta: Tensor) -> Self:
        """The problem whose feasible set is that of `theta`; itself unless `theta` makes right-hand sides or bounds."""
        return self

    @abstractmethod
    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions are feasible, and what they break; `relaxed` leaves integrality aside, as layers do."""

    # -- parameters --------------------------------------------------------------------------------------------------

    def check_theta(self, theta: Any) -> Tensor:
        """`theta` as a floating tensor `(*batch, *theta_shape)`, or an error that says what is wrong with it."""
        theta = checks.as_tensor("theta", theta)
        checks.last_dims("theta", theta, self.theta_shape)
        checks.finite("theta", theta)
        return theta

    def clamp_theta(self, theta: Tensor) -> Tensor:
        """Parameters that were drawn, put to where the problem allows them: `theta_bounds`, unless it knows more."""
        return theta if self.theta_bounds == (-math.inf, math.inf) else theta.clamp(*self.theta_bounds)

    def batch_for(self, theta: Tensor) -> torch.Size:
        """The batch shape of `theta` and the problem together."""
        batch = theta.shape[: theta.ndim - len(self.theta_shape)]
        return checks.broadcast_batch({"`theta`": batch, "the problem": self.batch_shape})

    def flatten(self, theta: Any) -> tuple[Tensor, torch.Size]:
        """`theta` checked, in float64, as one flat batch `(B, *theta_shape)`, and the batch shape that it stands for.

        It stays attached to the autograd graph, and must be on the problem's device.
        """
        if isinstance(theta, Tensor):
            checks.same_device("theta", theta, self.device)
        theta = self.check_theta(theta)
        batch = self.batch_for(theta)
        shape = theta.shape[theta.ndim - len(self.theta_shape) :]
        return theta.double().expand(*batch, *shape).reshape(math.prod(batch), *shape), batch

    def parametrized(
        self,
        coefficients: Any = None,
        *,
        constant: Any = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        r"""The same linear problem with `theta` `(*batch, p)` that makes its coefficients, in part, tied or summed.

        .. math::
            \max_x \; \pm \bigl( (c_0 + S \theta)^\top x + d_0 + r^\top \theta \bigr)

        Predictions, noise, errors and baselines are then those of `theta`; decisions stay those of `x`.

        Parameters
        ----------
        coefficients: `Affine(S, c_0)`, or `(n,)` where all are known; `None` for `theta` itself.
        constant: `Affine(r, d_0)` of one number, or a number: what the objective has beside `x`.
        names: of the parameters.

        Examples
        --------
        >>> import torch, foresolve
        >>> from foresolve.problems import Affine
        >>> items = foresolve.Knapsack(weights=[3, 4, 5], capacity=8)
        >>> problem = items.parametrized(Affine.part([2], known=[3.0, 4.0, 0.0]))  # only the last worth is unknown
        >>> problem.solve(torch.tensor([[2.0], [5.0]]))
        tensor([[1., 1., 0.],
                [1., 0., 1.]])
        """
        return self._parametrized(coefficients, constant, names, {})

    def _parametrized(self, coefficients: Any, constant: Any, names: Any, parts: Mapping[str, Affine | None]) -> Self:
        self._check_parametrizable()
        assert self.n is not None
        if self.parameters is not None:
            known = self.parameters.constant_alone
            if known is None:
                raise self._unfit("one without parameters", "it has some", "Parametrize the plain one")
            constant = known if constant is None else constant
        twin = self._with_parameters(Parameters.of(self.n, self.names, coefficients, constant, names, parts))
        twin._check_parametrized()
        return twin

    def _check_parametrizable(self) -> None:
        if not self.linear or self.n is None:
            raise self._unfit("one with a linear objective of known `n`")

    def _expected_value(self, theta: Tensor, x: Tensor) -> Tensor:
        """What `objective` must be where the problem is `parametrized`."""
        return (self.gain(theta) * x).sum(-1) + self.constant(theta)

    def _with_parameters(self, parameters: Parameters) -> Self:
        twin = copy.copy(self)
        twin.batch_shape = checks.broadcast_batch({"the problem": self.batch_shape, "known": parameters.batch_shape})
        twin.parameters = parameters.to(self.device).expand(twin.batch_shape)
        return twin

    def _check_parametrized(self) -> None:
        """Refuse a class whose own `objective` knows nothing of what `theta` makes, at a point chosen for it."""
        assert self.parameters is not None
        theta = torch.linspace(0.7, 1.3, self.parameters.size, dtype=torch.float64, device=self.device)
        x = torch.linspace(0.4, 1.7, self.n or 0, dtype=torch.float64, device=self.device)
        expected = self._expected_value(theta, x)
        try:
            agree = torch.allclose(self.objective(x, theta).expand_as(expected), expected, rtol=1e-6)
        except (RuntimeError, ForesolveError):
            agree = False
        if not agree:
            raise self._unfit("one whose `objective` is gain(theta)'x + constant(theta)")

    # -- instances, devices, files -----------------------------------------------------------------------------------

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`, with all that is theirs; itself where all share it."""
        if self.batch_shape:
            raise self._unfit("one that all instances share", "it has data for each, and gives no `select`")
        return self

    def to(self, device: torch.device | str) -> Self:
        """The same problem on another device; itself, with the solvers it has warmed up, where it is there already."""
        target = devices.canonical(device)
        return self if target == self.device else self._moved(target)

    def _moved(self, device: torch.device) -> Self:
        """A copy on another device."""
        raise ForesolveError(f"{type(self).__name__} stays on {self.device}: it gives no `_moved(device)`")

    def config(self) -> dict[str, Any]:
        """What makes the same problem again through `from_config`: numbers, strings, lists, dicts and tensors."""
        raise ForesolveError(f"{type(self).__name__} cannot be written to a file: it gives no `config()`")

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The problem that `config()` describes; by default its entries are the arguments of the class."""
        return cls(**config)
