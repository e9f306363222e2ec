"""What of a cvxpy problem is predicted, and whether it is a linear or quadratic program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foresolve._base import checks
from foresolve.problems.readers.model import positions, shown

LINEAR = "linear, or quadratic in its objective alone"
# Attributes of matrices that cvxpy stores by fewer numbers than they have entries.
REDUCED = ("symmetric", "diag", "PSD", "NSD", "hermitian", "sparsity", "complex", "imag")


def chosen_parameters(cvxpy: Any, problem: Any, parameter: Any) -> list[Any]:
    """The parameters that are predicted: all, or those that `parameter` gives as objects or names."""
    if not isinstance(problem, cvxpy.Problem):
        raise checks.fail("problem", "a `cvxpy.Problem`", type(problem).__name__)
    known = list(dict.fromkeys(problem.parameters()))
    if not known:
        remedy = "Write what is predicted as `cvxpy.Parameter(size, name=...)` in the objective or a constraint"
        raise checks.fail("problem", "one with parameters", "a problem without any", remedy)
    _check_names("parameters", known)
    if parameter is None:
        chosen = known
    else:
        given = [parameter] if isinstance(parameter, str | cvxpy.Parameter) else list(parameter)
        wanted = [part.name() if isinstance(part, cvxpy.Parameter) else part for part in given]
        chosen = [known[j] for j in positions("parameter", wanted, [part.name() for part in known], "its parameters")]
    _check_forms(problem, chosen)
    for leaf in chosen:
        _check_entries("parameter", leaf)
    for leaf in problem.variables():
        _check_entries("problem", leaf)
        _check_bounds(cvxpy, leaf)
    _check_names("variables", problem.variables())
    return chosen


def _check_forms(problem: Any, chosen: list[Any]) -> None:
    """A predicted matrix of a quadratic form is nothing that cvxpy knows as affine."""
    predicted = {part.id for part in chosen}
    for square in squares(problem.objective.expr):
        if type(square).__name__ == "QuadForm":
            guilty = [leaf.name() for leaf in square.args[1].parameters() if leaf.id in predicted]
            if guilty:
                expected = "in the linear part of the objective or on right-hand sides"
                remedy = (
                    "Leave it out of the cvxpy problem, and give the quadratic form by "
                    "`problem.parametrized(factor=...)` or `problem.parametrized(Q=...)`"
                )
                raise checks.fail("parameter", expected, f"{shown(guilty)} in {square!s:.80}", remedy)


def _check_entries(argument: str, leaf: Any) -> None:
    special = [name for name in REDUCED if leaf.attributes.get(name)]
    if special:
        remedy = "State it as a constraint, for example `X == X.T`"
        raise checks.fail(argument, "made of plain real entries", f"{leaf.name()!r}, which is {special[0]}", remedy)


def _check_bounds(cvxpy: Any, variable: Any) -> None:
    """Bounds that are attributes are numbers: to cvxpy's rules, a parameter there is a factor of the variable."""
    for bound in variable.attributes.get("bounds") or ():
        if isinstance(bound, cvxpy.Expression) and bound.parameters():
            name = bound.parameters()[0].name()
            remedy = f"State them as constraints, for example `{variable.name()} <= {name}`"
            got = f"{variable.name()!r}, whose `bounds` depend on the parameter {name!r}"
            raise checks.fail("problem", "one whose variables have numbers as `bounds`", got, remedy)


def _check_names(what: str, leaves: list[Any]) -> None:
    names = [leaf.name() for leaf in leaves]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        remedy = f"Name them: `cvxpy.{'Parameter' if what == 'parameters' else 'Variable'}(size, name=...)`"
        raise checks.fail("problem", f"one whose {what} have names of their own", f"{twice!r} more than once", remedy)


def with_known_values(cvxpy: Any, problem: Any, chosen: list[Any]) -> Any:
    """The same problem with the values of all other parameters in their place."""
    predicted = {part.id for part in chosen}
    others = [part for part in problem.parameters() if part.id not in predicted]
    unset = [part.name() for part in others if part.value is None]
    if unset:
        remedy = "Set its `value`, or name it in `parameter` if it is predicted"
        raise checks.fail("problem", "one whose other parameters have values", f"{shown(unset)} without one", remedy)
    if not others:
        return problem

    def replaced(part: Any) -> Any:
        if (isinstance(part, cvxpy.Parameter) and part.id in predicted) or not part.parameters():
            return part
        known = not part.variables() and all(leaf.id not in predicted for leaf in part.parameters())
        if known and isinstance(part, cvxpy.Expression):
            return cvxpy.Constant(part.value)
        return part.copy([replaced(inner) for inner in part.args]) if part.args else part

    return cvxpy.Problem(replaced(problem.objective), [replaced(part) for part in problem.constraints])


