"""How linear objectives are maximized over rows and bounds, exactly, and how far the search goes."""

from __future__ import annotations

import copy
from abc import abstractmethod
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem
from foresolve.problems.incumbent import Incumbent
from foresolve.solvers.exact.highs import HighsPool
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.statistics import measured


class DecidedProgram(Problem):
    """`max gains'x` over a polytope, some `x` integer: by an algorithm of the problem's own, or by HiGHS.

    What `solve` gives is feasible in each row's own terms and proven to be the best; anything else is an error.

    Attributes
    ----------
    limits: how far `solve` searches (`limited`).
    """

    exact = True
    linear = True
    limits = Limits()
    _beyond_rows = ""  # what the feasible set has beside rows, bounds and integrality, in words
    _structured = True  # whether rows and bounds are still those that an algorithm of the problem's own relies on

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of variables."""

    @property
    @abstractmethod
    def integrality(self) -> Tensor:
        """Which variables are integer, `(n,)`."""

    @abstractmethod
    def polytope(self, batch: torch.Size) -> Polytope:
        """The feasible set for a flattened batch."""

    def argmax(self, gains: Tensor) -> Tensor:
        """`argmax_x gains' x`, exact and discrete, in the dtype and on the device of `gains`.

        Raises `InfeasibleError`, `UnboundedError` or, where a limit was met, `StoppedError`, which name the instances.
        """
        gains = checks.as_tensor("gains", gains)
        flat, batch = self._flat_gains(gains)
        with measured("exact", len(flat)):
            x = self._decide(flat, batch) if self._structured else None
            if x is None:
                outcomes = self._search(flat, batch, self.limits)
                x = torch.from_numpy(self._pool.proven(outcomes, batch, self.limits))
        return x.to(gains).reshape(*batch, self.n)

    def _flat_gains(self, gains: Tensor) -> tuple[Tensor, torch.Size]:
        checks.last_dim("gains", gains, self.n)
        checks.finite("gains", gains)
        batch = checks.broadcast_batch({"`gains`": gains.shape[:-1], "the problem": self.batch_shape})
        return gains.detach().double().expand(*batch, -1).reshape(-1, self.n), batch

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor | None:
        """Best decisions for `(B, n)` gains by an algorithm of the problem's own; `None` leaves them to HiGHS."""
        return None

    def _search(self, gains: Tensor, batch: torch.Size, limits: Limits) -> list[Outcome]:
        """By HiGHS, whatever the structure."""
        instances = np.arange(self.batch_shape.numel()).reshape(self.batch_shape)
        model_of = np.broadcast_to(instances, tuple(batch)).reshape(-1)
        return self._pool.search(gains.cpu().numpy(), model_of, limits)

    def solution(
        self, theta: Tensor, *, nodes: int | None = None, gap: float | None = None, seconds: float | None = None
    ) -> Incumbent:
        """The best decision that a limited search finds for each instance, with its bound, gap and status.

        Where `solve` raises a `StoppedError`, this hands over what is known. Limits are those of one instance.

        Parameters
        ----------
        nodes: of branch and bound, for problems with integer variables; 100,000 unless `limited` said otherwise.
        gap: `(bound - value) / |value|` at which a decision is good enough.
        seconds: by the clock; what is found then depends on the machine.
        """
        theta = self.check_theta(theta).detach()
        limits = self.limits.but(nodes=nodes, gap=gap, seconds=seconds)
        return self.at(theta)._incumbent(theta, limits).shifted(self.constant(theta))

    def _incumbent(self, theta: Tensor, limits: Limits) -> Incumbent:
        flat, batch = self._flat_gains(self.gain(theta))
        x = self._decide(flat, batch) if self._structured else None
        if x is not None:
            outcomes = [Outcome(Ending.OPTIMAL, row) for row in x.cpu().double().numpy()]
        else:
            outcomes = self._search(flat, batch, limits)
        return Incumbent.of(outcomes, flat, theta, batch)

    def limited(self, *, nodes: int | None = None, seconds: float | None = None) -> Self:
        """The same problem, whose `solve` searches so far for each instance before it raises a `StoppedError`."""
        twin = copy.copy(self)
        twin.limits = self.limits.but(nodes=nodes, seconds=seconds)
        return twin

    @cached_property
    def _pool(self) -> HighsPool:
        """Models, never answers: each call starts from scratch."""
        integer = self.integrality.cpu().numpy() if bool(self.integrality.any()) else None
        return HighsPool(self.polytope(self.batch_shape).to(torch.device("cpu")).numeric(), integer)
