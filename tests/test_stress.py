"""A slice of `make stress`, and that the harness sees what it is there to see: it must be able to fail."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import foresolve
import quadratic_programs
from foresolve.errors import ConvergenceWarning, InfeasibleError, UnboundedError
from foresolve.layers import Solution
from instances import draw as draw_instance
from oracles import reference
from tests.stress import __main__ as command
from tests.stress import curved, curved_predicted, losses, predicted, report, sets
from tests.stress.catalogue_draws import real_folder
from tests.stress.curved_exact import fractions
from tests.stress.curved_models import Curve, CurvedDraw
from tests.stress.curved_reference import decide, lacking
from tests.stress.decisions import exact_decisions
from tests.stress.exact import AT_UPPER, Face, Polytope, Projector, ProvenInfeasible, fraction
from tests.stress.kinds import KINDS
from tests.stress.linear import SmoothedCheck
from tests.stress.models import Draw, Model
from tests.stress.outcomes import FAILURES, WARNED, Outcome, Verdict, judged
from tests.stress.reference import best_fraction, best_value, project
from tests.stress.refined import certified, clarabel_guess
from tests.stress.rehearsal import rehearse
from tests.stress.runner import Result, run
from tests.stress.watching import watch

ENDLESS = "integrality without bounds"
SLICE = 6  # draws of each kind with share 1; `make stress` has 300


# -- the slice ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KINDS if name != ENDLESS])
def test_no_instance_fails(name: str) -> None:
    kind = KINDS[name]
    if name == "real programs" and real_folder() is None:
        pytest.skip("real programs are not at hand")
    for seed in range(max(1, round(SLICE * kind.share))):
        for verdict in kind.verdicts(seed):
            replay = f"python -m tests.stress --kind {name!r} --replay {seed}: {verdict}"
            assert verdict.outcome not in FAILURES, replay
            assert not (kind.steady and verdict.outcome in WARNED), replay


@pytest.mark.slow
def test_an_integer_program_without_bounds_ends() -> None:
    """In a process of its own, which can be stopped if it does not."""
    (result,) = run([(ENDLESS, 0)], workers=1)
    assert not result.broken
    assert [verdict.outcome for verdict in result.verdicts if verdict.outcome in FAILURES] == []


# -- what counts as a failure ------------------------------------------------------------------------------------------


def simple_draw(**changes: Any) -> Draw:
    """Three instances in a box with one equality and one inequality, away from kinks."""
    A_ub, b_ub = np.array([[1.0, -1.0, 0.5, 0.0]]), np.array([0.25])
    model = Model(A_ub, b_ub, np.ones((1, 4)), np.ones(1), np.zeros(4), np.ones(4))
    rng = np.random.default_rng(0)
    theta, cotangent = (torch.from_numpy(rng.standard_normal((3, 4))) for _ in range(2))
    return Draw(model, theta, 0.5, cotangent, **changes)


def outcomes(draw: Draw) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for verdict in SmoothedCheck(draw, draw.build(), np.random.default_rng(0)).verdicts():
        found.setdefault(verdict.part, set()).add(str(verdict.outcome))
    return found


class Broken(foresolve.QuadraticRelaxation):
    """A layer with a defect of a given name."""

    def __init__(self, gamma: float, defect: str) -> None:
        super().__init__(gamma)
        self.defect = defect

    def solve(self, theta: torch.Tensor, problem: Any, start: Solution | None = None) -> Solution:
        solution = super().solve(theta, problem, start)
        x, late = solution.x, torch.ones_like(solution.status)
        if self.defect == "an index error":
            raise IndexError
        if self.defect == "says infeasible":
            raise InfeasibleError("none of {instances}", [0])
        if self.defect == "silent status":
            return replace(solution, status=late)
        if self.defect == "off and warned":
            warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
            return replace(solution, x=x * 1.01, status=late)
        changed = {
            "off": x * (1 + 1e-5),
            "NaN": x * torch.nan,
            "below a bound": x - 1e-5 * (x.detach() == 0),
            "gradient off": x + 1e-5 * (x - x.detach()),
        }
        return replace(solution, x=changed.get(self.defect, x))


@pytest.mark.parametrize(
    ("defect", "forward", "gradient"),
    [
        ("none", {"right"}, {"right"}),
        ("off", {"WRONG"}, {"WRONG"}),
        ("NaN", {"NaN"}, {"NaN"}),
        ("below a bound", {"WRONG", "right"}, {"right"}),
        ("gradient off", {"right"}, {"WRONG"}),
        ("an index error", {"crash"}, set()),
        ("silent status", {"WRONG", "warned, right"}, {"warned, right"}),
        ("off and warned", {"warned, far off"}, {"warned, far off"}),
    ],
)
def test_defects_of_a_layer_are_seen(
    defect: str, forward: set[str], gradient: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SmoothedCheck, "_layer", lambda self: Broken(self.draw.gamma, defect))
    found = outcomes(simple_draw())
    assert found["forward"] == forward
    assert found.get("gradient", set()) == gradient


def test_a_false_claim_of_infeasibility_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmoothedCheck, "_layer", lambda self: Broken(self.draw.gamma, "says infeasible"))
    draw = simple_draw()
    assert outcomes(draw.only([0])) == {"forward": {"WRONG"}}
    model = draw.model.changed(b_ub=np.array([-9.0]))
    assert outcomes(replace(draw.only([0]), model=model)) == {"forward": {"refused"}}


def test_decisions_that_are_not_best_or_not_feasible_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = simple_draw()
    problem = draw.build()
    assert {verdict.outcome for verdict in exact_decisions(draw, problem)} == {Outcome.RIGHT}
    best = problem.solve(draw.theta)
    for decision in (best.flip(0), best * 0.999, best * torch.nan):  # another instance's; not feasible; NaN
        monkeypatch.setattr(foresolve.LinearProgram, "solve", lambda self, theta, decision=decision: decision)
        found = {verdict.outcome for verdict in exact_decisions(draw, problem)}
        assert found & {Outcome.WRONG, Outcome.NAN}
        assert found <= {Outcome.WRONG, Outcome.NAN, Outcome.RIGHT}


def test_defects_of_predicted_constraints_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = predicted._gradients

    def off(draw: Draw, leaves: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
        return {name: value * (1 + 1e-4) for name, value in gradients(draw, leaves).items()}

    def found() -> set[Outcome]:
        return {verdict.outcome for verdict in predicted.check(simple_draw(), np.random.default_rng(0))}

    assert found() == {Outcome.RIGHT}
    monkeypatch.setattr(predicted, "_gradients", off)
    assert Outcome.WRONG in found()


def test_defects_of_sets_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS["sets: coverage"]
    draw = next(one for seed in range(20) if (one := kind.build(kind.generator(seed))).count > 1)
    solve = foresolve.MultilinearRelaxation.solve

    def off(self: Any, theta: torch.Tensor, problem: Any) -> Any:
        solution = solve(self, theta, problem)
        return replace(solution, x=solution.x * 0.999)

    assert {verdict.outcome for verdict in sets.check(draw, np.random.default_rng(0))} <= {Outcome.RIGHT, Outcome.KINK}
    monkeypatch.setattr(foresolve.MultilinearRelaxation, "solve", off)
    monkeypatch.setattr(foresolve.SubmodularProblem, "solve", lambda self, theta, method: theta[..., 0] * 0)
    found = {(verdict.part, verdict.outcome) for verdict in sets.check(draw, np.random.default_rng(0))}
    assert {("multilinear", Outcome.WRONG), ("greedy", Outcome.WRONG), ("exact", Outcome.WRONG)} <= found


def test_weights_of_other_instances_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS["sets: weights per instance"]
    draw = next(one for seed in range(20) if (one := kind.build(kind.generator(seed))).batch == (3,))
    monkeypatch.setattr(foresolve.SubmodularProblem, "select", lambda self, index: self)  # keeps the order of the file
    found = {verdict.outcome for seed in range(5) for verdict in sets.check(draw, np.random.default_rng(seed))
             if verdict.part == "select"}  # fmt: skip
    assert found & {Outcome.WRONG, Outcome.CRASH}


@pytest.mark.parametrize(
    ("name", "check"), [("SPOPlus", losses.check_spo), ("FenchelYoung", losses.check_fenchel_young)]
)
def test_defects_of_losses_are_seen(name: str, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = simple_draw()
    assert {verdict.outcome for verdict in check(draw, np.random.default_rng(0))} == {Outcome.RIGHT}
    kind = getattr(foresolve.losses, name)
    forward = kind.forward
    monkeypatch.setattr(
        kind, "forward", lambda self, theta_hat, batch: forward(self, theta_hat, batch) + 1e-3 * theta_hat.sum(-1)
    )
    found = {verdict.outcome for verdict in check(draw, np.random.default_rng(0))}
    assert found == {Outcome.WRONG}


# -- quadratic programs ------------------------------------------------------------------------------------------------


def curved_draw(**changes: Any) -> CurvedDraw:
    """The simple draw with a dense Q."""
    plain = simple_draw()
    curve = Curve({"Q": np.diag([1.0, 2.0, 1.0, 2.0]) + 0.25})
    parts = ("forward", "gradient", "duals", "exact")
    return CurvedDraw(plain.model, plain.theta, 0.0, plain.cotangent, **{"parts": parts, "curve": curve, **changes})


def curved_outcomes(draw: CurvedDraw) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for verdict in curved.check(draw, np.random.default_rng(0)):
        found.setdefault(verdict.part, set()).add(str(verdict.outcome))
    return found


@pytest.mark.parametrize(
    ("defect", "wrong"),
    [
        ("none", set()),
        ("off", {"forward", "gradient"}),
        ("gradient off", {"gradient"}),
        ("NaN", {"forward", "gradient"}),
    ],
)
def test_defects_of_quadratic_programs_are_seen(defect: str, wrong: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmoothedCheck, "_layer", lambda self: Broken(self.draw.gamma, defect))
    found = curved_outcomes(curved_draw())
    assert set(found) == {"forward", "gradient", "duals", "dual gradient", "exact"}
    assert {part for part in ("forward", "gradient") if found[part] & {"WRONG", "NaN"}} == wrong


@pytest.mark.parametrize(
    ("scale", "part"), [(1 + 1e-5, "duals"), (-1.0, "duals"), (float("nan"), "duals")], ids=["off", "signs", "NaN"]
)
def test_defects_of_duals_are_seen(scale: float, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = foresolve.QuadraticRelaxation.solve

    def off(self: Any, *arguments: Any) -> Solution:
        solution = solve(self, *arguments)
        return replace(solution, duals=replace(solution.duals, eq=solution.duals.eq * scale))

    monkeypatch.setattr(foresolve.QuadraticRelaxation, "solve", off)
    found = curved_outcomes(curved_draw())
    assert found[part] & {"WRONG", "NaN"}
    assert found["dual gradient"] & {"WRONG", "NaN"}
    assert found["forward"] == {"right"}


def test_exact_decisions_of_quadratic_programs_that_are_not_best_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = curved_draw(parts=("exact",))
    best = draw.build().solve(draw.theta)
    for decision in (best.flip(0), best * 0.999, best * torch.nan):  # another instance's; not feasible; NaN
        monkeypatch.setattr(foresolve.QuadraticProgram, "solve", lambda self, theta, decision=decision: decision)
        found = curved_outcomes(draw)["exact"]
        assert found & {"WRONG", "NaN"}

    def refused(self: Any, theta: torch.Tensor) -> None:
        raise UnboundedError("{instances} has no best decision", [0], "instance 0")

    monkeypatch.setattr(foresolve.QuadraticProgram, "solve", refused)
    assert curved_outcomes(draw)["exact"] == {"WRONG"}


@pytest.mark.parametrize("name", ["_gradients", "_through_theta"])
def test_defects_of_predicted_quadratic_parts_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"diagonal": np.array([1.0, 2.0, 1.0, 2.0]), "factor": np.array([[1.0], [0.5], [0.25], [0.0]])}
    draw, own = curved_draw(curve=Curve(parts)), getattr(curved_predicted, name)
    seed = next(s for s in range(9) if (np.random.default_rng(s).random() < 0.5) == (name == "_through_theta"))

    def found() -> set[Outcome]:
        return {verdict.outcome for verdict in curved_predicted.check(draw, np.random.default_rng(seed))}

    def off(draw: CurvedDraw, leaves: dict[str, torch.Tensor]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        gradients, x = own(draw, leaves)
        return {part: value * (1 + 1e-4) for part, value in gradients.items()}, x

    assert found() == {Outcome.RIGHT}
    monkeypatch.setattr(curved_predicted, name, off)
    assert Outcome.WRONG in found()


def test_defects_in_one_block_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS["quadratic: many blocks"]
    draw, solve = kind.build(kind.generator(0)), foresolve.QuadraticRelaxation.solve

    def off(self: Any, theta: torch.Tensor, problem: Any) -> Solution:
        solution = solve(self, theta, problem)
        nudge = torch.zeros(problem.n, dtype=torch.float64)
        nudge[7] = 1e-4
        return replace(solution, x=solution.x + nudge)

    monkeypatch.setattr(foresolve.QuadraticRelaxation, "solve", off)
    found = {(verdict.part, verdict.outcome) for verdict in kind.check(draw, np.random.default_rng(0))}
    assert found == {("forward", Outcome.WRONG), ("gradient", Outcome.RIGHT)}


@pytest.mark.parametrize("seed", range(8))
def test_exact_decisions_in_a_metric_are_those_of_clarabel(seed: int) -> None:
    program, _ = quadratic_programs.of_form(("dense", "leaning")[seed % 2], seed, dependent=seed % 4 == 2)
    C, rhs = np.concatenate([program.A_eq, program.A_ub]), np.concatenate([program.b_eq, program.b_ub])
    p = Polytope(C, rhs, np.arange(len(C)) < len(program.b_eq), program.lower, program.upper)
    truth = decide(p, program.theta, fractions(program.Q), leaning=seed % 2 == 1, hint=None)
    found = quadratic_programs.by_clarabel(program)
    assert truth.x is not None
    assert found is not None
    np.testing.assert_allclose(truth.x, found[0], atol=1e-7)
    wrong = decide(p, program.theta, fractions(program.Q), leaning=seed % 2 == 1, hint=p.upper)
    np.testing.assert_array_equal(wrong.x, truth.x)  # whatever the guess
    v = np.random.default_rng(seed).standard_normal(program.n)
    slope = truth.derivative(v)
    assert slope is not None
    assert truth.agrees(v, slope, np.random.default_rng(0))
    assert not truth.agrees(v, slope * 1.001, np.random.default_rng(0))
    assert lacking(p, program.theta, fractions(program.Q), truth.x) == pytest.approx(0.0, abs=1e-12)


def test_a_quadratic_program_by_hand() -> None:
    """`max 3 x - x^2 + y - 2 y^2` on `x + y = 1`: `3 - 2x = 1 - 4y`."""
    p = Polytope(np.ones((1, 2)), np.ones(1), np.ones(1, bool), np.full(2, -9.0), np.full(2, 9.0))
    truth = decide(p, np.array([3.0, 1.0]), fractions(np.diag([2.0, 4.0])), leaning=False, hint=None)
    assert truth.optimum is not None
    assert truth.optimum.x == [1, 0]
    assert truth.optimum.y == [1]
    np.testing.assert_allclose(truth.derivative(np.array([1.0, 0.0])), [1 / 6, -1 / 6])
    free = replace(p, C=np.zeros((0, 2)), rhs=np.zeros(0), equality=np.zeros(0, bool), upper=np.full(2, np.inf))
    assert lacking(free, np.array([1.0, 1.0]), fractions(np.diag([0.0, 1.0])), np.zeros(2)) is None
    assert lacking(free, np.array([-1.0, 1.0]), fractions(np.diag([0.0, 1.0])), np.array([-9.0, 0.0])) == 0.5


def test_numbers_that_are_none_never_pass() -> None:
    assert judged("forward", 0, float("nan"), 1.0, warned=False).outcome == Outcome.WRONG


def test_only_our_own_errors_are_refusals() -> None:
    def ours() -> None:
        raise InfeasibleError("none")

    assert watch(ours).refusal is not None
    assert "ZeroDivisionError" in watch(lambda: 1 / 0).crash


# -- the references ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("flags", [{}, {"free": True}, {"fixed": True}])
def test_exact_projections_are_those_of_clarabel(seed: int, flags: dict[str, bool]) -> None:
    instance = draw_instance(seed, batch=1, **flags)  # type: ignore[arg-type]
    C, rhs = np.concatenate([instance.A_eq, instance.A_ub]), np.concatenate([instance.b_eq, instance.b_ub])
    p = Polytope(C, rhs, np.arange(len(C)) < len(instance.A_eq), instance.lower, instance.upper)
    truth = project(p, instance.theta[0], instance.gamma)
    assert truth.x is not None
    np.testing.assert_allclose(truth.x, reference(instance, instance.theta[0]), atol=1e-9)
    guess = clarabel_guess(p, truth.s)
    assert guess is not None
    proven = certified(p, truth.s, *guess)
    assert proven is not None
    np.testing.assert_allclose(proven[1][0], truth.x, atol=1e-13)


def test_an_exact_projection_by_hand() -> None:
    p = Polytope(np.array([[1.0, 1.0, 1e8]]), np.array([1.0]), np.array([True]), np.zeros(3), np.array([5.0, 5.0, 0.0]))
    optimum = Projector(p, [Fraction(2), Fraction(3, 2), Fraction(1)]).solve()
    assert optimum.x == [Fraction(3, 4), Fraction(1, 4), 0]
    assert optimum.y == [Fraction(5, 4)]
    truth = project(p, np.array([2.0, 1.5, 1.0]), 0.5)
    np.testing.assert_array_equal(truth.derivative(np.array([1.0, 0.0, 0.0])), [0.5, -0.5, 0.0])


def test_a_wrong_guess_does_not_matter() -> None:
    instance = draw_instance(3, batch=1)
    C, rhs = np.concatenate([instance.A_eq, instance.A_ub]), np.concatenate([instance.b_eq, instance.b_ub])
    p = Polytope(C, rhs, np.arange(len(C)) < 2, instance.lower, instance.upper)
    projector = Projector(p, [fraction(value) for value in instance.theta[0]])
    assert projector.solve(Face([3, 4, 5], np.full(8, AT_UPPER))).x == projector.solve().x


def test_infeasibility_is_proven_to_the_last_bit() -> None:
    rows = np.array([[1.0, 1.0], [-1.0, -1.0]])
    box = (np.zeros(2), np.ones(2))
    edge = Polytope(rows, np.array([1.0, -1.0]), np.zeros(2, bool), *box)
    assert sum(Projector(edge, [Fraction(0)] * 2).solve().x) == 1
    beyond = Polytope(rows, np.array([1.0, -np.nextafter(1.0, 2.0)]), np.zeros(2, bool), *box)
    with pytest.raises(ProvenInfeasible):
        Projector(beyond, [Fraction(0)] * 2).solve()


def test_a_tie_is_a_kink_and_a_repeated_row_is_not() -> None:
    box = Polytope(np.zeros((0, 2)), np.zeros(0), np.zeros(0, bool), np.zeros(2), np.ones(2))
    assert project(box, np.array([1.0, 0.5]), 0.5).derivative(np.ones(2)) is None
    assert project(box, np.array([1.5, 0.5]), 0.5).derivative(np.ones(2)) is not None
    twice = Polytope(np.ones((2, 2)), np.ones(2), np.zeros(2, bool), np.full(2, -9.0), np.full(2, 9.0))
    np.testing.assert_array_equal(
        project(twice, np.array([2.0, 1.0]), 0.5).derivative(np.array([1.0, 0.0])), [0.5, -0.5]
    )


def test_best_values_are_exact_and_may_be_infinite() -> None:
    p = Polytope(np.array([[1.0, 3.0]]), np.array([1.0]), np.zeros(1, bool), np.zeros(2), np.full(2, np.inf))
    assert best_value(p, np.array([1.0, 1.0]), np.zeros(2)) == 1.0
    free = Polytope(np.array([[1.0, -3.0]]), np.array([1.0]), np.zeros(1, bool), np.zeros(2), np.full(2, np.inf))
    for unit in (1.0, 1e-15, 1e15):  # of the gains
        assert best_value(free, np.array([unit, unit]), np.zeros(2)) == np.inf


def test_best_values_of_larger_programs_are_proven_or_exact() -> None:
    rng = np.random.default_rng(0)
    C, rhs = rng.standard_normal((4, 30)), np.ones(4)
    p = Polytope(C, rhs, np.arange(4) < 2, -np.ones(30), np.ones(30))
    gain = rng.standard_normal(30)
    exact = best_fraction(p, [fraction(g) for g in gain], np.zeros(30))
    assert exact is not None
    best = Projector(p, [2**90 * fraction(g) for g in gain]).solve().point
    for x in (best, np.zeros(30)):  # proven by duality; not best, so that the exact method decides
        assert best_value(p, gain, x) == pytest.approx(float(exact), rel=1e-9)


def test_rows_are_measured_by_their_own_terms() -> None:
    p = Polytope(np.eye(2), np.array([1e-6, 1e10]), np.zeros(2, bool), np.zeros(2), np.full(2, 1e12))
    assert p.broken(np.array([2e-6, 0.0])) == pytest.approx(1 / 3)
    assert p.broken(np.array([1e-6, 1e10])) == 0


# -- runs --------------------------------------------------------------------------------------------------------------


def test_hangs_and_dead_processes_are_counted_and_the_run_goes_on() -> None:
    jobs = [("sleeps", 0), ("dies", 1), ("ends", 2), ("ends", 3)]
    results = {result.seed: result.verdicts[0].outcome for result in run(jobs, workers=1, limit=1.0, work=rehearse)}
    assert results == {0: Outcome.HANG, 1: Outcome.CRASH, 2: Outcome.RIGHT, 3: Outcome.RIGHT}


def test_a_draw_follows_from_its_kind_and_seed() -> None:
    kind = KINDS["small units of x"]
    first, second = (kind.build(kind.generator(5)) for _ in range(2))
    assert torch.equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.model.A_ub, second.model.A_ub)
    assert len({tuple(kind.generator(seed).random(2)) for seed in range(3)}) == 3


def test_shares_decide_how_many_draws_a_kind_gets() -> None:
    jobs = list(command.jobs(["plain", "matching", "path: large grid"], 20, first=100))
    counts = {kind: sum(name == kind for name, _ in jobs) for kind in ("plain", "matching", "path: large grid")}
    assert counts == {"plain": 40, "matching": 20, "path: large grid": 2}
    assert min(seed for _, seed in jobs) == 100
    assert len(set(jobs)) == len(jobs)


def test_a_tally_fails_on_failures_and_on_warnings_of_steady_kinds(tmp_path: Path) -> None:
    tally = report.Tally({"first seed": 0, "minutes": 0.0})
    warned = [Verdict("forward", Outcome.WARNED_OFF, 0), Verdict("forward", Outcome.RIGHT, 1)]
    tally.add(Result("small units of x", 0, warned))
    assert not tally.failures
    tally.add(Result("plain", 1, warned))
    tally.add(Result("matching", 2, [Verdict("exact", Outcome.WRONG)]))
    tally.add(Result("matching", 3, [], broken="Traceback"))
    record = tally.record()
    assert [(entry["kind"], entry["seed"]) for entry in record["failures"]] == [
        ("plain", 1),
        ("matching", 2),
        ("matching", 3),
    ]
    assert record["instances"] == 5
    assert len(record["warned, far off"]) == 1
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.save(record, tmp_path / "run.json")
    report.write_page(json.loads((tmp_path / "run.json").read_text(encoding="utf-8")), page)
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| plain | 2 | 1 |  |  | 1 |" in text
