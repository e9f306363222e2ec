"""Programs whose numbers `theta` makes: coefficients, right-hand sides, bounds."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.errors import ForesolveError, InfeasibleError
from foresolve.problems.affine import Affine
from foresolve.problems.constraints import Constraints
from foresolve.problems.decided import DecidedProgram
from foresolve.problems.parameters import Parameters, as_map
from foresolve.problems.smoothed_columns import smoothed_columns


class PredictedProgram(DecidedProgram):
    """What of a linear program is predicted; `LinearProgram` is one.

    Attributes
    ----------
    smoothed_columns: `(n,)`, 1 for the variables that a layer smooths, 0 for those whose coefficients are known and
        whose values follow from the others by the equality rows; `None` where all are smoothed.
    """

    constraints: Constraints
    smoothed_columns: Tensor | None = None

    def _constrain(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.device = constraints.device
        known = torch.Size() if self.parameters is None else self.parameters.batch_shape
        self.batch_shape = checks.broadcast_batch({"the constraints": constraints.batch_shape, "what is known": known})

    @property
    def traits(self) -> frozenset[str]:
        """What the problem offers; instances that differ in known coefficients share the feasible set all the same."""
        return super().traits | (set() if self.constraints.batch_shape else {"shared"})

    def parametrized(
        self,
        coefficients: Any = None,
        *,
        constant: Any = None,
        b_ub: Affine | None = None,
        b_eq: Affine | None = None,
        lower: Affine | None = None,
        upper: Affine | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        r"""The same program with `theta` `(*batch, p)` that makes its coefficients, right-hand sides or bounds.

        .. math::
            \max_x \; \pm \bigl( (c_0 + S \theta)^\top x + d_0 + r^\top \theta \bigr) \quad \text{s.t.} \quad
            A_{eq} x = b_0 + B \theta, \; \ldots

        Predictions, noise, errors and baselines are then those of `theta`; decisions stay those of `x`. Where `theta`
        makes right-hand sides or bounds, `problem.at(theta)` is the program for given parameters, and what was decided
        under a prediction need not be feasible under the truth: `evaluate` counts it, and takes a `repair`.

        Parameters
        ----------
        coefficients: `Affine(S, c_0)`, or `(n,)` where all are known; `None` for `theta` itself.
        constant: `Affine(r, d_0)` of one number, or a number: what the objective has beside `x`.
        b_ub, b_eq: `Affine(B, b_0)`, in place of the right-hand sides that the program has.
        lower, upper: likewise, in place of its bounds.
        names: of the parameters.

        Examples
        --------
        A battery buys and sells at one price, which is predicted; every cycle wears it by 0.5.

        >>> import torch, foresolve
        >>> from foresolve.problems import Affine
        >>> trades = ["buy 1", "buy 2", "sell 1", "sell 2"]
        >>> plain = foresolve.LinearProgram(A_eq=[[1.0, 1.0, -1.0, -1.0]], b_eq=[0.0], bounds=(0, 1), names=trades)
        >>> prices = Affine.tied([0, 1, 0, 1], factor=[-1.0, -1.0, 1.0, 1.0], known=[0.0, 0.0, -0.5, -0.5])
        >>> problem = plain.parametrized(prices, names=["price 1", "price 2"])
        >>> problem.solve(torch.tensor([[10.0, 30.0], [10.0, 10.2]]))
        tensor([[1., 0., 0., 1.],
                [0., 0., 0., 0.]])

        Loads, known costs: `theta` is the right-hand side.

        >>> plant = foresolve.LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[0.0], bounds=(0, 2), sense="min")
        >>> problem = plant.parametrized([1.0, 3.0], b_eq=Affine([[1.0]]), names=["load"])
        >>> problem.solve(torch.tensor([[1.0], [2.5]]))
        tensor([[1.0000, 0.0000],
                [2.0000, 0.5000]])
        """
        return self._parametrized(coefficients, constant, names, self._constraint_maps(b_ub, b_eq, lower, upper))

    def _constraint_maps(
        self, b_ub: Affine | None, b_eq: Affine | None, lower: Affine | None, upper: Affine | None
    ) -> dict[str, Affine | None]:
        parts = {"rhs": self._rhs_map(b_ub, b_eq), "lower": lower, "upper": upper}
        for name in ("lower", "upper"):
            if parts[name] is not None:
                as_map(name, parts[name], self.n, "variables")
        if any(part is not None for part in parts.values()):
            self._check_general()
        return parts

    def _check_general(self) -> None:
        """Where `theta` makes constraints, decisions are those of HiGHS over rows and bounds: these must be all."""
        if self._beyond_rows or (self.linear and type(self).argmax is not PredictedProgram.argmax):
            why = self._beyond_rows or "it has an `argmax` of its own, which knows nothing of them"
            raise self._unfit("one that its rows and bounds describe whole, for `theta` to make constraints", why)

    def _rhs_map(self, b_ub: Affine | None, b_eq: Affine | None) -> Affine | None:
        """One map for all rows; those of a block without a map keep their right-hand sides."""
        if b_ub is None and b_eq is None:
            return None
        equality, rhs = self.constraints.equality.cpu(), self.constraints.rhs.detach().cpu()
        blocks = {"b_eq": (b_eq, equality), "b_ub": (b_ub, ~equality)}
        maps = {name: as_map(name, part, int(rows.sum()), "rows") for name, (part, rows) in blocks.items()
                if part is not None}  # fmt: skip
        sizes = {part.shape[1] for part in maps.values()}
        if len(sizes) != 1:
            raise checks.fail("b_eq", "of as many parameters as `b_ub`", f"{b_eq!r}, {b_ub!r}")
        batch = checks.broadcast_batch({"b": rhs.shape[:-1]} | {name: part.batch_shape for name, part in maps.items()})
        known, entries = rhs.expand(*batch, -1).clone(), []
        for name, part in maps.items():
            place = blocks[name][1].nonzero().flatten()
            known[..., place] = part.known.detach().cpu()
            entries.append((place[part.row.cpu()], part.column.cpu(), part.value.cpu()))
        row, column, value = (torch.cat(parts).numpy() for parts in zip(*entries))
        return Affine(scipy.sparse.coo_array((value, (row, column)), shape=(len(equality), sizes.pop())), known)

    def _with_parameters(self, parameters: Parameters) -> Self:
        twin = super()._with_parameters(parameters)
        maps, constraints = parameters.moving, self.constraints
        if self.linear and maps is not None and not constraints.matrix_batch and bool(constraints.equality.any()):
            equalities = constraints.dense().detach()[constraints.equality]
            twin.smoothed_columns = smoothed_columns(maps.moved.cpu(), equalities.cpu())
        return twin

    # -- for given parameters ----------------------------------------------------------------------------------------

    def at(self, theta: Tensor) -> Self:
        """The program for given `theta`, attached to its graph; itself unless `theta` makes constraints.

        Bounds that cross are an `InfeasibleError`, which names the instances.
        """
        if self.parameters is None or self.fixed:
            return self
        theta = self.check_theta(theta).double()
        parts = {name: getattr(self.parameters, name) for name in ("rhs", "lower", "upper")}
        made = {name: part(theta) for name, part in parts.items() if part is not None}
        constraints = replace(self.constraints, **made, implied_upper=False)  # other rows, other bounds
        crossed = (constraints.lower > constraints.upper).any(-1)
        if bool(crossed.any()):
            where = crossed.flatten().nonzero().flatten().tolist()
            message = "the bounds that `theta` makes cross (lower > upper) in {instances}. Bound the prediction"
            raise InfeasibleError(message, where, checks.instance_names(where, crossed.shape))
        twin = copy.copy(self)
        twin.parameters, twin._structured = self.parameters.objective_only(), False
        twin._constrain(constraints)
        return twin

    def argmax(self, gains: Tensor) -> Tensor:
        """As for every program; where `theta` makes constraints, of `problem.at(theta)` only."""
        self.require_fixed()
        return super().argmax(gains)

    def require_fixed(self) -> None:
        """An error where the feasible set depends on parameters that were not given."""
        if not self.fixed:
            why, remedy = "its constraints depend on theta", "Take `problem.at(theta)`"
            raise self._unfit("one with a feasible set that is known", why, remedy)

    # -- files -------------------------------------------------------------------------------------------------------

    def config(self) -> configs.Config:
        """What makes the program, the names of its variables, and what `theta` stands for; tensors are on the CPU."""
        names = None if self.names is None else [str(name) for name in self.names]
        parameters = None if self.parameters is None else self.parameters.config()
        return configs.on_cpu(self._settings() | {"names": names, "parameters": parameters})

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The program that `config()` describes."""
        parameters = config.get("parameters")
        program = cls._from_settings({name: value for name, value in config.items() if name != "parameters"})
        return program if parameters is None else program._restored(Parameters.from_config(parameters))

    def _restored(self, parameters: Parameters) -> Self:
        n, m = self.n, self.constraints.rows.m
        sizes = {"coefficients": n, "constant": 1, "rhs": m, "lower": n, "upper": n} | self._quadratic_sizes()
        for name in parameters.quadratic.keys() - sizes.keys():
            raise ValueError(f"`{name}` is predicted, but the program has none")
        for name, size in sizes.items():
            part = getattr(parameters, name)
            if part is not None and part.shape[0] != size:
                raise ValueError(f"`{name}` must make {size} numbers; it makes {part.shape[0]}")
        if not parameters.fixed:
            self._check_general()
        return self._with_parameters(parameters)

    def _quadratic_sizes(self) -> dict[str, int]:
        """How many numbers `theta` must make of each part of `Q` that it may make."""
        return {}

    def _settings(self) -> configs.Config:
        """The arguments of the class beside `names`, as JSON and tensors."""
        raise ForesolveError(f"{type(self).__name__} cannot be written to a file: it gives no `_settings()`")

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The problem of `_settings()` and `names`, read with suspicion."""
        return cls(**settings)
