from __future__ import annotations

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.problems.readers.highs_program import read_highs
from mistakes import mistake
from problems.readers.highs_models import curved, pairs_in, pairs_of, quiet


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


def test_what_is_semi_continuous_is_refused() -> None:
    semi = small()
    semi.changeColIntegrality(0, highspy.HighsVarType.kSemiContinuous)
    with mistake("model", "'bread'", "0/1"):
        read_highs(semi)


@pytest.mark.parametrize("square", [False, True])
def test_a_quadratic_objective(square: bool) -> None:
    model, hessian = small(), highspy.HighsHessian()
    entries = {"start": [0, 2, 4], "index": [0, 1, 0, 1], "value": [-2.0, 1.0, 1.0, -4.0]}
    if not square:
        entries = {"start": [0, 2, 3], "index": [0, 1, 1], "value": [-2.0, 1.0, -4.0]}
    formats = highspy.HessianFormat
    hessian.dim_, hessian.format_ = 2, formats.kSquare if square else formats.kTriangular
    for name, part in entries.items():
        setattr(hessian, f"{name}_", np.array(part))
    model.passHessian(hessian)
    form = read_highs(model).quadratic
    assert form is not None
    assert form.toarray().tolist() == [[-2.0, 1.0], [1.0, -4.0]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_quadratic_forms_are_those_of_highs(seed: int) -> None:
    model = curved(seed)
    assert pairs_in(read_highs(model)) == pairs_of(model)


def test_a_form_of_zeros_is_none() -> None:
    model, hessian = small(), highspy.HighsHessian()
    hessian.dim_, hessian.start_ = 2, np.array([0, 1, 2])
    hessian.index_, hessian.value_ = np.array([0, 1]), np.zeros(2)
    model.passHessian(hessian)
    assert read_highs(model).quadratic is None


def test_what_is_no_model_is_refused() -> None:
    with mistake("model", "str", "from_mps(path)"):
        read_highs("model.mps")
    with mistake("model", "empty"):
        read_highs(quiet())
