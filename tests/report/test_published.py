"""The published tables, against the figures as the paper prints them."""

from __future__ import annotations

import pytest

from foresolve.report.published import DOMAINS, TABLE1, TABLE2, Published, accuracy, quality


def test_every_entry_is_there() -> None:
    assert len(TABLE1) == 6 * 7
    assert len(TABLE2) == 5 * 5
    assert {"budget", "matching", "recommendation"} == DOMAINS


@pytest.mark.parametrize(
    ("domain", "method", "k", "mean", "half"),
    [
        ("budget", "NN1-Decision", 5, 49.18, 0.24),
        ("budget", "NN1-2Stage", 20, 61.88, 4.10),
        ("matching", "NN2-Decision", None, 6.15, 0.38),
        ("matching", "Random", None, 2.45, 0.64),
        ("recommendation", "RF-2Stage", 10, 15.73, 0.34),
        ("recommendation", "Random", 20, 31.68, 0.71),
    ],
)
def test_table1(domain: str, method: str, k: int | None, mean: float, half: float) -> None:
    assert quality(domain, method, k) == Published(mean, half)


def test_table2() -> None:
    assert accuracy("budget", "NN2-Decision", "mse") == Published(1.7118e-2, 2.65e-4)
    assert accuracy("matching", "NN2-2Stage", "cross_entropy") == Published(0.223, 0.005)
    assert accuracy("matching", "NN1-Decision", "auc") == Published(0.501, 0.011)
    assert accuracy("recommendation", "NN2-Decision", "cross_entropy") == Published(1.004, 0.022)
    assert accuracy("recommendation", "NN1-2Stage", "auc") == Published(0.389, 0.003)


def test_what_is_not_published() -> None:
    assert quality("matching", "TF-IDF", None) is None
    assert quality("budget", "NN1-Decision", 7) is None
    assert accuracy("budget", "Random", "mse") is None
