"""Submodular problems on a GPU give the numbers of the CPU; these run where there is one, also without hypothesis."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

import foresolve
from mistakes import mistake
from submodular_instances import FUNCTIONS, MATROIDS, draw_theta, function, matroid

pytestmark = pytest.mark.cuda
KINDS = list(itertools.product(FUNCTIONS, MATROIDS))


def both(kinds: tuple[str, str]) -> tuple[foresolve.SubmodularProblem, foresolve.SubmodularProblem]:
    problem = foresolve.SubmodularProblem(function(kinds[0], 8), matroid(kinds[1], 12))
    return problem, problem.to("cuda")


def decided(layer: foresolve.Layer, problem: foresolve.SubmodularProblem, theta: Tensor) -> tuple[Tensor, Tensor]:
    leaf = theta.to(problem.device).requires_grad_()
    x = layer(leaf, problem)
    (x * torch.linspace(-1, 1, 12, device=x.device, dtype=x.dtype)).sum().backward()
    assert x.device.type == problem.device.type
    assert leaf.grad is not None
    return x.detach().cpu(), leaf.grad.cpu()


@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_decisions_and_gradients(kinds: tuple[str, str], base: bool) -> None:
    layer = foresolve.MultilinearRelaxation(0.8, tol=1e-11, base=base)
    cpu, gpu = (decided(layer, problem, draw_theta((40,), 12, 8, 0)) for problem in both(kinds))
    torch.testing.assert_close(gpu[0], cpu[0], atol=1e-8, rtol=0)
    torch.testing.assert_close(gpu[1], cpu[1], atol=1e-5 * float(cpu[1].abs().max()), rtol=0)


def test_default_gamma_and_unrolled() -> None:
    for layer in (
        foresolve.MultilinearRelaxation(foresolve.layers.RelativeGamma(2.0), tol=1e-11),
        foresolve.MultilinearRelaxation(0.8, tol=1e-9, max_iter=1000, differentiate="unrolled"),
        foresolve.layers.WilderMultilinear(),
    ):
        cpu, gpu = (decided(layer, problem, draw_theta((5,), 12, 8, 1)) for problem in both(("coverage", "uniform")))
        torch.testing.assert_close(gpu[0], cpu[0], atol=1e-7, rtol=0)
        torch.testing.assert_close(gpu[1], cpu[1], atol=1e-4 * float(cpu[1].abs().max()), rtol=0)


def test_budget_allocation_size() -> None:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(100, 10))
    theta = 0.1 * draw_theta((64,), 100, 500, 0)
    layer = foresolve.MultilinearRelaxation(0.5, tol=1e-9)
    cpu, gpu = layer.solve(theta, problem), layer.solve(theta.cuda(), problem.to("cuda"))
    assert bool(gpu.converged.all())
    torch.testing.assert_close(gpu.x.cpu(), cpu.x, atol=1e-7, rtol=0)
    torch.testing.assert_close(gpu.price.cpu(), cpu.price, atol=1e-6, rtol=0)


@pytest.mark.parametrize("method", ["greedy", "continuous_greedy", "ascent"])
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_sets(kinds: tuple[str, str], method: str) -> None:
    theta = draw_theta((6,), 12, 8, 2)
    cpu, gpu = both(kinds)
    on_cpu, on_gpu = cpu.solve(theta, method=method), gpu.solve(theta.cuda(), method=method)  # type: ignore[arg-type]
    torch.testing.assert_close(gpu.objective(on_gpu, theta.cuda()).cpu(), cpu.objective(on_cpu, theta))


@pytest.mark.parametrize("kind", MATROIDS)
def test_rounding(kind: str) -> None:
    problem = both(("coverage", kind))[1]
    theta = draw_theta((6,), 12, 8, 3).cuda()
    x = foresolve.MultilinearRelaxation(0.8)(theta, problem)
    generator = torch.Generator("cuda").manual_seed(0)
    for sets in (
        foresolve.sets.pipage(x, problem.function, theta, problem.matroid),
        foresolve.sets.swap_rounding(x, problem.matroid, generator),
        foresolve.sets.randomized_pipage(x, problem.matroid, generator),
    ):
        assert problem.check(sets)


def test_wrong_device_is_named() -> None:
    problem = both(("coverage", "uniform"))[1]
    with mistake("theta", "cuda"):
        foresolve.MultilinearRelaxation(1.0)(draw_theta((2,), 12, 8, 0), problem)
