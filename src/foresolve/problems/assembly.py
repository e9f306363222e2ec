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
    model: Model,
    predict: Sequence[str] | None,
    predict_rows: Sequence[str] | None,
    sense: Sense,
    origin: tuple[str, str],
) -> LinearProgram:
    """The program of a file or of HiGHS.

    Parameters
    ----------
    model: what was read.
    predict: the names of the variables whose coefficients are predicted; `None` for all.
    predict_rows: the names of the rows whose right-hand sides are predicted, after the coefficients.
    sense: of the program.
    origin: the argument that the model came by, and what a message calls its value.
    """
    arguments = model.feasible_set() | {"sense": sense}
    try:
        program = _program(arguments, model.quadratic)
    except InvalidInputError as error:
        name, value = origin
        raise checks.fail(name, "a linear or convex quadratic program", f"{value}: {error}") from error
    if predict is None and predict_rows is None:
        program = program if not model.offset else program.parametrized(constant=model.offset)
        program.nominal = torch.from_numpy(model.coefficients)
        return program
    return _predicting(program, model, arguments, predict, predict_rows)


def _predicting(
    program: LinearProgram, model: Model, arguments: dict[str, Any], predict: Any, predict_rows: Any
) -> LinearProgram:
    """The program whose parameters are some coefficients, then some right-hand sides, as the model has them."""
    sides = {} if predict_rows is None else model.sides(predict_rows)
    if predict is None:
        chosen = list(range(program.n))
    elif sides and not len(predict):
        chosen = []
    else:
        chosen = positions("predict", predict, model.names, "its variables")
    labels = [model.names[j] for j in chosen]
    both = next((label for label in labels if label in sides), None)
    if both is not None:
        remedy = "Give the row another name in the model"
        raise checks.fail("predict_rows", "other names than those of predicted variables", repr(both), remedy)
    count, size = len(chosen), len(labels) + len(sides)
    places = list(enumerate(sides.values(), count))
    blocks = {
        block: _signed([(k, *side[1:3]) for k, side in places if side.block == block], arguments[block], size)
        for block in dict.fromkeys(side.block for side in sides.values())
    }
    coefficients = _signed([(k, j, 1.0) for k, j in enumerate(chosen)], model.coefficients, size)
    constant = model.offset or None
    program = program.parametrized(coefficients, constant=constant, names=[*labels, *sides], **blocks)
    nominal = [*model.coefficients[chosen], *(side.value for side in sides.values())]
    program.nominal = torch.tensor(nominal, dtype=torch.float64)
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


def _signed(entries: Sequence[tuple[int, int, float]], known: np.ndarray, size: int) -> Affine:
    """Known numbers, in place of which some parameters stand: `(parameter, place, sign)`, of `size` parameters."""
    parameters, places, signs = (np.array(part) for part in zip(*entries)) if entries else (np.zeros(0, int),) * 3
    kept = known.copy()
    kept[places] = 0.0
    return Affine(scipy.sparse.coo_array((signs, (places, parameters)), shape=(len(known), size)), kept)


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
