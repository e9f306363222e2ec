"""The model that a `highspy.Highs` holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve.problems.readers.model import Model
from foresolve.problems.readers.quadratic_entries import kept
from foresolve.solvers.exact.highs_model import load_highspy


def read_highs(model: Any) -> Model:
    """The current model, as it would be solved next; refused where it has semi-continuous variables."""
    highspy = load_highspy()
    if not isinstance(model, highspy.Highs):
        remedy = "A file is read by `LinearProgram.from_mps(path)`" if isinstance(model, str) else ""
        raise checks.fail("model", "a `highspy.Highs`", type(model).__name__, remedy)
    lp = model.getLp()
    if lp.num_col_ == 0:
        raise checks.fail("model", "a `highspy.Highs` with variables", "an empty one", "Pass or build a model first")
    quadratic = _quadratic(model.getModel().hessian_) if model.getHessianNumNz() > 0 else None
    return _model(lp, tuple(lp.col_names_), quadratic)


def _quadratic(hessian: Any) -> scipy.sparse.csr_array | None:
    """Both triangles, of which HiGHS keeps the lower one, column by column, or all."""
    parts = tuple(np.array(part) for part in (hessian.value_, hessian.index_, hessian.start_))
    matrix = scipy.sparse.csc_array(parts, (hessian.dim_, hessian.dim_))
    if hessian.format_ == load_highspy().HessianFormat.kTriangular:
        matrix = matrix + matrix.T - scipy.sparse.diags_array(matrix.diagonal())
    return kept(matrix)


def _model(lp: Any, given: tuple[str, ...], quadratic: scipy.sparse.csr_array | None) -> Model:
    highspy = load_highspy()
    names = tuple(name or f"x{j}" for j, name in enumerate(given or ("",) * lp.num_col_))
    parts = tuple(np.array(part) for part in (lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_))
    kind = scipy.sparse.csc_array if lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise else scipy.sparse.csr_array
    bounds = {name: np.array(getattr(lp, f"{name}_")) for name in ("row_lower", "row_upper")}
    return Model(
        matrix=scipy.sparse.csr_array(kind(parts, (lp.num_row_, lp.num_col_))), **bounds,
        lower=np.array(lp.col_lower_), upper=np.array(lp.col_upper_), integrality=_integrality(lp, names),
        coefficients=np.array(lp.col_cost_, dtype=np.float64), offset=float(lp.offset_),
        maximize=lp.sense_ == highspy.ObjSense.kMaximize, names=names, quadratic=quadratic,
        rows={name: i for i, name in enumerate(lp.row_names_) if name},
    )  # fmt: skip


def _integrality(lp: Any, names: tuple[str, ...]) -> np.ndarray:
    kinds = load_highspy().HighsVarType
    flags = np.zeros(lp.num_col_, dtype=np.int64)
    for j, kind in enumerate(lp.integrality_):
        if kind in (kinds.kSemiContinuous, kinds.kSemiInteger):
            remedy = "Write it as a continuous variable with a 0/1 switch"
            raise checks.fail("model", "of continuous and integer variables", f"{names[j]!r}, semi-continuous", remedy)
        flags[j] = kind != kinds.kContinuous
    return flags
