"""Vertices that span the face of a point, also where a few of them make the point up."""

from __future__ import annotations

import torch

import foresolve
from foresolve.layers import QuadraticRelaxation, RegularizedFrankWolfe
from foresolve.layers.vertex_span import spanning


def test_two_vertices_that_make_up_the_center_are_completed() -> None:
    """Two of four items: the mean of {0, 1} and {2, 3} is the center, whose face is everything with sum 2."""
    problem = foresolve.TopK(4, 2)
    vertices = torch.tensor([[[1.0, 1, 0, 0], [0, 0, 1, 1]]], dtype=torch.float64)
    center = torch.full((1, 4), 0.5, dtype=torch.float64)
    slope = torch.ones(1, 4, dtype=torch.float64)
    more, used = spanning(
        vertices, torch.ones(1, 2, dtype=torch.bool), center, slope, lambda gains, _: problem.argmax(gains)
    )
    assert int(torch.linalg.matrix_rank((more - center[:, None])[used])) == 3


def test_nothing_is_added_to_a_vertex() -> None:
    problem = foresolve.TopK(4, 2)
    vertex = torch.tensor([[1.0, 1, 0, 0]], dtype=torch.float64)
    more, used = spanning(
        vertex[:, None], torch.ones(1, 1, dtype=torch.bool), vertex, 3 * vertex, lambda gains, _: problem.argmax(gains)
    )
    assert int(used.sum()) == 1
    assert more.shape[1] == used.shape[1] == 3


def test_tied_gains_have_the_gradient_of_the_exact_layer() -> None:
    problem, generator = foresolve.TopK(17, 10), torch.Generator().manual_seed(0)
    for _ in range(10):
        values = torch.randint(-1, 3, (3, 17), generator=generator).double() / 4
        v = torch.randn(3, 17, generator=generator, dtype=torch.float64)
        gradients = []
        for layer in (RegularizedFrankWolfe(0.6), QuadraticRelaxation(0.6 / 2)):
            theta = values.clone().requires_grad_()
            x = layer(theta, problem)
            (x * v).sum().backward()
            gradients.append(theta.grad)
        kink = ((x < 1e-9) | (x > 1 - 1e-9)).any()  # a coordinate at a bound may be tied with one that is not
        if not bool(kink):
            torch.testing.assert_close(*gradients, atol=1e-6, rtol=0)
