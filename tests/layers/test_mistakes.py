"""Words of the errors and warnings of layers that users meet most. Rewording touches this file alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve import QuadraticRelaxation
from foresolve.layers import BlackboxInterpolation, MultilinearRelaxation, PerturbedAdditive
from mistakes import said

TOP_K = foresolve.TopK(4, 2)
COVERAGE = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))
IMPOSSIBLE = foresolve.LinearProgram([[1.0, 1.0]], [-1.0], bounds=(0, 1))


def theta(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.float64)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "shape": (
        lambda: QuadraticRelaxation()(theta(2, 3), TOP_K),
        "`theta` must be (*batch, 4) to match the problem; got (2, 3)",
    ),
    "NaN": (
        lambda: QuadraticRelaxation()(torch.tensor([1.0, 2.0, torch.nan, 3.0]), TOP_K),
        "`theta` must be finite; got nan at [2] (1 such entries)",
    ),
    "probabilities": (
        lambda: MultilinearRelaxation(1.0)(1.5 * theta(4, 3), COVERAGE),
        "`theta` must be in [0, 1]; got 1.5 at [0, 0] (12 such entries). Put a sigmoid or a clamp behind the model",
    ),
    "gamma below 0": (
        lambda: QuadraticRelaxation(-1.0),
        (
            "`gamma` must be a finite number > 0, a tensor of them or RelativeGamma(factor); got -1.0. At test time"
            " use `problem.solve(theta)`, the decision without smoothing"
        ),
    ),
    "gamma of 0": (
        lambda: QuadraticRelaxation(0)(theta(4), TOP_K),
        (
            "`gamma` must be > 0 for a linear objective; got 0. At test time use `problem.solve(theta)`, the "
            "decision without smoothing"
        ),
    ),
    "gamma of another batch": (
        lambda: QuadraticRelaxation(theta(3))(theta(2, 4), TOP_K),
        "`gamma` must be a number or of the batch shape (2,), one for each instance; got shape (3,)",
    ),
    "rows and bounds": (
        lambda: QuadraticRelaxation()(theta(4, 3), COVERAGE),
        (
            "`problem` must be a LinearProgram or QuadraticProgram (or a class built on one of them); got "
            "SubmodularProblem: its feasible set is not given by rows and bounds. QuadraticRelaxation needs rows "
            "and bounds; RegularizedFrankWolfe takes any linear objective"
        ),
    ),
    "linear objective": (
        lambda: BlackboxInterpolation()(theta(4, 3), COVERAGE),
        (
            "`problem` must be one with a linear objective; got SubmodularProblem: its objective is not linear in "
            "x. BlackboxInterpolation needs a linear objective; DecisionLoss with QuadraticRelaxation takes "
            "quadratic objectives, with PerturbedAdditive any"
        ),
    ),
    "set function": (
        lambda: MultilinearRelaxation(1.0)(theta(4), TOP_K),
        (
            "`problem` must be a SubmodularProblem; got TopK: its objective is not a set function. "
            "MultilinearRelaxation needs a set function (`SubmodularProblem`)"
        ),
    ),
    "samples": (
        lambda: PerturbedAdditive(samples=3, variance_reduction="antithetic"),
        '`samples` must be even for antithetic pairs; got 3. Or pass variance_reduction="leave-one-out"',
    ),
    "infeasible": (
        lambda: QuadraticRelaxation()(theta(2, 2), IMPOSSIBLE),
        (
            "no decision satisfies the constraints of instances 0, 1. Check the right-hand sides and bounds "
            "(`problem.check(x)` says what a given x breaks)"
        ),
    ),
    "no gradient": (
        lambda: QuadraticRelaxation(0.1)(torch.tensor([9.0, 8.0, -8.0, -9.0], requires_grad=True), TOP_K),
        (
            "no coordinate is free in any instance of this batch: every decision sits on a vertex and no gradient "
            "reaches theta (`layer.solve(...).passing` is 0). Raise gamma as long as `layer.solve(...).kept` stays "
            "near 1, start from a smoother one (`fit(..., anneal=...)`), or take a loss that needs no free "
            "coordinates, such as FenchelYoung; docs/choosing.md. Said once per layer"
        ),
    ),
    "second derivative": (
        lambda: torch.autograd.functional.hessian(lambda t: PerturbedAdditive()(t, TOP_K).square().sum(), theta(4)),
        (
            "the gradient of a layer, loss or set function was to be differentiated again, which it cannot be. "
            "QuadraticRelaxation, IdentityProjection and NegativeIdentity have second derivatives, and so has "
            "`DecisionLoss` with one of them; with others, leave `create_graph=True` out"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    call, words = CASES[case]
    assert said(call) == words
