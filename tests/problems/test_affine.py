from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.problems import Affine
from mistakes import mistake

seeds = st.integers(0, 2**20)


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, Affine]:
    """A sparse matrix, with or without several entries in a row, what is known, and the map of both."""
    rng = np.random.default_rng(seed)
    n, p = (int(size) for size in rng.integers(1, 7, 2))
    matrix = rng.normal(size=(n, p)) * (rng.random((n, p)) < rng.choice([0.2, 0.9]))
    if seed % 2:
        matrix *= np.arange(p) == rng.integers(0, p, (n, 1))
    known = rng.normal(size=(3, n) if seed % 3 == 0 else n)
    return matrix, known, Affine(scipy.sparse.csr_array(matrix) if seed % 5 else matrix, known)


@settings(deadline=None)
@given(seed=seeds)
def test_is_the_product_with_the_matrix(seed: int) -> None:
    matrix, known, affine = drawn(seed)
    theta = torch.randn(2, 3, matrix.shape[1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    theta.requires_grad_()
    expected = known + theta.detach().numpy() @ matrix.T
    np.testing.assert_allclose(affine(theta).detach().numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(affine.spread(theta).detach().numpy(), expected - known, atol=1e-12)
    assert affine(theta.float()).dtype == torch.float32
    weight = torch.randn(expected.shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((affine(theta) * weight).sum(), theta)
    np.testing.assert_allclose(gradient.numpy(), weight.numpy() @ matrix, atol=1e-12)
    assert affine.moved.tolist() == (matrix != 0).any(1).tolist()


@settings(deadline=None)
@given(seed=seeds)
def test_copies_pickles_and_files(seed: int) -> None:
    matrix, _, affine = drawn(seed)
    theta = torch.randn(3, matrix.shape[1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    expected = affine(theta)
    twins = (copy.copy(affine), copy.deepcopy(affine), pickle.loads(pickle.dumps(affine)))
    for twin in (*twins, Affine.from_config(affine.config()), affine.to(torch.device("cpu"))):
        assert torch.equal(twin(theta), expected)
        assert repr(twin) == repr(affine)


def test_parts_by_position_and_by_mask() -> None:
    known = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for predicted in ([2, 0], torch.tensor([2, 0]), np.array([2, 0])):
        assert Affine.part(predicted, known)(torch.tensor([7.0, 8.0])).tolist() == [[8, 2, 7], [8, 5, 7]]
    by_mask = Affine.part([True, False, True], known[0])
    assert by_mask(torch.tensor([7.0, 8.0])).tolist() == [7, 2, 8]
    assert by_mask.moved.tolist() == [True, False, True]
    assert Affine.part([0], known).select(torch.tensor([1]))(torch.tensor([0.0])).tolist() == [[0, 5, 6]]


def test_ties() -> None:
    affine = Affine.tied([1, -1, 1, 0], factor=[1.0, 9.0, -2.0, 1.0], known=[0.0, 5.0, 0.0, 0.5])
    assert affine(torch.tensor([10.0, 1.0])).tolist() == [1, 5, -2, 10.5]
    assert Affine.tied([0, 0], size=3).shape == (2, 3)
    assert Affine.tied([0, 1, 0, 1, -1], factor=[1, 1, -1, -1, 1]).unit == 1.0
    assert Affine([[3.0, 4.0]]).unit == 5.0


@pytest.mark.parametrize(("call", "about"), [
    (lambda: Affine([1.0, 2.0]), ("matrix", "(n, p)")),
    (lambda: Affine("prices"), ("matrix",)),
    (lambda: Affine([[float("nan")]]), ("matrix", "nan")),
    (lambda: Affine([[1.0]], known=[1.0, 2.0]), ("known", "(*batch, 1)", "matrix")),
    (lambda: Affine.part([3], known=[1.0, 2.0]), ("predicted",)),
    (lambda: Affine.part([0, 0], known=[1.0, 2.0]), ("predicted",)),
    (lambda: Affine.part([0], known=1.0), ("known",)),
    (lambda: Affine.tied([0.5, 1.0]), ("index",)),
    (lambda: Affine.tied([-2, 0]), ("index", "-2")),
    (lambda: Affine.tied([0, 1], factor=[1.0, 2.0, 3.0]), ("factor", "(2,)")),
    (lambda: Affine.tied([0, 1])(torch.ones(5)), ("theta", "(*batch, 2)")),
    (lambda: Affine.tied([0, 4], size=2), ("size",)),
])  # fmt: skip
def test_mistakes(call, about: tuple[str, ...]) -> None:
    with mistake(*about):
        call()


def test_a_file_cannot_point_outside() -> None:
    config = Affine([[1.0, 0.0]]).config()
    with pytest.raises(ValueError, match="`index` must be"):
        Affine.from_config(config | {"index": torch.tensor([[0], [5]])})
