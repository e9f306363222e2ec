from __future__ import annotations

from pathlib import Path

import pytest
import torch

from foresolve.data import Keys
from foresolve.layers import QuadraticRelaxation
from foresolve.learning import Decisions, Policy
from foresolve.problems import Affine, BipartiteMatching, Knapsack, LinearProgram, ShortestPath, SubmodularProblem, TopK
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import file_mistake, mistake

pandas = pytest.importorskip("pandas")

ROADS = ShortestPath([("a", "b"), ("b", "c"), ("a", "c")], "a", "c", names=["ab", "bc", "ac"])
COSTS = torch.tensor([[1.0, 1.0, 3.0], [2.0, 2.0, 3.0], [1.0, 0.5, 9.0]])


def decide(problem: object, theta: torch.Tensor, rule: object = None) -> Decisions:
    return Policy(lambda features: features, problem, rule)(theta)  # type: ignore[arg-type]


def keyed(*names: str) -> Decisions:
    keys = Keys(("day",), (pandas.array(names).to_numpy(dtype=object),))
    return Decisions(ROADS, ROADS.solve(COSTS), COSTS, keys=keys)


def test_what_is_known() -> None:
    decisions = decide(ROADS, COSTS)
    assert len(decisions) == 3
    assert torch.equal(decisions.x, ROADS.solve(COSTS))
    assert torch.equal(decisions.theta, COSTS)
    assert decisions.objective.tolist() == [2.0, 3.0, 1.5]
    assert decisions.objective.dtype == torch.float64
    assert decisions.feasible.tolist() == [True] * 3
    assert decisions.adjusted.tolist() == [False] * 3
    assert decisions.chosen() == [["ab", "bc"], ["ac"], ["ab", "bc"]]
    assert decisions.words() == [["a", "b", "c"], ["a", "c"], ["a", "b", "c"]]
    assert [decisions.keys[i] for i in range(3)] == ["0", "1", "2"]
    assert "3 instances of ShortestPath" in repr(decisions)


def test_frames() -> None:
    long = keyed("mon", "tue", "wed").frame()
    assert list(long.columns) == ["day", "name", "amount", "objective"]
    assert long["day"].tolist() == ["mon", "mon", "tue", "wed", "wed"]
    assert long["name"].tolist() == ["ab", "bc", "ac", "ab", "bc"]
    assert long["amount"].tolist() == [1.0] * 5
    assert long["objective"].tolist() == [2.0, 2.0, 3.0, 1.5, 1.5]
    wide = keyed("mon", "tue", "wed").frame("wide")
    assert list(wide.columns) == ["day", "ab", "bc", "ac", "objective"]
    assert wide["ac"].tolist() == [0.0, 1.0, 0.0]
    numbers = decide(TopK(3, 1), COSTS).frame("wide")
    assert list(numbers.columns) == ["row", "0", "1", "2", "objective"]
    with mistake("form", "'tall'"):
        keyed("mon", "tue", "wed").frame("tall")  # type: ignore[arg-type]


def test_names_of_the_user_that_are_ours() -> None:
    problem = TopK(2, 1, names=["objective", "name"])
    theta = torch.tensor([[1.0, 2.0]])
    keys = Keys(("name",), (pandas.array(["k"]).to_numpy(dtype=object),))
    decisions = Decisions(problem, problem.solve(theta), theta, keys=keys)
    assert list(decisions.frame().columns) == ["name", "name_", "amount", "objective"]
    wide = Decisions(problem, problem.solve(theta), theta).frame("wide")
    assert list(wide.columns) == ["row", "objective", "name", "objective_"]


def test_printed() -> None:
    lines = str(keyed("mon", "tue", "wed")).splitlines()
    assert lines[0] == "3 decisions of ShortestPath, to be minimized"
    assert lines[1].split() == ["day", "decision", "objective", "feasible"]
    assert lines[3].split() == ["mon", "a,", "b,", "c", "2", "yes"]
    many = decide(TopK(30, 20), torch.rand(7, 30))
    assert str(many).splitlines()[-1] == "... 2 more"
    assert "..." in str(many).splitlines()[3]
    pairs = decide(BipartiteMatching(["ann", "bob"], ["dig", "cook"]), torch.tensor([[1.0, 3.0, 2.0, 3.0]]))
    assert "ann and cook, bob and dig" in str(pairs)
    assert "1 decision of" in str(pairs)
    nothing = decide(Knapsack([1, 1], 1), -torch.ones(1, 2))
    assert "nothing" in str(nothing)
    smoothed = decide(ROADS, COSTS, QuadraticRelaxation(1.0))
    assert "ab 0.5" in str(smoothed)
    assert "<table>" in smoothed._repr_html_()


