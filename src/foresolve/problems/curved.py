"""Programs with a quadratic part: what it is worth, how they are decided, how smooth they are."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem
from foresolve.problems.constraints import Constraints
from foresolve.problems.convexity import definite_on_null_space_of
from foresolve.problems.incumbent import Incumbent
from foresolve.problems.linear import LinearProgram, SmoothedProgram
from foresolve.problems.objectives import linear_objectives
from foresolve.problems.quadratic_term import QuadraticTerm
from foresolve.solvers.exact.outcome import Limits
from foresolve.solvers.exact.quadratic import QuadraticPool
from foresolve.solvers.projection.metric import Metric
from foresolve.solvers.statistics import measured

# Up to this many variables it is looked at whether Q is definite on the null space of the equality rows.
MOST_LEANING = 3_000


class CurvedProgram(LinearProgram):
    """A linear program whose objective has `- x'Qx / 2` beside; `QuadraticProgram` is one.

    Attributes
    ----------
    term: `Q`.
    """

    linear = False
    term: QuadraticTerm

    # -- the objective -------------------------------------------------------------------------------------------------

    @property
    def Q(self) -> Tensor:
        """The quadratic form with all its zeros, `(n, n)` or `(*batch, n, n)`."""
        self._require_known_term()
        return self.term.dense()

    def gain(self, theta: Tensor) -> Tensor:
        """The linear coefficients `(*batch, n)` that are maximized: `theta`, or `-theta` for costs."""
        return self._coefficients(theta)

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """`theta'x - x'Qx / 2`, `-theta'x - x'Qx / 2` for costs, and the term without `x`; `(*batch,)`."""
        linear = super().objective(x, theta)
        term, x = self._term_at(theta), checks.as_tensor("x", x)
        checks.broadcast_batch({"`x` and `theta`": linear.shape, "`Q`": term.batch_shape})
        return linear - term.value(x).to(linear.dtype)

    def objectives(self, decisions: Tensor, theta: Tensor) -> Tensor:
        """The value of each of `decisions` `(K, n)` under each of `theta`, `(B, K)` in float64.

        What is quadratic is worked out once for all `theta`, unless it depends on them.
        """
        term = self._term_at(theta)
        if term.batch_shape:
            return super().objectives(decisions, theta)
        return linear_objectives(self, decisions, theta) - term.value(decisions.to(theta.device))

    def advantage(self, x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
        """`objective(x, theta) - objective(y, theta)`."""
        slope = self.gain(theta) - self._term_at(theta).product((x + y) / 2)
        return (slope * (x - y)).sum(-1)

    def _term_at(self, theta: Tensor) -> QuadraticTerm:
        """The quadratic part for given parameters, attached to their graph."""
        maps = {} if self.parameters is None else self.parameters.quadratic
        if not maps:
            return self.term
        return self.term.with_numbers({name: part(theta.double()) for name, part in maps.items()})

    def clamp_theta(self, theta: Tensor) -> Tensor:
        """So that a predicted diagonal is not negative, as far as each entry of it follows a single parameter."""
        part = None if self.parameters is None else self.parameters.diagonal
        theta = super().clamp_theta(theta)
        return theta if part is None else theta.clamp(*(side.to(theta) for side in part.non_negative_box()))

    def _require_known_term(self) -> None:
        if self.parameters is not None and self.parameters.quadratic:
            why, remedy = "its `Q` depends on theta", "Take `problem.at(theta)`"
            raise self._unfit("one with a quadratic part that is known", why, remedy)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def argmax(self, gains: Tensor) -> Tensor:
        """Refused: the best decision for some gains alone would leave `Q` aside."""
        return Problem.argmax(self, gains)

    def maximizer(self, theta: Tensor) -> Tensor:
        """The best decisions `(*batch, n)`, by HiGHS and verified; no gradient.

        Raises `InfeasibleError`, `UnboundedError` or, where a limit was met, `StoppedError`, which name the instances.
        """
        theta = self.check_theta(theta).detach()
        self.batch_for(theta)
        program = self.at(theta)
        program.require_fixed()
        flat, batch = program._flat_gains(self.gain(theta))
        with measured("exact", len(flat)):
            outcomes = program._search(flat, batch, self.limits)
            x = torch.from_numpy(program._pool.proven(outcomes, batch, self.limits))
        return x.to(theta).reshape(*batch, self.n)

    def _incumbent(self, theta: Tensor, limits: Limits) -> Incumbent:
        flat, batch = self._flat_gains(self.gain(theta))
        known = Incumbent.of(self._search(flat, batch, limits), flat, theta, batch)
        return known.shifted(-self._term_at(theta).value(known.x.nan_to_num()).to(known.value))

    @cached_property
    def _pool(self) -> QuadraticPool:  # type: ignore[override]
        cpu = torch.device("cpu")
        polytope, term = self.polytope(self.batch_shape).to(cpu).numeric(), self.term.to(cpu).detached()
        flat = term.flat(self.batch_shape)
        leaning = self._leaning

        def metric(rho: float) -> Metric:
            gamma = torch.tensor([rho / 2], dtype=torch.float64)
            own = term.metric(self.batch_shape, gamma, leaning=leaning and rho == 0)
            return own.numeric().reinforced(polytope.rows, polytope.equality)

        return QuadraticPool(polytope, lru_cache(flat.form), metric, definite=self.definite)

    # -- curvature -----------------------------------------------------------------------------------------------------

    @property
    def definite(self) -> bool:
        """Whether `Q` is positive definite on the null space of the equality rows: then the decision is unique."""
        return bool(self.definite_instances.all())

    @property
    def definite_instances(self) -> Tensor:
        """Of which instances that holds, `(1 or B,)`."""
        return self._definite_instances

    @cached_property
    def _definite_instances(self) -> Tensor:
        strict, equality = self.term.definite, self.constraints.equality
        if bool(strict.all()) or self.n > MOST_LEANING or not bool(equality.any()):
            return strict
        return definite_on_null_space_of(self.term, self.constraints.dense()[..., equality, :])

    @property
    def _leaning(self) -> bool:
        """Whether it takes the equality rows for `Q` to be definite, in some instance."""
        return bool((self.definite_instances & ~self.term.definite).any())

    def smoothed(self, gain: Tensor, gamma: Tensor, batch: torch.Size) -> SmoothedProgram:
        """As for `LinearProgram`, in the metric `Q + 2 gamma I`; `gamma` may be 0 where `Q` is definite."""
        vanishing = (gamma == 0).cpu()
        if bool((vanishing & ~self.definite_instances).any()):
            remedy = (
                "Q is not definite on the null space of A_eq, so that decisions need not be unique. Give the layer a "
                "gamma > 0"
            )
            raise checks.fail("gamma", "> 0 for this problem", "0", remedy)
        polytope = self.polytope(batch).expand(len(gain))
        metric = self.term.metric(batch, gamma, leaning=bool(vanishing.any()) and self._leaning)
        return SmoothedProgram(gain, replace(polytope, metric=metric), gamma.new_ones(1))

    # -- instances, devices, files -------------------------------------------------------------------------------------

    def _constrain(self, constraints: Constraints) -> None:
        super()._constrain(constraints)
        shapes = {"the constraints": self.batch_shape, "`Q`": self.term.batch_shape}
        self.batch_shape = checks.broadcast_batch(shapes)
        if self.term.device != self.device:
            remedy = "Build on the CPU, then `.to()`"
            raise checks.fail("Q", f"on the device of the constraints ({self.device})", str(self.term.device), remedy)

    @property
    def requires_grad(self) -> bool:
        return super().requires_grad or self.term.requires_grad

    @property
    def traits(self) -> frozenset[str]:
        """What the problem offers; instances with a `Q` each do not share the problem."""
        return super().traits - ({"shared"} if self.term.batch_shape else set())

    def _select_parts(self, index: Tensor) -> None:
        super()._select_parts(index)
        if self.term.batch_shape:
            self.term = self.term.select(index)

    def _move_parts(self, device: torch.device) -> None:
        super()._move_parts(device)
        self.term = self.term.to(device)
