from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
import torch
from torch.utils.data import DataLoader

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.top_k import TopK
from mistakes import mistake

THETA = torch.tensor([[1.0, 3.0, 2.0], [5.0, 4.0, 0.0]])
CHOSEN = torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
WEIGHT = torch.tensor([1.0, 2.0])


def known() -> Batch:
    return Batch(torch.ones(2, 4), THETA, TopK(3, 1), index=torch.tensor([4, 7]), weight=WEIGHT)


def decided() -> Batch:
    return Batch(torch.ones(2, 4), None, TopK(3, 1), CHOSEN, index=torch.tensor([4, 7]), weight=WEIGHT)


def test_the_truth_is_asked_for_in_vain_where_only_decisions_are_known() -> None:
    batch = decided()
    assert not batch.has_theta
    assert known().has_theta
    with pytest.raises(ForesolveError, match="this batch holds decisions alone"):
        _ = batch.theta
    with pytest.raises(ForesolveError, match="decisions alone"):
        batch.best()
    with pytest.raises(AttributeError, match="no attribute 'thetas'"):
        _ = batch.thetas  # type: ignore[attr-defined]


def test_the_target_is_the_decision_on_record_or_the_best() -> None:
    assert torch.equal(decided().target(), CHOSEN)
    assert known().target().tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    assert torch.equal(known().replaced(decision=CHOSEN).target(), CHOSEN)
    assert known().replaced(decision=CHOSEN).best()[1].tolist() == [3.0, 4.0]


def test_nothing_to_learn_from() -> None:
    with mistake("decision", "`theta`"):
        Batch(None, None, TopK(3, 1))


@pytest.mark.parametrize("make", [known, decided])
def test_parts_are_kept_on_the_way(make) -> None:
    batch = make()
    for twin in (batch.replaced(), batch.to("cpu"), pickle.loads(pickle.dumps(batch))):
        assert twin.has_theta == batch.has_theta
        assert len(twin) == len(batch) == 2
        assert torch.equal(twin.weight, WEIGHT)
        assert twin.index.tolist() == [4, 7]
        assert twin.device.type == "cpu"
    assert batch.replaced(index=None).index is None
    assert ("theta" in repr(batch)) == batch.has_theta


def test_replace_of_dataclasses_works_where_the_truth_is_known() -> None:
    assert torch.equal(replace(known(), theta=2 * THETA).theta, 2 * THETA)
    with pytest.raises(ForesolveError, match="decisions alone"):
        replace(decided(), index=None)
    with pytest.raises(AttributeError):
        known().theta = THETA  # type: ignore[misc]


def test_predictions_have_the_shape_of_the_problem() -> None:
    decided().check_prediction(torch.zeros(2, 3))
    for wrong, got in ((torch.zeros(2, 4), r"\(2, 4\)"), (torch.zeros(3), r"\(3,\)"), ([1], "list")):
        with pytest.raises(InvalidInputError, match=rf"`theta_hat` must be \(2, 3\) to match the problem; got {got}"):
            decided().check_prediction(wrong)  # type: ignore[arg-type]
    with mistake("theta_hat"):
        known().check_prediction(torch.zeros(2, 4))


@pytest.mark.parametrize("theta", [None, THETA])
def test_torch_collates_them(theta) -> None:
    data = DecisionDataset(torch.ones(2, 4), theta, TopK(3, 1), decisions=CHOSEN, weights=WEIGHT)
    for batch in (
        next(iter(DataLoader(data, batch_size=2))),
        next(iter(DataLoader([data[i] for i in range(2)], batch_size=2))),  # type: ignore[arg-type]
    ):
        assert batch.has_theta == (theta is not None)
        assert torch.equal(batch.decision, CHOSEN)
        assert torch.equal(batch.weight, WEIGHT)


def test_whether_the_truth_is_there_can_be_asked_as_of_any_attribute() -> None:
    data = DecisionDataset(torch.ones(2, 4), decisions=CHOSEN, problem=TopK(3, 1))
    for without in (decided(), data):
        assert not hasattr(without, "theta")
        assert getattr(without, "theta", None) is None
    assert hasattr(known(), "theta")
