"""The checks that users call on what is their own."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.base import Layer
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem
from foresolve.sets.functions.function import SetFunction
from foresolve.testing.extensions import SetFunctionSuite
from foresolve.testing.layers import LayerSuite
from foresolve.testing.losses import LossSuite
from foresolve.testing.problems import ProblemSuite
from foresolve.testing.programs import ProgramSuite
from foresolve.testing.report import ConformanceReport
from foresolve.testing.suite import Suite, factory, rows


def check_problem(
    problem: Problem | type[Problem],
    theta: Any = None,
    *,
    best: Callable[[Tensor], float] | None = None,
    any_gains: bool = True,
    tol: float = 1e-6,
    seed: int = 0,
    raise_errors: bool = True,
) -> ConformanceReport:
    """Check that your own problem keeps the promises that layers, losses and training rely on.

    Decisions are feasible and, where the problem says that it is exact, no other decision is better that `check`
    accepts (neighbors, decisions of other instances, all 0/1 vectors where there are few); a batch equals a loop; a
    linear objective is `gain(theta)' x`, and `argmax` takes gains of any sign; shapes, dtypes, refusals, copies,
    `select`, `config`, and what must be left alone. A problem with rows is also compared with the general solver.

    Parameters
    ----------
    problem: a problem, or a class of problems without arguments.
    theta: examples of parameters `(B, *theta_shape)`; drawn from a normal distribution by default (where
        `theta_bounds` are finite, uniformly between them).
    best: the best value of one instance's parameters, by another route: brute force, another solver.
    any_gains: whether gains of any sign have a best decision; not where the feasible set is unbounded.
    tol: for constraints and values.
    raise_errors: raise a `ConformanceError` where a promise is broken, instead of a report that says so.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.testing import check_problem
    >>> report = check_problem(foresolve.TopK(5, 2), best=lambda theta: float(theta.sort().values[-2:].sum()))
    >>> print(report["decisions are feasible"])
    decisions are feasible: passed
    """
    subject = problem() if isinstance(problem, type) else problem
    _expect("problem", subject, Problem)
    kind = ProgramSuite if "rows" in subject.traits else ProblemSuite
    draw = _drawn(subject) if theta is None else rows(_examples(theta, subject), len(subject.theta_shape))
    suite = kind(subject, draw, best=best, any_gains=any_gains, tol=checks.positive("tol", tol), seed=seed)
    return _reported(suite, f"check_problem({type(subject).__name__})", raise_errors)


def check_layer(
    layer: Layer | type[Layer],
    problem: Problem,
    theta: Any = None,
    *,
    smooth: bool = True,
    random: bool = False,
    tol: float = 1e-6,
    seed: int = 0,
    raise_errors: bool = True,
) -> ConformanceReport:
    """Check that your own layer keeps the promises that losses and training rely on.

    Decisions are feasible, a batch equals a loop, an empty batch has none; the gradient is finite and, unless it is
    not meant to be, that of the decision, against finite differences; equal calls give equal numbers; shapes, dtypes,
    refusals, and what must be left alone. `check_gradient` says more about the gradient.

    Parameters
    ----------
    layer: a layer, or a class of layers without arguments; copies of it are tested, each in the same state.
    problem, theta: what is decided, and parameters `(B, *theta_shape)`, `B > 1`; drawn by default.
    smooth: `False` where the gradient is not that of the decision by design (interpolation, a straight-through
        estimate).
    random: whether it draws samples, from a generator of its own, which depend on the shape of the batch.
    tol: for constraints, and between equal decisions.
    raise_errors: raise a `ConformanceError` where a promise is broken, instead of a report that says so.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.testing import check_layer
    >>> report = check_layer(foresolve.QuadraticRelaxation(0.5), foresolve.TopK(4, 2))
    >>> report.failures
    ()
    """
    make = factory(layer)
    _expect("layer", make(), Layer)
    tol = checks.positive("tol", tol)
    suite = LayerSuite(
        make, problem, _several(theta, problem, 4, seed), smooth=smooth, random=random, feasibility=tol,
        agreement=tol, seed=seed,
    )  # fmt: skip
    return _reported(suite, f"check_layer({type(make()).__name__}, {type(problem).__name__})", raise_errors)


def check_loss(
    loss: Loss | type[Loss],
    problem: Problem,
    theta: Any = None,
    theta_hat: Any = None,
    *,
    smooth: bool = True,
    separable: bool = True,
    nonnegative: bool = True,
    bounds_regret: bool = False,
    learns: bool = True,
    goal: float = 0.9,
    seed: int = 0,
    raise_errors: bool = True,
) -> ConformanceReport:
    """Check that your own loss keeps the promises that training relies on.

    One finite number for each instance; a batch equals a loop; the gradient is, unless it is not meant to be, that of
    the value, against finite differences; descent on predictions lowers their regret; the truth is data; shapes,
    dtypes, refusals, and what must be left alone. The loss is prepared as `fit` would do it, on the same instances.

    Parameters
    ----------
    loss: a loss, or a class of losses without arguments; copies of it are tested, each in the same state.
    problem, theta: what is decided, and true parameters `(B, *theta_shape)`, `B > 1`; drawn by default.
    theta_hat: predictions of the same shape; by default between the truth of each instance and that of the next.
    smooth: `False` where the gradient is not that of the value by design.
    separable: `False` where instances of a batch share samples or a pool.
    nonnegative: `False` where it may be below 0.
    bounds_regret: whether it is never below the regret of the prediction's decision, as SPO+.
    learns: `False` where descent on free predictions need not lead to good decisions.
    goal: the share of the regret that 200 steps of descent, from halfway to another instance's truth, may leave.
    raise_errors: raise a `ConformanceError` where a promise is broken, instead of a report that says so.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.testing import check_loss
    >>> report = check_loss(foresolve.SPOPlus(), foresolve.TopK(4, 2), bounds_regret=True)
    >>> print(report["it bounds the regret"])
    it bounds the regret: passed
    """
    subject = factory(loss)()
    _expect("loss", subject, Loss)
    truth = _several(theta, problem, 8, seed)
    neighbors = truth.roll(1, 0)
    predictions = 0.7 * truth + 0.3 * neighbors if theta_hat is None else checks.as_tensor("theta_hat", theta_hat)
    subject.prepare(DecisionDataset(torch.arange(float(len(truth)))[:, None], truth, problem), progress=False)
    batch = Batch(None, truth, problem, index=torch.arange(len(truth)))
    suite = LossSuite(
        lambda: copy.deepcopy(subject), predictions, batch, smooth=smooth, separable=separable, nonnegative=nonnegative,
        bounds_regret=bounds_regret, learn=((truth + neighbors) / 2, batch) if learns else None,
        rate=0.05 * float(truth.std()), goal=checks.positive("goal", goal), seed=seed,
    )  # fmt: skip
    return _reported(suite, f"check_loss({type(subject).__name__}, {type(problem).__name__})", raise_errors)


def check_set_function(
    function: SetFunction | type[SetFunction],
    n: int,
    theta: Any,
    *,
    exact_theta: bool = True,
    trials: int = 1000,
    tol: float = 1e-9,
    seed: int = 0,
    raise_errors: bool = True,
) -> ConformanceReport:
    r"""Check that a set function of `n` items is what the algorithms assume, and that its extension belongs to it.

    .. math::
        f(\emptyset) = 0, \quad f(S + i) \ge f(S), \quad f(S + i) - f(S) \ge f(S + i + l) - f(S + l)

    For `n <= 10` all sets and pairs are tested, beyond that random ones. The extension and its derivatives are compared
    with the definition, summed over all sets, and with finite differences; increments and cuts with values; where the
    extension is sampled, its mean is. Then shapes, batches, dtypes, copies, and what must be left alone.

    Parameters
    ----------
    function: a set function, or a class of them without arguments.
    theta: examples of parameters `(*batch, *shape)`, inside of their bounds.
    exact_theta: whether derivatives in theta are exact, not estimated.
    trials: random triples `(S, i, l)` for each instance where `n > 10`.
    tol: rounding errors of values up to `tol` times the largest one are forgiven.
    raise_errors: raise a `ConformanceError` where a promise is broken, instead of a report that says so.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import SetFunction
    >>> from foresolve.testing import check_set_function
    >>> class Squared(SetFunction):
    ...     def value(self, mask, theta):
    ...         return (mask * theta).sum(-1) ** 2
    >>> report = check_set_function(Squared, 2, torch.tensor([1.0, 2.0]), raise_errors=False)
    >>> print(report["it is submodular"].detail)
    instance 0: submodular is broken by 4: f({0}) - f({}) = 1 - 0 < f({0, 1}) - f({1}) = 9 - 4
    """
    subject = function() if isinstance(function, type) else function
    _expect("function", subject, SetFunction)
    n = checks.positive_int("n", n)
    theta = subject.check_theta(theta, n).detach().double()
    if subject.batch_shape:  # the data of one instance, for whatever batch of parameters
        subject = subject.select(0, subject.batch_shape)
    suite = SetFunctionSuite(
        subject, n, rows(theta, subject.theta_dims), exact_theta=exact_theta,
        trials=checks.positive_int("trials", trials), tol=tol, seed=seed,
    )  # fmt: skip
    return _reported(suite, f"check_set_function({type(subject).__name__}, {n} items)", raise_errors)


def _reported(suite: Suite, subject: str, raise_errors: bool) -> ConformanceReport:
    report = suite.report(subject)
    if raise_errors:
        report.raise_for_failures()
    return report


def _expect(name: str, subject: Any, kind: type) -> None:
    if not isinstance(subject, kind):
        raise checks.fail(name, f"a {kind.__name__}", type(subject).__name__)


def _examples(theta: Any, problem: Problem) -> Tensor:
    theta = problem.check_theta(theta).detach().double()
    batch = theta.shape[: theta.ndim - len(problem.theta_shape)]
    if math.prod(batch) < 2:
        raise checks.fail("theta", "of two or more instances", f"a batch {tuple(batch)}")
    return theta


def _several(theta: Any, problem: Problem, count: int, seed: int) -> Tensor:
    """Parameters of one batch dimension, in float64."""
    _expect("problem", problem, Problem)
    batch = tuple(problem.batch_shape) or (count,)
    theta = _drawn(problem)(batch, seed) if theta is None else _examples(theta, problem)
    if theta.ndim != 1 + len(problem.theta_shape):
        raise checks.fail("theta", "of one batch dimension", f"the shape {tuple(theta.shape)}")
    return theta


def _drawn(problem: Problem) -> Callable[[tuple[int, ...], int], Tensor]:
    """Parameters where nothing is known but their shape and bounds."""
    shape = problem.theta_shape
    if None in shape:
        raise checks.fail("theta", f"given: `theta_shape` {shape} leaves a size open", "None")
    low, high = problem.theta_bounds

    def draw(batch: tuple[int, ...], seed: int) -> Tensor:
        generator, sizes = torch.Generator().manual_seed(seed), [size for size in shape if size is not None]
        if math.isfinite(low) and math.isfinite(high):
            return low + (high - low) * torch.rand(*batch, *sizes, generator=generator, dtype=torch.float64)
        normal = torch.randn(*batch, *sizes, generator=generator, dtype=torch.float64)
        return low + normal.abs() if math.isfinite(low) else high - normal.abs() if math.isfinite(high) else normal

    return draw
