"""The best decisions of a data set, worked out once, when they are asked for."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.progress import Progress, reporting
from foresolve.data.best import failure, load_decisions, save_decisions, solve_all
from foresolve.data.fingerprint import fingerprint
from foresolve.data.instances import Instances
from foresolve.errors import ForesolveWarning

Failure = Literal["raise", "skip"]


class SolvedInstances(Instances):
    """Instances that know their best decisions, or how to get them."""

    @property
    def solved(self) -> bool:
        """Whether the best decisions are known already."""
        return self._decisions is not None

    @property
    def decisions(self) -> Tensor:
        """The best decisions under the truth `(N, n)`, worked out when first asked for; or those on record."""
        if self._decisions is None:
            self.solve()
        assert self._decisions is not None
        return self._decisions

    @property
    def values(self) -> Tensor:
        """The objectives of the best decisions under the truth `(N,)`; an error where only decisions are known."""
        decisions = self.decisions
        if self._values is None:
            self._values = self._objective(decisions)
        return self._values

    def solve(self, *, progress: bool | Progress | None = None, on_failure: Failure = "raise") -> Self:
        """Work out decisions and values, if they are not known, and keep them.

        Decisions on record, without parameters, are what they are: there is nothing to solve.

        Parameters
        ----------
        progress: True for a bar, False for none, a function of `(done, total)`, or `None`: a bar if stderr is a
            terminal, rich is installed and it takes more than a second.
        on_failure: "raise" a `SolverError` that names the instances without a decision, or "skip" them.

        Returns
        -------
        This data set; with "skip" and failures, a smaller one (`skipped` says what it lacks), after a warning.
        """
        if on_failure not in ("raise", "skip"):
            raise checks.fail("on_failure", '"raise" or "skip"', repr(on_failure))
        if self._decisions is not None:
            if self._values is None and self.has_theta:
                self._values = self._objective(self._decisions)
            return self
        key = fingerprint(self.theta, self.problem) if self.cache is not None else ""
        stored = None if self.cache is None else load_decisions(self.cache, key, self.problem, self.theta)
        if stored is not None:
            self._decisions, self._values = stored
            return self
        with reporting(progress, "best decisions") as report:
            decisions, failed = solve_all(self.problem, self.theta, report)
        if failed:
            return self._without(decisions, failed, on_failure)
        self._decisions, self._values = decisions, self._objective(decisions)
        if self.cache is not None:
            save_decisions(self.cache, key, self._decisions, self._values)
        return self

    def _objective(self, decisions: Tensor) -> Tensor:
        with torch.no_grad():
            return self.problem.objective(decisions, self.theta)

    def _without(self, decisions: Tensor, failed: dict[int, Any], on_failure: Failure) -> Self:
        error = failure(failed, len(self))
        if on_failure == "raise" or len(failed) == len(self):
            raise error from next(iter(failed.values()))
        keep = torch.ones(len(self), dtype=torch.bool, device=self.device)
        keep[sorted(failed)] = False
        rest = self.subset(keep)
        rest._decisions, rest.skipped = decisions[keep], tuple(sorted(failed))
        checks.warn(f"{len(failed)} of {len(self)} instances are skipped: {error.about()}", ForesolveWarning)
        return rest.solve()
