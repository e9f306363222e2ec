"""The errors and warnings of foresolve; every one derives from `ForesolveError` or `ForesolveWarning`."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ConvergenceWarning",
    "FeatureRangeWarning",
    "ForesolveError",
    "ForesolveWarning",
    "InfeasibleError",
    "InvalidInputError",
    "MissingExtraError",
    "NoGradientWarning",
    "NoImprovementWarning",
    "SolverError",
    "StoppedError",
    "StorageError",
    "UnboundedError",
    "WeakReferenceWarning",
]


class ForesolveError(Exception):
    """Base class of every error that foresolve raises on purpose."""


class InvalidInputError(ForesolveError, ValueError):
    """An argument has the wrong shape, type, device or value; the message names it."""


class MissingExtraError(ForesolveError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""


class StorageError(ForesolveError, OSError):
    """A file could not be written or locked; the message names it, and says what to do."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}" if self.filename and self.strerror else super().__str__()


class SolverError(ForesolveError):
    """A solver could not give an answer.

    Parameters
    ----------
    message: what went wrong; `{instances}` in it stands for their names.
    instances: positions in the (flattened) batch.
    names: of the instances, for the message.

    Examples
    --------
    >>> error = SolverError("no path leads through {instances}", [0], "instance 0")
    >>> print(error)
    no path leads through instance 0
    >>> print(error.renamed("training {instances}", [17], "instance 17"))
    training instance 17: no path leads through the instance
    """

    def __init__(self, message: str, instances: Sequence[int] = (), names: str = "the instance") -> None:
        super().__init__(message.replace("{instances}", names))
        self.message, self.instances = message, tuple(instances)

    def renamed(self, place: str, instances: Sequence[int], names: str, remedy: str = "") -> SolverError:
        """The same error, with the positions of its instances elsewhere: in the data set that the batch came from.

        `place` says where; a class that is not foresolve's own may take other arguments and becomes a `SolverError`.
        """
        kind = type(self) if type(self) in (InfeasibleError, StoppedError, UnboundedError) else SolverError
        reason = self.message.replace("{instances}", "these instances" if len(self.instances) > 1 else "the instance")
        return kind(f"{place}: {reason}" + (f". {remedy}" if remedy else ""), instances, names)


class InfeasibleError(SolverError):
    """No decision satisfies the constraints."""


class UnboundedError(SolverError):
    """The objective grows without limit over the feasible set."""


class StoppedError(SolverError):
    """A search met its limit before it could prove that its decision is the best."""


class ForesolveWarning(UserWarning):
    """Base class of every warning that foresolve issues."""


class ConvergenceWarning(ForesolveWarning):
    """A solve stopped before it reached its tolerance; the result is finite but less accurate."""


class FeatureRangeWarning(ForesolveWarning):
    """Features lie far outside of those that a policy was trained on."""


class NoGradientWarning(ForesolveWarning):
    """All decisions of a batch are at vertices, so the layer's gradient is zero."""


class NoImprovementWarning(ForesolveWarning):
    """Training validated no better than the initial weights, which are restored."""


class WeakReferenceWarning(ForesolveWarning):
    """A model that others are compared to decides worse than the mean of the parameters, beyond noise."""
