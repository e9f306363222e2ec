"""Problems that are known by their solver only."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError, SolverError
from foresolve.problems.base import Problem, Sense
from foresolve.problems.feasibility import Feasibility, inspect
from foresolve.solvers.processes import ProcessPool

Oracle = Callable[[np.ndarray], Any]


class OracleProblem(Problem):
    r"""A black box: any solver, heuristic or simulator that turns parameters into a decision.

    .. math::
        \max_x \; f(x, \theta) \quad \text{over whatever } \texttt{solve} \text{ chooses from}

    Parameters
    ----------
    solve: from one instance's `theta`, NumPy in float64, to its decision `(n,)`; with `batched`, from `(B, *shape)` to
        `(B, n)`. It sees `theta` as it is, whatever `sense`; the same `theta` must give the same decision.
    objective: `objective(x, theta) -> (*batch,)` in torch, differentiable; `theta'x` by default.
    n: the number of variables; by default as many as the oracle gives (for a linear objective, as `theta` has).
    linear: whether the objective is `theta'x`; by default if none is given.
    exact: whether the oracle is optimal. Losses that are bounds only for exact oracles go by it.
    batched: whether the oracle takes many instances at once.
    workers: worker processes that share the instances; with 0 the oracle runs in this process. They are started when
        first needed and kept, until `close()` or the problem is gone; `solve` must then be a function at the top of a
        module, and a script must start its work under `if __name__ == "__main__":`.
    sense: with "min" the objective is `-objective(x, theta)`: `theta` are costs.
    theta_dims: the number of dimensions of one instance's `theta`; 1 for a linear objective.
    initializer, initargs: called once in each worker, to set up what a model needs.

    Raises
    ------
    `SolverError`, from `solve`, that names the instances for which the oracle raised an error, gave `None`, a wrong
    shape or numbers that are not finite; the first error is its cause. `ForesolveError`, where a worker process dies.

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
    """

    def __init__(
        self,
        solve: Oracle,
        objective: Callable[[Tensor, Tensor], Tensor] | None = None,
        *,
        n: int | None = None,
        linear: bool | None = None,
        exact: bool = True,
        batched: bool = False,
        workers: int = 0,
        sense: Sense = "max",
        theta_dims: int = 1,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        for name, function in (("solve", solve), ("objective", objective), ("initializer", initializer)):
            if not callable(function) and (function is not None or name == "solve"):
                raise checks.fail(name, "a function", type(function).__name__)
        if sense not in ("max", "min"):
            raise checks.fail("sense", '"max" or "min"', repr(sense))
        self.linear = objective is None if linear is None else linear
        dims = checks.positive_int("theta_dims", theta_dims, zero=True)
        if objective is None and not self.linear:
            raise checks.fail("objective", "a function of (x, theta) unless it is linear", "None")
        if self.linear and dims != 1:
            raise checks.fail("theta_dims", "1 for a linear objective", str(theta_dims))
        self._n = None if n is None else checks.positive_int("n", n)
        self.exact, self.batched, self.sense = exact, batched, sense
        self._oracle, self._objective = solve, objective
        self._shape = (self._n,) if self.linear else (None,) * dims
        count = checks.positive_int("workers", workers, zero=True)
        self._workers = ProcessPool(solve, count, initializer, initargs) if count else None
        if initializer is not None and not count:
            raise checks.fail("workers", "at least 1 with an `initializer`", "0")

    # -- the objective -----------------------------------------------------------------------------------------------

    def gain(self, theta: Tensor) -> Tensor:
        """For a linear objective, the coefficients that are maximized: `theta`, or `-theta` for costs."""
        if not self.linear:
            raise ForesolveError(
                "the objective of this OracleProblem is not linear in x: it has no coefficients. If it is theta'x, say "
                "so with linear=True"
            )
        return super().gain(theta)

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """The value of decisions under `theta`, `(*batch,)`, to be maximized."""
        theta, x = self.check_theta(theta), checks.as_tensor("x", x)
        if self.n is not None or self.linear:
            checks.last_dim("x", x, theta.shape[-1] if self.n is None else self.n)
        if self._objective is None:
            return (self.gain(theta) * x.to(theta.dtype)).sum(-1)
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
        return self._shape

    def argmax(self, gains: Tensor) -> Tensor:
        """The oracle's decisions for gains: it sees them as parameters of its own sense."""
        if not self.linear:
            return super().argmax(gains)
        return self.solve(self.signed(gains.detach()))

    def solve(self, theta: Tensor) -> Tensor:
        """The oracle's decisions `(*batch, n)`, in the dtype and on the device of `theta`."""
        theta = self.check_theta(theta)
        batch = self.batch_for(theta)
        flat = theta.detach().double().cpu().reshape(-1, *theta.shape[len(batch) :]).numpy()
        outcomes = self._ask(flat) if len(flat) else []
        width = self.n if self.n is not None else theta.shape[-1] if self.linear else None
        x = self._gather(outcomes, batch, width)
        return torch.from_numpy(x).to(theta).reshape(*batch, x.shape[-1])

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
            return _rows(answer, len(part))
        if len(part) > 1:
            # Which of them it was shows when they are asked about one by one.
            answers = self._call([theta[None] for theta in part])
            if any(isinstance(single, Exception) for single in answers):
                return [_only(single) for single in answers]
        return [answer] * len(part)

    def _gather(self, outcomes: Sequence[Any], batch: torch.Size, width: int | None) -> np.ndarray:
        """The decisions side by side, or the error that names the instances without one."""
        rows: list[np.ndarray] = []
        failed: dict[int, Exception] = {}
        for i, outcome in enumerate(outcomes):
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                row = _decision(outcome, width)
                width = len(row)
                rows.append(row)
            except Exception as error:
                failed[i] = error
        if failed:
            where = list(failed)
            first = failed[where[0]]
            reason = str(first) if isinstance(first, _BadDecision) else f"it raised {type(first).__name__}: {first}"
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
        return moved

    def __repr__(self) -> str:
        name = getattr(self._oracle, "__qualname__", type(self._oracle).__name__)
        size = "" if self.n is None else f", {self.n} variables"
        workers = f", {self._workers.count} workers" if self._workers else ""
        kind = "linear" if self.linear else getattr(self._objective, "__qualname__", "objective")
        return f"{type(self).__name__}({name}{size}, {kind}, sense={self.sense!r}{workers})"


