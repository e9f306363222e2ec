from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.data import Batch, DecisionDataset
from foresolve.errors import ForesolveError, NoImprovementWarning, SolverError
from foresolve.layers import QuadraticRelaxation, RelativeGamma
from foresolve.learning import History, fit
from foresolve.losses import MSE, DecisionLoss, SPOPlus
from foresolve.models import MLP
from foresolve.problems import OracleProblem, ShortestPath, TopK
from foresolve.schedules import geometric
from learning.instances import NoisySquares, Squares, model, same, top_k_data
from mistakes import mistake


def test_nan_names_the_batch() -> None:
    net = model()
    with mistake("", "loss is nan", "epoch 1", kind=ForesolveError) as caught:
        fit(net, Squares(nan=(7, 9)), top_k_data(), batch_size=8)
    assert re.search(r"instances? (7|9)", str(caught.value))
    assert all(bool(torch.isfinite(p).all()) for p in net.parameters())
    with torch.no_grad():
        net.layers[0].weight[0, 0] = torch.inf  # type: ignore[index]
    with mistake("", "prediction", "inf", "epoch 1, batch 0", kind=ForesolveError):
        fit(net, MSE(), top_k_data())


@pytest.mark.parametrize(
    "loss", [MSE(), SPOPlus(), DecisionLoss(QuadraticRelaxation(gamma=1.0)), Squares(fails=(2,))], ids=repr
)
@pytest.mark.parametrize("on_failure", ["raise", "skip"])
def test_a_prediction_that_is_not_finite_is_named_whatever_the_loss_makes_of_it(loss: Any, on_failure: Any) -> None:
    net = model()
    with torch.no_grad():
        net.layers[0].bias[0] = torch.nan  # type: ignore[index]
    with mistake("", "prediction is nan", "epoch 1, batch 0", "training instances", kind=ForesolveError):
        fit(net, loss, top_k_data(), on_failure=on_failure)


