"""Whether a quadratic term is convex, and strictly so."""

from __future__ import annotations

from torch import Tensor

from foresolve._base import checks
from foresolve.problems.quadratic_term import QuadraticTerm
from foresolve.solvers.projection.definiteness import (
    DEFINITE,
    MOST_DENSE,
    ROUNDING,
    definite,
    definite_on_null_space,
    least_eigenvalue,
    semidefinite,
    sparse_definite,
    sparse_least_eigenvalue,
)

_WHY = "The quadratic part is subtracted, whatever `sense`, so that Q must have no negative eigenvalue"


def check_convex(term: QuadraticTerm) -> None:
    """An error where `Q` has a negative eigenvalue, which names the instance and the eigenvalue."""
    if term.diagonal is not None:
        low = term.diagonal.detach() < 0
        if bool(low.any()):
            place = tuple(low.nonzero()[0].tolist())
            raise checks.fail("diagonal", ">= 0", f"{term.diagonal[place].item():g} at {list(place)}", _WHY)
        return
    if term.matrix is None and term.entries is None:
        return
    flat = term.flat(term.batch_shape)
    if _large(term):
        for i in range(term.batch_shape.numel()):
            form = flat.form(i)
            if not sparse_definite(form, ROUNDING):
                raise _indefinite(term, i, sparse_least_eigenvalue(form))
        return
    matrices = flat.dense().detach()
    convex = semidefinite(matrices)
    if not bool(convex.all()):
        first = int((~convex).nonzero()[0, 0])
        raise _indefinite(term, first, least_eigenvalue(matrices[first]))


def _indefinite(term: QuadraticTerm, i: int, eigenvalue: float) -> checks.InvalidInputError:
    where = f" in {checks.instance_names([i], term.batch_shape)}" if term.batch_shape else ""
    remedy = f"{_WHY}; a predicted Q is best given by its `factor`"
    return checks.fail("Q", "positive semidefinite", f"smallest eigenvalue {eigenvalue:.6g}{where}", remedy)


def is_definite(term: QuadraticTerm) -> bool:
    """Whether `x'Qx > 0` for every `x != 0`, in every instance."""
    if term.diagonal is not None and bool((term.diagonal.detach() > 0).all()):
        return True
    if term.matrix is None and term.entries is None and term.factor is None:
        return False
    flat = term.flat(term.batch_shape)
    if _large(term):
        return all(sparse_definite(flat.form(i), -DEFINITE) for i in range(term.batch_shape.numel()))
    return bool(definite(flat.dense().detach()).all())


def is_definite_on_null_space(term: QuadraticTerm, rows: Tensor) -> bool:
    """Whether `d'Qd > 0` for every `d != 0` with `rows d = 0`, in every instance; `rows` are `(*batch, m, n)`."""
    shapes = {"`Q`": term.batch_shape, "the rows": rows.shape[:-2]}
    batch = checks.broadcast_batch(shapes)
    forms = term.flat(batch).dense().detach().cpu().numpy()
    flat = rows.detach().expand(*batch, *rows.shape[-2:]).reshape(batch.numel(), *rows.shape[-2:]).cpu().numpy()
    count = batch.numel() if term.batch_shape or rows.ndim > 2 else 1
    return all(definite_on_null_space(forms[i if len(forms) > 1 else 0], flat[i]) for i in range(count))


def _large(term: QuadraticTerm) -> bool:
    return term.entries is not None and term.n > MOST_DENSE
