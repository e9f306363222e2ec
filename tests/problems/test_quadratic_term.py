"""Quadratic forms: products, values, matrices, structures."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from foresolve.problems.quadratic_term import FEW, QuadraticTerm
from foresolve.solvers.projection.matrix_metrics import DenseMetric, LowRankMetric
from foresolve.solvers.projection.metric import DiagonalMetric
from foresolve.solvers.projection.sparse_metric import SparseMetric
from quadratic_programs import FORMS, of_form, tensor


def term_of(form: str, seed: int = 0) -> tuple[QuadraticTerm, np.ndarray]:
    program, given = of_form(form, seed)
    return QuadraticTerm.parse(given.get("Q"), given.get("diagonal"), given.get("factor")), program.Q


@pytest.mark.parametrize("form", FORMS)
def test_products_values_and_matrices_are_those_of_the_form(form: str) -> None:
    term, Q = term_of(form)
    x = torch.randn(2, 3, term.n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(term.product(x), x @ tensor(Q))
    torch.testing.assert_close(term.value(x), ((x @ tensor(Q)) * x).sum(-1) / 2)
    torch.testing.assert_close(term.dense(), tensor(Q))
    np.testing.assert_allclose(term.flat(torch.Size()).form(0).toarray(), Q, atol=1e-14)
    torch.testing.assert_close(QuadraticTerm.from_config(term.config()).dense(), tensor(Q))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_metric_adds_twice_gamma(form: str, gamma: float) -> None:
    if form == "factor" and gamma == 0:
        return
    term, Q = term_of(form)
    metric = term.metric(torch.Size([3]), tensor([gamma]), leaning=form == "leaning" and gamma == 0)
    x = torch.randn(3, term.n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(metric.apply(x), x @ tensor(Q) + 2 * gamma * x)
    each = term.metric(torch.Size([3]), tensor([0.1, 0.2, 0.3]))
    torch.testing.assert_close(each.apply(x), x @ tensor(Q) + 2 * tensor([[0.1], [0.2], [0.3]]) * x)
    kinds = {"diagonal": DiagonalMetric, "large sparse": SparseMetric, "low rank": LowRankMetric}
    assert type(metric) is (kinds | {"factor": LowRankMetric}).get(form, DenseMetric)


def test_the_structure_that_costs_least_is_chosen() -> None:
    shift = tensor([0.5])
    many = QuadraticTerm.parse(None, None, np.ones((4, 3)))
    assert type(many.metric(torch.Size(), shift)) is DenseMetric
    for n, kind in ((FEW, DenseMetric), (FEW + 1, SparseMetric)):
        eye = QuadraticTerm.parse(scipy.sparse.eye_array(n), None, None)
        assert type(eye.metric(torch.Size(), shift)) is kind
    partly = QuadraticTerm.parse(None, [1.0, 0.0], None)
    assert type(partly.metric(torch.Size(), tensor([0.0]), leaning=True)) is DenseMetric


def test_forms_of_each_instance() -> None:
    diagonal, factor = torch.rand(3, 4).double(), torch.rand(2, 1, 4, 1).double()
    term = QuadraticTerm.parse(None, diagonal, factor)
    assert term.batch_shape == (2, 3)
    Q = torch.diag_embed(diagonal) + factor @ factor.mT
    torch.testing.assert_close(term.dense(), Q)
    flat = term.flat(torch.Size([2, 3]))
    x = torch.rand(6, 4).double()
    expected = torch.einsum("bij,bj->bi", Q.reshape(6, 4, 4), x)
    torch.testing.assert_close(flat.metric(torch.Size([6]), tensor([0.0])).apply(x), expected)
    for i in range(6):
        np.testing.assert_allclose(flat.form(i).toarray(), Q.reshape(6, 4, 4)[i].numpy())


def test_with_numbers_keeps_the_structure() -> None:
    term = QuadraticTerm.parse([[1.0, 0.0], [0.0, 1.0]], None, None)
    made = term.with_numbers({"matrix": tensor([[1.0, 0.5, 0.3, 2.0]])})
    torch.testing.assert_close(made.dense(), tensor([[[1.0, 0.4], [0.4, 2.0]]]))
    assert term.sizes == {"matrix": 4}
    rank = QuadraticTerm.parse(None, [1.0, 1.0, 1.0], np.ones((3, 2)))
    assert rank.sizes == {"diagonal": 3, "factor": 6}
    other = rank.with_numbers({"factor": torch.arange(6.0).double()})
    torch.testing.assert_close(other.dense(), torch.eye(3).double() + rows_of(6) @ rows_of(6).mT)


def rows_of(count: int) -> Tensor:
    return torch.arange(float(count)).double().reshape(3, 2)


def test_a_config_is_checked() -> None:
    term, _ = term_of("sparse")
    config = term.config()
    with pytest.raises(ValueError, match="index"):
        QuadraticTerm.from_config(config | {"n": 3})
    with pytest.raises(ValueError, match="variables"):
        QuadraticTerm.from_config(QuadraticTerm.parse(None, [1.0, 1.0], None).config() | {"n": 3})
