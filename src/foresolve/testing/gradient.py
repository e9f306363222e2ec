"""Does a gradient say what the decision does, and how far is the next kink?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import NoGradientWarning
from foresolve.layers.base import Layer
from foresolve.problems.base import Problem
from foresolve.testing.differences import Comparison
from foresolve.testing.margins import margin
from foresolve.testing.report import ConformanceReport, Finding
from foresolve.testing.slopes import Slopes
from foresolve.testing.suite import factory


@dataclass(frozen=True)
class GradientReport(ConformanceReport):
    """A `ConformanceReport` on a gradient, with the numbers of each instance of the flattened batch, `(B,)`.

    Attributes
    ----------
    error: the largest relative error over all that is differentiated.
    doubt: how far the differences themselves can be off, relative.
    kink: the distance to the nearest kink that was seen along random directions, in units of `theta`; 0 at a kink,
        infinite where none was seen.
    margin: for `QuadraticRelaxation`, the least over all constraints of slack or multiplier, whichever is larger, in
        units of `x`: what separates the decision from a change of its face. `None` for other layers.
    """

    error: Tensor = field(default_factory=lambda: torch.zeros(0))
    doubt: Tensor = field(default_factory=lambda: torch.zeros(0))
    kink: Tensor = field(default_factory=lambda: torch.zeros(0))
    margin: Tensor | None = None


def check_gradient(
    layer: Layer | type[Layer],
    problem: Problem | Callable[..., Problem],
    theta: Any,
    *,
    parameters: Sequence[Tensor] = (),
    directions: int = 8,
    tol: float = 1e-6,
    seed: int = 0,
    raise_errors: bool = True,
) -> GradientReport:
    r"""Compare a layer's vector-Jacobian products with finite differences, each instance separately.

    .. math:: \langle J_i^\top v_i, d_i \rangle \quad \text{against} \quad
        \frac{v_i^\top x_i(\theta + h d) - v_i^\top x_i(\theta - h d)}{2h}

    for a random `v` and several directions `d`; the step `h` is the one whose differences agree best with those of its
    neighbors. Where the one-sided differences disagree, the decision has a kink and is said to be at one: the gradient
    is then that of one side, and is not judged.

    Parameters
    ----------
    layer: a layer, or a class of layers without arguments. Each evaluation works on a copy in the same state, so that
        a layer with samples draws the same ones.
    problem: what is decided; with `parameters`, a function that builds the problem from them.
    theta: `(*batch, *theta_shape)`, inside of its bounds; it is taken in float64, in which differences mean something.
    parameters: tensors that the constraints are made of, such as right-hand sides, bounds or entries of a matrix.
        Their gradients are compared in the same way, for each instance.
    directions: how many; each entry separately where an instance has no more entries than that.
    tol: relative to the instance's largest slope.
    raise_errors: raise a `ConformanceError` where the gradient is wrong, instead of a report that says so.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.testing import check_gradient
    >>> theta = torch.tensor([[0.9, 0.5, 0.3], [0.3, 0.8, 0.6]], dtype=torch.float64)
    >>> layer = foresolve.QuadraticRelaxation(gamma=0.5)
    >>> report = check_gradient(layer, foresolve.TopK(3, 1), theta)
    >>> bool(report), bool((report.error < 1e-6).all())
    (True, True)

    Predicted constraints: here the right-hand side of a budget.

    >>> budget = torch.tensor([1.5], dtype=torch.float64)
    >>> build = lambda budget: foresolve.LinearProgram(torch.ones(1, 3), budget, bounds=(0, 1))
    >>> bool(check_gradient(layer, build, theta, parameters=(budget,)))
    True
    """
    if isinstance(problem, Problem) == bool(parameters) or (not callable(problem) and bool(parameters)):
        expected = "a function of the `parameters`" if parameters else "a Problem, where no `parameters` are given"
        raise checks.fail("problem", expected, type(problem).__name__)
    names = ["theta", *(f"parameters[{k}]" for k in range(len(parameters)))]
    leaves = [checks.as_tensor(name, leaf).detach().double() for name, leaf in zip(names, [theta, *parameters])]
    build = (lambda: problem) if isinstance(problem, Problem) else problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoGradientWarning)  # the report says more
        report = gradient_report(
            factory(layer), build, leaves, names, checks.positive_int("directions", directions), tol, seed
        )
    if raise_errors:
        report.raise_for_failures()
    return report


def gradient_report(
    make: Callable[[], Layer], build: Callable[..., Problem], leaves: Sequence[Tensor], names: Sequence[str],
    directions: int, tol: float, seed: int,
) -> GradientReport:  # fmt: skip
    """The report on the gradients of `make()(theta, build(*parameters))` in all leaves, theta and the parameters."""
    problem = build(*leaves[1:])
    with torch.no_grad():
        x = make()(leaves[0], problem)
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(x)

    def products(leaves: Sequence[Tensor]) -> Tensor:
        return (make()(leaves[0], build(*leaves[1:])) * v).sum(-1)

    slopes = Slopes(
        products, leaves, names, dims=len(problem.theta_shape), bounds=problem.theta_bounds,
        unit=(v * x).abs().sum(-1).flatten(), seed=seed,
    )  # fmt: skip
    findings, comparisons = zip(*(slopes.judge(k, directions, tol) for k in range(len(leaves))))
    subject = f"check_gradient({type(make()).__name__}, {type(problem).__name__})"
    return _summary(subject, list(findings), list(comparisons), slopes, margin(make(), problem, leaves[0]))


def _summary(
    subject: str, findings: list[Finding], comparisons: list[Comparison | None], slopes: Slopes, least: Tensor | None
) -> GradientReport:
    known = [comparison for comparison in comparisons if comparison is not None]
    if not known:
        return GradientReport(subject, tuple(findings), margin=least)
    error = torch.stack([comparison.error.amax(0) for comparison in known]).amax(0)
    doubt = torch.stack([(comparison.doubt / comparison.scale).amax(0) for comparison in known]).amax(0)
    kink = slopes.kinks(comparisons[0]) if comparisons[0] is not None else torch.full_like(error, torch.nan)
    where = "at a kink" if float(kink.min()) == 0 else "in units of theta"
    findings.append(Finding(f"distance to the nearest kink ({where})", "noted", float(kink.min())))
    if least is not None:
        findings.append(Finding("least slack or multiplier (in units of x)", "noted", float(least.min())))
    return GradientReport(subject, tuple(findings), error, doubt, kink, least)
