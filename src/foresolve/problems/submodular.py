"""Submodular maximization under a matroid."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.items import as_side
from foresolve._base.randomness import Seed, as_generator
from foresolve.problems.base import Problem
from foresolve.problems.blocks import as_names
from foresolve.problems.drawings.set_drawing import SetDrawing
from foresolve.problems.feasibility import Feasibility, inspect
from foresolve.sets.continuous import continuous_greedy, projected_ascent
from foresolve.sets.exact import best_bases
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.sparse import as_coordinates, is_sparse
from foresolve.sets.greedy import greedy
from foresolve.sets.matroids.laminar import UniformMatroid
from foresolve.sets.matroids.matroid import Matroid, PolyhedralMatroid
from foresolve.sets.registry import describe, restore_function, restore_matroid
from foresolve.sets.rounding import pipage, swap_rounding
from foresolve.solvers.statistics import measured
from foresolve.solvers.threads import one_blas_thread, one_torch_thread

Method = Literal["greedy", "continuous_greedy", "ascent", "exact"]


class SubmodularProblem(SetDrawing, Problem):
    r"""A base of a matroid that maximizes a monotone submodular function.

    .. math::
        \max_S \; f(S, \theta) \quad \text{s.t.} \quad S \text{ a base of the matroid}

    A monotone function loses nothing by filling its budget: some best independent set is a base. Layers relax `S` to
    the base polytope and `f` to its multilinear extension `F`, which is the objective here too: they agree on sets.

    Parameters
    ----------
    function: a `SetFunction`, for example `ProbabilisticCoverage()`.
    matroid: a `Matroid`, for example `UniformMatroid(n, k)`, on the device where the problem is to live.
    method: how `solve` decides.

        - "greedy": lazy greedy; at least `1 - 1/e` of the best value under a cardinality, `1/2` for any matroid.
        - "continuous_greedy": 100 Frank-Wolfe steps on `F`, at least `1 - 1/e` up to the step length for any matroid.
        - "ascent": projected gradient ascent on `F` to a stationary point, at least `1/2`.
        - "exact": branch and bound, then submodular cuts and HiGHS where that takes long; to a relative gap of 1e-9.

        The middle two round the point they reach: by pipage, or, with a `seed`, by swap rounding.
    time_limit: seconds that the exact method may take for one instance before it raises `SolverError`.
    names: of the items.
    targets: what the columns of `theta` `(items, targets)` are called: customers, topics.

    Shapes
    ------
    `theta` is `(*batch, *shape)` as the function says, decisions are `(*batch, n)`. For `ProbabilisticCoverage` it may
    also be one sparse matrix `(n, targets)`, of SciPy or torch: `solve` is then greedy, and never makes it dense.

    Examples
    --------
    >>> import torch
    >>> from foresolve.problems import SubmodularProblem
    >>> from foresolve.sets import ProbabilisticCoverage
    >>> from foresolve.sets import UniformMatroid
    >>> problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(3, 2))
    >>> theta = torch.tensor([[0.5, 0.5], [0.0, 0.75], [0.5, 0.25]])
    >>> x = problem.solve(theta)
    >>> x, problem.objective(x, theta)
    (tensor([1., 1., 0.]), tensor(1.3750))
    """

    def __init__(
        self,
        function: SetFunction,
        matroid: Matroid,
        method: Method = "greedy",
        *,
        time_limit: float = 300.0,
        names: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(function, SetFunction):
            remedy = "Derive from `foresolve.sets.SetFunction` and give `value(mask, theta)`"
            raise checks.fail("function", "a SetFunction", _describe(function), remedy)
        if not isinstance(matroid, Matroid):
            remedy = "For at most k of n items it is `UniformMatroid(n, k)`"
            raise checks.fail("matroid", "a Matroid", _describe(matroid), remedy)
        self.function, self.matroid = function.to(matroid.device), matroid
        self.method: Method = _method(method)
        self.time_limit = checks.positive("time_limit", time_limit)
        self.exact, self.device = method == "exact", matroid.device
        self.batch_shape = self.function.batch_shape
        self.theta_bounds = self.function.theta_bounds
        self.names = as_names(names, self.n)
        self.targets = None if targets is None else as_side("targets", list(targets))[1]

    @property
    def n(self) -> int:
        """The number of items."""
        return self.matroid.n

    @property
    def theta_shape(self) -> tuple[int | None, ...]:
        """As the function has it."""
        return self.function.theta_shape(self.n)

    @property
    def theta_axes(self) -> tuple[tuple[str, ...], ...] | None:
        """The names of items and targets, where `theta` has both; those of the items where it has one for each."""
        if len(self.theta_shape) == 2 and self.names is not None and self.targets is not None:
            return tuple(map(str, self.names)), self.targets
        return super().theta_axes

    @property
    def traits(self) -> frozenset[str]:
        """What the problem offers: a set function, and what its matroid makes possible."""
        kinds = {"projection": PolyhedralMatroid, "uniform": UniformMatroid}
        offered = {word for word, kind in kinds.items() if isinstance(self.matroid, kind)}
        return super().traits | offered | {"set function"}

    @property
    def polytope(self) -> PolyhedralMatroid:
        """The matroid as one whose polytope can be projected on; an error where it cannot."""
        if isinstance(self.matroid, PolyhedralMatroid):
            return self.matroid
        remedy = "Use methods that only maximize over it, such as the greedy algorithm, or a laminar matroid"
        raise checks.fail("matroid", "one whose polytope can be projected on", repr(self.matroid), remedy)

    def objective(self, x: Tensor, theta: Any) -> Tensor:
        """`F(x, theta)` `(*batch,)`, in the dtype of `theta`; of sets, `f`, also where `F` is estimated from samples.

        Differentiable in both (in sparse `theta` too, where it is torch's).
        """
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        theta = self.check_theta(theta)
        checks.same_device("x", x, self.device)
        x = x.to(theta.dtype)
        x = x.expand(*checks.broadcast_batch({"`x`": x.shape[:-1], "`theta`": self.batch_for(theta)}), -1)
        if is_sparse(theta):
            return self.function.multilinear(x, theta)
        if not (torch.is_grad_enabled() and (x.requires_grad or theta.requires_grad)):
            with one_torch_thread(theta.numel()):
                return self.function.multilinear(x, theta)
        return self.function.extension(x, theta)

    def solve(self, theta: Any, method: Method | None = None, seed: Seed | None = None) -> Tensor:
        """A base for each instance, 0/1 `(*batch, n)` in the dtype and on the device of `theta`; no gradient passes.

        `method` replaces the problem's own for this call. A `seed` (or a generator) makes the rounding of the
        continuous methods random, with `E f(S) >= F(x)` for every submodular `f`; the others draw nothing.
        """
        chosen: Method = self.method if method is None else _method(method)
        generator = None if seed is None else as_generator("seed", seed)
        if is_sparse(theta) and chosen != "greedy":
            remedy = "Pass method='greedy', or a dense `theta`"
            raise checks.fail("method", "'greedy' for sparse `theta`", repr(chosen), remedy)
        theta = self.check_theta(theta)
        batch, numbers = self.batch_for(theta), 0 if is_sparse(theta) else theta.numel()
        with (
            torch.no_grad(),
            one_torch_thread(numbers),
            one_blas_thread(self.n),
            measured(chosen, batch.numel()),
        ):
            sets = self._decide(theta.detach(), batch, chosen, generator)
        return sets.to(theta).reshape(*batch, self.n)

    def _decide(self, theta: Tensor, batch: torch.Size, method: Method, generator: torch.Generator | None) -> Tensor:
        """Sets `(B, n)`."""
        if is_sparse(theta):
            return greedy(self.function, self.matroid, theta)
        shape = theta.shape[theta.ndim - self.function.theta_dims :]
        function, flat = self.function_of(batch), theta.expand(*batch, *shape).reshape(-1, *shape)
        if method == "greedy":
            return greedy(function, self.matroid, flat)
        flat = flat.double()
        if len(flat) == 0:
            return flat.new_zeros(0, self.n)
        if method == "exact":
            function, matroid, flat = function.to("cpu"), self.matroid.to("cpu"), flat.cpu()
            start = greedy(function, matroid, flat)
            return best_bases(function, matroid, flat, start, batch, time_limit=self.time_limit)
        if method == "continuous_greedy":
            x = continuous_greedy(function, self.matroid, flat, len(flat))
        else:
            x = projected_ascent(function, self.polytope, flat, len(flat))
        if generator is not None:
            return swap_rounding(x, self.matroid, generator)
        return pipage(x, function, flat, self.matroid)

    def function_of(self, batch: torch.Size) -> SetFunction:
        """The function of a flat batch that stands for `batch`, with the data that it holds for each instance."""
        return self.function.select(slice(None), batch)

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions are independent sets; if not, which sets and bounds they break, and by how much.

        `relaxed` leaves integrality aside, as layers do. Bases are not asked for: a set may leave budget unspent.
        """
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        checks.same_device("x", x, self.device)
        x = x.detach().double()
        amounts = self.matroid.excess(x, base=False)
        if not relaxed:
            amounts["integrality"] = (x - x.round()).abs()
        return inspect(amounts, tol, x.shape[:-1], lambda kind, index: "")

    def check_theta(self, theta: Any) -> Tensor:
        """`theta` as a floating tensor, or an error that says what is wrong with it."""
        theta = as_coordinates(theta, self.device) if is_sparse(theta) else checks.as_tensor("theta", theta)
        checks.same_device("theta", theta, self.device)
        theta = self.function.check_theta(theta, self.n)
        checks.finite("theta", theta)
        if not self._single_valued and theta.numel() and not is_sparse(theta):
            self._check_value(theta.detach())
            self._single_valued = True
        return theta

    @cached_property
    def _single_valued(self) -> bool:
        """Whether the function was seen to have one value for one set; known once it was asked."""
        return False

    def _check_value(self, theta: Tensor) -> None:
        """One set has one value: more show data of each instance that the function keeps to itself."""
        batch, dims = self.batch_shape, self.function.theta_dims
        first = theta.reshape(-1, *theta.shape[theta.ndim - dims :])[:1].unsqueeze(0)
        function = self.function.select(0, batch) if batch else self.function
        with torch.no_grad():
            shape = tuple(function.value(first.new_ones(1, 1, self.n), first).shape)
        if shape != (1, 1):
            remedy = (
                "If it holds data for each instance, name them in `data_dims`, so that they follow their instances; "
                "otherwise sum over the last dimensions only"
            )
            raise checks.fail(f"{self.function!r}.value(...)", "one number (1, 1) for one set", str(shape), remedy)

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`, with the data that the function holds for each of them."""
        if not self.batch_shape:
            return self
        chosen = copy.copy(self)
        chosen.function = self.function.select(index.to(self.device), self.batch_shape)
        chosen.batch_shape = chosen.function.batch_shape
        return chosen

    def _moved(self, device: torch.device) -> Self:
        moved = copy.copy(self)
        moved.matroid = self.matroid.to(device)
        moved.device, moved.function = moved.matroid.device, self.function.to(device)
        return moved

    def config(self) -> dict[str, Any]:
        """The function and the matroid as `foresolve.sets` describes them, and how to solve."""
        sets = {"function": describe(self.function), "matroid": describe(self.matroid)}
        named = {"names": self.names, "targets": self.targets}
        words = {part: None if names is None else [str(name) for name in names] for part, names in named.items()}
        return {**sets, "method": self.method, "time_limit": self.time_limit, **words}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The problem that `config()` describes, on the CPU."""
        function, matroid = restore_function(config["function"]), restore_matroid(config["matroid"])
        words = {part: config.get(part) for part in ("names", "targets")}
        return cls(function, matroid, config["method"], time_limit=config["time_limit"], **words)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function!r}, {self.matroid!r}, method={self.method!r})"


def _method(method: Any) -> Method:
    if method not in get_args(Method):
        raise checks.fail("method", f"one of {', '.join(map(repr, get_args(Method)))}", repr(method))
    return method


def _describe(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