class _BadDecision(Exception):
    """What the oracle gave is not a decision; the message completes "the oracle failed for instance 3: it ..."."""


def attempt(oracle: Oracle, theta: np.ndarray) -> Any:
    """What the oracle gives, or the exception it raises."""
    try:
        return oracle(theta)
    except Exception as error:
        return error


def _decision(value: Any, width: int | None) -> np.ndarray:
    """One decision as `(n,)` finite numbers."""
    if value is None:
        raise _BadDecision("it gave None instead of a decision")
    try:
        row = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _BadDecision(f"it gave {type(value).__name__} instead of an array of numbers") from error
    if row.ndim != 1 or (width is not None and len(row) != width):
        expected = "(n,)" if width is None else f"({width},)"
        raise _BadDecision(f"a decision must be {expected}; it gave {row.shape}")
    if not np.isfinite(row).all():
        raise _BadDecision(f"it gave {row[~np.isfinite(row)][0]} at {int(np.flatnonzero(~np.isfinite(row))[0])}")
    return row


def _rows(result: Any, count: int) -> list[Any]:
    """The decisions of a batch, one by one."""
    length = len(result) if hasattr(result, "__len__") else None
    if length != count:
        size = type(result).__name__ if length is None else f"{length} of them"
        return [_BadDecision(f"a batched oracle must give a decision for each of the {count} instances; it gave {size}")
                for _ in range(count)]  # fmt: skip
    return list(result)


def _only(outcome: Any) -> Any:
    """The decision in a batch of one."""
    return outcome if isinstance(outcome, Exception) else _rows(outcome, 1)[0]
