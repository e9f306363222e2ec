from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.errors import ForesolveWarning
from foresolve.losses import CaVE
from foresolve.losses.cave import within_faces
from foresolve.solvers.projection.cone import NormalCone
from instances import draw
from losses.conformance import Case, LossConformance, instance
from losses.test_spo import drawn
from mistakes import mistake


class CaVEConformance(LossConformance):
    kind = "exact"

    def loss(self) -> CaVE:
        return CaVE(self.kind)  # type: ignore[arg-type]

    def cases(self) -> list[Case]:
        capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
        return [
            instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True),
            instance(foresolve.Knapsack([2, 3, 4, 5], capacities), 4, seed=2, positive=True),
            instance(foresolve.BipartiteMatching(2, 3), 6, seed=3),
        ]


class TestExact(CaVEConformance):
    pass


class TestInner(CaVEConformance):
    kind, smooth = "inner", False  # the aim is held fixed, though it moves with the prediction


class TestHybrid(CaVEConformance):
    kind, smooth = "hybrid", False


def relaxed(problem: foresolve.LinearProgram) -> foresolve.LinearProgram:
    """The same rows and bounds, without integrality, for HiGHS."""
    return foresolve.LinearProgram(
        problem.A_ub, problem.b_ub, problem.A_eq, problem.b_eq, bounds=(problem.lower, problem.upper)
    )


def check_projection(problem: foresolve.LinearProgram, x: Tensor, point: Tensor, projected: Tensor) -> None:
    """`found` is the projection onto the normal cone at `x` just if it lies there and the rest lies in its polar.

    In the cone, `x` is best for it, which HiGHS decides; in the polar, moving along the rest stays feasible.
    """
    size = 1 + point.norm(dim=-1)
    relaxation = relaxed(problem)
    lead = ((relaxation.solve(projected) - x) * projected).sum(-1)
    assert float((lead / size).abs().max()) < 1e-5
    rest = point - projected
    assert float(((rest * projected).sum(-1) / size**2).abs().max()) < 1e-5
    step = 1e-4 / size.unsqueeze(-1)
    assert bool(relaxation.check(x + step * rest, tol=1e-9).feasible.all())


@given(drawn())
def test_projection_onto_the_cones_of_the_catalog(case) -> None:
    problem, truth, theta_hat, _ = case
    best, point = problem.solve(truth), problem.gain(theta_hat)
    cone = NormalCone.at(best, problem.polytope(torch.Size([3])))
    projected, converged = cone.project(point)
    assert bool(converged.all())
    check_projection(problem, best, point, projected)


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans())
def test_projection_for_any_linear_program(seed: int, dependent: bool, fixed: bool, ties: bool) -> None:
    case = draw(seed, n=7, m_eq=2, m_ub=6, dependent=dependent, fixed=fixed, ties=ties)
    problem, theta = case.problem(), torch.from_numpy(case.theta)
    best = problem.solve(theta)
    cone = NormalCone.at(best, problem.polytope(torch.Size([3])))
    inside, _ = cone.project(theta)
    torch.testing.assert_close(inside, theta, atol=1e-5, rtol=1e-5)  # the truth lies in the cone of its best decision


def test_projection_agrees_with_least_squares() -> None:
    problem = foresolve.TopK(6, 2)
    theta_hat, batch = instance(problem, 6)
    best = batch.best()[0]
    projected, _ = NormalCone.at(best, problem.polytope(torch.Size([4]))).project(theta_hat)
    for x, point, projection in zip(best, theta_hat, projected, strict=True):
        columns = torch.cat([torch.ones(6, 1), -torch.ones(6, 1), torch.diag(2 * x - 1)], -1).double().numpy()
        weights, _ = nnls(columns, point.numpy())
        np.testing.assert_allclose(columns @ weights, projection.numpy(), atol=1e-9)


@given(drawn())
def test_exact_is_zero_just_where_the_decision_stays_best(case) -> None:
    problem, truth, theta_hat, _ = case
    batch = Batch(None, truth, problem)
    best, _ = batch.best()
    loss = CaVE("exact")(theta_hat, batch)
    assert bool((loss >= -1e-12).all())
    assert bool((loss <= 2 + 1e-12).all())
    optimal = problem.objective(problem.maximizer(theta_hat), theta_hat)
    gap = optimal - problem.objective(best, theta_hat)
    zero = (loss < 1e-9) & (theta_hat.norm(dim=-1) > 0)
    assert bool((gap[zero] <= 1e-3 * (1 + optimal[zero].abs())).all())
    if not bool(problem.integrality.any()):  # the polytope is integral: then it is an equivalence
        assert bool((loss[(gap <= 1e-12) & (theta_hat.norm(dim=-1) > 0)] < 1e-9).all())


def test_the_formula() -> None:
    problem = foresolve.ShortestPath.grid(3, 3)
    theta_hat, batch = instance(problem, 12, positive=True)
    point = problem.gain(theta_hat)
    nearest, _ = NormalCone.at(batch.best()[0], problem.polytope(torch.Size([4]))).project(point)
    expected = 1 - torch.cosine_similarity(point, nearest, dim=-1)
    torch.testing.assert_close(CaVE("exact")(theta_hat, batch), expected)


