"""What users get wrong with linear problems and their layers ends in an error of ours that says so.

Each case is a call and what its message must hold: the argument, what was found, and where it helps, what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import torch
from torch import Tensor

import foresolve
from foresolve.errors import InvalidInputError
from foresolve.layers import RelativeGamma
from foresolve.problems import Assignment, MaxFlow, MinCostFlow

LP, Layer, Knapsack, TopK = (
    foresolve.LinearProgram,
    foresolve.QuadraticRelaxation,
    foresolve.Knapsack,
    foresolve.TopK,
)
Case = tuple[Callable[[], Any], tuple[str, ...]]
NAN, ROW, SIDE = float("nan"), [[1.0, 1.0]], [1.0]
ARC, TWO_ARCS = [(0, 1)], [(0, 1), (0, 1)]


def program(**arguments: Any) -> foresolve.LinearProgram:
    """A program of two variables, with other arguments."""
    return LP(**{"A_ub": ROW, "b_ub": SIDE} | arguments)


def theta(*batch: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.ones(*batch, 2).to(dtype)


ROWS: dict[str, Case] = {
    "the order of linprog": (lambda: LP([1, 2], ROW, SIDE), ("`A_ub`", "(2,)", "linprog", "problem.solve(theta)")),
    "all of linprog's order": (lambda: LP([1, 2], ROW, SIDE, ROW, SIDE), ("`A_ub`", "linprog")),
    "the order of milp": (lambda: LP([1, 2], integrality=1), ("`A_ub`", "linprog")),
    "c": (lambda: LP(c=[1, 2], A_ub=ROW, b_ub=SIDE), ("no argument `c`", "problem.solve(theta)")),
    "a typing error": (lambda: LP(A_up=ROW, b_ub=SIDE), ("no argument `A_up`", "Did you mean `A_ub`?")),
    "lower": (lambda: program(lower=0), ("no argument `lower`", "bounds=(lower, upper)")),
    "SciPy's constraints": (
        lambda: LP(constraints=scipy.optimize.LinearConstraint(ROW, 0, 1)),
        ("`constraints`", "LinearConstraint", "`LinearProgram.from_milp(constraints=...)`"),
    ),
    "constraints and bounds": (
        lambda: LP(constraints=program().constraints, bounds=np.ones((2, 2))),
        ("`constraints`", "given alone"),
    ),
    "nothing": (lambda: LP(), ("`n`", "constraint matrix")),
    "no variables": (lambda: LP(np.zeros((1, 0)), SIDE), ("number of variables", ">= 1")),
    "no b": (lambda: LP(ROW), ("`b_ub`", "given together with `A_ub`")),
    "no A": (lambda: LP(b_eq=SIDE), ("`A_eq`", "given together with `b_eq`")),
    "one row as a vector": (lambda: program(A_eq=[1, 1], b_eq=SIDE), ("`A_eq`", "(2,)", "[[...]]")),
    "rows of uneven length": (lambda: LP([[1, 1], [1]], [1, 1]), ("`A_ub`", "differ in length")),
    "words": (lambda: LP("rows", SIDE), ("`A_ub`", "array of numbers", "str")),
    "None": (lambda: LP([[1, None]], SIDE), ("`A_ub`", "finite", "[0, 1]")),
    "complex rows": (lambda: LP([[1j, 1]], SIDE), ("`A_ub`", "real", "complex128")),
    "complex tensors": (lambda: LP(torch.tensor([[1j, 1]]), SIDE), ("`A_ub`", "real", ".real")),
    "complex sparse rows": (lambda: LP(scipy.sparse.csr_array([[1j, 1]]), SIDE), ("`A_ub`", "real")),
    "complex torch sparse": (lambda: LP(torch.tensor([[1j, 1]]).to_sparse(), SIDE), ("`A_ub`", "real")),
    "float8 rows": (lambda: LP(theta(1, dtype=torch.float8_e4m3fn), SIDE), ("`A_ub`", "float8_e4m3fn", ".float()")),
    "rows without numbers": (lambda: LP(torch.ones(1, 2, device="meta"), SIDE), ("`A_ub`", "'meta'")),
    "NaN in b": (lambda: LP(ROW, [NAN]), ("`b_ub`", "finite", "nan at [0]")),
    "inf in b": (lambda: LP(ROW, [np.inf]), ("`b_ub`", "finite", "inf at [0]")),
    "NaN in A": (lambda: LP([[1, NAN]], SIDE), ("`A_ub`", "nan at [0, 1]")),
    "b too long": (lambda: LP(ROW, [1, 2]), ("`b_ub`", "the 1 rows of A_ub", "(2,)")),
    "b a column": (lambda: LP([[1, 1], [1, 0]], [[1], [2]]), ("`b_ub`", "the 2 rows", "(2, 1)")),
    "b sparse": (lambda: LP(ROW, torch.ones(1).to_sparse()), ("`b_ub`", "dense", ".to_dense()")),
    "A and b of other batches": (
        lambda: LP(torch.ones(3, 1, 2), torch.ones(4, 1)),
        ("broadcast", "A_ub (3,)", "b_ub (4,)"),
    ),
    "A and A of other batches": (
        lambda: LP(torch.ones(3, 1, 2), SIDE, torch.ones(4, 1, 2), SIDE),
        ("broadcast", "A_ub (3,)", "A_eq (4,)"),
    ),
    "A and bounds of other batches": (
        lambda: LP(torch.ones(3, 1, 2), SIDE, bounds=(0, torch.ones(4, 2))),
        ("broadcast", "A (3,)", "upper (4,)"),
    ),
    "A and A of other widths": (lambda: program(A_eq=[[1, 1, 1]], b_eq=SIDE), ("A_eq 3", "A_ub 2")),
    "bounds of another length": (lambda: program(bounds=([0, 0, 0], 1)), ("A_ub 2", "lower 3")),
    "bounds of words": (lambda: program(bounds=("a", "b")), ("`lower`", "array of numbers", "str")),
    "complex bounds": (lambda: program(bounds=(0, 1j)), ("`upper`", "real")),
    "bounds in the wrong order": (lambda: program(bounds=(1, 0)), ("`bounds`", "lower <= upper", "1.0 > 0.0")),
    "integrality of another length": (lambda: program(integrality=[1, 0, 1]), ("`integrality`", "(2,)", "(3,)")),
    "integrality of each instance": (lambda: program(integrality=[[1, 0]]), ("`integrality`", "(1, 2)", "shared")),
    "uneven integrality": (lambda: program(integrality=[[1], [0, 1]]), ("`integrality`", "uneven")),
    "integrality of SciPy's other kinds": (lambda: program(integrality=2), ("`integrality`", "0 (continuous)", "2")),
    "integrality in words": (lambda: program(integrality="all"), ("`integrality`", "all")),
    "sense": (lambda: program(sense="maximize"), ("`sense`", '"max" or "min"', "'maximize'")),
    "sense as an array": (lambda: program(sense=np.ones(2)), ("`sense`", "array")),
    "a name twice": (lambda: program(names=["a", "a"]), ("`names`", "'a' more than once")),
    "too few names": (lambda: program(names=["a"]), ("`names`", "2 variables", "1 names")),
    "names as a word": (lambda: program(names="ab"), ("`names`", "'ab'", "list")),
    "names as a number": (lambda: program(names=5), ("`names`", "5")),
    "n as a word": (lambda: LP(n="two"), ("`n`", "an integer >= 1", "'two'")),
    "no file": (lambda: LP.from_mps("missing.mps"), ("`path`", "missing.mps", "is not there")),
    "no path": (lambda: LP.from_mps(None), ("`path`", "None")),
    "a device that is not there": (lambda: program().to("gpu"), ("`device`", "available (cpu", "'gpu'")),
}  # fmt: skip

PARAMETERS: dict[str, Case] = {
    "complex": (lambda: program().solve(theta() + 1j), ("`theta`", "real", "torch.complex128", ".real")),
    "complex, to a layer": (lambda: Layer()(theta() + 1j, program()), ("`theta`", "real")),
    "complex NumPy": (lambda: program().solve(np.array([1j, 2])), ("`theta`", "real", "complex128")),
    "float8": (lambda: Layer()(theta(dtype=torch.float8_e5m2), program()), ("`theta`", "float8_e5m2", ".float()")),
    "sparse": (lambda: Layer()(theta().to_sparse(), program()), ("`theta`", "dense", ".to_dense()")),
    "None": (lambda: program().solve(None), ("`theta`", "None")),
    "a word": (lambda: program().solve("costs"), ("`theta`", "array of numbers", "str")),
    "uneven": (lambda: program().solve([[1, 2], [1]]), ("`theta`", "differ in length")),
    "dates": (lambda: program().solve(np.array(["2020-01-01"] * 2, "M8[D]")), ("`theta`", "datetime64")),
    "NaN": (lambda: program().solve([1.0, NAN]), ("`theta`", "finite", "nan at [1]")),
    "too long": (lambda: program().solve(torch.ones(3)), ("`theta`", "(*batch, 2)", "(3,)")),
    "a list of tensors with gradients": (
        lambda: program().solve([torch.tensor(1.0, requires_grad=True)] * 2),
        ("`theta`", "requires grad", "torch.stack"),
    ),
    "of another batch": (
        lambda: LP(torch.ones(3, 1, 2), SIDE).solve(theta(4)),
        ("broadcast", "`theta` (4,)", "the problem (3,)"),
    ),
    "without numbers": (lambda: program().solve(theta().to("meta")), ("`theta`", "'meta'")),
    "without numbers, to a layer": (lambda: Layer()(theta().to("meta"), program()), ("`theta`", "'meta'")),
    "x too long": (lambda: program().objective([1, 2, 3], theta()), ("`x`", "(*batch, 2)", "(3,)")),
    "x complex": (lambda: program().objective(theta() + 1j, theta()), ("`x`", "real")),
    "x None": (lambda: program().objective(None, theta()), ("`x`", "None")),
    "x of another batch": (lambda: program().objective(theta(3), theta(4)), ("`x` (3,)", "`theta` (4,)")),
    "x elsewhere": (lambda: program().check(theta().to("meta")), ("`x`", "'meta'")),
    "a tolerance in words": (lambda: program().check(theta(), tol="loose"), ("`tol`", "[0, inf)", "'loose'")),
}

GAMMA: dict[str, Case] = {
    "big": (lambda: Layer(gamma="big"), ("`gamma`", "a finite number > 0", "'big'", "RelativeGamma()")),
    "auto": (lambda: Layer("auto"), ("`gamma`", "'auto'", "RelativeGamma()")),
    "a problem": (lambda: Layer(program()), ("`gamma`", "LinearProgram", "layer(theta, problem)")),
    "true": (lambda: Layer(True), ("`gamma`", "True")),
    "zero": (lambda: Layer(0)(theta(), program()), ("`gamma`", "> 0", "got 0", "problem.solve(theta)")),
    "negative": (lambda: Layer(-1.0), ("`gamma`", "> 0", "-1.0")),
    "NaN": (lambda: Layer(NAN), ("`gamma`", "nan")),
    "infinite": (lambda: Layer(np.inf), ("`gamma`", "inf")),
    "complex": (lambda: Layer(1j), ("`gamma`", "1j")),
    "a schedule": (lambda: Layer(lambda progress: 1.0), ("`gamma`", "function", "anneal")),
    "the class": (lambda: Layer(RelativeGamma), ("`gamma`", "RelativeGamma()")),
    "a list": (lambda: Layer([1.0, 2.0]), ("`gamma`", "a tensor of them", "list")),
    "an array": (lambda: Layer(np.ones(2)), ("`gamma`", "a tensor of them", "shape (2,)")),
    "a complex tensor": (lambda: Layer(torch.tensor(1j)), ("`gamma`", "real")),
    "a tensor with NaN": (lambda: Layer(torch.tensor([1.0, NAN])), ("`gamma`", "finite", "nan")),
    "one of each variable": (lambda: Layer(torch.ones(2))(theta(), program()), ("`gamma`", "batch shape ()", "(2,)")),
    "of another batch": (lambda: Layer(torch.ones(3))(theta(4), program()), ("`gamma`", "(4,)", "(3,)")),
    "a factor in words": (lambda: RelativeGamma("small"), ("`factor`", "> 0", "'small'")),
    "a tolerance in words": (lambda: Layer(tol="tight"), ("`tol`", "> 0", "'tight'")),
}

CATALOGUE: dict[str, Case] = {
    "capacity too long": (lambda: MaxFlow(ARC, 0, 1, [1.0, 2.0]), ("`capacity`", "the 1 arcs", "(2,)")),
    "capacity a column": (lambda: MaxFlow(TWO_ARCS, 0, 1, [[1], [2]]), ("`capacity`", "the 2 arcs", "(2, 1)")),
    "capacity NaN": (lambda: MaxFlow(ARC, 0, 1, [NAN]), ("`capacity`", "nan at [0]")),
    "capacity negative": (lambda: MaxFlow(ARC, 0, 1, [-1.0]), ("`capacity`", ">= 0", "-1 at [0]")),
    "capacity complex": (lambda: MaxFlow(ARC, 0, 1, [1j]), ("`capacity`", "real")),
    "capacity None": (lambda: MaxFlow(ARC, 0, 1, None), ("`capacity`", "None", "float('inf')")),
    "costly flow, capacity too long": (lambda: MinCostFlow(ARC, [1, -1], [1, 2]), ("`capacity`", "1 arcs", "(2,)")),
    "costly flow, capacity NaN": (lambda: MinCostFlow(ARC, [1, -1], NAN), ("`capacity`", "nan")),
    "costly flow, capacity negative": (lambda: MinCostFlow(ARC, [1, -1], -2), ("`capacity`", "-2 at [0]")),
    "supply and capacity of other batches": (
        lambda: MinCostFlow(ARC, torch.tensor([[1.0, -1.0]] * 3), torch.ones(4, 1)),
        ("`supply` (3,)", "`capacity` (4,)"),
    ),
    "supply complex": (lambda: MinCostFlow(ARC, torch.tensor([1j, -1j])), ("`supply`", "real")),
    "supply that does not arrive": (lambda: MinCostFlow(ARC, [1.0, 0.0]), ("`supply`", "sums to 0", "a sum of 1")),
    "a graph for its arcs": (
        lambda: MaxFlow(networkx.DiGraph(ARC), 0, 1, [1.0]),
        ("`arcs`", "networkx", "from_networkx"),
    ),
    "a node that cannot be one": (
        lambda: MaxFlow.from_networkx(networkx.DiGraph([("a", "b")]), "a", ["b"]),
        ("`target`", "['b']"),
    ),
    "knapsack, capacity too long": (lambda: Knapsack([1, 2], [3, 4]), ("`capacity`", "`weights`", "(2,)")),
    "knapsack, capacity None": (lambda: Knapsack([1, 2], None), ("`capacity`", "None")),
    "knapsack, capacity complex": (lambda: Knapsack([1, 2], 1j), ("`capacity`", "real")),
    "knapsack of other batches": (
        lambda: Knapsack(torch.ones(3, 1, 2), torch.ones(4, 1)),
        ("`weights` (3,)", "`capacity` (4,)"),
    ),
    "names of pairs twice": (lambda: foresolve.BipartiteMatching(1, 2, names=["a", "a"]), ("`names`", "'a'")),
    "weights for a size": (lambda: Assignment(torch.ones(2, 2)), ("`left`", "an integer >= 1")),
    "worths for a count": (lambda: TopK(np.ones(2), 1), ("`n`", "an integer >= 1")),
    "k and n exchanged": (lambda: TopK(2, 5), ("`k`", "at most `n` (2)", "5")),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{kind}: {name}")
     for kind, cases in (("rows", ROWS), ("theta", PARAMETERS), ("gamma", GAMMA), ("catalogue", CATALOGUE))
     for name, case in cases.items()],
)  # fmt: skip
def test_a_mistake_is_named(case: Case) -> None:
    call, parts = case
    with pytest.raises(InvalidInputError) as caught:
        call()
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, str(caught.value)


def test_whatever_holds_numbers_is_taken() -> None:
    """The other side of the table: forms and types that need no remedy."""
    problem, layer = program(), Layer(1.0)
    expected = problem.objective(theta(), theta()).item()
    forms = ([1, 1], (1.0, 1.0), np.ones(2, np.int8), np.ones(2, bool), np.ones(2, np.float16), np.ones(2, np.float32))
    for numbers in forms:
        assert problem.objective(numbers, numbers).item() == expected
        assert problem.solve(numbers).sum() == 1.0
        assert layer(numbers, problem).tolist() == [0.5, 0.5]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.bool):
        assert layer(theta(dtype=dtype), problem).tolist() == [0.5, 0.5]
    for gamma in (1, np.float32(1), np.array(1.0), torch.tensor(1), torch.tensor(1.0)):
        assert Layer(gamma)(theta(), problem).tolist() == [0.5, 0.5]


def test_whole_numbers_in_theta_do_not_round_the_decision() -> None:
    half = torch.tensor([0.5, 0.5])
    assert program().objective(half, torch.tensor([3, 1])).item() == 2.0


@pytest.mark.parametrize(
    "kind", ["arcs", "rows", "no rows", "no rows of each instance", "rows of each instance", "beside dense ones"]
)
def test_sparse_blocks_without_entries(kind: str) -> None:
    """Where no row says anything, `x` is the projection on the box, forward and backward, with the default gamma."""
    empty = scipy.sparse.csr_array((2, 3))
    box: dict[str, Any] = {"bounds": (0, 2)}
    problem = {
        "arcs": lambda: MaxFlow([(0, 1)] * 3, 0, 1, 2.0),
        "rows": lambda: LP(empty, [1.0, 1.0], **box),
        "no rows": lambda: LP(scipy.sparse.csr_array((0, 3)), np.zeros(0), **box),
        "no rows of each instance": lambda: LP(torch.zeros(2, 0, 3).to_sparse(), np.zeros(0), **box),
        "rows of each instance": lambda: LP(torch.zeros(2, 2, 3).to_sparse(), [1.0, 1.0], **box),
        "beside dense ones": lambda: LP(empty, [1.0, 1.0], np.zeros((1, 3)), [0.0], **box),
    }[kind]()
    gains = torch.tensor([[0.3, 1.0, -1.0], [0.2, 0.5, 9.0]], dtype=torch.float64)[:, : problem.n].requires_grad_()
    for layer in (Layer(), Layer(0.4)):
        x = layer(gains, problem)
        gamma = layer.smoothing(gains, problem).reshape(-1, 1)
        projection = (gains / (2 * gamma)).clamp(0, 2)
        torch.testing.assert_close(x, projection)
        weights = torch.arange(1.0, 1 + x.numel(), dtype=torch.float64).reshape(x.shape)
        slope, expected = (torch.autograd.grad((weights * value).sum(), gains)[0] for value in (x, projection))
        torch.testing.assert_close(slope, expected)
    assert problem.solve(gains).tolist() == torch.where(gains > 0, 2.0, 0.0).tolist()


def test_a_flow_on_a_single_arc() -> None:
    problem = MaxFlow(ARC, 0, 1, [1.0])
    assert Layer()(torch.ones(1), problem).tolist() == [1.0]
    price = torch.tensor([0.5], requires_grad=True)
    x = Layer(0.5)(price, problem)
    x.sum().backward()
    assert price.grad is not None
    assert (x.item(), price.grad.item()) == (0.5, 1.0)
