"""What layers that need no more of a problem than its solver share."""

from __future__ import annotations

from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem


def gains(theta: Tensor, problem: Problem, layer: str) -> Tensor:
    """The coefficients `c` `(*batch, n)` of a linear objective, float64, attached to `theta`.

    Layers work on `c`, which is maximised whatever the problem's sense; the sign comes back with `gain`'s gradient.
    """
    if not problem.linear:
        expected = f"one with a linear objective, for {layer}"
        raise checks.fail("problem", expected, type(problem).__name__, "PerturbedAdditive takes any objective")
    theta = checks.as_tensor("theta", theta)
    checks.same_device("theta", theta, problem.device)
    if theta.ndim == 0:
        raise checks.fail("theta", "(*batch, n)", "a single number")
    batch = checks.broadcast_batch({"`theta`": theta.shape[:-1], "the problem": problem.batch_shape})
    return problem.gain(theta).double().expand(*batch, -1)


def best(c: Tensor, problem: Problem) -> Tensor:
    """`argmax_x c'x`, float64. `theta = gain(c)`: a change of sign, or none, is its own inverse."""
    return problem.solve(problem.gain(c.detach())).double()