def test_a_flow_that_is_no_path_is_told_by_its_arcs() -> None:
    problem = ShortestPath([("a", "b"), ("b", "c"), ("a", "c"), ("c", "b")], "a", "c")
    cycle = torch.tensor([[0.0, 1.0, 1.0, 1.0]])
    assert decide(problem, torch.ones(1, 4), lambda theta, problem: cycle).words() == [["b -> c", "a -> c", "c -> b"]]


def test_parts_keep_what_is_known() -> None:
    decisions = keyed("mon", "tue", "wed")
    assert bool(decisions.certificate.proven.all())
    for part, names in ((decisions[1], ["tue"]), (decisions[-1], ["wed"]), (decisions[1:], ["tue", "wed"])):
        assert [part.keys[i] for i in range(len(part))] == names
        assert part._certificate is not None
        assert part.verify()
    assert torch.equal(decisions[torch.tensor([2, 0])].x, decisions.x[[2, 0]])
    with pytest.raises(IndexError):
        decisions[3]


def test_a_problem_for_each_instance_follows() -> None:
    problem = Knapsack([1, 2, 3], torch.tensor([[1.0], [3.0], [6.0]]))
    theta = torch.ones(3, 3)
    decisions = Policy(lambda features: features, problem)(theta, problem)
    assert decisions.x.sum(-1).tolist() == [1.0, 2.0, 3.0]
    assert decisions.feasible.tolist() == [True] * 3
    assert decisions[2].verify()
    decisions.x = decisions.x[[2, 1, 0]]
    assert decisions.feasible.tolist() == [True] * 3  # as it was when it was asked for
    assert decisions.verify().feasible.tolist() == [False, True, True]


def test_predicted_constraints_are_those_of_the_prediction() -> None:
    plant = LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[0.0], bounds=(0, 2), sense="min")
    problem = plant.parametrized([1.0, 3.0], b_eq=Affine([[1.0]]), names=["load"])
    decisions = decide(problem, torch.tensor([[1.0], [2.5]]))
    assert decisions.objective.tolist() == pytest.approx([1.0, 3.5])
    assert decisions.feasible.tolist() == [True, True]
    assert decisions.certificate.bound.tolist() == pytest.approx([1.0, 3.5])
    assert decisions.verify()


def test_one_instance_and_several_dimensions() -> None:
    problem = TopK(3, 1)
    assert decide(problem, torch.rand(3)).x.shape == (1, 3)
    assert decide(problem, torch.rand(2, 4, 3)).x.shape == (8, 3)
    coverage = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2))
    sparse = Policy(lambda features: torch.rand(4, 6).to_sparse(), coverage)(torch.zeros(1))
    assert sparse.x.shape == (1, 4)
    assert sparse.verify()
    assert decide(problem, torch.rand(0, 3)).x.shape == (0, 3)
    assert decide(problem, torch.rand(0, 3)).verify()
    assert "0 decisions" in str(decide(problem, torch.rand(0, 3)))


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True], ids=["numbers", "keys"])
def test_another_machine_can_verify(named: bool, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    decisions = keyed("mon", "tue", "wed") if named else decide(ROADS, COSTS)
    path = tmp_path / "decisions.safetensors"
    decisions.save(path)
    again = Decisions.load(path, ROADS)
    assert again.verify()
    assert str(again) == str(decisions)
    assert str(again.certificate) == str(decisions.certificate)
    assert again.frame().equals(decisions.frame())
    again.objective[1] += 1.0
    assert not again.verify()
    with file_mistake(path, "ShortestPath", "TopK"):
        Decisions.load(path, TopK(3, 1))


def test_of_other_problems_too(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(3, 1))
    decide(problem, torch.rand(2, 3, 4)).save(tmp_path / "d")
    again = Decisions.load(tmp_path / "d", problem)
    assert again.certificate.kind == "solver's word"
    assert again.verify()


def test_files_that_are_none(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    (tmp_path / "text").write_text("x")
    with file_mistake(tmp_path / "text", "safetensors"):
        Decisions.load(tmp_path / "text", ROADS)
    with file_mistake(tmp_path / "nowhere"):
        Decisions.load(tmp_path / "nowhere", ROADS)


def test_decisions_in_small_units_are_told() -> None:
    problem = LinearProgram([[1.0, 1.0, 1.0]], [3e-9], bounds=(0, [1e-9, 5e-9, 5e-9]), names=["tea", "milk", "rum"])
    decisions = Policy(lambda features: features, problem)(torch.tensor([[3.0, 2.0, 1.0]], dtype=torch.float64))
    assert decisions.chosen() == [["tea", "milk"]]
    assert "tea 1e-09, milk 2e-09" in str(decisions)
    frame = pytest.importorskip("pandas") and decisions.frame()
    assert frame["name"].tolist() == ["tea", "milk"]
    assert frame["amount"].tolist() == pytest.approx([1e-9, 2e-9], rel=1e-9)
