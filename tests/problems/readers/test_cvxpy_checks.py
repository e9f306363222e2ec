from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

from foresolve.problems.readers.cvxpy_program import read_cvxpy
from mistakes import mistake

x = cp.Variable(3, name="x")
price = cp.Parameter(3, name="price", value=np.ones(3))
load = cp.Parameter(name="load")
known = cp.Parameter(3, name="known", value=np.ones(3))
factor = cp.Parameter((2, 3), name="factor")
spread = cp.Parameter((3, 3), PSD=True, name="spread")
on = cp.Variable(boolean=True, name="on")
BOX = [x >= 0, x <= 1]


def bounded_by(limit: cp.Parameter) -> cp.Problem:
    y = cp.Variable(3, name="y", bounds=[0, limit])  # an error of cvxpy itself before 1.8
    return cp.Problem(cp.Minimize(price @ y))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no problem": (lambda: read_cvxpy(5, None), ("problem", "cvxpy.Problem", "int")),
    "no parameters": (lambda: made(cp.sum(x)), ("problem", "cvxpy.Parameter")),
    "an unknown name": (lambda: made(price @ x, parameter="Price"), ("parameter", "'Price'")),
    "twice": (lambda: made(price @ x, parameter=[price, price]), ("parameter", "'price' twice")),
    "another's parameter": (lambda: made(price @ x, parameter=load), ("parameter", "'load'", "'price'")),
    "no value": (lambda: made(price @ x + load, parameter=price), ("problem", "'load'", "value")),
    "a norm": (lambda: made(price @ x, [cp.norm(x) <= 1]), ("problem", "(x, 2) in it")),
    "an exponential": (lambda: made(price @ x, [cp.sum(cp.exp(x)) <= 5]), ("problem", "exp(x)")),
    "a cone": (lambda: made(price @ x, [cp.SOC(x[0], x[1:])]), ("problem", "constraint SOC")),
    "a matrix cone": (lambda: made(price @ x, [cp.diag(x) >> 0]), ("problem", "(PSD)")),
    "a quadratic row": (lambda: made(price @ x, [cp.sum_squares(x) <= 1]), ("problem", "quad_over_lin")),
    "more than a square": (lambda: made(price @ x + cp.sum_squares(x) + cp.exp(x[0])), ("problem", "exp(x[0])")),
    "a piece of squares": (lambda: made(price @ x + cp.max(cp.square(x))), ("problem", "max(")),
    "a concave square": (lambda: made(price @ x - cp.sum_squares(x)), ("problem", "DCP")),
    "an integer": (lambda: made(price @ x + cp.sum_squares(x) + on), ("problem", "'on'")),
    "in a square": (lambda: made(cp.sum_squares(factor @ x)), ("parameter", "'factor'", "factor=...")),
    "in a form": (lambda: made(cp.quad_form(x, spread)), ("parameter", "'spread' in Q", "factor=...")),
    "below a square": (lambda: made(cp.quad_over_lin(x, load)), ("parameter", "DPP", "'load'")),
    "in a piece, beside a square": (
        lambda: made(cp.abs(price @ x) + cp.sum_squares(x)),
        ("parameter", "'price'"),
    ),
    "not convex": (lambda: made(price @ x - cp.abs(x[0])), ("problem", "DCP")),
    "a product of parameters": (lambda: made(price[0] * price[1] * x[0]), ("parameter", "DPP", "'price'")),
    "in a row": (lambda: made(cp.sum(x), [price @ x <= 1]), ("parameter", "'price'")),
    "in a piece": (lambda: made(cp.abs(price @ x)), ("parameter", "'price'")),
    "of no effect": (lambda: made(cp.sum(x) + 0 * price[0]), ("parameter", "'price'")),
    "symmetric": (lambda: made(price @ x + cp.Variable((2, 2), symmetric=True, name="S")[0, 0]), ("problem", "'S'")),
    "complex": (lambda: made(price @ x + cp.real(cp.Variable(complex=True, name="z"))), ("problem", "'z'")),
    "names twice": (lambda: made(price @ x + cp.Variable(name="x")), ("problem", "'x'")),
    "bounds": (lambda: read_cvxpy(bounded_by(price), None), ("problem", "y <= price")),
    "known bounds": (lambda: read_cvxpy(bounded_by(known), price), ("problem", "y <= known")),
}  # fmt: skip


def made(objective: cp.Expression, constraints: list[cp.Constraint] | None = None, parameter: object = None) -> object:
    return read_cvxpy(cp.Problem(cp.Minimize(objective), [*BOX, *(constraints or [])]), parameter)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, about = REFUSED[name]
    with mistake(*about):
        call()


def test_known_parameters_may_enter_as_they_like() -> None:
    """What is not predicted is a number: products, roots and entries of rows included."""
    efficiency = cp.Parameter(nonneg=True, name="efficiency", value=4.0)
    problem = cp.Problem(cp.Minimize(price @ x), [efficiency * cp.sqrt(efficiency) * cp.sum(x) >= 2, *BOX])
    read = read_cvxpy(problem, "price")
    assert read.matrix.toarray().tolist() == [[-8.0, -8.0, -8.0]]
    assert read.rhs.known.tolist() == [-2.0]


def test_known_parameters_within_squares() -> None:
    weight = cp.Parameter((3, 3), PSD=True, name="weight", value=np.diag([1.0, 2.0, 3.0]))
    mix = cp.Parameter((1, 3), name="mix", value=np.array([[1.0, 2.0, 0.0]]))
    objective = price @ x + cp.quad_form(x, weight) + cp.sum_squares(mix @ x)
    read = read_cvxpy(cp.Problem(cp.Minimize(objective), BOX), "price")
    assert read.quadratic is not None
    assert read.quadratic.known.toarray()[:3, :3].tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert read.matrix.toarray().tolist() in ([[1, 2, 0, -1]], [[-1, -2, 0, 1]])


def test_the_problem_and_its_values_are_left_as_they_are() -> None:
    problem = cp.Problem(cp.Minimize(price @ x + load), [cp.sum(x) == load, *BOX])
    before = price.value.copy()
    assert read_cvxpy(problem, None).nominal is None
    assert load.value is None
    assert np.array_equal(price.value, before)


def test_what_cvxpy_itself_cannot_reduce_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise cp.error.SolverError("out of ideas")

    monkeypatch.setattr(cp.Problem, "get_problem_data", failing)
    with mistake("problem", "out of ideas"):
        made(price @ x)
