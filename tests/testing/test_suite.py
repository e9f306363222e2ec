from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from foresolve._base.checks import fail
from foresolve.errors import InvalidInputError
from foresolve.testing.suite import (
    Inapplicable,
    Measure,
    Promise,
    Suite,
    bounded,
    holds,
    inside,
    near,
    quiet,
    refused,
    rows,
    untouched,
)


class Base(Suite):
    @Promise("small", "make it smaller")
    def small(self) -> Iterator[Measure]:
        yield bounded(0.1, 1.0, "too large")
        yield bounded(0.9, 1.0, "too large")
        yield bounded(0.2, 1.0, "too large")

    @Promise("other", "")
    def other(self) -> Iterator[Measure]:
        yield holds(True, "")


class Derived(Base):
    @Promise("replaced", "")
    def other(self) -> Iterator[Measure]:
        yield holds(False, "never")

    @Promise("aside", "")
    def aside(self) -> Iterator[Measure]:
        raise Inapplicable("no")
        yield

    @Promise("raises", "do not")
    def raises(self) -> Iterator[Measure]:
        raise KeyError("key")
        yield


def test_promises_are_tested_in_order_and_replaced_by_name() -> None:
    findings = Derived().report("it").findings
    told = [(f.promise, f.verdict, f.measured, f.detail) for f in findings]
    assert told == [
        ("small", "passed", 0.9, ""),
        ("replaced", "failed", None, "never"),
        ("aside", "not applicable", None, "no"),
        ("raises", "failed", None, "it raised KeyError: 'key'"),
    ]
    assert isinstance(findings[-1].error, KeyError)


def test_nan_is_never_near_nor_bounded() -> None:
    assert bounded(float("nan"), 1.0, "").broken
    nan = torch.tensor([1.0, torch.nan])
    assert near(nan, torch.ones(2), "it", atol=1.0).broken
    assert not near(torch.tensor([torch.inf]), torch.tensor([torch.inf]), "it").broken


def test_near_names_the_worst_entry() -> None:
    measure = near(torch.tensor([[1.0, 2.0], [3.5, 4.1]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "x", atol=0.2)
    assert measure.detail == "x: 3.5 instead of 3 at [1, 0]"
    assert (measure.broken, measure.amount, measure.tolerance) == (True, 0.5, 0.2)
    assert near(torch.ones(2), torch.ones(3), "x").detail == "x: shape (2,) instead of (3,)"
    assert not near(torch.ones(0, 2), torch.ones(0, 2), "x").broken


def raising(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("call", "detail"),
    [
        (lambda: None, "it is taken without a word"),
        (lambda: raising(KeyError("k")), "it ends in KeyError: 'k'"),
        (lambda: raising(InvalidInputError("`theta` must")), "the error is about '': `theta` must"),
        (lambda: raising(fail("x", "(2,)", "(3,)")), "the error is about 'x': `x` must be (2,); got (3,)"),
        (lambda: raising(fail("theta", "(2,)", "(4,)")), "the message does not say ['(3,)']: `theta` must be (2,)"),
    ],
)
def test_what_is_no_refusal(call, detail: str) -> None:
    measure = refused(call, "it", "theta", "(3,)")
    assert measure.broken
    assert detail in measure.detail


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (lambda: torch.rand(1), "torch's global generator"),
        (lambda: torch.manual_seed(0), "torch's global generator"),
        (lambda: np.random.rand(), "NumPy's global generator"),  # noqa: NPY002
        (lambda: random.random(), "the global generator of `random`"),
    ],
)
def test_global_generators_are_watched_and_put_back(work, what: str) -> None:
    torch.manual_seed(0)  # to which the second case would set it
    before = (torch.get_rng_state(), np.random.get_state()[2], random.getstate())  # noqa: NPY002
    measure = quiet(work)
    assert measure.broken
    assert what in measure.detail
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[2], random.getstate()) == before[1:]  # noqa: NPY002
    assert not quiet(lambda: torch.rand(1, generator=torch.Generator().manual_seed(0))).broken


def test_the_default_dtype_is_watched() -> None:
    try:
        assert "default dtype" in quiet(lambda: torch.set_default_dtype(torch.float64)).detail
    finally:
        torch.set_default_dtype(torch.float32)


def test_arguments_are_watched() -> None:
    x = torch.zeros(2)
    assert [measure.broken for measure in untouched({"x": x}, lambda: x.add_(1))] == [True]
    assert [measure.broken for measure in untouched({"x": x}, lambda: x + 1)] == [False]


def test_rows_are_drawn_from_the_examples() -> None:
    examples = torch.arange(12.0).reshape(2, 2, 3)
    draw = rows(examples, 1)
    assert draw((), 0).shape == (3,)
    assert draw((0,), 0).shape == (0, 3)
    many = draw((5, 3), 1)
    assert {tuple(row) for row in many.reshape(-1, 3).tolist()} == {
        tuple(row) for row in examples.reshape(-1, 3).tolist()
    }
    assert torch.equal(draw((5, 3), 1), many)


@pytest.mark.parametrize(("theta", "bounds"), [(torch.zeros(20), (0.0, 1.0)), (torch.ones(20), (0.0, 1.0))])
def test_inside_leaves_the_bounds(theta: torch.Tensor, bounds: tuple[float, float]) -> None:
    moved = inside(theta, bounds, 0)
    assert float(moved.min()) > 0
    assert float(moved.max()) < 1
    assert len(moved.unique()) == 20
