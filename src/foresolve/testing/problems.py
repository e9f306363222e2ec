"""Is a problem of your own what layers, losses and training expect?"""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from foresolve._base import files
from foresolve.problems.base import Problem
from foresolve.problems.traits import TRAITS
from foresolve.testing.decisions import DecisionSuite
from foresolve.testing.suite import Inapplicable, Measure, Promise, holds, near, refused


class ProblemSuite(DecisionSuite):
    """What every problem promises."""

    # -- parameters ----------------------------------------------------------------------------------------------------

    @Promise("theta is as the problem says", "`theta_shape`, `names`, `traits` and `check_theta` must fit theta")
    def parameters(self) -> Iterator[Measure]:
        problem, theta = self.problem, self.draw(2)
        shape, actual = problem.theta_shape, theta.shape[len(problem.batch_shape) or 1 :]
        yield holds(
            len(shape) == len(actual) and all(size in (None, count) for size, count in zip(shape, actual)),
            f"`theta_shape` is {shape}, but one instance has {tuple(actual)}",
        )
        expected = (2,) if self.shared else tuple(problem.batch_shape)
        yield holds(tuple(problem.batch_for(theta)) == expected, f"`batch_for` gives {tuple(problem.batch_for(theta))}")
        yield near(problem.check_theta(theta), theta, "`check_theta(theta)`")
        yield near(problem.check_theta(theta.cpu().numpy()), theta.cpu(), "`check_theta` of an array")
        yield holds(problem.check_theta(theta.round().long()).is_floating_point(), "integers stay integers")
        yield holds(problem.traits <= TRAITS.keys(), f"`traits` has unknown words: {problem.traits - TRAITS.keys()}")
        for what, names, count in (
            ("names", problem.names, problem.n), ("theta_names", problem.theta_names, problem.theta_shape[0]),
        ):  # fmt: skip
            yield holds(names is None or len(names) == count, f"`{what}` has {len(names or ())} names for {count}")

    @Promise("wrong theta is refused", "begin `solve` with `theta = self.check_theta(theta)`")
    def refusals(self) -> Iterator[Measure]:
        problem, theta = self.problem, self.draw(2)
        first = theta.ndim - len(problem.theta_shape)
        if problem.theta_shape[0] is not None:
            longer = torch.cat([theta, theta.narrow(first, 0, 1)], first)
            shape = str(tuple(longer.shape))
            yield refused(lambda: problem.solve(longer), f"theta of the shape {shape}", "theta", shape)
        last = tuple(size - 1 for size in theta.shape)
        for word, bad in (("nan", math.nan), ("inf", math.inf)):
            spoiled = theta.clone()
            spoiled[last] = bad
            entry = f"{word} at {list(last)}"
            yield refused(lambda spoiled=spoiled: problem.solve(spoiled), f"theta with {entry}", "theta", entry)

    @Promise("flatten gives one batch in float64", "leave `flatten` as it is, or keep its promise")
    def flattens(self) -> Iterator[Measure]:
        problem, theta = self.problem, self.draw(2, 3).float().requires_grad_()
        flat, batch = problem.flatten(theta)
        kept = theta.shape[: theta.ndim - len(problem.theta_shape)]
        expected = (math.prod(kept), *theta.shape[len(kept) :])
        told = f"`flatten` gave {tuple(flat.shape)} {flat.dtype} and the batch {tuple(batch)}"
        yield holds((batch, tuple(flat.shape), flat.dtype) == (kept, expected, torch.float64), told)
        yield near(flat.float().reshape(theta.shape), theta, "theta, flattened and back")
        (gradient,) = torch.autograd.grad(flat.sum(), theta)
        yield near(gradient, torch.ones_like(theta), "the gradient through `flatten`")
        spoiled = torch.full_like(theta, math.nan)
        yield refused(lambda: problem.flatten(spoiled), "NaN", "theta", "nan")
        if self.shared:
            yield holds(len(problem.flatten(self.draw())[0]) == 1, "one instance is no batch of one")

    # -- copies, instances, devices, files ----------------------------------------------------------------------------

    @Promise("copies decide alike", "keep what cannot be copied (solvers, pools) out of `__getstate__`")
    def copies(self) -> Iterator[Measure]:
        theta = self.draw(4)
        expected = self.problem.solve(theta)  # also fills whatever the problem caches
        for how, twin in (("copy.copy", copy.copy(self.problem)), ("copy.deepcopy", copy.deepcopy(self.problem))):
            yield near(twin.solve(theta), expected, f"the decision after {how}")
            yield self.looks_like(twin, how)

    @Promise("a pickle decides alike", "keep what cannot be pickled out of `__getstate__`")
    def pickles(self) -> Iterator[Measure]:
        theta = self.draw(4)
        expected = self.problem.solve(theta)
        twin = unpickled(self.problem)
        yield near(twin.solve(theta), expected, "the decision after pickling")
        yield self.looks_like(twin, "pickling")

    def looks_like(self, twin: Problem, how: str) -> Measure:
        """A twin has the `repr` of the problem, unless that is Python's own."""
        named = type(self.problem).__repr__ is not object.__repr__
        return holds(not named or repr(twin) == repr(self.problem), f"{self.problem!r} became {twin!r} after {how}")

    @Promise("`to` gives itself where it is already", "override `_moved(device)`, not `to`")
    def stays(self) -> Iterator[Measure]:
        yield holds(self.problem.to(self.problem.device) is self.problem, "`to(problem.device)` made another problem")

    @Promise("`select` takes instances with all that is theirs", "override `select(index)` where data is per instance")
    def selects(self) -> Iterator[Measure]:
        problem = self.problem
        if self.shared:
            yield holds(problem.select(torch.tensor([3, 1])) is problem, "`select` of a shared problem is not itself")
            return
        if len(problem.batch_shape) != 1:
            raise Inapplicable("the problem has a batch of more than one dimension")
        theta = self.draw()
        index = torch.arange(len(theta)).flip(0)[: max(2, len(theta) - 1)]
        part, value = problem.select(index), self.value(theta)
        yield holds(
            tuple(part.batch_shape) == (len(index),), f"`select` of {len(index)} gave {tuple(part.batch_shape)}"
        )
        selected = part.objective(part.solve(theta[index]), theta[index])
        yield near(selected, value[index], "the value of selected instances", atol=1e-7, rtol=1e-7)

    @Promise("`from_config(config())` makes the same problem", "list every argument in `config()`, as plain data")
    def config(self) -> Iterator[Measure]:
        problem = self.problem
        if type(problem).config is Problem.config:
            raise Inapplicable("it gives no `config()`: policies with it cannot be saved")
        twin = written_and_read(problem)
        yield holds(type(twin) is type(problem), f"it came back as {type(twin).__name__}")
        for what, back, there in (
            ("names", twin.names, problem.names), ("sense", twin.sense, problem.sense),
            ("batch_shape", twin.batch_shape, problem.batch_shape), ("traits", twin.traits, problem.traits),
            ("theta_shape", twin.theta_shape, problem.theta_shape),
            ("theta_names", twin.theta_names, problem.theta_names),
        ):  # fmt: skip
            yield holds(back == there, f"`{what}` came back as {back!r} instead of {there!r}")
        yield self.looks_like(twin, "`from_config`")
        theta = self.draw(3)
        yield near(twin.solve(theta), problem.solve(theta), "the decision of what came back")


def unpickled(subject: Any) -> Any:
    """What comes back from a pickle."""
    try:
        document = pickle.dumps(subject)
    except (pickle.PicklingError, AttributeError) as error:
        if isinstance(error, AttributeError) and error.name is not None:
            raise  # from a `__getstate__`: pickle's own error about a local definition names no attribute
        reason = "something of it is defined inside a function or session, where worker processes cannot import it"
        raise Inapplicable(f"{reason}: {error}") from error
    return pickle.loads(document)


def written_and_read(problem: Problem) -> Problem:
    """What comes back from a policy's file."""
    tensors: dict[str, Tensor] = {}
    document = json.loads(json.dumps(files.pack(problem.config(), tensors, "problem")))
    return type(problem).from_config(files.unpack(document, tensors, Path("problem")))
