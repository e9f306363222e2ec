from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import foresolve
from foresolve.data import Batch
from foresolve.losses import PerturbationGradient
from losses.conformance import Case, LossConformance, instance
from losses.test_spo import decisions, drawn
from mistakes import mistake

SIDES = ("backward", "central", "forward")


class Perturbation(LossConformance):
    nonnegative = False
    sides, size = "backward", 3.0  # a large step: flat is the loss where it does not change the decision

    def loss(self) -> PerturbationGradient:
        return PerturbationGradient(step=self.size, sides=self.sides)  # type: ignore[arg-type]

    def cases(self) -> list[Case]:
        capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
        return [
            instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True),
            instance(foresolve.Knapsack([2, 3, 4, 5], capacities), 4, seed=2, positive=True),
        ]


class TestBackward(Perturbation):
    # An instance by itself is led to what it prefers already: instances learn from each other.
    learns = False


class TestCentral(Perturbation):
    sides = "central"


class TestForward(Perturbation):
    sides = "forward"


@given(drawn(), st.sampled_from(SIDES), st.sampled_from([0.01, 0.5, 3.0]))
def test_it_is_the_formula_over_all_decisions(case, sides, step: float) -> None:
    problem, truth, theta_hat, _ = case
    c, c_hat, every = problem.gain(truth), problem.gain(theta_hat), decisions(problem)

    def best(gain: torch.Tensor) -> torch.Tensor:
        return (gain @ every.T).amax(-1)

    low, high = best(c_hat - step * c), best(c_hat + step * c)
    expected = {
        "backward": (low - best(c_hat)) / step,
        "central": (low - high) / (2 * step),
        "forward": (best(c_hat) - high) / step,
    }[sides]
    value = PerturbationGradient(step, sides)(theta_hat, Batch(None, truth, problem))
    torch.testing.assert_close(value, expected, atol=1e-8, rtol=1e-8)


@given(drawn(), st.sampled_from([0.01, 0.5, 3.0]))
def test_backward_and_forward_enclose_minus_the_objective(case, step: float) -> None:
    problem, truth, theta_hat, _ = case
    batch = Batch(None, truth, problem)
    exact = -problem.objective(problem.maximizer(theta_hat), truth)
    above = PerturbationGradient(step, "backward")(theta_hat, batch)
    below = PerturbationGradient(step, "forward")(theta_hat, batch)
    assert bool((above >= exact - 1e-8).all())
    assert bool((below <= exact + 1e-8).all())


def test_small_steps_give_minus_the_objective() -> None:
    problem = foresolve.ShortestPath.grid(4, 4)
    theta_hat, batch = instance(problem, 24, positive=True)
    exact = -problem.objective(problem.maximizer(theta_hat), batch.theta)
    for sides in SIDES:
        torch.testing.assert_close(PerturbationGradient(1e-5, sides)(theta_hat, batch), exact, atol=1e-8, rtol=1e-8)


def test_one_call_of_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = foresolve.TopK(5, 2)
    theta_hat, batch = instance(problem, 5)
    calls, argmax = [], problem.argmax
    monkeypatch.setattr(problem, "argmax", lambda gains: calls.append(gains.shape) or argmax(gains))
    PerturbationGradient()(theta_hat, batch)
    assert calls == [(2, 4, 5)]


def test_bad_input() -> None:
    with mistake("step", "got 0"):
        PerturbationGradient(step=0)
    with mistake("sides", "'both'"):
        PerturbationGradient(sides="both")  # type: ignore[arg-type]
