"""A layer that is kept for thousands of steps."""

from __future__ import annotations

import torch

from tests.soak.cases import Case
from tests.soak.memory import flat


def training(case: Case, calls: int) -> str:
    """Forward and backward, with parameters that an optimizer moves; it goes round the same numbers again and again."""
    layer, problem = case.layer, case.problem
    weights = torch.nn.Parameter(case.theta(4, 0))
    start = weights.detach().clone()
    optimizer = torch.optim.Adam([weights], lr=1e-3)

    def run(count: int) -> None:
        for step in range(count):
            optimizer.zero_grad()
            value = problem.objective(layer(weights.clamp(0.01, 0.99), problem), start)
            (-value).mean().backward()
            optimizer.step()
            if step % 100 == 99:
                with torch.no_grad():
                    weights.copy_(start)

    return flat(run, calls)
