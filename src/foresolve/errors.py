"""The errors and warnings of foresolve; every one derives from `ForesolveError` or `ForesolveWarning`."""

from __future__ import annotations

from collections.abc import Sequence


class ForesolveError(Exception):
    """Base class of every error that foresolve raises on purpose."""


class InvalidInputError(ForesolveError, ValueError):
    """An argument has the wrong shape, type, device or value; the message names it."""


class MissingExtraError(ForesolveError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class SolverError(ForesolveError):
    """A solver could not give an answer. `instances` lists the positions in the (flattened) batch."""

    def __init__(self, message: str, instances: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.instances = tuple(instances)


class InfeasibleError(SolverError):
    """No decision satisfies the constraints."""


class UnboundedError(SolverError):
    """The objective grows without limit over the feasible set."""


class ForesolveWarning(UserWarning):
    """Base class of every warning that foresolve issues."""


class ConvergenceWarning(ForesolveWarning):
    """A solve stopped before it reached its tolerance; the result is finite but less accurate."""


class NoGradientWarning(ForesolveWarning):
    """A layer sits on a vertex for a whole batch, so its gradient is zero."""
