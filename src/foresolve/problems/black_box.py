"""Problems that are known by their solver only."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveWarning, SolverError
from foresolve.problems.affine import Affine
from foresolve.problems.base import Problem, Sense
from foresolve.problems.feasibility import Feasibility, inspect
from foresolve.problems.oracles import (
    BadDecision,
    FirstTime,
    Oracle,
    as_answer,
    as_decision,
    as_row,
    as_rows,
    attempt,
    doubts,
)
from foresolve.solvers.processes import ProcessPool
from foresolve.solvers.statistics import measured


class OracleProblem(Problem):
    r"""A black box: any solver, heuristic or simulator that turns parameters into a decision.

    .. math::
        \max_x \; f(x, \theta) \quad \text{over whatever } \texttt{solve} \text{ chooses from}

    Parameters
    ----------
    solve: from one instance's `theta`, NumPy in float64, to its decision `(n,)`; with `batched`, from `(B, *shape)` to
        `(B, n)`. It sees `theta` as it is, whatever `sense` (where the problem is `parametrized`, the coefficients that
        `theta` makes); the same `theta` must give the same decision. A function, an object with a method
        `solve(theta)`, or a model as in PyEPO, with `setObj(c)` and `solve()`. It may give `(decision, value)` or
        SciPy's `OptimizeResult` instead of the decision alone.
    objective: `objective(x, theta) -> (*batch,)` in torch, differentiable; `theta'x` by default.
    n: the number of variables; by default `num_cost` of a PyEPO-like model, or as many as the oracle gives (for a
        linear objective, as `theta` has).
    linear: whether the objective is `theta'x`; by default if none is given.
    exact: whether the oracle is optimal. Losses that are bounds only for exact oracles go by it.
    batched: whether the oracle takes many instances at once.
    workers: worker processes that share the instances; with 0 the oracle runs in this process. They are started when
        first needed and kept, until `close()` or the problem is gone; `solve` must then be a function at the top of a
        module, and a script must start its work under `if __name__ == "__main__":`.
    sense: with "min" the objective is `-objective(x, theta)`: `theta` are costs. By default the `modelSense` of a
        PyEPO-like model, else "max".
    theta_dims: the number of dimensions of one instance's `theta`; 1 for a linear objective.
    initializer, initargs: called once in each worker, to set up what a model needs.

    Raises
    ------
    `SolverError`, from `solve`, that names the instances for which the oracle raised an error, gave `None`, a wrong
    shape or numbers that are not finite, or did not succeed; the first error is its cause. `ForesolveError`, where a
    worker process dies.

    Warns
    -----
    `ForesolveWarning`, once, where the first decisions of a linear problem speak against `sense` or the objective: the
    value that the oracle reports is not `theta'x`, or each instance would be better off with the decision of another.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from foresolve.problems import OracleProblem
    >>> def cheapest_pair(theta):
    ...     x = np.zeros(len(theta))
    ...     x[np.argsort(theta)[:2]] = 1.0
    ...     return x
    >>> problem = OracleProblem(cheapest_pair, n=4, sense="min")
    >>> theta = torch.tensor([[3.0, 1.0, 2.0, 5.0], [0.0, 4.0, 4.0, 1.0]])
    >>> x = problem.solve(theta)
    >>> x, problem.objective(x, theta)
    (tensor([[0., 1., 1., 0.],
            [1., 0., 0., 1.]]), tensor([-3., -1.]))

    SciPy's solvers as they are:

    >>> from functools import partial
    >>> from scipy.optimize import LinearConstraint, milp
    >>> two = LinearConstraint(np.ones((1, 4)), 2, 2)
    >>> solve = partial(milp, constraints=two, integrality=np.ones(4), bounds=(0, 1))
    >>> OracleProblem(solve, n=4, sense="min").solve(theta)
    tensor([[0., 1., 1., 0.],
            [1., 0., 0., 1.]])
    """

    def __init__(
        self,
        solve: Any,
        objective: Callable[[Tensor, Tensor], Tensor] | None = None,
        *,
        n: int | None = None,
        linear: bool | None = None,
        exact: bool = True,
        batched: bool = False,
        workers: int = 0,
        sense: Sense | None = None,
        theta_dims: int = 1,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        oracle = Oracle.of(solve)
        for name, function in (("objective", objective), ("initializer", initializer)):
            if not callable(function) and function is not None:
                raise checks.fail(name, "a function", type(function).__name__)
        self.sense = oracle.sense_or(sense)
        self.linear = objective is None if linear is None else linear
        dims = checks.positive_int("theta_dims", theta_dims, zero=True)
        if objective is None and not self.linear:
            raise checks.fail("objective", "a function of (x, theta) unless it is linear", "None")
        if self.linear and dims != 1:
            raise checks.fail("theta_dims", "1 for a linear objective", str(theta_dims))
        n = oracle.size if n is None and self.linear else n
        self._n = None if n is None else checks.positive_int("n", n)
        self.exact, self.batched = exact, batched
        self._oracle, self._objective = oracle, objective
        self._first_decisions = FirstTime()  # shared by copies, so that a warning comes once
        self._shape = (self._n,) if self.linear else (None,) * dims
        count = checks.positive_int("workers", workers, zero=True)
        self._workers = ProcessPool(oracle, count, initializer, initargs) if count else None
        if initializer is not None and not count:
            raise checks.fail("workers", "at least 1 with an `initializer`", "0")

    # -- the objective -----------------------------------------------------------------------------------------------

    def gain(self, theta: Tensor) -> Tensor:
        """For a linear objective, the coefficients that are maximized: `theta`, or `-theta` for costs.

        Where the problem is `parametrized`, those that `theta` makes.
        """
        if not self.linear:
            remedy = "If it is theta'x, pass linear=True"
            raise self._unfit("one with a linear objective", "its objective is not linear in x", remedy)
        return super().gain(theta)

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """The value of decisions under `theta`, `(*batch,)`, to be maximized."""
        theta, x = self.check_theta(theta), checks.as_tensor("x", x)
        if self.n is not None or self.linear:
            checks.last_dim("x", x, theta.shape[-1] if self.n is None else self.n)
        if self._objective is None:
            return (self.gain(theta) * x.to(theta.dtype)).sum(-1) + self.constant(theta)
        value = self._objective(x, theta)
        batch = checks.broadcast_batch({"`x`": x.shape[:-1], "`theta`": self.batch_for(theta)})
        if not isinstance(value, Tensor) or value.shape != batch:
            kind = str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
            raise checks.fail("objective", f"a function that gives a tensor {tuple(batch)}, one per instance", kind)
        return self.signed(value)

    # -- decisions ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int | None:
        """The number of variables, where it was given."""
        return self._n

    @property
    def theta_shape(self) -> tuple[int | None, ...]:
        """`(n,)` for a linear objective; else as many dimensions as `theta_dims` says, of any size."""
        return self._shape if self.parameters is None else (self.parameters.size,)

    def argmax(self, gains: Tensor) -> Tensor:
        """The oracle's decisions for gains: it sees them as parameters of its own sense."""
        if not self.linear:
            return super().argmax(gains)
        gains = checks.as_tensor("gains", gains)
        checks.last_dims("gains", gains, (self.n,))
        checks.finite("gains", gains)
        batch = gains.shape[:-1]
        return self._decisions(self.signed(gains.detach()), batch)

    def solve(self, theta: Tensor) -> Tensor:
        """The oracle's decisions `(*batch, n)`, in the dtype and on the device of `theta`."""
        if self.linear:
            return self.maximizer(theta)
        theta = self.check_theta(theta)
        return self._decisions(theta.detach(), self.batch_for(theta))

    def _decisions(self, seen: Tensor, batch: torch.Size) -> Tensor:
        """For parameters as the oracle sees them."""
        flat = seen.double().cpu().reshape(-1, *seen.shape[len(batch) :]).numpy()
        with measured("black box", len(flat)):
            answers = [as_answer(outcome) for outcome in self._ask(flat)] if len(flat) else []
        width = self.n if self.n is not None else seen.shape[-1] if self.linear else None
        outcomes = [answer if isinstance(answer, Exception) else answer.decision for answer in answers]
        x = self._gather(outcomes, batch, width)
        if self.linear and len(x) and self._first_decisions():
            stated = None if self.parameters is None else self.parameters.constant
            moves = stated is not None and bool(stated.moved.any())  # with a theta that is not known here
            reported = None if self._objective is not None or moves else answers[0].value
            constant = 0.0 if stated is None else float(stated.known.flatten()[0])
            for doubt in doubts(flat, x, reported, constant, self.sense, self.exact):
                checks.warn(doubt, ForesolveWarning)
        return torch.from_numpy(x).to(seen).reshape(*batch, x.shape[-1])

    def _ask(self, flat: np.ndarray) -> list[Any]:
        """A decision or the exception it ended with for each of `(B, *shape)` instances."""
        if not self.batched:
            return self._call(list(flat))
        parts = np.array_split(flat, min(self._workers.count, len(flat))) if self._workers else [flat]
        answers = zip(parts, self._call(parts), strict=True)
        return [outcome for part, answer in answers for outcome in self._split(part, answer)]

    def _call(self, inputs: list[np.ndarray]) -> list[Any]:
        """What the oracle gives for each input, or the exception it ended with; by the workers, where there are any."""
        return self._workers.map(inputs) if self._workers else [attempt(self._oracle, theta) for theta in inputs]

    def _split(self, part: np.ndarray, answer: Any) -> list[Any]:
        """The outcomes of the instances that a batched oracle was asked about at once."""
        if not isinstance(answer, Exception):
            return as_rows(answer, len(part))
        if len(part) > 1:
            # Which of them it was shows when they are asked about one by one.
            answers = self._call([theta[None] for theta in part])
            if any(isinstance(single, Exception) for single in answers):
                return [as_row(single) for single in answers]
        return [answer] * len(part)

    def _gather(self, outcomes: Sequence[Any], batch: torch.Size, width: int | None) -> np.ndarray:
        """The decisions side by side, or the error that names the instances without one."""
        rows: list[np.ndarray] = []
        failed: dict[int, Exception] = {}
        for i, outcome in enumerate(outcomes):
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                row = as_decision(outcome, width)
                width = len(row)
                rows.append(row)
            except Exception as error:
                failed[i] = error
        if failed:
            where = list(failed)
            first = failed[where[0]]
            reason = str(first) if isinstance(first, BadDecision) else f"it raised {type(first).__name__}: {first}"
            raise SolverError(
                f"the oracle failed for {{instances}}: {reason}", where, checks.instance_names(where, batch)
            ) from first
        return np.stack(rows) if rows else np.zeros((0, width or 0))

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions have the right size and are finite: more is not known of a black box."""
        x = checks.as_tensor("x", x)
        if self.n is not None or x.ndim == 0:
            checks.last_dim("x", x, self.n or 1)
        return inspect({"finite": (~x.detach().isfinite()).double()}, tol, x.shape[:-1], lambda kind, index: "")

    def close(self) -> None:
        """End the worker processes; they start again when needed."""
        if self._workers is not None:
            self._workers.close()

    # -- access ------------------------------------------------------------------------------------------------------

    def _moved(self, device: torch.device) -> Self:
        """For another device; the oracle stays on the CPU, and its workers are shared."""
        moved = copy.copy(self)
        moved.device = device
        moved.parameters = None if self.parameters is None else self.parameters.to(device)
        return moved

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`; itself where they share all that is known."""
        if self.parameters is None or not self.batch_shape:
            return self
        chosen = copy.copy(self)
        chosen.parameters = self.parameters.select(index.to(self.device))
        chosen.batch_shape = chosen.parameters.batch_shape
        return chosen

    def _parametrized(self, coefficients: Any, constant: Any, names: Any, parts: Mapping[str, Affine | None]) -> Self:
        if self._objective is not None:
            raise self._unfit("one without an `objective` of its own")
        return super()._parametrized(coefficients, constant, names, parts)

    def __repr__(self) -> str:
        size = "" if self.n is None else f", {self.n} variables"
        workers = f", {self._workers.count} workers" if self._workers else ""
        kind = "linear" if self.linear else getattr(self._objective, "__qualname__", "objective")
        return f"{type(self).__name__}({self._oracle.name}{size}, {kind}, sense={self.sense!r}{workers})"