def with_inner_products(cvxpy: Any, problem: Any) -> Any:
    """The same problem with sums of products in its objective, `sum(multiply(C, X))`, as `vec(C) @ vec(X)`.

    cvxpy's own matrices for the former have a row for each pair of entries: 60 GiB where `C` has 300 x 300.
    """

    total = cvxpy.atoms.affine.sum.Sum

    def replaced(part: Any) -> Any:
        if isinstance(part, total) and part.axis is None and isinstance(part.args[0], cvxpy.multiply):
            factors = part.args[0].args
            if factors[0].shape == factors[1].shape and not part.keepdims:
                left, right = (cvxpy.vec(replaced(factor), order="F") for factor in factors)
                return (left @ right) if left.is_constant() else (right @ left)
        return part.copy([replaced(inner) for inner in part.args]) if part.args else part

    return cvxpy.Problem(replaced(problem.objective), problem.constraints)


def with_plain_forms(cvxpy: Any, problem: Any) -> Any:
    """The same problem with forms of what a parameter moves, `quad_form(x - target, P)`, as those of a variable.

    cvxpy itself says that they are parametrized well (DPP), and then, since 1.9, cannot reduce them.
    """
    rows = list(problem.constraints)

    def replaced(part: Any) -> Any:
        if type(part).__name__ == "QuadForm" and part.args[0].parameters() and part.args[0].variables():
            moved = cvxpy.Variable(part.args[0].shape)
            rows.append(moved == part.args[0])
            return part.copy([moved, part.args[1]])
        return part.copy([replaced(inner) for inner in part.args]) if part.args else part

    return cvxpy.Problem(replaced(problem.objective), rows)


def check_program(cvxpy: Any, problem: Any) -> None:
    """Pieces of linear functions are fine, for cvxpy writes them as rows; so is a quadratic objective of them.

    Anything beyond is refused by name.
    """
    for constraint in problem.constraints:
        kind = type(constraint).__name__
        if kind not in {"Inequality", "Equality", "Zero", "NonNeg", "NonPos"}:
            raise checks.fail("problem", LINEAR, f"the constraint {constraint!s:.80} ({kind})")
    rows = (part for row in problem.constraints for part in row.args)
    curved = [*_curved(problem.objective.expr, quadratic=True), *(part for row in rows for part in _curved(row))]
    if curved:
        remedy = "Layers for conic programs are those of cvxpylayers"
        raise checks.fail("problem", LINEAR, f"{curved[0]!s:.80} in it", remedy)
    _check_convex(problem)
    whole = [leaf.name() for leaf in problem.variables() if leaf.attributes["boolean"] or leaf.attributes["integer"]]
    if whole and not problem.objective.expr.is_pwl():
        expected = "of continuous variables where its objective is quadratic"
        raise checks.fail("problem", expected, f"{shown(whole)}, boolean or integer")


def _check_convex(problem: Any) -> None:
    if not problem.is_dcp():
        raise checks.fail("problem", "convex by cvxpy's rules (DCP)", "one that is not", "See `problem.is_dcp()`")
    if not problem.is_dcp(dpp=True):
        places = {"the objective": problem.objective} | {f"{row!s:.80}": row for row in problem.constraints}
        names = [(place, part) for place, part in places.items() if not part.is_dcp(dpp=True)]
        place, part = names[0] if names else ("the objective", problem.objective)
        parameters = shown([leaf.name() for leaf in part.parameters()])
        remedy = (
            "A product of parameters, or of a parameter and a parametrized bound, can become a parameter of its own"
        )
        raise checks.fail("parameter", "one that enters the problem affinely (DPP)", f"{parameters} in {place}", remedy)


def squares(objective: Any) -> list[Any]:
    """The innermost parts of an objective that are not linear piece by piece."""
    return list(_curved(objective))


def _curved(expression: Any, *, quadratic: bool = False) -> Iterator[Any]:
    """The innermost parts that no linear function has as pieces, nor, with `quadratic`, a quadratic one."""

    def fine(part: Any) -> bool:
        return not part.variables() or part.is_pwl() or (quadratic and part.is_qpwa())

    if fine(expression):
        return
    for part in expression.args:
        yield from _curved(part, quadratic=quadratic)
    if all(fine(part) for part in expression.args):
        yield expression
