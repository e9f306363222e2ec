from __future__ import annotations

from torch import nn

from foresolve.losses import MSE
from foresolve.reproduce import BestMethod, ForestMethod, RandomMethod, RuleMethod
from foresolve.reproduce.domains import budget, coverage
from foresolve.reproduce.domains.methods import adam, depends_on_k


def test_adam_decays_where_the_setting_says_so() -> None:
    model = nn.Linear(2, 2)
    (plain,) = adam(model, {"lr": 0.1}).param_groups
    (decayed,) = adam(model, {"lr": 0.1, "decay": 0.5}).param_groups
    assert (plain["lr"], plain["weight_decay"], decayed["weight_decay"]) == (0.1, 0.0, 0.5)


def test_only_networks_with_a_training_for_each_budget_depend_on_it() -> None:
    assert not depends_on_k(coverage.by_recipe(1, "relu", loss=MSE(), draws=3))
    assert depends_on_k(coverage.by_recipe(1, "relu", draws=3))
    assert not depends_on_k(coverage.by_recipe(1, "relu", draws=3, carried=True))  # one chain of budgets
    rule = RuleMethod(lambda data: budget.longest_features)
    assert not any(map(depends_on_k, (ForestMethod(coverage.forest(True)), rule, RandomMethod(), BestMethod())))
