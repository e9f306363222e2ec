"""Units of features and targets: what they are, when they are taken, and that they stay with the weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve.data import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.layers import PerturbedAdditive
from foresolve.learning import Policy, evaluate, fit
from foresolve.losses import MSE, FenchelYoung
from foresolve.models import MLP, BilinearPairs, LinearRegression, PairModel
from foresolve.models.heads import Head
from foresolve.models.scaling import Scaling, TargetScaling, moments
from foresolve.problems import TopK
from learning.instances import same
from mistakes import mistake
from models.instances import item_data, pair_data


def skewed(count: int = 64, seed: int = 0, weights: Any = None) -> DecisionDataset:
    """Features and positive parameters of different, unhandy units."""
    generator = torch.Generator().manual_seed(seed)
    level, unit = torch.tensor([0.0, 5.0, 1e5]), torch.tensor([1e-3, 1.0, 1e4])
    features = level + unit * torch.randn(count, 3, generator=generator)
    theta = (torch.rand(count, 4, generator=generator) + 0.5) * torch.tensor([0.01, 1.0, 50.0, 1e3])
    return DecisionDataset(features, theta, TopK(4, 2), weights=weights)


def zeroed(net: MLP) -> MLP:
    """A network whose last layer gives zeros."""
    with torch.no_grad():
        net.layers[-1].weight.zero_()  # type: ignore[operator]
        net.layers[-1].bias.zero_()  # type: ignore[operator]
    return net


class TestFormulas:
    def test_columns_are_standardized(self) -> None:
        table = skewed().features
        units = Scaling(3)
        torch.testing.assert_close(units(table), table)
        units.measure(table)
        scaled = units(table.double())
        torch.testing.assert_close(scaled.mean(0), torch.zeros(3, dtype=torch.float64), atol=1e-5, rtol=0)
        torch.testing.assert_close(scaled.std(0, correction=0), torch.ones(3, dtype=torch.float64), atol=1e-5, rtol=0)

    def test_constant_columns_are_centered_in_units_of_one(self) -> None:
        table = torch.tensor([[3.0, 0.1, 1.0], [3.0, 0.1, 2.0], [3.0, 0.1, 6.0]])
        table[:, 1] += torch.tensor([0.0, 1e-8, -1e-8])  # rounding is no variation
        units = Scaling(3)
        units.measure(table)
        assert units.scale[:2].tolist() == [1.0, 1.0]
        torch.testing.assert_close(units(torch.tensor([4.0, 0.1, 3.0])), torch.tensor([1.0, 0.0, 0.0]))

    def test_units_too_small_for_the_model_are_no_units(self) -> None:
        units = Scaling(1)
        units.measure(torch.tensor([[1e-60], [2e-60]], dtype=torch.float64))
        assert bool(units(torch.ones(2, 1)).isfinite().all())

    @pytest.mark.parametrize(
        ("head", "formula"),
        [
            ("free", lambda z, t: t.mean(0) + t.std(0, correction=0) * z),
            ("positive", lambda z, t: (t.log().mean(0) + t.log().std(0, correction=0) * z).exp()),
            ("non_negative", lambda z, t: t.mean(0) * functional.softplus(z + math.log(math.e - 1))),
            ("probability", lambda z, t: (z + (t.mean(0) / (1 - t.mean(0))).log()).sigmoid()),
        ],
    )
    def test_heads(self, head: Head, formula: Callable[[Tensor, Tensor], Tensor]) -> None:
        targets = skewed().theta.double()
        targets = targets / (2 * targets.amax(0)) if head == "probability" else targets
        z = torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        units = TargetScaling(head, 4).double()
        plain = MLP(4, 4, head=head, standardize=False).double()
        with torch.no_grad():
            plain.layers[0].weight.copy_(torch.eye(4))  # type: ignore[operator]
            plain.layers[0].bias.zero_()  # type: ignore[operator]
        torch.testing.assert_close(units(z), plain(z))  # before `measure`, the head alone
        units.measure(targets)
        torch.testing.assert_close(units(z), formula(z, targets))

    def test_zeros_are_the_mean(self) -> None:
        data = skewed()
        for head, mean in (("free", data.theta.mean(0)), ("non_negative", data.theta.mean(0)),
                           ("positive", data.theta.log().mean(0).exp())):  # fmt: skip
            net = MLP(3, 4, head=head, seed=0)  # type: ignore[arg-type]
            net.standardize(data)
            torch.testing.assert_close(zeroed(net)(data.features), mean.expand(64, -1), rtol=1e-5, atol=0)

    def test_constant_targets_are_in_units_of_the_others(self) -> None:
        units = TargetScaling("free", 3)
        units.measure(torch.tensor([[1.0, 7.0, 0.0], [3.0, 7.0, 8.0]]))
        assert units.scale.tolist() == [1.0, 2.5, 4.0]
        units = TargetScaling("free", 2)
        units.measure(torch.full((3, 2), 7.0))
        assert (units.center.tolist(), units.scale.tolist()) == ([7.0, 7.0], [1.0, 1.0])
        units = TargetScaling("non_negative", 3)
        units.measure(torch.tensor([[1.0, 0.0, 4.0], [3.0, 0.0, 4.0]]))
        assert units.scale.tolist() == [2.0, 3.0, 4.0]

    def test_shares_near_zero_and_one_leave_a_gradient(self) -> None:
        units = TargetScaling("probability", 2)
        units.measure(torch.tensor([[0.0, 1.0]] * 5))
        torch.testing.assert_close(units(torch.zeros(2)), torch.tensor([1e-3, 1 - 1e-3]))

    @pytest.mark.parametrize(
        ("head", "targets"),
        [("positive", [[1.0], [0.0]]), ("non_negative", [[-1.0], [0.0]]), ("probability", [[0.5], [3.0]])],
    )
    def test_targets_beyond_the_head_leave_it_as_it_is(self, head: Head, targets: list[list[float]]) -> None:
        units = TargetScaling(head, 1)
        before = units(torch.ones(1))
        units.measure(torch.tensor(targets))
        assert not bool(units.known)
        assert torch.equal(units(torch.ones(1)), before)

    def test_weights_count_as_repetitions_do(self) -> None:
        table, counts = skewed(6).theta, torch.tensor([1, 0, 3, 2, 1, 4])
        repeated = table.repeat_interleave(counts, 0)
        for got, expected in zip(moments(table, counts / 3.0), moments(repeated), strict=True):
            torch.testing.assert_close(got, expected)


class TestLayouts:
    @pytest.mark.parametrize("weights", [None, torch.arange(12.0)])
    def test_items(self, weights: Tensor | None) -> None:
        items = item_data()
        data = DecisionDataset(items.features, items.theta, items.problem, weights=weights)
        every = torch.ones(12) if weights is None else weights
        center, deviation = moments(data.features.flatten(0, 1), every.repeat_interleave(4))
        rows = MLP(3, 2, head="probability", seed=0).double()
        rows.standardize(data)
        assert rows.units_in is not None
        torch.testing.assert_close(rows.units_in.center, center)
        torch.testing.assert_close(rows.units_in.scale, deviation)
        assert rows.units_out is not None
        share = rows.units_out.center.sigmoid()
        torch.testing.assert_close(share, moments(data.theta.flatten(0, 1), every.repeat_interleave(4))[0])
        whole = MLP(12, (4, 2), head="probability", seed=0).double()
        whole.standardize(data)
        assert whole.units_in is not None
        assert whole.units_out is not None
        torch.testing.assert_close(whole.units_in.center, moments(data.features.flatten(1), every)[0])
        torch.testing.assert_close(whole.units_out.center.sigmoid(), moments(data.theta, every)[0])

    def test_one_number_for_every_row(self) -> None:
        generator = torch.Generator().manual_seed(0)
        data = DecisionDataset(torch.rand(8, 4, 2, generator=generator), 9 + torch.rand(8, 4), TopK(4, 2))
        net = MLP(2, None, seed=0)
        net.standardize(data)
        assert net.units_out is not None
        assert float(net.units_out.center) == pytest.approx(float(data.theta.mean()))
        assert net(data.features).shape == (8, 4)

    @pytest.mark.parametrize("make", [PairModel, BilinearPairs])
    def test_pairs(self, make: Any) -> None:
        data = pair_data()
        net = make(2, 2, head="free", seed=0)
        net.standardize(data)
        for side, units in zip(data.features, (net.units_left, net.units_right), strict=True):
            torch.testing.assert_close(units.center.double(), moments(side.flatten(0, 1))[0])
        assert float(net.units_out.scale) == pytest.approx(float(data.theta.std(correction=0)))

    def test_siamese_sides_share_their_units(self, tmp_path: Path) -> None:
        data = pair_data()
        net = BilinearPairs(2, 2, siamese=True, seed=0)
        fit(net, MSE(), data, epochs=1)
        nodes = torch.cat([side.flatten(0, 1) for side in data.features])
        assert net.units_left is net.units_right
        assert net.units_left is not None
        torch.testing.assert_close(net.units_left.center.double(), moments(nodes)[0])
        Policy(net, data.problem).save(tmp_path)
        loaded = Policy.load(tmp_path).model
        assert torch.equal(loaded(data.features), net(data.features))
        assert loaded.units_left is loaded.units_right


class TestWhen:
    def test_the_first_fit_takes_them_and_later_ones_leave_them(self) -> None:
        net, data, other = MLP(3, 4, seed=0), skewed(), skewed(seed=1)
        fit(net, MSE(), data, epochs=1)
        assert net.units_in is not None
        first = net.units_in.center.clone()
        torch.testing.assert_close(first.double(), moments(data.features)[0])
        fit(net, MSE(), other.with_features(100 + other.features), epochs=1)
        assert torch.equal(net.units_in.center, first)

    def test_without(self) -> None:
        net = MLP(3, 4, seed=0, standardize=False)
        assert net.config()["standardize"] is False
        assert not list(net.buffers())
        with torch.no_grad():
            before = net.layers[0](skewed().features)  # type: ignore[operator]
        net.standardize(skewed())
        assert torch.equal(net(skewed().features), before)
        pairs = PairModel(2, 2, seed=0, standardize=False)
        pairs.standardize(pair_data())
        assert not list(pairs.buffers())

    @pytest.mark.parametrize("change", ["train", "load", "set"])
    def test_weights_that_were_changed_belong_to_the_units_of_then(self, change: str) -> None:
        """A start that was trained by hand would predict something else in other units."""
        data, net = skewed(), MLP(3, 4, seed=0)
        if change == "train":
            optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)
            (net(data.features) - data.theta).square().mean().backward()
            optimizer.step()
        elif change == "load":
            net.load_state_dict(MLP(3, 4, seed=1).state_dict())
        else:
            zeroed(net)
        before = net(data.features)
        net.standardize(data)
        assert torch.equal(net(data.features), before)

    def test_copies_and_precisions_of_drawn_weights_are_drawn(self) -> None:
        data = skewed()
        for net in (copy.deepcopy(MLP(3, 4)), MLP(3, 4).double(), MLP(3, 4, hidden=(5,))):
            net.standardize(data)
            assert net.units_in is not None
            assert bool(net.units_in.known)

    def test_decisions_alone_have_no_units(self) -> None:
        data = skewed()
        recorded = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
        net = MLP(3, 4, seed=0)
        fit(net, FenchelYoung(PerturbedAdditive(2)), recorded, epochs=1)
        assert net.units_in is not None
        assert net.units_out is not None
        assert (bool(net.units_in.known), bool(net.units_out.known)) == (True, False)
        assert (net.units_out.center.tolist(), net.units_out.scale.tolist()) == ([0.0] * 4, [1.0] * 4)

    def test_integers(self) -> None:
        data = DecisionDataset(torch.tensor([[1], [2], [6]]), torch.rand(3, 4), TopK(4, 2))
        net = MLP(1, 4, seed=0)
        fit(net, MSE(), data, epochs=2)
        assert net.units_in is not None
        assert net.units_in.center.tolist() == [3.0]

    @pytest.mark.parametrize("wrap", [nn.DataParallel, lambda net: torch.compile(net, backend="eager")])
    def test_wrapped_models_have_them_too(self, wrap: Any) -> None:
        net = MLP(3, 4, seed=0)
        fit(wrap(net), MSE(), skewed(), epochs=1)
        assert net.units_in is not None
        assert bool(net.units_in.known)

    @pytest.mark.parametrize("net", [MLP(3, 5, seed=0), MLP(5, 4, seed=0), MLP(3, None, seed=0), MLP(1, 4, seed=0)])
    def test_a_model_that_is_refused_is_as_it_was(self, net: MLP) -> None:
        before = copy.deepcopy(net)
        with pytest.raises(InvalidInputError):
            fit(net, MSE(), skewed(), epochs=1)
        assert same(net, before)

    def test_weights_that_are_all_zero_are_refused_and_leave_no_units(self) -> None:
        data, net = skewed(weights=[1.0] + [0.0] * 63).subset(range(1, 64)), MLP(3, 4, seed=0)
        with mistake("train"):
            fit(net, MSE(), data, epochs=1)
        assert same(net, MLP(3, 4, seed=0))

    def test_within_a_model_of_ones_own_nothing_is_taken(self) -> None:
        """Nobody knows the units in between."""
        net = nn.Sequential(MLP(3, 6, seed=0), nn.ReLU(), MLP(6, 4, seed=1))
        fit(net, MSE(), skewed(), epochs=1)
        assert not any(bool(module.known) for module in net.modules() if isinstance(module, Scaling))


class TestFiles:
    def test_state_dicts_hold_them(self) -> None:
        data, net, other = skewed(), MLP(3, 4, (5,), "positive", seed=0), MLP(3, 4, (5,), "positive", seed=1)
        fit(net, MSE(), data, epochs=2)
        other.load_state_dict(net.state_dict())
        assert torch.equal(other(data.features), net(data.features))
        assert "known" in repr(other.units_in)
        assert "not yet known" in repr(MLP(3, 4).units_in)

    def test_weights_without_units_predict_as_they_did(self) -> None:
        """Models of before there were units."""
        data, old = skewed(), MLP(3, 4, head="non_negative", seed=0, standardize=False)
        new = MLP(3, 4, head="non_negative", seed=1)
        new.standardize(data)
        new.load_state_dict(old.state_dict())
        assert torch.equal(new(data.features), old(data.features))
        new.standardize(data)
        assert torch.equal(new(data.features), old(data.features))

    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("head", ["free", "positive"])
    def test_policies_hold_them(self, head: Head, standardize: bool, tmp_path: Path) -> None:
        data, net = skewed(), MLP(3, 4, (5,), head, seed=0, standardize=standardize)
        if not standardize:
            data = data.with_features((data.features - data.features.mean(0)) / data.features.std(0))
        fit(net, MSE(), data, epochs=2)
        Policy(net, data.problem).save(tmp_path)
        loaded = Policy.load(tmp_path).model
        assert torch.equal(loaded(data.features), net(data.features))
        assert loaded.config() == net.config()


@pytest.mark.parametrize("hidden", [(), (16,)])
def test_defaults_train_a_network_to_within_a_few_percent_of_least_squares(hidden: tuple[int, ...]) -> None:
    """A linear truth in unhandy units: nothing is tuned, or scaled by hand."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(6, 5, generator=generator)

    def drawn(count: int) -> DecisionDataset:
        z = torch.randn(count, 6, generator=generator)
        theta = 400 + 30 * (z @ weights + 0.5 * torch.randn(count, 5, generator=generator))
        return DecisionDataset(1e4 + 300 * z, theta, TopK(5, 2))

    train, valid, test = drawn(800), drawn(200), drawn(2000)
    net = MLP(6, 5, hidden, seed=0)
    fit(net, MSE(), train, valid)
    network, linear = (evaluate(model, test, bootstrap=0) for model in (net, LinearRegression().fit(train)))
    assert math.sqrt(network.mse) < 1.05 * math.sqrt(linear.mse)
    assert network.normalized_regret < 1.05 * linear.normalized_regret
    spread = float(test.theta.var(0).mean())
    assert linear.mse < 0.2 * spread  # there is something to learn
    unscaled = MLP(6, 5, hidden, seed=0, standardize=False)
    fit(unscaled, MSE(), train, valid)
    assert evaluate(unscaled, test, bootstrap=0).mse > 2 * linear.mse
