"""The demos at their smallest."""

from __future__ import annotations

from typing import Any

from foresolve.experiments.budget_demo import BudgetConfig
from foresolve.experiments.matching_demo import MatchingConfig

QUICK: dict[str, Any] = {
    "epochs": 2, "two_stage_epochs": 3, "train": 12, "validation": 6, "test": 8, "batch": 6,
    "two_stage_rates": (0.03,), "decision_rates": (0.03,), "gammas": (0.3, 1.0), "resamples": 200,
}  # fmt: skip
MATCHING = MatchingConfig(side=5, **QUICK)
BUDGET = BudgetConfig(channels=12, customers=40, k=3, **QUICK)
