"""The linear or quadratic program that a cvxpy problem is, as a function of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base.extras import need
from foresolve.problems.readers.cvxpy_canonical import CanonicalProgram, Form, Part, entry_names
from foresolve.problems.readers.cvxpy_checks import (
    check_program,
    chosen_parameters,
    with_inner_products,
    with_known_values,
    with_plain_forms,
)


@dataclass(frozen=True)
class CvxpyProgram:
    """`min` or `max coefficients'x + 1/2 x'Qx + constant` over rows and bounds, as cvxpy's own reductions leave it.

    Attributes
    ----------
    matrix, rhs, equality: rows `A x = rhs` or `A x <= rhs`.
    quadratic: `Q`, `None` where the objective is linear; squares of sums are those of cvxpy's own variables.
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
    quadratic: Form | None
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
    check_program(cvxpy, problem)
    variables = [variable for variable in problem.variables() if variable.size]
    problem = with_plain_forms(cvxpy, with_inner_products(cvxpy, problem))
    names = [name for part in chosen for name in entry_names(part.name(), part.shape)]
    values = [part.value for part in chosen]
    nominal = None if any(value is None for value in values) else _flat(values)
    return _program(CanonicalProgram(cvxpy, problem, chosen), variables, tuple(names), nominal)


def _flat(values: Sequence[Any]) -> np.ndarray:
    """Entries one after the other, those of each in row-major order."""
    return np.concatenate([np.asarray(value, dtype=np.float64).reshape(-1) for value in values])


def _program(
    canonical: CanonicalProgram, variables: list[Any], names: tuple[str, ...], nominal: np.ndarray | None
) -> CvxpyProgram:
    order, labels = canonical.order(variables)
    parts, matrix, form = canonical.parts(), canonical.matrix, canonical.form(order)
    sign = -1.0 if canonical.maximize else 1.0  # cvxpy minimizes the negative
    integrality = np.zeros(len(order), dtype=np.int64)
    integrality[[*canonical.boolean, *canonical.integer]] = 1
    lower, upper = canonical.bounds()
    program = CvxpyProgram(
        matrix=scipy.sparse.csr_array(matrix[:, order]), rhs=parts["rhs"], equality=canonical.equality,
        lower=lower[order], upper=upper[order], integrality=integrality[order],
        coefficients=parts["coefficients"][order].scaled(sign), constant=parts["constant"].scaled(sign),
        quadratic=None if form is None else form.scaled(sign),
        maximize=sign < 0, names=tuple(labels), parameters=names, nominal=nominal,
        shapes={variable.name(): tuple(int(k) for k in variable.shape) for variable in variables},
    )  # fmt: skip
    return _tightened(program)


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
