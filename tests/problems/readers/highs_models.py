"""Random mixed-integer and quadratic programs in HiGHS, and what HiGHS itself says of them."""

from __future__ import annotations

from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import highspy
import numpy as np
import scipy.sparse

from foresolve.problems.readers.model import Model, unlimited

# Before, HiGHS loses entries of QUADOBJ above the diagonal, misplaces those that are out of order, and refuses products
# that come twice in an LP file.
WHOLE_FORMS = tuple(map(int, version("highspy").split(".")[:2])) >= (1, 14)


def quiet() -> highspy.Highs:
    model = highspy.Highs()
    for option in ("output_flag", "log_to_console"):
        model.setOptionValue(option, False)
    model.setOptionValue("mip_rel_gap", 0.0)
    return model


def drawn(seed: int, *, boxed: bool = False) -> highspy.Highs:
    """Every kind of row, bound and variable; with `boxed`, bounded and feasible at a drawn point."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 7)), int(rng.integers(0, 6))
    matrix = np.where(rng.random((m, n)) < 0.6, rng.integers(-5, 6, (m, n)) / rng.choice([1, 4]), 0.0)
    integer = rng.random(n) < 0.4
    point = rng.integers(0, 4, n).astype(float)
    inner = matrix @ point
    slack = rng.integers(1, 6, m).astype(float)
    kind = rng.integers(0, 4 if boxed else 5, m)  # equal, at most, at least, ranged, free
    lower = np.select([kind == 0, kind == 2, kind == 3], [inner, inner - slack, inner - slack], -np.inf)
    upper = np.select([kind == 0, kind == 1, kind == 3], [inner, inner + slack, inner + slack + 1], np.inf)
    low, high = np.zeros(n), point + rng.integers(0, 4, n)
    if not boxed:
        bound = rng.integers(0, 6, n)  # usual, free, fixed, at most a negative number, binary, from a negative number
        low = np.select([bound == 1, bound == 2, bound == 3, bound == 5], [-np.inf, 2.0, -np.inf, -3.5], 0.0)
        high = np.select([bound == 2, bound == 3, bound == 4], [2.0, -1.5, 1.0], np.inf)
    costs = rng.integers(-9, 10, n) / 4
    # LP files of HiGHS lose columns that stand nowhere, or among their bounds alone; free rows are not written.
    costs[(costs == 0) & ~matrix[kind < 4].any(0)] = 1.0
    return made(matrix, (lower, upper), (low, high), integer, costs, rng)


def made(matrix, rows, bounds, integer, costs, rng) -> highspy.Highs:
    m, n = matrix.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.offset_ = costs, float(rng.integers(-3, 4))
    lp.col_lower_, lp.col_upper_ = bounds
    lp.row_lower_, lp.row_upper_ = rows
    entries = scipy.sparse.csr_array(matrix)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = entries.indptr, entries.indices, entries.data
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if flag else kinds.kContinuous for flag in integer]
    lp.sense_ = highspy.ObjSense.kMaximize if rng.random() < 0.5 else highspy.ObjSense.kMinimize
    lp.col_names_ = [f"v{j}" for j in range(n)]
    lp.row_names_ = [f"r{i}" for i in range(m)]
    model = quiet()
    model.passModel(lp)
    return model


def curved(seed: int, *, rank: int | None = None) -> highspy.Highs:
    """A program of `drawn` without integers and, in its sense, convex: some pairs of variables, at times all."""
    model, rng = drawn(seed, boxed=True), np.random.default_rng(seed)
    n = model.getNumCol()
    factor = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1)) if rank is None else rank)) / 2
    factor[0, 0] = 1.0
    for j in range(n):
        model.changeColIntegrality(j, highspy.HighsVarType.kContinuous)
    maximize = model.getLp().sense_ == highspy.ObjSense.kMaximize
    form = scipy.sparse.csc_array(np.tril((-1.0 if maximize else 1.0) * factor @ factor.T))
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = form.indptr, form.indices, form.data
    assert model.passHessian(hessian) == highspy.HighsStatus.kOk
    return model


def pairs_of(model: highspy.Highs) -> dict[frozenset[str], float]:
    """The entries of HiGHS' quadratic form that are not 0, by the names of their columns."""
    names, hessian = list(model.getLp().col_names_), model.getModel().hessian_
    assert hessian.format_ == highspy.HessianFormat.kTriangular
    starts, found = list(hessian.start_), {}
    for j, (start, end) in enumerate(pairwise(starts)):
        for i, value in zip(hessian.index_[start:end], hessian.value_[start:end]):
            found |= {frozenset({names[i], names[j]}): float(value)} if value else {}
    return found


def pairs_in(model: Model) -> dict[frozenset[str], float]:
    """The same of ours, whose two triangles agree and hold no zeros."""
    if model.quadratic is None:
        return {}
    assert (model.quadratic != model.quadratic.T).nnz == 0
    assert model.quadratic.data.all()
    entries = model.quadratic.tocoo()
    return {
        frozenset({model.names[i], model.names[j]}): float(value)
        for i, j, value in zip(*entries.coords, entries.data)
    }  # fmt: skip


def optimum(model: highspy.Highs) -> float:
    """The best objective, its constant included."""
    model.run()
    assert model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return model.getInfo().objective_function_value


def as_highs_reads(path: Path) -> dict[str, object]:
    """The numbers in a file by HiGHS' own reader, columns by name."""
    model = quiet()
    assert model.readModel(str(path)) != highspy.HighsStatus.kError
    lp = model.getLp()
    parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_), np.array(lp.a_matrix_.start_))
    colwise = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    kind = scipy.sparse.csc_array if colwise else scipy.sparse.csr_array
    flags = [int(kind) for kind in lp.integrality_] or [0] * lp.num_col_
    columns = zip(lp.col_names_, lp.col_cost_, unlimited(lp.col_lower_), unlimited(lp.col_upper_), flags)
    dense = kind(parts, (lp.num_row_, lp.num_col_)).toarray()
    return {
        "columns": {name: tuple(map(float, numbers)) for name, *numbers in columns},
        "rows": [dict(zip(lp.col_names_, row.tolist())) for row in dense],
        "sides": list(zip(unlimited(lp.row_lower_).tolist(), unlimited(lp.row_upper_).tolist())),
        "offset": lp.offset_,
        "maximize": lp.sense_ == highspy.ObjSense.kMaximize,
        "quadratic": pairs_of(model),
    }


def as_we_read(model: Model) -> dict[str, object]:
    """The same of ours."""
    columns = zip(
        model.names, model.coefficients, unlimited(model.lower), unlimited(model.upper), model.integrality
    )  # fmt: skip
    return {
        "columns": {name: tuple(map(float, numbers)) for name, *numbers in columns},
        "rows": [dict(zip(model.names, row.tolist())) for row in model.matrix.toarray()],
        "sides": list(zip(unlimited(model.row_lower).tolist(), unlimited(model.row_upper).tolist())),
        "offset": model.offset,
        "maximize": bool(model.maximize),
        "quadratic": pairs_in(model),
    }
