from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.layers import QuadraticRelaxation
from foresolve.learning import Certificate, Decisions, Policy
from foresolve.problems import (
    Knapsack,
    LinearProgram,
    OracleProblem,
    Problem,
    QuadraticProgram,
    ShortestPath,
    SubmodularProblem,
    TopK,
)
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import caution


def decide(problem: Problem, theta: torch.Tensor, rule: object = None) -> Decisions:
    return Policy(lambda features: features, problem, rule)(theta)  # type: ignore[arg-type]


def random_decisions(seed: int) -> Decisions:
    """Of random linear programs, with costs or gains, some of them integer."""
    draw = torch.Generator().manual_seed(seed)
    n, m = int(torch.randint(2, 6, (), generator=draw)), int(torch.randint(1, 4, (), generator=draw))
    rows = torch.rand(m, n, generator=draw, dtype=torch.float64) + 0.1
    problem = LinearProgram(
        rows, rows.sum(1) * 0.7, bounds=(0, 2), sense="min" if seed % 2 else "max", integrality=int(seed % 3 == 0)
    )
    return decide(problem, torch.randn(3, n, generator=draw, dtype=torch.float64))


def test_a_linear_program_is_proven() -> None:
    problem = ShortestPath([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c")], "a", "c")
    decisions = decide(problem, torch.tensor([[1.0, 1.0, 1.0, 3.0], [2.0, 0.0, 2.0, 3.0]]))
    certificate = decisions.certificate
    assert certificate is decisions.certificate  # found once
    assert certificate.kind == "duals"
    assert decisions.objective.tolist() == [2.0, 3.0]  # costs, in the user's sense
    assert certificate.bound.tolist() == pytest.approx([2.0, 3.0])
    assert bool((certificate.bound <= decisions.objective).all())  # nothing costs less
    assert bool(certificate.proven.all())
    assert str(certificate) == "2 of 2 decisions proven to be the best by multipliers of the rows"
    assert decisions.verify()


def test_a_knapsack_need_not_be() -> None:
    decisions = decide(Knapsack([3, 4, 5], 6), torch.tensor([[3.0, 4.0, 6.0], [1.0, 1.0, 9.0]]))
    certificate = decisions.certificate
    assert certificate.proven.tolist() == [False, False]
    assert bool((certificate.gap > 0.1).all())
    assert "for the others the bound holds (gaps up to" in str(certificate)
    assert "that they are the best is the solver's word" in str(certificate)
    assert decisions.verify()  # what is stated holds


def test_a_rule_and_a_heuristic_claim_nothing() -> None:
    theta = torch.tensor([[3.0, 2.0, 1.0]])
    smoothed = decide(TopK(3, 1), theta, QuadraticRelaxation(1.0))
    assert "they are a rule's, and need not be the best" in str(smoothed.certificate)
    assert smoothed.feasible.tolist() == [True]
    assert smoothed.verify()
    worst = decide(TopK(3, 1), theta, lambda theta, problem: problem.solve(-theta))
    assert worst.certificate.gap.tolist() == pytest.approx([2.0])
    greedy = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(3, 1))
    decisions = decide(greedy, torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)))
    assert decisions.certificate.kind == "solver's word"
    assert decisions.certificate.duals is None
    assert "a heuristic's" in str(decisions.certificate)
    assert decisions.verify()


@pytest.mark.parametrize("sense", ["max", "min"])
def test_other_objectives_are_the_solvers_word(sense: str) -> None:
    theta = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    quadratic = QuadraticProgram(diagonal=[1.0, 2.0], bounds=(0, 1), sense=sense)  # type: ignore[arg-type]
    box = OracleProblem(lambda c: (c > 1.5) * 1.0, n=2, sense=sense)  # type: ignore[arg-type]
    for decisions in (decide(quadratic, theta), decide(box, theta)):
        certificate = decisions.certificate
        assert certificate.kind == "solver's word"
        assert certificate.bound.tolist() == [torch.inf if sense == "max" else -torch.inf] * 2
        assert not bool(certificate.proven.any())
        checked = decisions.verify()
        assert checked
        assert "solver's word" in str(checked)
        decisions.objective = decisions.objective + 0.01
        assert not decisions.verify()