def test_a_prediction_that_the_loss_hides_is_named_too() -> None:
    class Clamped(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return super().forward(theta_hat.clamp(-1.0, 1.0), batch)

    net = model()
    with torch.no_grad():
        net.layers[0].bias[0] = torch.inf  # type: ignore[index]
    with mistake("", "prediction is inf", "epoch 1, batch 0", kind=ForesolveError):
        fit(net, Clamped(), top_k_data())


def test_sums_that_overflow_are_no_error() -> None:
    class Huge(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return 1e38 + 0.0 * super().forward(theta_hat, batch)

    assert fit(model(), Huge(), top_k_data(), epochs=1).train_loss == [float("inf")]


def test_gradients_that_are_not_finite() -> None:
    class Steep(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return (theta_hat * 0.0).sum(-1).abs().sqrt()

    with mistake("", "gradient", "epoch 1, batch 0", kind=ForesolveError):
        fit(model(), Steep(), top_k_data())


@pytest.mark.parametrize("names", [True, False])
def test_a_failing_instance_is_named_or_skipped(names: bool) -> None:
    with mistake("", "beyond me", 'on_failure="skip"', kind=SolverError) as caught:
        fit(model(), Squares(fails=(3, 20), names=names), top_k_data())
    (place,) = caught.value.instances
    assert place in (3, 20)
    assert f"instance {place}" in str(caught.value)
    history = fit(model(), Squares(fails=(3, 20), names=names), top_k_data(), epochs=2, batch_size=4, on_failure="skip")
    assert history.skipped == [2, 2]
    with mistake("", "every training instance", kind=SolverError):
        fit(model(), Squares(fails=tuple(range(32))), top_k_data(), on_failure="skip")


def test_a_loss_without_one_number_for_each_instance() -> None:
    class Mean(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return super().forward(theta_hat, batch).mean()

    with mistake("loss(theta_hat, batch)", "(32,)"):
        fit(model(), Mean(), top_k_data())


def test_validation_skips_what_cannot_be_solved() -> None:
    """An oracle without an answer to negative parameters, which the truth has none of."""

    def oracle(theta: np.ndarray) -> np.ndarray:
        if (theta < 0).any():
            raise RuntimeError("negative")
        return np.ones(3)

    generator = torch.Generator().manual_seed(0)
    features, theta = torch.randn(20, 3, generator=generator), torch.rand(20, 3, generator=generator)
    data = DecisionDataset(features, theta, OracleProblem(oracle, n=3))
    net = MLP(3, 3, seed=generator, standardize=False)
    with pytest.raises(SolverError):
        fit(net, MSE(), data, data, epochs=1, lr=1e-6)
    with torch.no_grad():
        net.layers[-1].bias += 0.5  # type: ignore[operator]
        some = (net(features) >= 0).all(-1)
    assert 0 < int(some.sum()) < 20
    history = fit(net, MSE(), data, data, epochs=1, lr=1e-6, on_failure="skip")
    assert history.valid_regret[0] == pytest.approx(0.0)
    with torch.no_grad():
        net.layers[-1].bias -= 100.0  # type: ignore[operator]
    with mistake("", "every validation instance", kind=SolverError):
        fit(net, MSE(), data, data, epochs=1, lr=1e-6, on_failure="skip")


def test_the_regret_of_optima_of_zero_is_a_mean() -> None:
    """There is nothing to divide by: all decisions are worth nothing but the wrong one, -1."""
    theta = torch.tensor([[0.0, -1.0]]).repeat(4, 1)
    data = DecisionDataset(torch.zeros(4, 1), theta, TopK(2, 1), weights=[1.0, 1.0, 1.0, 3.0])
    features = torch.tensor([[0.0], [0.0], [0.0], [1.0]])
    net = torch.nn.Linear(1, 2)
    net.load_state_dict({"weight": torch.tensor([[0.0], [10.0]]), "bias": torch.tensor([1.0, 0.0])})
    with pytest.warns(NoImprovementWarning):
        history = fit(net, MSE(), data, data.with_features(features), epochs=1, lr=1e-6)
    assert [history.start, *history.valid_regret] == [0.5, 0.5]


def test_validation_decides_as_policies_do() -> None:
    """Negative predicted costs on a cycle have no shortest path, and a decision all the same."""
    problem = ShortestPath([(0, 1), (1, 0), (1, 2)], 0, 2)
    generator = torch.Generator().manual_seed(0)
    data = DecisionDataset(torch.randn(20, 3, generator=generator), torch.rand(20, 3, generator=generator), problem)
    for way in ("raise", "skip"):
        net = MLP(3, 3, seed=0)
        history = fit(net, MSE(), data, data, epochs=1, lr=1e-6, on_failure=way)  # type: ignore[arg-type]
        assert bool((net(data.features) < 0).any())
        assert history.valid_regret[0] == pytest.approx(0.0)


def weighted(weights: Any, count: int = 8, seed: int = 0) -> DecisionDataset:
    data = top_k_data(count, seed)
    return DecisionDataset(data.features, data.theta, data.problem, weights=weights)


def trained(data: DecisionDataset, valid: DecisionDataset | None = None, **options: Any) -> tuple[MLP, History]:
    net = MLP(3, 5, seed=0)
    settings = {"epochs": 3, "batch_size": 64, "optimizer": lambda p: torch.optim.SGD(p, 0.05)} | options
    return net, fit(net, MSE(), data, valid, **settings)


def test_weights_count_as_repetitions_do() -> None:
    counts = torch.tensor([1, 0, 3, 2, 1, 1, 0, 4])
    heavy, history = trained(weighted(5.0 * counts))  # only their ratios matter
    repeated, other = trained(top_k_data(8).subset(torch.arange(8).repeat_interleave(counts)))
    for first, second in zip(heavy.parameters(), repeated.parameters()):
        torch.testing.assert_close(first, second)
    assert history.train_loss == pytest.approx(other.train_loss)


def test_equal_weights_are_none() -> None:
    assert same(trained(weighted(torch.full((8,), 2.0)))[0], trained(top_k_data(8))[0])


def test_the_steps_of_an_epoch_are_unbiased_whatever_a_batch_holds() -> None:
    """The gradients of batches of one add up to that of all together, by weights of the whole training set."""
    data = weighted(torch.tensor([1.0, 0.0, 7.0, 2.0, 1.0, 1.0, 0.5, 3.5]))
    slopes = []
    for size in (1, 8):
        gradients: list[Tensor] = []

        class Recorder(torch.optim.SGD):
            def step(self, closure: Any = None, seen: list[Tensor] = gradients) -> None:  # type: ignore[override]
                seen.append(torch.cat([p.grad.flatten() for p in self.param_groups[0]["params"]]).clone())

        trained(data, epochs=1, batch_size=size, optimizer=lambda p, kind=Recorder: kind(p, 0.0))
        slopes.append(torch.stack(gradients).mean(0))
    torch.testing.assert_close(slopes[0], slopes[1], atol=1e-6, rtol=1e-5)


def test_skipped_instances_keep_the_weights_of_the_others() -> None:
    data = weighted(torch.arange(1.0, 9.0))
    net = MLP(3, 5, seed=0)
    net.standardize(data)
    losses = (net(data.features) - data.theta).square().mean(-1)
    history = fit(net, Squares(fails=(2, 5)), data, epochs=1, lr=1e-9, on_failure="skip")
    keep = [0, 1, 3, 4, 6, 7]
    expected = (losses.detach() * torch.arange(1.0, 9.0) / 4.5)[keep].mean()
    assert history.train_loss[0] == pytest.approx(float(expected), rel=1e-5)
    assert history.skipped == [2]


@pytest.mark.parametrize("monitor", ["regret", "loss", "agreement"])
def test_validation_is_weighted(monitor: Any) -> None:
    counts = torch.tensor([1, 0, 3, 2, 1, 1, 0, 4])
    heavy = weighted(counts, seed=3)
    repeated = top_k_data(8, 3).subset(torch.arange(8).repeat_interleave(counts))
    scores = [trained(top_k_data(8), valid, monitor=monitor)[1] for valid in (heavy, repeated)]
    for name in ("valid_regret", "valid_loss", "valid_distance"):
        assert getattr(scores[0], name) == pytest.approx(getattr(scores[1], name))
    assert [value is not None for value in (scores[0].valid_regret + scores[0].valid_distance)].count(True) in (0, 3)


def test_a_part_without_weight_is_no_training_set() -> None:
    data = weighted(torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    with mistake("train", "weights of 0"):
        trained(data.subset([1, 2]))


def test_validation_does_not_touch_the_loss() -> None:
    nets = model(), model()
    losses = NoisySquares(), NoisySquares()
    watched = fit(nets[0], losses[0], top_k_data(), top_k_data(seed=1), epochs=3, lr=0.01, monitor="loss")
    plain = fit(nets[1], losses[1], top_k_data(), epochs=3, lr=0.01)
    assert watched.train_loss == plain.train_loss
    assert watched.best_epoch == 3  # so that both end with the same weights
    assert same(*nets)
    assert losses[0].calls == losses[1].calls == 3


def test_anneals_the_layer() -> None:
    layer = QuadraticRelaxation(gamma=1.0)
    history = fit(model(), DecisionLoss(layer), top_k_data(), epochs=3, anneal=geometric(4.0, 1.0))
    assert history.gamma == pytest.approx([4.0, 2.0, 1.0])
    assert layer.gamma == pytest.approx(1.0)
    history = fit(model(), DecisionLoss(layer), top_k_data(), epochs=2, anneal=lambda p: RelativeGamma(1.0 - 0.5 * p))
    assert layer.gamma == RelativeGamma(0.5)
    assert history.gamma == [None, None]
    fit(model(), DecisionLoss(layer), top_k_data(), epochs=2, anneal={"gamma": lambda p: 3.0 + p})
    assert layer.gamma == 4.0


def test_clips() -> None:
    net = model()
    before = torch.cat([p.detach().flatten() for p in net.parameters()])
    fit(net, MSE(), top_k_data(), epochs=1, batch_size=32, optimizer=lambda p: torch.optim.SGD(p, lr=1.0), clip=1e-3)
    after = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert float((after - before).norm()) == pytest.approx(1e-3, rel=1e-3)


def learned(start: float) -> DecisionLoss:
    return DecisionLoss(QuadraticRelaxation(torch.nn.Parameter(torch.tensor(start))))


@pytest.mark.filterwarnings("ignore::foresolve.errors.ForesolveWarning")
def test_the_gamma_of_the_loss_is_trained_and_recorded(tmp_path: Any) -> None:
    loss, network = learned(0.5), model()
    history = fit(network, loss, top_k_data(16), epochs=3, lr=0.05, progress=False, checkpoint=tmp_path / "run")
    (gamma,) = loss.parameters()
    assert gamma.item() != 0.5
    assert history.gamma[-1] == pytest.approx(gamma.item())
    again, other = learned(0.5), model()
    settings = {"lr": 0.05, "progress": False, "checkpoint": tmp_path / "other"}
    fit(other, again, top_k_data(16), epochs=3, **settings)  # type: ignore[arg-type]
    resumed, third = learned(0.5), model()
    fit(third, resumed, top_k_data(16), epochs=3, resume=True, **settings)  # type: ignore[arg-type]
    assert next(resumed.parameters()).item() == next(again.parameters()).item()


@pytest.mark.filterwarnings("ignore::foresolve.errors.ForesolveWarning")
def test_a_learned_gamma_stays_positive_whatever_the_step() -> None:
    loss = learned(0.001)
    fit(model(), loss, top_k_data(16), epochs=3, optimizer=torch.optim.SGD, lr=100.0, progress=False)
    assert next(loss.parameters()).item() > 0


def test_a_learned_gamma_is_not_annealed_nor_searched() -> None:
    with mistake("anneal", "trained"):
        fit(model(), learned(0.5), top_k_data(16), anneal=geometric(1, 0.1), progress=False)
    with mistake("gamma", "trained"):
        fit(model(), learned(0.5), top_k_data(16), valid=top_k_data(8), gamma="auto", progress=False)


def test_an_optimizer_that_is_given_trains_what_it_was_made_for() -> None:
    loss, network = learned(0.5), model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    fit(network, loss, top_k_data(16), epochs=1, optimizer=optimizer, progress=False)
    assert next(loss.parameters()).item() == 0.5
