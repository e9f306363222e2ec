"""Random quadratic problems in cvxpy, and what cvxpy itself says of them and of others."""

from __future__ import annotations

import cvxpy as cp
import highspy
import numpy as np
import scipy.sparse

from foresolve.problems.readers.cvxpy_program import CvxpyProgram
from problems.readers.highs_models import pairs_of


class Investor:
    """A cvxpy problem with every kind of square, and parameters in the linear part, on the right and as factors."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 5))
        x, spent = cp.Variable(n, nonneg=True, name="x"), cp.Variable((2, n), name="spent", bounds=[-1, 2])
        self.price = cp.Parameter(n, name="price")
        self.target = cp.Parameter((2, n), name="target")
        self.risk = cp.Parameter(nonneg=True, name="risk")
        self.parameters = [self.target, self.price]
        mix = rng.normal(size=(n, n))
        cost = self.price @ x + cp.quad_form(x, mix.T @ mix) + cp.sum_squares(spent - self.target) + 2
        cost = cost + cp.norm1(x - 0.5) + 0.5 * cp.square(cp.max(cp.abs(spent)))
        if rng.random() < 0.5:
            self.parameters.append(self.risk)
            cost = cost + self.risk * cp.sum_squares(x) + cp.sum(cp.multiply(rng.random(n), cp.square(x)))
        self.maximize = bool(rng.random() < 0.5)
        limits = [cp.sum(x) == 1, cp.sum(spent, axis=0) + x >= self.target[0] - 3]
        self.problem = cp.Problem(cp.Maximize(-cost) if self.maximize else cp.Minimize(cost), limits)

    def draw(self) -> np.ndarray:
        """Values for the parameters, which are given to cvxpy as well."""
        for part in self.parameters:
            part.value = (
                abs(self.rng.normal(size=part.shape)) if part is self.risk else self.rng.normal(size=part.shape)
            )
        return np.concatenate([np.reshape(part.value, -1) for part in self.parameters])

    def optimum(self) -> float:
        """The best objective by cvxpy's own solver."""
        self.problem.solve(solver=cp.CLARABEL)
        return self.problem.value


def optimum_as_read(read: CvxpyProgram, theta: np.ndarray) -> float:
    """The best objective of what was read, by the same solver."""
    rhs, costs, constant = (part.known + part.matrix @ theta for part in (read.rhs, read.coefficients, read.constant))
    x, n, sign = cp.Variable(len(costs)), len(costs), -1.0 if read.maximize else 1.0
    objective = sign * costs @ x + sign * constant[0]
    if read.quadratic is not None:
        moved = 0.0 if read.quadratic.matrix is None else (read.quadratic.matrix @ theta).reshape(n, n)
        form = sign * (read.quadratic.known.toarray() + moved)
        assert np.array_equal(form, form.T)
        objective = objective + cp.quad_form(x, cp.psd_wrap(form)) / 2
    low, high, equal = np.isfinite(read.lower), np.isfinite(read.upper), read.equality
    rows = [x[low] >= read.lower[low], x[high] <= read.upper[high]]
    rows += [read.matrix[equal] @ x == rhs[equal]] if equal.any() else []
    rows += [read.matrix[~equal] @ x <= rhs[~equal]] if not equal.all() else []
    problem = cp.Problem(cp.Minimize(objective), rows)
    problem.solve(solver=cp.CLARABEL)
    return sign * problem.value


def optimum_of_highs(model: highspy.Highs) -> float:
    """The best objective of a quadratic program in HiGHS, whose own solver misses it by far for one such in fifty."""
    lp, n = model.getLp(), model.getNumCol()
    place, form = {name: j for j, name in enumerate(lp.col_names_)}, np.zeros((n, n))
    for names, value in pairs_of(model).items():
        i, j = min(place[name] for name in names), max(place[name] for name in names)
        form[i, j] = form[j, i] = value
    parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_), np.array(lp.a_matrix_.start_))
    rowwise = lp.a_matrix_.format_ == highspy.MatrixFormat.kRowwise
    kind = scipy.sparse.csr_array if rowwise else scipy.sparse.csc_array
    entries = np.vstack([kind(parts, (lp.num_row_, n)).toarray(), np.eye(n)])
    low, high = np.concatenate([lp.row_lower_, lp.col_lower_]), np.concatenate([lp.row_upper_, lp.col_upper_])
    least, most = np.isfinite(low), np.isfinite(high)
    x, sign = cp.Variable(n), -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    objective = sign * (np.array(lp.col_cost_) @ x + lp.offset_) + cp.quad_form(x, cp.psd_wrap(sign * form)) / 2
    problem = cp.Problem(cp.Minimize(objective), [entries[least] @ x >= low[least], entries[most] @ x <= high[most]])
    problem.solve(solver=cp.CLARABEL)
    return sign * problem.value
