from __future__ import annotations

from foresolve.report.roles import role_of
from reproduce.fakes import fake_run


def test_roles_of_methods() -> None:
    run = fake_run("matching", splits=2)
    roles = {"NN1-Decision": "decision-focused", "NN2-2Stage": "two-stage", "NN1-Decision (code rate)":
             "decision-focused", "TF-IDF": "heuristic", "Mean": "reference", "Random": "reference",
             "Chosen": "choice", "OPT": "bound", "one of its own": "decision-focused"}  # fmt: skip
    assert {method: role_of(run, method) for method in roles} == roles
