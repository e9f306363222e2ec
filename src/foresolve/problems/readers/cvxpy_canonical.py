"""What cvxpy's own reductions make of a problem, as a function of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve.problems.readers.cvxpy_checks import squares
from foresolve.problems.readers.model import shown
from foresolve.problems.readers.quadratic_entries import kept


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
class Form:
    """A quadratic form `1/2 x'Qx` whose `Q` is affine in the parameters.

    Attributes
    ----------
    known: `Q` where they are 0, `(n, n)`, both triangles.
    matrix: what each parameter adds, `(n * n, p)`, entries of `Q` in row-major order; `None` where all of it is known.
    """

    known: scipy.sparse.csr_array
    matrix: scipy.sparse.coo_array | None

    def scaled(self, factor: float) -> Form:
        """Times a number."""
        return Form(factor * self.known, None if self.matrix is None else factor * self.matrix)


def entry_names(name: str, shape: Sequence[int]) -> list[str]:
    """A name for each entry, in row-major order: `x`, or `x[0]`, `x[1]`, or `x[0,0]`, `x[0,1]`."""
    return [f"{name}[{','.join(map(str, place))}]" if shape else name for place in np.ndindex(*shape)]


class CanonicalProgram:
    """`min c'x + 1/2 x'Px + d` subject to `A x = b` and `A x <= b`, of which all but `A` is affine in the parameters.

    cvxpy's reductions keep parameters symbolic (DPP): `P`, `c`, `d`, `A`, `b` for given values are the product of
    sparse tensors and the parameters, each of which has a column there. With all at 0 it is what is known.
    """

    def __init__(self, cvxpy: Any, problem: Any, chosen: list[Any]) -> None:
        self.chosen, self.objective = chosen, problem.objective.expr
        self.maximize = isinstance(problem.objective, cvxpy.Maximize)
        # A solver that cvxpy would give bounds and rows to, and one that it would give a quadratic objective to.
        solver = cvxpy.SCIPY if self.objective.is_pwl() else cvxpy.CLARABEL
        unset = [part for part in chosen if part.value is None]
        try:
            for part in unset:  # cvxpy wants values, which the reductions do not depend on
                part.value = part.project(np.zeros(part.shape))
            data, chain, inverses = problem.get_problem_data(solver, enforce_dpp=True)
        except (cvxpy.error.DCPError, cvxpy.error.DPPError, cvxpy.error.SolverError, ValueError) as error:
            raise checks.fail("problem", "one that cvxpy can reduce to rows and bounds", f"{error}") from error
        finally:
            for part in unset:
                part.value = None
        names = cvxpy.settings
        self.program = data[names.PARAM_PROB]
        self.boolean, self.integer = (data.get(key, []) for key in (names.BOOL_IDX, names.INT_IDX))
        # Variables with attributes (nonneg, bounds) may have been replaced: the first record maps old ids to new.
        replacing = [type(reduction).__name__ == "CvxAttr2Constr" for reduction in chain.reductions]
        records = [record[0] for record, replaces in zip(inverses, replacing) if replaces and record]
        self.renamed = {old: new.id for record in records for old, new in record.items()}
        predicted = {part.id for part in chosen}
        self.others = {p.id: np.asarray(p.value) for p in self.program.parameters if p.id not in predicted}
        self.matrix = self._matrix(np.zeros(self.size))
        self.equality = np.arange(len(self.matrix.indptr) - 1) < self.program.cone_dims.zero
        self._check_cones()
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

    def form(self, order: np.ndarray) -> Form | None:
        """The quadratic part, its variables in a given order; `None` where there is none."""
        if self.program.P is None:
            return None
        matrix, *_ = self.program.apply_parameters(self._values(np.zeros(self.size)), quad_obj=True)
        matrix = scipy.sparse.csr_array(matrix)[order][:, order]
        known = kept((matrix + matrix.T) / 2)  # to cvxpy, nearly symmetric is
        moved = self._moved_form()
        if moved is not None:
            n, place = len(order), np.argsort(order)
            column, row = np.divmod(moved.coords[0], n)  # of cvxpy's, column by column
            entries = moved.data, (place[row] * n + place[column], moved.coords[1])
            moved = scipy.sparse.coo_array(entries, shape=moved.shape)
        if known is None and moved is None:
            return None
        return Form(scipy.sparse.csr_array(matrix.shape) if known is None else known, moved)

    def _moved_form(self) -> scipy.sparse.coo_array | None:
        if self.program.P is None:
            return None
        moved = self._triples(self.program.P, 0, self.program.x.size**2)
        moved.eliminate_zeros()
        return moved if moved.nnz else None

    def _columns(self, tensor: Any, start: int, count: int) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(self._triples(tensor, start, count))

    def _triples(self, tensor: Any, start: int, count: int) -> scipy.sparse.coo_array:
        """Some rows of a tensor, and its columns in the order of theta; of `A` and `P`, too many for other formats."""
        place = np.full(self.program.total_param_size + 1, -1)
        for part, end in zip(self.chosen, self._ends):
            entries = self.program.param_id_to_col[part.id] + np.arange(part.size)
            place[entries.reshape(part.shape, order="F").reshape(-1)] = np.arange(end - part.size, end)
        if count == 0:
            return scipy.sparse.coo_array((0, self.size))
        triples = scipy.sparse.coo_array(tensor)
        row, column = triples.coords
        chosen = (row >= start) & (row < start + count) & (place[column] >= 0)
        entries = triples.data[chosen], (row[chosen] - start, place[column[chosen]])
        return scipy.sparse.coo_array(entries, shape=(count, self.size))

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

    def _check_cones(self) -> None:
        dims = self.program.cone_dims
        beyond = [name for name in ("soc", "exp", "psd", "p3d", "pnd") if getattr(dims, name, None)]
        if beyond:
            raise checks.fail("problem", "one that cvxpy can reduce to rows and bounds", f"cones ({shown(beyond)})")

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
        squared = {leaf.id for part in squares(self.objective) for leaf in part.parameters()}
        within = [part.name() for part in self.chosen if part.id in squared and part.name() in guilty]
        if within:
            what = f"one that stands before variables in a square: {shown(within)}"
            remedy = (
                "Leave it out of the cvxpy problem, and give the quadratic form by `problem.parametrized(factor=...)`"
            )
            raise checks.fail("parameter", "in the linear part of the objective or on right-hand sides", what, remedy)
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
        moved = [*(part.matrix for part in parts.values()), self._moved_form()]
        influence = np.sum([abs(matrix).sum(0) for matrix in moved if matrix is not None], axis=0)
        for part in self.chosen:
            if not influence[start : start + part.size].any():
                raise checks.fail(
                    "parameter", "one that the problem depends on", f"{part.name()!r}, which has no effect"
                )
            start += part.size
