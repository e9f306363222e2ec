from __future__ import annotations

import pickle
import traceback

import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.errors import InfeasibleError, SolverError, UnboundedError
from foresolve.learning import evaluate
from foresolve.problems import LinearProgram


def test_the_message_names_the_instances() -> None:
    error = InfeasibleError("nothing fits {instances}. Relax {it}", [3, 4], "instances 3, 4")
    assert str(error) == "nothing fits instances 3, 4. Relax {it}"
    assert error.instances == (3, 4)
    assert str(SolverError("{instances} has none")) == "the instance has none"


@pytest.mark.parametrize(("instances", "reason"), [([0], "the instance"), ([0, 10], "these instances"), ([], "the")])
def test_renaming_touches_nothing_but_the_names(instances: list[int], reason: str) -> None:
    error = UnboundedError("instance 0 of the model: {instances} grows", instances, "instance 10")
    renamed = error.renamed("training {instances}", [7], "instance 7", "Skip it")
    assert type(renamed) is UnboundedError
    assert renamed.instances == (7,)
    assert str(renamed).startswith(f"training instance 7: instance 0 of the model: {reason}")
    assert str(renamed).endswith(" grows. Skip it")
    assert str(renamed.renamed("run 2, {instances}", [9], "instance 9")).startswith("run 2, instance 9: training the ")


def test_a_class_of_a_user_becomes_a_solver_error() -> None:
    class Mine(SolverError):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")

    renamed = Mine(3).renamed("training {instances}", [1], "instance 1")
    assert type(renamed) is SolverError
    assert str(renamed) == "training instance 1: code 3"


def test_errors_survive_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(InfeasibleError("no {instances}", [1], "instance 1")))
    assert (str(error), error.instances) == ("no instance 1", (1,))
    assert str(error.renamed("{instances}", [5], "instance 5")) == "instance 5: no the instance"


def test_an_instance_whose_number_begins_with_0_is_not_taken_for_another() -> None:
    """Names were put in by editing texts: `instance 0`, wherever it stood, became `the instance`."""
    right_hand_sides = torch.ones(6, 1)
    right_hand_sides[3] = -1.0
    problem = LinearProgram(A_ub=[[1.0, 1.0]], b_ub=right_hand_sides)
    data = DecisionDataset(torch.zeros(6, 1), torch.rand(6, 2, generator=torch.Generator().manual_seed(0)), problem)
    with pytest.raises(InfeasibleError) as caught:
        data.solve()
    text = str(caught.value)
    assert "instance 3 of the data set: no decision satisfies the constraints of the instance." in text


def test_a_decision_is_named_by_its_place_in_the_data_alone() -> None:
    problem = LinearProgram(A_ub=[[0.0, 1.0, 1.0]], b_ub=[1.0], sense="min")  # no end to the first variable
    theta = torch.rand(7, 3, generator=torch.Generator().manual_seed(0))
    predicted = theta.clone()
    predicted[5] = -1.0
    with pytest.raises(UnboundedError) as caught:
        evaluate(lambda features: features, DecisionDataset(predicted, theta, problem), batch_size=3)
    assert "no decision for instance 5 of the data: the objective grows" in str(caught.value)
    assert "instance 2" not in str(caught.value)  # its place in the batch
    assert "instance 2" in "".join(traceback.format_exception(caught.value))
