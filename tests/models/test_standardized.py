from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import foresolve
from foresolve.data import DecisionDataset
from foresolve.learning import Policy, fit
from foresolve.losses import MSE
from foresolve.models import MLP, LinearRegression, Standardized
from foresolve.problems import TopK
from learning.instances import same
from mistakes import caution, file_mistake, mistake
from models.instances import item_data, pair_data


def far_data(count: int = 80, dtype: torch.dtype = torch.float32) -> DecisionDataset:
    """Linear truth, features and targets far from the numbers that networks like."""
    generator = torch.Generator().manual_seed(0)
    clean = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    truth = clean @ torch.randn(3, 4, generator=generator, dtype=torch.float64)
    features = clean * torch.tensor([1e-3, 1.0, 1e3]) + torch.tensor([5.0, -50.0, 2e4])
    theta = 300 + 40 * truth
    return DecisionDataset(features.to(dtype), theta.to(dtype), TopK(4, 2))


def network(outputs: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, outputs))


def zeros(outputs: int = 4) -> nn.Linear:
    layer = nn.Linear(3, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def test_a_linear_module_learns_what_least_squares_does() -> None:
    data = far_data()
    errors = {}
    for name, model in {"wrapped": Standardized(nn.Linear(3, 4)), "plain": nn.Linear(3, 4)}.items():
        fit(model, MSE(), data, epochs=100, lr=0.03)
        errors[name] = float((model(data.features).detach() - data.theta).square().mean())
    exact = LinearRegression().fit(data)
    assert float((exact(data.features) - data.theta).square().mean()) < 1e-3
    assert errors["wrapped"] < 1e-2 * float(data.theta.var())
    assert errors["plain"] > float(data.theta.var())


def test_nothing_is_scaled_before_training() -> None:
    inner = network()
    features = torch.randn(5, 3)
    assert torch.equal(Standardized(inner)(features), inner(features))
    assert torch.equal(Standardized(inner, "positive")(features), inner(features).exp())


@pytest.mark.parametrize("head", ["free", "positive", "non_negative"])
def test_zeros_are_the_mean(head: Any) -> None:
    data = far_data()
    model = Standardized(zeros(), head)
    model.standardize(data)
    theta = data.theta.clamp_min(1.0) if head == "positive" else data.theta
    mean = theta.log().mean(0).exp() if head == "positive" else theta.mean(0)
    torch.testing.assert_close(model(data.features)[0], mean, rtol=1e-4, atol=1e-3)


def test_units_are_set_once() -> None:
    data, model = far_data(), Standardized(network())
    model.standardize(data)
    before = [buffer.clone() for buffer in model.buffers()]
    model.standardize(far_data(10))
    assert all(torch.equal(a, b) for a, b in zip(before, model.buffers(), strict=True))
    scaled = model.units_in(data.features)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3), atol=1e-2, rtol=0)
    torch.testing.assert_close(scaled.std(0, correction=0), torch.ones(3), atol=1e-2, rtol=0)


def test_weights_count() -> None:
    data = far_data()
    weights = torch.zeros(len(data))
    weights[:20] = 1.0
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    model, part = Standardized(zeros()), Standardized(zeros())
    model.standardize(weighted)
    part.standardize(data.subset(list(range(20))))
    for a, b in zip(model.buffers(), part.buffers(), strict=True):
        torch.testing.assert_close(a, b)


def test_precision_is_that_of_the_module() -> None:
    data = far_data(dtype=torch.float64)
    model = Standardized(nn.Linear(3, 4).double())
    model.standardize(data)
    assert {buffer.dtype for buffer in model.buffers() if buffer.is_floating_point()} == {torch.float64}
    torch.testing.assert_close(model.units_out.center, data.theta.mean(0), rtol=1e-12, atol=0)


