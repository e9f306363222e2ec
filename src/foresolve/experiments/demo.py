"""The demos that there are, and several in a row."""

from __future__ import annotations

from collections.abc import Sequence

from foresolve.experiments.budget_demo import BudgetConfig
from foresolve.experiments.comparison import Config, Progress, Result, compare
from foresolve.experiments.matching_demo import MatchingConfig

DEMOS: dict[str, type[Config]] = {config.name: config for config in (MatchingConfig, BudgetConfig)}


def run_demos(configs: Sequence[Config], progress: Progress | None = None) -> list[Result]:
    """Compare in one domain after the other; progress counts the epochs of all."""
    total = sum(config.total_epochs for config in configs)
    results: list[Result] = []
    for i, config in enumerate(configs):
        before = sum(earlier.total_epochs for earlier in configs[:i])

        def report(done: int, _: int, what: str, before: int = before, name: str = config.name) -> None:
            if progress is not None:
                progress(before + done, total, f"{name}, {what}")

        results.append(compare(config, report))
    return results