def test_a_path_that_was_adjusted_is_not_called_the_best() -> None:
    problem = ShortestPath([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c")], "a", "c")
    with caution("instance 0", "a -> b -> a"):
        decisions = decide(problem, torch.tensor([[1.0, -3.0, 1.0, 1.5], [1.0, 1.0, 1.0, 1.5]]))
    assert decisions.adjusted.tolist() == [True, False]
    assert decisions.certificate.proven.tolist() == [False, True]
    assert "but for 1 that had to be adjusted" in str(decisions.certificate)


# -- tampering -------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**31), what=st.sampled_from(["x", "objective", "duals", "bound", "gap", "proven"]))
@settings(max_examples=120, deadline=None)
def test_what_was_tampered_with_is_caught(seed: int, what: str) -> None:
    decisions = random_decisions(seed)
    assert decisions.verify(), str(decisions.verify())
    certificate = decisions.certificate
    assert certificate.duals is not None
    row = seed % 3
    if what == "x":
        decisions.x[row, 0] += 0.01
    elif what == "objective":
        decisions.objective[row] *= 1.001
        decisions.objective[row] += 0.001
    else:
        parts = {"duals": certificate.duals.clone(), "bound": certificate.bound.clone(), "gap": certificate.gap.clone()}
        if what in parts:
            parts[what][row] += 0.01 if what == "duals" else 0.001
        proven = certificate.proven.clone()
        if what == "proven":
            unproven = (~proven).nonzero().flatten()
            if not len(unproven):
                return
            row = int(unproven[0])
            proven[row] = True
        decisions._certificate = dataclasses.replace(certificate, **parts, proven=proven)
    checked = decisions.verify()
    assert not checked
    assert f"instance {row}: " in str(checked)
    others = [i for i in range(3) if i != row]
    assert bool((checked.feasible & checked.value & checked.bound)[others].all())


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_multipliers_that_are_no_numbers_prove_no_bound(wrong: float) -> None:
    decisions = decide(Knapsack([3, 4, 5], 6), torch.tensor([[3.0, 4.0, 6.0]], dtype=torch.float64))
    certificate = decisions.certificate
    assert certificate.duals is not None
    duals = torch.full_like(certificate.duals, wrong)
    decisions._certificate = dataclasses.replace(certificate, duals=duals)
    assert "the bound that is proven is inf, not 7 as stated" in str(decisions.verify())


@pytest.mark.parametrize("part", ["bound", "gap", "proven"])
def test_without_multipliers_nothing_is_proven(part: str) -> None:
    stated = {"bound": torch.tensor([9.0]), "gap": torch.tensor([0.0]), "proven": torch.tensor([True])}[part]
    coverage = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(3, 1))
    decisions = decide(coverage, torch.rand(1, 3, 4))
    assert decisions.verify()
    decisions._certificate = dataclasses.replace(decisions.certificate, **{part: stated})
    assert not decisions.verify()


def test_multipliers_that_were_taken_away_are_missed() -> None:
    """Without them a worse decision would pass for the solver's."""
    decisions = decide(LinearProgram([[1.0, 1.0]], [1.0]), torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    decisions.x[0], decisions.objective[0] = torch.tensor([0.0, 1.0]), 1.0
    endless = torch.full((2,), torch.inf, dtype=torch.float64)
    decisions._certificate = Certificate("solver's word", endless, endless, torch.zeros(2, dtype=torch.bool), "")
    assert "instance 0: the multipliers that prove its bound are missing" in str(decisions.verify())


def test_verified_says_how_many_are_proven() -> None:
    decisions = decide(LinearProgram([[1.0, 1.0]], [1.0]), torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    assert str(decisions.verify()).endswith("; all of them proven to be the best by multipliers of the rows")
    worse = Decisions(decisions.problem, torch.tensor([[0.0, 1.0], [0.0, 1.0]]), decisions.theta, ruled=True)
    told = str(worse.verify())
    assert "; 1 of them proven to be the best by multipliers of the rows; for the others the bound holds" in told


def test_a_row_in_large_units_loosens_no_other() -> None:
    """Single precision rounds a million to a sixteenth, but not the one beside it."""
    problem = LinearProgram([[1.0, 0.0], [0.0, 1.0]], [1e6, 1.0], bounds=(0, 2e6))
    theta = torch.tensor([[1.0, 1e-9]])
    assert not Decisions(problem, torch.tensor([[1e6, 1.3]]), theta).verify()
    assert not Decisions(problem, torch.tensor([[torch.inf, 1.0]]), theta).verify()
    assert Decisions(problem, torch.tensor([[1e6 + 0.0625, 1.0]]), theta).verify()


def test_a_fraction_of_an_item_is_not_proven_to_be_the_best() -> None:
    theta = torch.tensor([[3.0, 4.0, 6.0]], dtype=torch.float64)
    fraction = torch.tensor([[0.0, 0.25, 1.0]], dtype=torch.float64)  # the best without integrality
    decisions = Decisions(Knapsack([3, 4, 5], 6), fraction, theta, ruled=True, relaxed=True)
    assert decisions.feasible.tolist() == [True]
    assert decisions.certificate.gap.tolist() == pytest.approx([0.0])
    assert decisions.certificate.proven.tolist() == [False]
    assert "feasible but for integrality" in str(decisions.verify())


def test_what_fails_is_named() -> None:
    decisions = decide(TopK(3, 1, names=["a", "b", "c"]), torch.tensor([[3.0, 2.0, 1.0]] * 8))
    assert decisions.verify()
    decisions.x[:, 1] = 1.0
    lines = str(decisions.verify()).splitlines()
    assert lines[0] == "not verified:"
    assert lines[1] == "  instance 0: the decision is not feasible: A_eq row 0 is broken by 1"
    assert lines[6] == "  ... and 3 more"
    assert "the objective is 5, not 3 as stated" in lines[7]


def test_a_decision_that_is_not_feasible_is_not_proven() -> None:
    decisions = decide(TopK(3, 1), torch.tensor([[3.0, 2.0, 1.0]]), lambda theta, problem: torch.ones(1, 3))
    assert decisions.feasible.tolist() == [False]
    assert decisions.certificate.gap.tolist() == pytest.approx([-3.0])
    assert decisions.certificate.proven.tolist() == [False]
    assert not decisions.verify()


def test_a_constant_proves_nothing() -> None:
    """Beside a large one any gap is small; that a decision is the best is told by what it moves."""
    problem = LinearProgram([[1.0, 1.0]], [1.0], bounds=(0, 1)).parametrized(constant=1e7)
    theta = torch.tensor([[3.0, 1.0]], dtype=torch.float64)
    worse = decide(problem, theta, lambda theta, problem: torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    assert worse.certificate.gap.item() == pytest.approx(2.0, abs=1e-6)
    assert not worse.certificate.proven.any()
    assert decide(problem, theta).certificate.proven.all()


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e6])
def test_what_is_worth_more_than_the_bound_is_never_proven(unit: float) -> None:
    plan = LinearProgram([[1.0, 2.0, 3.0]], [unit], bounds=(0, unit))
    decisions = decide(plan, torch.tensor([[1.0, 2.0, 1.0]], dtype=torch.float64))
    assert decisions.verify()
    assert decisions.certificate.proven.tolist() == [True]
    more = Decisions(plan, 1.5 * decisions.x, decisions.theta)
    assert more.certificate.proven.tolist() == [False]  # it breaks a row, if by less than the tolerance of all rows


def test_parts() -> None:
    certificate = decide(TopK(3, 1), torch.rand(4, 3)).certificate
    part = certificate[torch.tensor([2, 0])]
    assert isinstance(part, Certificate)
    assert len(part) == 2
    assert torch.equal(part.bound, certificate.bound[[2, 0]])


def test_verifying_solves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    decisions = random_decisions(1)
    assert decisions.certificate.kind == "duals"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was solved")

    for name in ("solve", "decide", "argmax", "maximizer"):
        monkeypatch.setattr(LinearProgram, name, refuse)
    monkeypatch.setattr("foresolve.learning.deployment.certificate.row_duals", refuse)
    monkeypatch.setattr("foresolve.solvers.exact.highs_model.load_highspy", refuse)
    assert decisions.verify()
