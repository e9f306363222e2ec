from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import Subset

from foresolve.data import DecisionDataset
from foresolve.learning import evaluate
from foresolve.learning.subsets import as_dataset
from learning.instances import model, top_k_data
from mistakes import mistake


def test_a_data_set_stays_itself() -> None:
    data = top_k_data()
    assert as_dataset("data", data) is data


@pytest.mark.parametrize("indices", [[3, 1, 5], range(0, 6, 2), np.array([3, 1, 5]), torch.tensor([3, 1, 5])], ids=str)
def test_a_subset_of_torch_is_the_part(indices: object) -> None:
    data = top_k_data().solve()
    part = as_dataset("data", Subset(data, indices))  # type: ignore[arg-type]
    chosen = [int(i) for i in indices]  # type: ignore[attr-defined]
    assert torch.equal(part.theta, data.theta[chosen])
    assert part.solved
    assert torch.equal(part.decisions, data.decisions[chosen])


def test_of_a_subset_too() -> None:
    data = top_k_data()
    part = as_dataset("data", Subset(Subset(data, [4, 5, 6, 7]), [3, 0]))
    assert torch.equal(part.theta, data.theta[[7, 4]])


def test_evaluate_takes_it() -> None:
    data = top_k_data()
    expected = evaluate(model(), data.subset([1, 2, 3]), bootstrap=0)
    assert evaluate(model(), Subset(data, [1, 2, 3]), bootstrap=0).regret == expected.regret


def test_anything_else_is_refused_by_name() -> None:
    with mistake("data", "DecisionDataset", "Subset", "list"):
        as_dataset("data", [1])
    with mistake("data.dataset", "DecisionDataset", "list"):
        as_dataset("data", Subset([1, 2], [0]))  # type: ignore[arg-type]


def test_a_data_set_with_a_cache_is_solved_before_its_parts(tmp_path: Path) -> None:
    data = top_k_data(10)
    cached = DecisionDataset(data.features, data.theta, data.problem, cache=tmp_path / "best.npz")
    part = as_dataset("train", Subset(cached, [1, 2]))
    assert cached.solved
    assert part.solved
    assert cached.cache is not None
    assert cached.cache.exists()


def test_a_part_without_weight_is_refused() -> None:
    data = top_k_data(4)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=[0.0, 0.0, 1.0, 1.0])
    for part in (weighted.subset([0, 1]), Subset(weighted, [0, 1])):
        with mistake("valid", "weights of 0"):
            as_dataset("valid", part)
