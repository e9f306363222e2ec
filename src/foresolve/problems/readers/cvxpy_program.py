"""The linear program that a cvxpy problem is, as a function of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve.problems.readers.cvxpy_checks import (
    check_linear,
    chosen_parameters,
    with_inner_products,
    with_known_values,
)
from foresolve.problems.readers.model import shown


@dataclass(frozen=True)
class Part:
    """Numbers that are affine in the parameters: `known + matrix @ theta`."""

    known: np.ndarray
    matrix: scipy.sparse.csr_array

    @property
    def moves(self) -> bool:
        """Whether any of them depends on a parameter."""
        return self.matrix.nnz > 0

    def __getitem__(self, rows: Any) -> Part:
        return Part(self.known[rows], scipy.sparse.csr_array(self.matrix[rows]))

    def scaled(self, factor: float) -> Part:
        """Times a number."""
        return Part(factor * self.known, factor * self.matrix)


@dataclass(frozen=True)
class CvxpyProgram:
    """`min` or `max coefficients'x + constant` over rows and bounds, as cvxpy's own reductions leave it.

    Attributes
    ----------
    matrix, rhs, equality: rows `A x = rhs` or `A x <= rhs`.
    lower, upper, integrality: of the variables.
    names: of the variables, the user's own first.
    shapes: of the user's own, in the order of `problem.variables()`; entries in row-major order, as torch has them.
    parameters: the names of the entries of theta.
    nominal: theta as cvxpy's parameters have it, if they have values.
    """

    matrix: scipy.sparse.csr_array
    rhs: Part
    equality: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integrality: np.ndarray
    coefficients: Part
    constant: Part
    maximize: bool
    names: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    parameters: tuple[str, ...]
    nominal: np.ndarray | None


def read_cvxpy(problem: Any, parameter: Any) -> CvxpyProgram:
    """The program of a `cvxpy.Problem`; `parameter` as for `LinearProgram.from_cvxpy`."""
    cvxpy = need("cvxpy", "LinearProgram.from_cvxpy", "cvxpy")
    chosen = chosen_parameters(cvxpy, problem, parameter)
    problem = with_known_values(cvxpy, problem, chosen)
    check_linear(cvxpy, problem)
    problem = with_inner_products(cvxpy, problem)
    names = [name for part in chosen for name in entry_names(part.name(), part.shape)]
    values = [part.value for part in chosen]
    nominal = None if any(value is None for value in values) else _flat(values)
    return _program(cvxpy, problem, chosen, tuple(names), nominal)


def entry_names(name: str, shape: Sequence[int]) -> list[str]:
    """A name for each entry, in row-major order: `x`, or `x[0]`, `x[1]`, or `x[0,0]`, `x[0,1]`."""
    return [f"{name}[{','.join(map(str, place))}]" if shape else name for place in np.ndindex(*shape)]


def _flat(values: Sequence[Any]) -> np.ndarray:
    """Entries one after the other, those of each in row-major order."""
    return np.concatenate([np.asarray(value, dtype=np.float64).reshape(-1) for value in values])


def _program(cvxpy: Any, problem: Any, chosen: list[Any], names: tuple[str, ...], nominal: Any) -> CvxpyProgram:
    canonical = CanonicalProgram(cvxpy, problem, chosen)
    variables = [variable for variable in problem.variables() if variable.size]
    order, labels = canonical.order(variables)
    parts, matrix = canonical.parts(), canonical.matrix
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0  # cvxpy minimizes the negative
    integrality = np.zeros(len(order), dtype=np.int64)
    integrality[[*canonical.boolean, *canonical.integer]] = 1
    lower, upper = canonical.bounds()
    program = CvxpyProgram(
        matrix=scipy.sparse.csr_array(matrix[:, order]), rhs=parts["rhs"], equality=canonical.equality,
        lower=lower[order], upper=upper[order], integrality=integrality[order],
        coefficients=parts["coefficients"][order].scaled(sign), constant=parts["constant"].scaled(sign),
        maximize=sign < 0, names=tuple(labels), parameters=names, nominal=nominal,
        shapes={variable.name(): tuple(int(k) for k in variable.shape) for variable in variables},
    )  # fmt: skip
    return _tightened(program)


class CanonicalProgram:
    """`min c'x + d` subject to `A x = b` and `A x <= b`, of which all but `A` is affine in the parameters.

    cvxpy's reductions keep parameters symbolic (DPP): `c`, `d`, `A`, `b` for given values are the product of sparse
    tensors and the parameters, each of which has a column there. With all at 0 it is what is known.
    """

    def __init__(self, cvxpy: Any, problem: Any, chosen: list[Any]) -> None:
        self.chosen = chosen
        unset = [part for part in chosen if part.value is None]
        try:
            for part in unset:  # cvxpy wants values, which the reductions do not depend on
                part.value = part.project(np.zeros(part.shape))
            data, chain, inverses = problem.get_problem_data(cvxpy.SCIPY, enforce_dpp=True)
        except (cvxpy.error.DCPError, cvxpy.error.DPPError, cvxpy.error.SolverError, ValueError) as error:
            raise checks.fail("problem", "one that cvxpy can reduce to rows and bounds", f"{error}") from error
        finally:
            for part in unset:
                part.value = None
        names = cvxpy.settings
        self.program, self.boolean, self.integer = (
            data[key] for key in (names.PARAM_PROB, names.BOOL_IDX, names.INT_IDX)
        )
        # Variables with attributes (nonneg, bounds) may have been replaced: the first record maps old ids to new.
        replacing = [type(reduction).__name__ == "CvxAttr2Constr" for reduction in chain.reductions]
        records = [record[0] for record, replaces in zip(inverses, replacing) if replaces and record]
        self.renamed = {old: new.id for record in records for old, new in record.items()}
        predicted = {part.id for part in chosen}
        self.others = {p.id: np.asarray(p.value) for p in self.program.parameters if p.id not in predicted}
        self.matrix = self._matrix(np.zeros(self.size))
        self.equality = np.arange(len(self.matrix.indptr) - 1) < self.program.cone_dims.zero
        self._check_matrix()

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(part.size for part in self.chosen)

    def order(self, variables: list[Any]) -> tuple[np.ndarray, list[str]]:
        """The columns of the user's variables, then of those that cvxpy added, and the names of all."""
        starts, columns, labels = self.program.var_id_to_col, [], []
        for variable in variables:
            start = starts[self.renamed.get(variable.id, variable.id)]
            columns += (start + np.arange(variable.size).reshape(variable.shape, order="F").reshape(-1)).tolist()
            labels += entry_names(variable.name(), variable.shape)
        added = sorted(set(range(self.program.x.size)) - set(columns))
        labels += [f"auxiliary[{k}]" for k in range(len(added))]
        return np.array([*columns, *added]), labels

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of all columns; those that cvxpy does not keep as bounds are rows."""
        self._numbers(np.zeros(self.size))
        given = (getattr(self.program, "lower_bounds", None), getattr(self.program, "upper_bounds", None))
        low, high = (
            np.full(self.program.x.size, none) if side is None else np.array(side, dtype=np.float64)
            for side, none in zip(given, (-np.inf, np.inf))
        )
        low[self.boolean], high[self.boolean] = np.maximum(low[self.boolean], 0), np.minimum(high[self.boolean], 1)
        return low, high

    def parts(self) -> dict[str, Part]:
        """What depends on the parameters, each as `known + matrix @ theta`."""
        known = self._numbers(np.zeros(self.size))
        n, m = self.program.x.size, len(known["rhs"])
        objective = self.program.q if hasattr(self.program, "q") else self.program.c  # its name in older versions
        moved = {
            "coefficients": self._columns(objective, 0, n),
            "constant": self._columns(objective, n, 1),
            "rhs": self._columns(self.program.A, n * m, m),  # [A b], column by column
        }
        parts = {name: Part(known[name], moved[name]) for name in known}
        self._check_parts(parts)
        return parts

    def _columns(self, tensor: Any, start: int, count: int) -> scipy.sparse.csr_array:
        """Some rows of a tensor, and its columns in the order of theta; `A` has too many rows for any other format."""
        place = np.full(self.program.total_param_size + 1, -1)
        for part, end in zip(self.chosen, self._ends):
            entries = self.program.param_id_to_col[part.id] + np.arange(part.size)
            place[entries.reshape(part.shape, order="F").reshape(-1)] = np.arange(end - part.size, end)
        if count == 0:
            return scipy.sparse.csr_array((0, self.size))
        triples = scipy.sparse.coo_array(tensor)
        row, column = triples.coords
        kept = (row >= start) & (row < start + count) & (place[column] >= 0)
        entries = triples.data[kept], (row[kept] - start, place[column[kept]])
        return scipy.sparse.csr_array(entries, shape=(count, self.size))

    @property
    def _ends(self) -> np.ndarray:
        return np.cumsum([part.size for part in self.chosen])

    def _values(self, theta: np.ndarray) -> dict[int, np.ndarray]:
        values = dict(self.others)
        for part, end in zip(self.chosen, self._ends):
            values[part.id] = theta[end - part.size : end].reshape(part.shape)
        return values

    def _numbers(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """`c`, `d` and `b`."""
        c, d, _, b = self.program.apply_parameters(self._values(theta))
        return {"coefficients": np.asarray(c), "constant": np.array([d], dtype=np.float64), "rhs": np.asarray(b)}

    def _matrix(self, theta: np.ndarray) -> scipy.sparse.csr_array:
        """`A` with `A x = b` or `A x <= b`; cvxpy keeps the negative."""
        _, _, matrix, _ = self.program.apply_parameters(self._values(theta))
        return -scipy.sparse.csr_array(matrix)

    # -- checks ------------------------------------------------------------------------------------------------------

    def _random(self) -> np.ndarray:
        return np.random.default_rng(0).standard_normal(self.size)

    def _check_matrix(self) -> None:
        """Parameters may make coefficients and right-hand sides; what makes entries of `A` is refused by name."""
        if abs(self._matrix(self._random()) - self.matrix).sum() == 0:
            return
        start, guilty = 0, []
        for part in self.chosen:
            theta = np.zeros(self.size)
            theta[start : start + part.size] = self._random()[start : start + part.size]
            start += part.size
            guilty += [part.name()] if abs(self._matrix(theta) - self.matrix).sum() else []
        what = f"one that stands before variables in a constraint: {shown(guilty)}"
        remedy = "Give such constraints as tensors to `LinearProgram(A_ub=...)`, or keep the parameter's value known"
        raise checks.fail("parameter", "in the objective or on right-hand sides", what, remedy)

    def _check_parts(self, parts: dict[str, Part]) -> None:
        theta, start = self._random(), 0
        for name, numbers in self._numbers(theta).items():
            expected = parts[name].known + parts[name].matrix @ theta
            if not np.allclose(numbers, expected, rtol=1e-9, atol=1e-9):
                names = shown([part.name() for part in self.chosen])
                raise checks.fail("parameter", "such that the problem is affine in it", f"{names}, which is not")
        influence = np.sum([abs(part.matrix).sum(0) for part in parts.values()], axis=0)
        for part in self.chosen:
            if not influence[start : start + part.size].any():
                raise checks.fail(
                    "parameter", "one that the problem depends on", f"{part.name()!r}, which has no effect"
                )
            start += part.size


def _tightened(program: CvxpyProgram) -> CvxpyProgram:
    """Rows of one variable become bounds, unless a parameter moves them or they contradict each other."""
    matrix, rhs = program.matrix, program.rhs
    count = np.diff(matrix.indptr)
    still = np.diff(rhs.matrix.indptr) == 0
    lower, upper = program.lower.copy(), program.upper.copy()
    single = np.flatnonzero((count == 1) & still)
    places = matrix.indptr[single]
    column, factor = matrix.indices[places], matrix.data[places]
    limit = rhs.known[single] / factor
    equal = program.equality[single]
    above, below = equal | (factor > 0), equal | (factor < 0)
    np.minimum.at(upper, column[above], limit[above])
    np.maximum.at(lower, column[below], limit[below])
    if (lower > upper).any():
        lower, upper, single = program.lower, program.upper, single[:0]
    void = (count == 0) & still & np.where(program.equality, rhs.known == 0, rhs.known >= 0)
    kept = np.setdiff1d(np.flatnonzero(~void), single)
    values = {**program.__dict__, "lower": lower, "upper": upper, "matrix": scipy.sparse.csr_array(matrix[kept])}
    return CvxpyProgram(**values | {"rhs": rhs[kept], "equality": program.equality[kept]})
