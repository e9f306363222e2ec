from __future__ import annotations

import highspy
import numpy as np
import pytest

from foresolve.errors import InvalidInputError
from foresolve.problems.readers.highs_program import read_highs
from problems.readers.highs_models import quiet


def small() -> highspy.Highs:
    model = quiet()
    bread, cake = model.addVariable(ub=4, name="bread"), model.addIntegral(lb=1, name="cake")
    model.addConstr(bread + 2 * cake <= 8)
    model.addConstr(bread - cake == 0.5)
    model.setObjective(3 * bread + cake + 7, highspy.ObjSense.kMaximize)
    return model


def test_reads_every_part() -> None:
    model = read_highs(small())
    assert model.matrix.toarray().tolist() == [[1, 2], [1, -1]]
    assert (model.row_lower.tolist(), model.row_upper.tolist()) == ([-np.inf, 0.5], [8.0, 0.5])
    assert (model.lower.tolist(), model.upper.tolist()) == ([0.0, 1.0], [4.0, np.inf])
    assert (model.integrality.tolist(), model.coefficients.tolist()) == ([0, 1], [3.0, 1.0])
    assert (model.offset, model.maximize, model.names) == (7.0, True, ("bread", "cake"))


def test_columns_without_names_are_numbered() -> None:
    model = quiet()
    model.addVars(2, np.zeros(2), np.ones(2))
    assert read_highs(model).names == ("x0", "x1")


def test_the_model_is_left_as_it_is() -> None:
    model = small()
    read_highs(model)
    model.run()
    assert model.getInfo().objective_function_value == pytest.approx(3 * 2.5 + 2 + 7)


def test_what_is_more_than_linear_is_refused() -> None:
    semi = small()
    semi.changeColIntegrality(0, highspy.HighsVarType.kSemiContinuous)
    with pytest.raises(InvalidInputError, match=r"`model` must be .*; got 'bread', semi-continuous\. Write it as"):
        read_highs(semi)
    curved = small()
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.start_, hessian.index_, hessian.value_ = (
        2,
        np.array([0, 1, 1]),
        np.array([0]),
        np.array([-1.0]),
    )
    curved.passHessian(hessian)
    with pytest.raises(InvalidInputError, match="`model` must be linear in its objective; got a quadratic one"):
        read_highs(curved)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"`model` must be a `highspy.Highs`; got str. .*from_mps\(path\)"):
        read_highs("model.mps")
    with pytest.raises(InvalidInputError, match=r"`model` must be a `highspy.Highs` with variables; got an empty one"):
        read_highs(quiet())
