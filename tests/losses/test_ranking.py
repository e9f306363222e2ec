from __future__ import annotations

import pytest
import torch
from hypothesis import given

import foresolve
from foresolve.data import Batch
from foresolve.losses import ListwiseRanking, Loss, PairwiseRanking, PointwiseRanking
from losses.test_contrastive import PoolConformance, filled
from losses.test_spo import coverage, decisions, drawn
from mistakes import mistake


class TestPointwise(PoolConformance):
    def loss(self) -> Loss:
        return PointwiseRanking(filled(foresolve.TopK(5, 2)))


class TestPairwise(PoolConformance):
    def loss(self) -> Loss:
        return PairwiseRanking(filled(foresolve.TopK(5, 2)))


class TestPairwiseDifference(PoolConformance):
    def loss(self) -> Loss:
        return PairwiseRanking(filled(foresolve.TopK(5, 2)), kind="difference")


class TestListwise(PoolConformance):
    def loss(self) -> Loss:
        return ListwiseRanking(filled(foresolve.TopK(5, 2)), temperature=0.2)


@given(drawn())
def test_formulas(case) -> None:
    problem, truth, theta_hat, _ = case
    pool, batch, every = filled(problem), Batch(None, truth, problem), decisions(problem)
    predicted, true = problem.gain(theta_hat) @ every.T, problem.gain(truth) @ every.T
    hinge, difference = [], []
    for p, t in zip(predicted, true, strict=True):
        top = int(t.argmax())
        rest = [s for s in range(len(t)) if t[top] - t[s] > 1e-9 * t.abs().max()]
        hinge.append(sum(max(0.0, 0.3 + float(p[s] - p[top])) for s in rest) / len(t))
        difference.append(sum(float(p[top] - p[s] - t[top] + t[s]) ** 2 for s in rest) / len(t))
    weights, log = torch.softmax(2 * true, -1), torch.log_softmax(2 * predicted, -1)
    expected = {
        PointwiseRanking(pool): (predicted - true).square().mean(-1),
        PairwiseRanking(pool, kind="difference"): torch.tensor(difference, dtype=torch.float64),
        ListwiseRanking(pool, temperature=0.5): -(weights * log).sum(-1),
    }
    if not ties(true):  # else the best is one of several
        expected[PairwiseRanking(pool, margin=0.3)] = torch.tensor(hinge, dtype=torch.float64)
    else:
        del expected[next(loss for loss in expected if isinstance(loss, PairwiseRanking))]
    for loss, value in expected.items():
        torch.testing.assert_close(loss(theta_hat, batch), value, atol=1e-9, rtol=1e-9)


def ties(true: torch.Tensor) -> bool:
    """Whether some instance has two best decisions."""
    best = true.topk(2, -1).values
    return bool((best[:, 0] - best[:, 1] < 1e-9 * (1 + best[:, 0].abs())).any())


def test_ties_have_no_order() -> None:
    """Decisions that are equally good may be ranked either way."""
    batch = Batch(None, torch.tensor([[1.0, 1.0, 0.0]]), foresolve.TopK(3, 1))
    pool = filled(batch.problem)
    high, low = torch.tensor([[3.0, 2.0, 0.0]]), torch.tensor([[2.0, 3.0, 0.0]])
    assert PairwiseRanking(pool)(high, batch).item() == PairwiseRanking(pool)(low, batch).item() == 0.0


def test_the_least_of_listwise_is_the_entropy_of_the_truth() -> None:
    theta = torch.tensor([[0.3, 1.0, 0.0]], dtype=torch.float64)
    batch = Batch(None, theta, foresolve.TopK(3, 1))
    loss = ListwiseRanking(filled(batch.problem))
    p = theta.softmax(-1)
    torch.testing.assert_close(loss(theta, batch), -(p * p.log()).sum(-1))
    assert bool(loss(theta + torch.tensor([0.1, 0.0, 0.0]), batch) > loss(theta, batch))


@pytest.mark.parametrize("make", [PointwiseRanking, PairwiseRanking, ListwiseRanking])
def test_other_objectives(make: type[PointwiseRanking]) -> None:
    theta_hat, batch = coverage()
    leaf = theta_hat.clone().requires_grad_()
    make()(leaf, batch).sum().backward()
    assert leaf.grad is not None
    assert bool(torch.isfinite(leaf.grad).all())


def test_bad_input() -> None:
    with mistake("kind", "'square'"):
        PairwiseRanking(kind="square")  # type: ignore[arg-type]
    with mistake("margin", "got -1"):
        PairwiseRanking(margin=-1)
    with mistake("temperature", "got 0"):
        ListwiseRanking(temperature=0)
