from __future__ import annotations

import pytest
import torch

from foresolve.models.heads import apply_head, check_head
from mistakes import mistake

THETA = torch.tensor([-50.0, -1.0, 0.0, 2.0, 50.0], dtype=torch.float64)


@pytest.mark.parametrize(("head", "low", "high"), [("probability", 0.0, 1.0), ("non_negative", 0.0, torch.inf)])
def test_heads_are_increasing_maps_into_their_range(head, low: float, high: float) -> None:
    values = apply_head(check_head(head), THETA)
    assert bool(((values >= low) & (values <= high)).all())
    assert bool((values.diff() >= 0).all())
    assert bool((values[1:4].diff() > 0).all())


def test_a_free_head_changes_nothing_and_others_are_refused() -> None:
    assert apply_head(check_head("free"), THETA) is THETA
    with mistake("head", "'softmax'"):
        check_head("softmax")
