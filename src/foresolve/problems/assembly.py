"""Programs put together from what other tools hold: linear ones, or quadratic ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import torch

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.problems.affine import Affine
from foresolve.problems.base import Sense
from foresolve.problems.readers.cvxpy_canonical import Form, Part
from foresolve.problems.readers.cvxpy_program import CvxpyProgram
from foresolve.problems.readers.model import Model, positions

if TYPE_CHECKING:
    from foresolve.problems.linear import LinearProgram
    from foresolve.problems.quadratic import QuadraticProgram


def linear_program() -> type[LinearProgram]:
    """The class, which is a subclass of one that needs this module: known when it is needed."""
    from foresolve.problems.linear import LinearProgram

    return LinearProgram


def _quadratic_program() -> type[QuadraticProgram]:
    from foresolve.problems.quadratic import QuadraticProgram

    return QuadraticProgram


def program_of_model(
    model: Model, predict: Sequence[str] | None, sense: Sense, origin: tuple[str, str]
) -> LinearProgram:
    """The program of a file or of HiGHS.

    Parameters
    ----------
    model: what was read.
    predict: the names of the variables whose coefficients are predicted; `None` for all.
    sense: of the program.
    origin: the argument that the model came by, and what a message calls its value.
    """
    arguments = model.feasible_set() | {"sense": sense}
    try:
        program = _program(arguments, model.quadratic)
    except InvalidInputError as error:
        if model.quadratic is None:
            raise
        name, value = origin
        raise checks.fail(name, "a linear or convex quadratic program", f"{value}: {error}") from error
    constant = model.offset or None
    if predict is None:
        program = program if constant is None else program.parametrized(constant=constant)
        program.nominal = torch.from_numpy(model.coefficients)
        return program
    chosen = positions("predict", predict, model.names, "its variables")
    known = Affine.part(chosen, torch.from_numpy(model.coefficients))
    program = program.parametrized(known, constant=constant, names=[model.names[j] for j in chosen])
    program.nominal = torch.from_numpy(model.coefficients[chosen])
    return program


def program_of_cvxpy(read: CvxpyProgram) -> LinearProgram:
    """The program of a cvxpy problem, parametrized by its parameters."""
    equal = read.equality
    blocks = {("A_eq", "b_eq"): equal, ("A_ub", "b_ub"): ~equal}
    rows, moved = {}, {}
    for (matrix, side), which in blocks.items():
        if which.any():
            rows |= {matrix: read.matrix[which], side: read.rhs[which].known}
            moved[side] = _affine(read.rhs[which])
    arguments = rows | {
        "bounds": (read.lower, read.upper), "integrality": read.integrality, "n": len(read.lower),
        "names": read.names, "sense": "max" if read.maximize else "min",
    }  # fmt: skip
    form = read.quadratic
    if form is None or form.matrix is None:
        program = _program(arguments, None if form is None else form.known)
    else:
        known, maps = _moved_form(form.scaled(_sign(arguments["sense"])))
        program = _quadratic_program()(**known, **arguments)
        moved |= maps
    constant = _affine(read.constant) or (float(read.constant.known[0]) or None)
    coefficients = _affine(read.coefficients)
    program = program.parametrized(
        read.coefficients.known if coefficients is None else coefficients, constant=constant, names=read.parameters,
        **moved,
    )  # fmt: skip
    program.nominal = None if read.nominal is None else torch.from_numpy(read.nominal)
    program.shapes = read.shapes
    return program


def _program(arguments: dict[str, Any], quadratic: scipy.sparse.csr_array | None) -> LinearProgram:
    """`quadratic` is that of the objective in its own sense; `Q` is positive semidefinite in both."""
    if quadratic is None:
        return linear_program()(**arguments)
    Q: Any = _sign(arguments["sense"]) * quadratic
    part: dict[str, Any] = {"diagonal": Q.diagonal()} if _is_diagonal(Q) else {"Q": Q}
    return _quadratic_program()(**part, **arguments)


def _sign(sense: Sense) -> float:
    return -1.0 if sense == "max" else 1.0


def _is_diagonal(matrix: Any) -> bool:
    row, column = matrix.tocoo().coords
    return bool((row == column).all())


def _affine(part: Part) -> Affine | None:
    return Affine(part.matrix, part.known) if part.moves else None


def _moved_form(form: Form) -> tuple[dict[str, Any], dict[str, Affine]]:
    """What is known of a quadratic part and what the parameters make of it, by the arguments that take it."""
    moved: Any = form.matrix
    n, known = len(form.known.indptr) - 1, form.known.toarray()
    (place, parameter), size = moved.coords, moved.shape[1]
    row, column = np.divmod(place, n)
    if _is_diagonal(form.known) and bool((row == column).all()):
        matrix = scipy.sparse.coo_array((moved.data, (row, parameter)), shape=(n, size))
        return {"diagonal": known.diagonal()}, {"diagonal": Affine(matrix, known.diagonal())}
    return {"Q": known}, {"Q": Affine(moved, known.reshape(-1))}