class Sides(nn.Module):
    """Of tables by name, some of which are no numbers to scale."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen: Any = None

    def forward(self, features: Any) -> Tensor:
        self.seen = features
        return self.weight * features["numbers"].sum(-1, keepdim=True).expand(-1, 3)


def test_tables_of_a_dict_are_scaled_one_by_one_whatever_their_order() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = 7 + 3 * torch.randn(20, 2, generator=generator)
    mask, flag = torch.randint(0, 2, (20, 4), generator=generator), torch.rand(20, generator=generator)
    features = {"numbers": numbers, "mask": mask, "flag": flag}
    data = DecisionDataset(features, torch.randn(20, 3, generator=generator), TopK(3, 1))
    model = Standardized(Sides())
    fit(model, MSE(), data, epochs=1)
    model({"flag": flag, "mask": mask, "numbers": numbers})
    assert list(model.module.seen) == ["flag", "mask", "numbers"]
    torch.testing.assert_close(model.module.seen["numbers"].mean(0), torch.zeros(2), atol=1e-5, rtol=0)
    assert torch.equal(model.module.seen["mask"], mask)
    assert torch.equal(model.module.seen["flag"], flag)
    assert model.units_in.shapes() == [[], [], [2]]
    with mistake("features", "got 1"):
        model(numbers)


def test_features_may_be_left_alone() -> None:
    data, model = far_data(), Standardized(network(), features=False)
    model.standardize(data)
    assert torch.equal(model.units_in(data.features), data.features)
    assert bool(model.units_out.known)
    before = model.units_out.center.clone()
    model.standardize(far_data(10))
    assert torch.equal(model.units_out.center, before)


def test_items_and_pairs_share_units() -> None:
    model = Standardized(nn.Linear(3, 2).double())
    model.standardize(item_data())
    assert model.units_out.center.shape == (2,)
    pairs = pair_data()
    model = Standardized(foresolve.models.BilinearPairs(2, 2, head="free", standardize=False))
    fit(model, MSE(), pairs, epochs=1)
    assert model.units_out.center.shape == ()
    assert model.units_in.shapes() == [[2], [2]]


def test_decisions_alone_give_units_of_features() -> None:
    data = far_data()
    alone = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
    model = Standardized(network())
    model.standardize(alone)
    assert model.units_in.shapes() == [[3]]
    assert not bool(model.units_out.known)


def test_a_state_dict_fits_a_fresh_wrapper() -> None:
    data, model = far_data(), Standardized(network())
    fit(model, MSE(), data, epochs=1)
    fresh = Standardized(network())
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(data.features), model(data.features))
    inside = nn.Sequential(Standardized(network()), nn.Identity())
    inside.load_state_dict({f"0.{name}": value for name, value in model.state_dict().items()})
    assert torch.equal(inside(data.features), model(data.features))


def test_a_policy_around_a_model_of_ours_is_saved_whole(tmp_path: Path) -> None:
    data, model = far_data(), Standardized(MLP(3, 4, hidden=(8,), standardize=False, seed=0), "positive")
    fit(model, MSE(), data, epochs=1)
    Policy(model, data.problem).save(tmp_path)
    again = Policy.load(tmp_path)
    assert isinstance(again.model, Standardized)
    assert again.model.head == "positive"
    assert same(again.model, model)
    assert torch.equal(again.model(data.features), model(data.features))
    again.model.standardize(far_data(10))
    assert same(again.model, model)


def test_a_policy_around_a_module_of_the_users_wants_it_again(tmp_path: Path) -> None:
    data, model = far_data(), Standardized(network())
    fit(model, MSE(), data, epochs=1)
    with caution("Standardized", "Policy.load(folder, model=...)"):
        Policy(model, data.problem).save(tmp_path)
    with file_mistake("policy.json", "Standardized", "Policy.load(..., model=...)"):
        Policy.load(tmp_path)
    again = Policy.load(tmp_path, model=Standardized(network()))
    assert torch.equal(again.model(data.features), model(data.features))


def test_a_run_is_resumed_with_its_units(tmp_path: Path) -> None:
    data, file = far_data(), tmp_path / "run"
    torch_state = network().state_dict()

    def wrapped() -> Standardized:
        inner = network()
        inner.load_state_dict(torch_state)
        return Standardized(inner)

    straight, resumed = wrapped(), wrapped()
    fit(straight, MSE(), data, epochs=4, scheduler=None)
    fit(wrapped(), MSE(), data, epochs=2, scheduler=None, checkpoint=file)
    fit(resumed, MSE(), data, epochs=4, scheduler=None, checkpoint=file, resume=True)
    assert same(straight, resumed)


def test_what_is_refused() -> None:
    with mistake("module", "nn.Module"):
        Standardized(nn.Linear)  # type: ignore[arg-type]
    with mistake("head", "'exp'"):
        Standardized(network(), "exp")  # type: ignore[arg-type]
    model = Standardized(network())
    model.standardize(far_data())
    with mistake("features", "(2, 5)"):
        model(torch.zeros(2, 5))
