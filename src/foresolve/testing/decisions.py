"""What every problem promises of its decisions and its objective."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.problems.base import Problem
from foresolve.testing.candidates import rivals
from foresolve.testing.slopes import Slopes
from foresolve.testing.suite import (
    Inapplicable,
    Measure,
    Promise,
    Suite,
    bounded,
    decided,
    holds,
    inside,
    near,
    quiet,
    untouched,
)

Draw = Callable[[tuple[int, ...], int], Tensor]


class DecisionSuite(Suite):
    """Any problem, with parameters that `draw(batch, seed)` gives, and `best(theta)`, its value by another route.

    `any_gains` says whether gains of both signs have a best decision: not where the feasible set is unbounded.
    """

    def __init__(
        self, problem: Problem, draw: Draw, *, best: Callable[[Tensor], float] | None = None, any_gains: bool = True,
        tol: float = 1e-6, seed: int = 0, instances: int = 11,
    ) -> None:  # fmt: skip
        self.problem, self.best, self.any_gains, self.tol, self.seed = problem, best, any_gains, tol, seed
        self.shared = not problem.batch_shape
        self.instances = instances if self.shared else math.prod(problem.batch_shape)
        self._draw = draw

    def draw(self, *batch: int) -> Tensor:
        """Parameters `(*batch, *shape)` where the instances share the problem, else as many as it has instances."""
        return self._draw(batch if self.shared else tuple(self.problem.batch_shape), self.seed)

    def alone(self, i: int) -> Problem:
        """The problem of one instance in a batch of `instances`."""
        if not self.shared and len(self.problem.batch_shape) != 1:
            raise Inapplicable("the problem has a batch of more than one dimension, from which `select` does not take")
        return self.problem if self.shared else self.problem.select(torch.tensor([i]))

    def value(self, theta: Tensor) -> Tensor:
        return self.problem.objective(self.problem.solve(theta), theta)

    # -- decisions -----------------------------------------------------------------------------------------------------

    @Promise("decisions are feasible", "`solve` must give decisions that `check` accepts")
    def feasible(self) -> Iterator[Measure]:
        theta = self.draw(4)
        report = self.problem.at(theta).check(self.problem.solve(theta), tol=self.tol)
        yield bounded(report.worst.max(), self.tol, str(report))
        yield holds(report, str(report))

    @Promise("the value is that of the reference", "`solve` or `objective` is wrong, or `best` is")
    def reference(self) -> Iterator[Measure]:
        if self.best is None:
            raise Inapplicable("no reference was given; `best=` takes a function from theta to the best value")
        if not self.shared:
            raise Inapplicable("each instance has a feasible set of its own, of which `best` knows nothing")
        theta = self._draw((), self.seed)
        value, best = float(self.value(theta)), self.best(theta)
        yield bounded(abs(value - best), self.tol, f"the decision has the value {value:.8g}, the reference {best:.8g}")

    @Promise("no other decision is better", "`solve` must maximize `objective`; a heuristic says `exact = False`")
    def optimal(self) -> Iterator[Measure]:
        if not self.problem.exact:
            raise Inapplicable("the problem says `exact = False`")
        theta = self.draw(6)
        x = self.problem.solve(theta)
        value = self.problem.objective(x, theta)
        others, feasible = rivals(self.problem.at(theta), x, self.seed)
        reached = self.problem.objective(others, theta.expand(len(others), *theta.shape))
        lead = torch.where(feasible, (reached - value) / (1 + value.abs()), 0.0).reshape(len(others), -1)
        k, i = divmod(int(lead.argmax()), lead.shape[1])
        rival = [round(entry, 6) for entry in others[k].reshape(-1, others.shape[-1])[i].tolist()]
        yield bounded(
            lead[k, i], self.tol,
            f"instance {i}: `check` accepts a decision with the objective {float(reached[k].flatten()[i]):.8g}, but "
            f"`solve` gave one with {float(value.flatten()[i]):.8g}. The better one: {rival}",
        )  # fmt: skip

    @Promise("a batch equals a loop", "no instance may depend on the others in its batch")
    def batch_equals_loop(self) -> Iterator[Measure]:
        theta = self.draw(self.instances)
        together = self.value(theta)
        for i in range(self.instances):
            problem, single = self.alone(i), theta[i] if self.shared else theta[i : i + 1]
            value = problem.objective(problem.solve(single), single).reshape(())
            yield near(together[i], value, f"the value of instance {i} in a batch", atol=self.tol / 10, rtol=1e-7)

    @Promise("equal calls give equal decisions", "`solve` must be a function of theta: draw from a seeded generator")
    def repeats(self) -> Iterator[Measure]:
        theta = self.draw(20)
        twin = copy.deepcopy(self.problem)
        first = self.problem.solve(theta)
        self.problem.solve(theta.flip(0))
        yield near(self.problem.solve(theta), first, "the decision, asked for again")
        yield near(twin.solve(theta), first, "the decision of a copy")

    @Promise("shapes are (*batch, n)", "keep every leading dimension of theta, an empty batch too")
    def shapes(self) -> Iterator[Measure]:
        own = tuple(self.problem.batch_shape)
        batches = [(), (1,), (3,), (2, 3), (0,)] if self.shared else [own, (2, *own)]
        cases = [(self.problem, batch) for batch in batches]
        if len(own) == 1:
            cases.append((self.problem.select(torch.zeros(0, dtype=torch.long)), (0,)))
        for problem, batch in cases:
            theta = self._draw(batch, self.seed)
            x = problem.solve(theta)
            n = x.shape[-1] if problem.n is None else problem.n
            for what, shape, expected in (
                ("decisions", x.shape, (*batch, n)),
                ("`objective`", problem.objective(x, theta).shape, batch),
                ("`check(x).feasible`", problem.at(theta).check(x).feasible.shape, batch),
            ):
                told = f"{what} of a batch {batch} have the shape {tuple(shape)} instead of {tuple(expected)}"
                yield holds(tuple(shape) == tuple(expected), told)

    @Promise("the dtype is the caller's", "give decisions as `x.to(theta)`")
    def dtypes(self) -> Iterator[Measure]:
        for dtype in (torch.float32, torch.float64):
            theta = self.draw(3).to(dtype)
            x = self.problem.solve(theta)
            yield from _kept(theta, x, self.problem.objective(x, theta))

    @Promise("devices agree", "keep every tensor of the problem on `problem.device`, and give `_moved(device)`")
    def devices_agree(self) -> Iterator[Measure]:
        theta = self.draw(5)
        moved = on_cuda(self.problem)
        yield holds(moved.device.type == "cuda", f"the problem says that it is on {moved.device}")
        for dtype in (torch.float32, torch.float64):
            there = theta.to("cuda", dtype)
            x = moved.solve(there)
            yield from _kept(there, x, moved.objective(x, there))
        x = moved.solve(theta.to("cuda"))
        yield near(self.problem.objective(x.cpu(), theta), self.value(theta), "the value", atol=1e-7, rtol=1e-7)

    # -- the objective -------------------------------------------------------------------------------------------------

    @Promise("the objective is differentiable", "write `objective` in torch, and let no gradient pass `solve`")
    def differentiable(self) -> Iterator[Measure]:
        theta = inside(self.draw(3), self.problem.theta_bounds, self.seed).requires_grad_()
        x = self.problem.solve(theta)
        yield holds(not x.requires_grad, "decisions of `solve` are attached to theta's graph")
        theta, x = theta.detach(), 0.25 + 0.5 * x
        unit = self.problem.objective(x, theta).abs().flatten()
        around = (float(x.min()) - 0.2, float(x.max()) + 0.2)
        for name, leaf, values, dims, bounds in (
            ("x", x, lambda leaves: self.problem.objective(leaves[0], theta), 1, around),
            ("theta", theta, lambda leaves: self.problem.objective(x, leaves[0]), theta.ndim - x.ndim + 1,
             self.problem.theta_bounds),
        ):  # fmt: skip
            slopes = Slopes(values, [leaf], [name], dims=dims, bounds=bounds, unit=unit + unit.mean(), seed=self.seed)
            yield decided(slopes.judge(0, 5, self.tol)[0])

    @Promise("a linear objective is gain'x + constant", "the sign of `sense` belongs in `gain` and `constant` alone")
    def sign(self) -> Iterator[Measure]:
        problem, theta = self.problem, self.draw(2, 3)
        yield near(problem.signed(problem.signed(theta)), theta, "the sign, turned twice")
        if not problem.linear:
            calls: dict[str, Callable[[Tensor], Tensor]] = {"argmax": problem.argmax}
            if "rows" not in problem.traits:  # a quadratic program has gains beside its `Q`
                calls["gain"] = problem.gain
            for name, call in calls.items():
                try:
                    call(theta)
                except ForesolveError as error:
                    yield holds(error.argument == "problem", f"`{name}` must say what is wrong with `problem`: {error}")
                else:
                    yield holds(False, f"`{name}` gives something, though the objective is not linear")
            return
        gains, x = problem.gain(theta), problem.solve(theta)
        sign = 1.0 if problem.sense == "max" else -1.0
        if problem.parameters is not None or problem.theta_shape == (problem.n,):  # else `gain` has a map of its own
            yield near(gains, sign * written_out(problem, theta), f"the gain for sense={problem.sense!r}", atol=1e-9)
        best = problem.discrete(problem.at(theta).argmax(gains), theta)
        yield near(best, x, "`argmax(gain(theta))` against `solve(theta)`")
        for point in (x, x + torch.rand(x.shape, generator=torch.Generator().manual_seed(self.seed)).to(x)):
            value, expected = problem.objective(point, theta), (gains * point).sum(-1) + problem.constant(theta)
            yield near(expected, value, "gain'x + constant against the objective", atol=1e-7, rtol=1e-7)

    @Promise("argmax takes gains of any sign", "`argmax` maximizes whatever gains it is given; losses pass both signs")
    def any_signs(self) -> Iterator[Measure]:
        problem = self.problem
        if not (problem.linear and self.any_gains and self.shared) or "fixed" not in problem.traits:
            raise Inapplicable("its gains have no such best decision" if problem.linear else "not linear")
        shape = problem.solve(self.draw(1)).shape[1:]
        generator = torch.Generator().manual_seed(self.seed)
        gains = torch.randn(30, *shape, generator=generator).to(problem.device).requires_grad_()
        x = problem.argmax(gains)
        told = f"`argmax` gave {tuple(x.shape)} {x.dtype}, requires_grad={x.requires_grad}"
        yield holds((x.shape, x.dtype, x.requires_grad) == (gains.shape, gains.dtype, False), told)
        yield holds(problem.check(x), f"{problem.check(x)}")
        if problem.exact:
            worth = gains.detach() @ x.mT  # of each decision by each instance's gains
            excess = (worth.amax(1) - worth.diagonal()).max()
            yield bounded(excess, 1e-5, "the decision of another instance has more of this one's gains")

    @Promise("scaling theta scales the value", "the decision must not depend on the unit of theta")
    def scales(self) -> Iterator[Measure]:
        if not (self.problem.linear and self.problem.exact):
            raise Inapplicable("not linear and exact")
        if self.problem.parameters is not None:
            raise Inapplicable("what is known of the coefficients does not scale with theta")
        if any(math.isfinite(bound) and bound != 0 for bound in self.problem.theta_bounds):
            raise Inapplicable("theta has bounds")
        theta = self.draw(4)
        value = self.value(theta)
        for factor in (1e-3, 1e3):
            scaled = self.value(factor * theta) / factor
            yield near(scaled, value, f"the value for {factor:g} theta, over {factor:g}", atol=self.tol, rtol=self.tol)

    # -- what it leaves alone -----------------------------------------------------------------------------------------

    @Promise("arguments are not written into", "work on a copy: `theta.clone()`")
    def leaves_arguments(self) -> Iterator[Measure]:
        theta = self.draw(3)
        yield from untouched({"theta": theta}, lambda: self.problem.solve(theta))
        x = self.problem.solve(theta)
        yield from untouched({"x": x, "theta": theta}, lambda: self.problem.objective(x, theta))
        yield from untouched({"x": x}, lambda: self.problem.at(theta).check(x))

    @Promise("global state is left alone", "draw from a `torch.Generator` of your own; change no global setting")
    def leaves_global_state(self) -> Iterator[Measure]:
        theta = self.draw(3)
        yield quiet(lambda: self.problem.objective(self.problem.solve(theta), theta))


def _kept(theta: Tensor, x: Tensor, value: Tensor) -> Iterator[Measure]:
    """Decisions and objectives must have the dtype of theta, and be where it is."""
    for what, part in (("decisions", x), ("objectives", value)):
        yield holds(part.dtype == theta.dtype, f"{what} are {part.dtype} where theta is {theta.dtype}")
        yield holds(part.device == theta.device, f"{what} are on {part.device} where theta is on {theta.device}")


def written_out(problem: Problem, theta: Tensor) -> Tensor:
    """The coefficients of a linear problem in its own sense: `theta`, or `known + S theta` by a dense matrix."""
    maps = None if problem.parameters is None else problem.parameters.coefficients
    if maps is None:
        return theta
    matrix = torch.zeros(maps.shape, dtype=theta.dtype, device=theta.device)
    matrix[maps.row, maps.column] = maps.value.to(theta.dtype)
    return maps.known.to(theta) + theta @ matrix.T


def on_cuda(problem: Problem) -> Problem:
    """The problem on a CUDA device."""
    if not torch.cuda.is_available():
        raise Inapplicable("there is no CUDA device")
    if type(problem)._moved is Problem._moved:
        raise Inapplicable(f"the problem stays on {problem.device}: it gives no `_moved(device)`")
    return problem.to("cuda")
