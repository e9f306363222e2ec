"""What becomes of a polytope's parts when it is expanded, selected from, detached."""

from __future__ import annotations

import numpy as np
import torch

from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from foresolve.solvers.projection.rows import DenseRows


def simplexes(sizes: list[float]) -> Polytope:
    """`{x >= 0 : sum x = size}`, one for each size."""
    count = len(sizes)
    values = torch.ones(count, 1, 3, dtype=torch.float64, requires_grad=True)
    rhs = torch.tensor(sizes, dtype=torch.float64)[:, None].requires_grad_()
    lower, upper = torch.zeros(1, 3, dtype=torch.float64), torch.full((1, 3), torch.inf, dtype=torch.float64)
    return Polytope(DenseRows(values), rhs, torch.tensor([True]), lower.requires_grad_(), upper.requires_grad_())


def test_some_instances_of_a_batch_are_solved_as_in_it() -> None:
    polytope = simplexes([1.0, 2.0, 5.0]).expand(3).numeric()
    point = np.random.default_rng(0).standard_normal((3, 3))
    x = project(point, polytope, tol=1e-12, max_iter=50).face.x
    np.testing.assert_allclose(x.sum(-1), [1.0, 2.0, 5.0], atol=1e-10)
    index = np.array([2, 0])
    part = project(point[index], polytope.select(index), tol=1e-12, max_iter=50).face.x
    np.testing.assert_allclose(part, x[index], atol=1e-12)


def test_shared_parts_are_views_when_expanded() -> None:
    polytope = simplexes([1.0, 2.0])
    expanded = polytope.expand(2)
    assert expanded.lower.shape == (2, 3)
    assert expanded.lower.data_ptr() == polytope.lower.data_ptr()
    assert expanded.rows is polytope.rows


def test_only_the_tensors_carry_a_graph() -> None:
    polytope = simplexes([1.0])
    assert all(tensor.requires_grad for tensor in polytope.tensors())
    assert not any(tensor.requires_grad for tensor in polytope.detach().tensors())
    for before, after in zip(polytope.tensors(), polytope.detach().tensors()):
        assert before.data_ptr() == after.data_ptr()
    assert isinstance(polytope.numeric().rhs, np.ndarray)
