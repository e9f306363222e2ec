from __future__ import annotations

import pytest
import torch

from foresolve.reproduce.runs.split import Split


@pytest.mark.parametrize("count", [5, 11, 60, 1000])
def test_a_split_has_every_instance_once(count: int) -> None:
    split = Split.draw(count, torch.Generator().manual_seed(0))
    assert torch.cat([split.test, split.valid, split.part]).sort().values.tolist() == list(range(count))
    assert torch.equal(split.train, torch.cat([split.valid, split.part]).sort().values)
    assert torch.equal(split.shuffled.sort().values, split.train)
    assert len(split.test) == max(1, round(0.2 * count))
