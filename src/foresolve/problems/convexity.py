"""Whether a quadratic term is convex, and strictly so."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.quadratic_term import QuadraticTerm
from foresolve.solvers.projection.definiteness import (
    ROUNDING,
    definite_on_null_space,
    least_eigenvalue,
    semidefinite,
    sparse_definite,
    sparse_least_eigenvalue,
)

_WHY = "The quadratic part is subtracted, whatever `sense`, so that Q must have no negative eigenvalue"
_KEPT = "predicted variances stay there with a softplus behind the model"


def check_convex(term: QuadraticTerm) -> None:
    """An error where `Q` has a negative eigenvalue, which names the instance and the eigenvalue."""
    if term.diagonal is not None:
        low = term.diagonal.detach() < 0
        if bool(low.any()):
            place = tuple(low.nonzero()[0].tolist())
            found = f"{term.diagonal[place].item():g} at {list(place)}"
            raise checks.fail("diagonal", ">= 0", found, f"{_WHY}; {_KEPT}")
        return
    if term.matrix is None and term.entries is None:
        return
    flat = term.flat(term.batch_shape)
    open_ = (~term.definite).nonzero().flatten()
    if term.large:
        for i in open_.tolist():
            form = flat.form(i)
            if not sparse_definite(form, ROUNDING):
                raise _indefinite(term, i, sparse_least_eigenvalue(form))
    elif len(open_):
        matrices = flat.dense().detach()[open_]
        convex = semidefinite(matrices)
        if not bool(convex.all()):
            first = int((~convex).nonzero()[0, 0])
            raise _indefinite(term, int(open_[first]), least_eigenvalue(matrices[first]))


def _indefinite(term: QuadraticTerm, i: int, eigenvalue: float) -> checks.InvalidInputError:
    where = f" in {checks.instance_names([i], term.batch_shape)}" if term.batch_shape else ""
    remedy = f"{_WHY}; a predicted Q is best given by its `factor`: with whatever is predicted or drawn, it is convex"
    return checks.fail("Q", "positive semidefinite", f"smallest eigenvalue {eigenvalue:.6g}{where}", remedy)


def definite_on_null_space_of(term: QuadraticTerm, rows: Tensor) -> Tensor:
    """In which instances `d'Qd > 0` for every `d != 0` with `rows d = 0`: `(1 or B,)`; `rows` are `(*batch, m, n)`."""
    batch = checks.broadcast_batch({"`Q`": term.batch_shape, "the rows": rows.shape[:-2]})
    forms = term.flat(batch).dense().detach().cpu().numpy()
    flat = rows.detach().expand(*batch, *rows.shape[-2:]).reshape(batch.numel(), *rows.shape[-2:]).cpu().numpy()
    count = batch.numel() if term.batch_shape or rows.ndim > 2 else 1
    strict = term.definite.expand(count)
    return torch.tensor([bool(strict[i]) or definite_on_null_space(forms[i if len(forms) > 1 else 0], flat[i])
                         for i in range(count)])  # fmt: skip
