from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.models import TableBaseline, table
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data


class Memory(TableBaseline):
    """Keeps the table it is given, and predicts the sum of a row for each output."""

    def fit_table(self, rows: Tensor, outputs: Tensor) -> None:
        self.rows, self.outputs = rows, outputs

    def predict_table(self, rows: Tensor) -> Tensor:
        return rows.sum(-1, keepdim=True).expand(-1, self.outputs.shape[1])


@pytest.mark.parametrize(
    ("data", "rows", "outputs"),
    [(top_k_data(), (32, 3), 5), (item_data(), (12 * 4, 3), 2), (pair_data(), (6 * 3 * 2, 2 + 2), 1)],
    ids=["instance", "item", "pair"],
)
def test_what_a_row_is(data: DecisionDataset, rows: tuple[int, int], outputs: int) -> None:
    baseline = Memory().fit(data)
    assert baseline.rows.shape == rows
    assert baseline.outputs.shape == (rows[0], outputs)
    assert baseline.rows.dtype == baseline.outputs.dtype == torch.float64
    theta = baseline(data.features)
    assert (theta.shape, theta.dtype) == (data.theta.shape, data.theta.dtype)


def test_pairs_are_those_of_the_matching_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pair_data()
    baseline = Memory().fit(data)
    a, b = data.features
    expected = (a.sum(-1)[:, :, None] + b.sum(-1)[:, None, :]).flatten(1)
    torch.testing.assert_close(baseline(data.features), expected)
    monkeypatch.setattr(table, "CHUNK", 1)
    assert torch.equal(Memory().fit(data).rows, baseline.rows)
    torch.testing.assert_close(baseline({"left": a, "right": b}), expected)


def test_rows_may_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    data, drawn = item_data(), torch.tensor([5, 0, 7])
    everything = Memory().fit(data)
    monkeypatch.setattr(Memory, "sample", lambda self, count: drawn)
    part = Memory().fit(data)
    assert torch.equal(part.rows, everything.rows[drawn])
    assert torch.equal(part.outputs, everything.outputs[drawn])


def test_the_table_is_a_copy() -> None:
    data = top_k_data()
    data = DecisionDataset(data.features.double(), data.theta.double(), data.problem)
    assert Memory().fit(data).rows.data_ptr() != data.features.data_ptr()


def test_integer_features_give_predictions_of_the_default_dtype() -> None:
    data = top_k_data()
    counts = DecisionDataset((10 * data.features).long(), data.theta, data.problem)
    assert Memory().fit(counts)(counts.features).dtype == torch.get_default_dtype()


def test_before_it_is_fitted() -> None:
    with mistake("", "Memory", "fit(train)", kind=ForesolveError):
        Memory()(torch.zeros(2, 3))