def test_scale_does_not_matter() -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    for kind in ("exact", "inner"):
        torch.testing.assert_close(CaVE(kind)(1e6 * theta_hat, batch), CaVE(kind)(theta_hat, batch))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["exact", "inner", "hybrid"])
def test_away_from_the_cone_and_at_zero_it_still_leads(kind) -> None:
    """x1 + x2 <= 1 and x >= 0 at (1, 0): the cone of (1, 1) and (0, -1)."""
    problem = foresolve.LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0])
    batch = Batch(None, torch.tensor([[2.0, 1.0], [2.0, 1.0]]), problem)
    leaf = torch.tensor([[-1.0, 0.0], [0.0, 0.0]], requires_grad=True)
    loss = CaVE(kind)(leaf, batch)
    loss.sum().backward()
    assert leaf.grad is not None
    assert kind == "hybrid" or bool((loss >= 1 - 1e-6).all())
    assert bool(torch.isfinite(leaf.grad).all())
    assert bool((leaf.grad.norm(dim=-1) > 0).all())
    assert float(leaf.grad[1, 0]) < 0  # the center of the cone points to the right


@given(drawn(), st.sampled_from([1, 3, 10]))
def test_inner_points_are_inside(case, iterations: int) -> None:
    """The best decision is best for them too, and after many iterations they are the projection."""
    problem, truth, theta_hat, _ = case
    best, point = problem.solve(truth), torch.nn.functional.normalize(problem.gain(theta_hat), dim=-1)
    cone = NormalCone.at(best, problem.polytope(torch.Size([3])))
    inside = cone.inside(point, iterations)
    lead = ((relaxed(problem).solve(inside) - best) * inside).sum(-1)
    assert float((lead / inside.norm(dim=-1)).abs().max()) < 1e-6
    torch.testing.assert_close(cone.inside(point, 60), cone.project(point)[0], atol=1e-4, rtol=1e-4)


def test_hybrid_goes_on_from_where_it_was() -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    saved, restored = CaVE("hybrid", solve_ratio=0.5, seed=1), CaVE("hybrid", solve_ratio=0.5)
    values = {float(saved(theta_hat, batch).sum()) for _ in range(20)}
    assert len(values) == 2
    file = io.BytesIO()
    torch.save(saved.state_dict(), file)
    file.seek(0)
    restored.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(10):
        assert torch.equal(saved(theta_hat, batch), restored(theta_hat, batch))


def test_bad_input() -> None:
    with mistake("kind", "'outer'"):
        CaVE("outer")  # type: ignore[arg-type]
    with mistake("inner_ratio", "got 0"):
        CaVE(inner_ratio=0)
    with mistake("solve_ratio", "[0, 1]", "got 2"):
        CaVE(solve_ratio=2)


LP = foresolve.LinearProgram([[1.0, 2.0, 3.0]], [4.0], bounds=(0, [1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("problem", "x", "vertex"),
    [
        (foresolve.TopK(4, 2), [1.0, 1.0, 0.0, 0.0], True),
        (foresolve.TopK(4, 2), [0.5, 0.5, 0.5, 0.5], False),
        (foresolve.TopK(4, 2), [0.5, 0.5, 1.0, 0.0], False),
        (LP, [1.0, 1.5, 0.0], True),  # an entry between its bounds, held by the row
        (LP, [0.5, 0.5, 0.0], False),
        (LP, [0.5, 0.5, 0.1], False),  # nothing is tight
        (foresolve.Knapsack([2.0, 3.0], [4.0]), [1.0, 0.0], True),
        (foresolve.Knapsack([2.0, 3.0], [[4.0], [4.0]]).select(torch.tensor([1])), [0.5, 0.0], False),
    ],
)
def test_vertices(problem: foresolve.LinearProgram, x: list[float], vertex: bool) -> None:
    polytope = problem.polytope(torch.Size([1]))
    assert within_faces(torch.tensor([x], dtype=torch.float64), polytope).tolist() == [not vertex]


def test_means_of_paths_are_no_vertices() -> None:
    """Flow rows depend on each other, so that counting what is tight would not do."""
    problem = foresolve.ShortestPath.grid(5, 5)
    paths = problem.solve(torch.rand(8, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    polytope = problem.polytope(torch.Size([8]))
    assert not within_faces(paths, polytope).any()
    means = (paths + paths.roll(1, 0)) / 2
    different = (paths != paths.roll(1, 0)).any(-1)
    assert different.any()
    assert torch.equal(within_faces(means, polytope), different)


@pytest.mark.parametrize("kind", ["inner", "exact", "hybrid"])
def test_decisions_that_are_no_vertices_are_told_of_once(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(60, 3, generator=generator)
    problem = foresolve.TopK(4, 2)
    decisions = problem.solve(features @ torch.randn(3, 4, generator=generator))
    means = foresolve.DecisionDataset(features, decisions=(decisions + decisions.roll(1, 0)) / 2, problem=problem)
    with pytest.warns(ForesolveWarning) as caught:
        foresolve.fit(foresolve.MLP(3, 4, seed=0), CaVE(kind), means, means, epochs=3, lr=0.05, monitor="loss")  # type: ignore[arg-type]
    (message,) = {str(warning.message) for warning in caught}  # and nothing of NumPy's
    assert "are not vertices" in message
    assert "FenchelYoung(layer) and Imitation(layer)" in message
