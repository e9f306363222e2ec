"""Vertices that span the face of a point, also where a few of them make the point up."""

from __future__ import annotations

import torch

import foresolve
from foresolve.layers import QuadraticRelaxation, RegularizedFrankWolfe
from foresolve.layers.vertex_span import spanning


def completed(vertices: torch.Tensor, x: torch.Tensor, slope: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two of four items are chosen."""
    used, size = torch.ones(vertices.shape[:2], dtype=torch.bool), slope.abs().amax(-1)
    problem = foresolve.TopK(4, 2)
    return spanning(vertices, used, x, slope, size, lambda gains, _: problem.argmax(gains))


def test_two_vertices_that_make_up_the_center_are_completed() -> None:
    """The mean of {0, 1} and {2, 3} is the center, whose face is everything with sum 2."""
    vertices = torch.tensor([[[1.0, 1, 0, 0], [0, 0, 1, 1]]], dtype=torch.float64)
    center = torch.full((1, 4), 0.5, dtype=torch.float64)
    more, used = completed(vertices, center, torch.ones(1, 4, dtype=torch.float64))
    assert int(torch.linalg.matrix_rank((more - center[:, None])[used])) == 3


def test_nothing_is_added_to_a_vertex() -> None:
    vertex = torch.tensor([[1.0, 1, 0, 0]], dtype=torch.float64)
    more, used = completed(vertex[:, None], vertex, 3 * vertex)
    assert int(used.sum()) == 1
    assert more.shape[1] == used.shape[1] == 3


def test_tied_gains_have_the_gradient_of_the_exact_layer() -> None:
    problem, generator, compared = foresolve.TopK(9, 4), torch.Generator().manual_seed(0), 0
    for _ in range(20):
        values = torch.randint(-1, 2, (9,), generator=generator).double() / 4
        v = torch.randn(9, generator=generator, dtype=torch.float64)
        gradients = []
        for layer in (RegularizedFrankWolfe(0.5), QuadraticRelaxation(0.5)):
            theta = values.clone().requires_grad_()
            x = layer(theta, problem)
            (x * v).sum().backward()
            gradients.append(theta.grad)
        if bool(((x > 1e-9) & (x < 1 - 1e-9)).all()):  # nothing is at a bound, where it might be tied with what is not
            torch.testing.assert_close(*gradients, atol=1e-6, rtol=0)
            compared += 1
    assert compared >= 10


def test_inside_a_box_every_coordinate_moves_by_itself() -> None:
    """Equal coordinates: two opposite corners make them up, and the slope is rounding."""
    for values in ([0.5, 0.5], [0.4, 0.4], [0.3, 0.3, 0.7]):
        problem = foresolve.LinearProgram(n=len(values), bounds=(0, 1))
        theta = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        jacobian = torch.autograd.functional.jacobian(
            lambda t, problem=problem: RegularizedFrankWolfe(1.0)(t, problem), theta
        )
        torch.testing.assert_close(jacobian, torch.eye(len(values), dtype=torch.float64) / 2, atol=1e-9, rtol=0)
