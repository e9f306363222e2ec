from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Subset, random_split

from foresolve.data import DecisionDataset
from foresolve.layers import QuadraticRelaxation
from foresolve.learning import evaluate, fit
from foresolve.losses import MSE, DecisionLoss, SPOPlus
from foresolve.models import MLP, ConstantMean, LinearRegression, NearestNeighbors
from foresolve.schedules import geometric
from learning.instances import model, same, top_k_data
from mistakes import mistake
from models.instances import item_data


@pytest.mark.parametrize("loss", [MSE(), SPOPlus(), DecisionLoss(QuadraticRelaxation(gamma=1.0))], ids=repr)
def test_learns(loss: Any) -> None:
    train, valid = top_k_data(64), top_k_data(32, seed=1)
    net = model()
    before = evaluate(net, valid, bootstrap=0).normalized_regret
    history = fit(net, loss, train, valid, epochs=15, lr=0.05)
    assert history.train_loss[-1] < history.train_loss[0]
    assert history.best is not None
    assert history.best < before / 2
    assert history.best == pytest.approx(evaluate(net, valid, bootstrap=0).normalized_regret, abs=1e-6)


def test_the_run_is_that_of_its_seed_and_leaves_the_global_generator_alone() -> None:
    def run(seed: int) -> nn.Module:
        net = nn.Sequential(nn.Dropout(0.5), model())
        fit(net, MSE(), top_k_data(), epochs=2, seed=seed)
        return net

    before = torch.get_rng_state()
    first = run(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert same(first, run(0))
    assert not same(first, run(1))


def test_optimizers_and_schedulers() -> None:
    net = model()
    sgd = torch.optim.SGD(net.parameters(), lr=0.5)
    history = fit(net, MSE(), top_k_data(), epochs=3, optimizer=sgd, scheduler=torch.optim.lr_scheduler.StepLR(sgd, 1))
    assert history.lr == pytest.approx([0.5, 0.05, 0.005])
    by_class, by_function = model(), model()
    fit(by_class, MSE(), top_k_data(), epochs=2, lr=0.2, optimizer=torch.optim.SGD)
    fit(by_function, MSE(), top_k_data(), epochs=2, optimizer=lambda p: torch.optim.SGD(p, lr=0.2))
    assert same(by_class, by_function)
    history = fit(
        model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=4, lr=0.1, monitor="loss",
        scheduler=lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.1, patience=0, threshold=10.0),
    )  # fmt: skip
    assert history.lr[-1] < 0.1  # type: ignore[operator]


def test_the_rate_falls_along_half_a_cosine_unless_told_otherwise() -> None:
    data = top_k_data()
    falling = [0.02 * (1 + math.cos(math.pi * done / 8)) / 2 for done in range(8)]
    assert fit(model(), MSE(), data, epochs=8, lr=0.02).lr == pytest.approx(falling)
    assert fit(model(), MSE(), data, epochs=3, lr=0.02, scheduler=None).lr == [0.02] * 3
    assert fit(model(), MSE(), data, epochs=3, lr=0.02, optimizer=torch.optim.SGD).lr == [0.02] * 3


def test_decisions_are_worked_out_once() -> None:
    train, valid = top_k_data(), top_k_data(seed=1)
    fit(model(), SPOPlus(), train, valid, epochs=5, lr=0.01)
    assert train.solved
    assert valid.solved


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    fit(model(), SPOPlus(), top_k_data(), top_k_data(seed=1), epochs=2, lr=0.01)
    assert capfd.readouterr() == ("", "")


def test_features_take_the_dtype_of_the_model() -> None:
    data = top_k_data()
    wide = DecisionDataset(data.features.double(), data.theta.double(), data.problem)
    assert len(fit(model(), SPOPlus(), wide, wide, epochs=1, lr=0.01).train_loss) == 1
    double = model().double()
    assert len(fit(double, SPOPlus(), data, data, epochs=1, lr=0.01).train_loss) == 1
    assert next(double.parameters()).dtype == torch.float64


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"model": "linear"}, ["model", "got str"]),
        ({"model": MLP}, ["model", "class MLP", "`MLP(...)`"]),
        ({"model": lambda a: a}, ["model", "got function"]),
        ({"model": SPOPlus()}, ["model", "loss SPOPlus", "`fit(model, loss, train)`"]),
        ({"model": nn.Identity()}, ["model", "Identity"]),
        ({"model": MLP(3, 4)}, ["theta_hat", "(32, 5)", "(32, 4)"]),
        ({"loss": None}, ["loss", "got None"]),
        ({"loss": nn.MSELoss()}, ["loss", "torch's MSELoss", "`MSE()`"]),
        ({"train": [1, 2]}, ["train", "DecisionDataset", "got list"]),
        ({"valid": Subset([1, 2], [0])}, ["valid.dataset", "DecisionDataset"]),
        ({"device": "cuda:77"}, ["device", "cuda:77"]),
        ({"device": "toaster"}, ["device", "toaster"]),
        ({"device": "meta"}, ["device", "got meta"]),
        ({"lr": "x"}, ["lr", "got 'x'"]),
        ({"seed": "x"}, ["seed", "got 'x'"]),
        ({"optimizer": "adam"}, ["optimizer", "`torch.optim.Adam`", "'adam'"]),
        ({"patience": 3}, ["valid"]),
        ({"monitor": "value"}, ["monitor", "'value'"]),
        ({"on_failure": "ignore"}, ["on_failure", "'ignore'"]),
        ({"epochs": -1}, ["epochs", "got -1"]),
        ({"anneal": 3.0}, ["anneal", "got float"]),
        ({"anneal": lambda p: 1.0}, ["anneal", "`gamma`"]),
        ({"lr": 0.0}, ["lr", "got 0.0"]),
        ({"clip": -1.0}, ["clip", "got -1.0"]),
        ({"optimizer": lambda p: None}, ["optimizer", "got NoneType"]),
    ],
)
def test_bad_input(arguments: dict[str, Any], about: list[str]) -> None:
    settings = {"model": model(), "loss": MSE(), "train": top_k_data()} | arguments
    with mistake(*about):
        fit(**settings)


def test_a_loss_by_name_is_that_loss() -> None:
    data = top_k_data()
    named, made = model(), model()
    assert fit(named, "SPO+", data, epochs=2).train_loss == fit(made, SPOPlus(), data, epochs=2).train_loss
    assert same(named, made)
    with mistake("loss", "'spo++'", "'spo+'"):
        fit(model(), "spo++", data)


def test_subsets_of_torch_are_data_sets() -> None:
    data = top_k_data(40)
    first, second = random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(0))
    inner = Subset(first, range(0, 30, 2))
    whole, parts = model(), model()
    indices = [first.indices[i] for i in inner.indices]
    fit(whole, MSE(), data.subset(indices), data.subset(second.indices), epochs=2, lr=0.1)
    history = fit(parts, MSE(), inner, second, epochs=2, lr=0.1)
    assert same(whole, parts)
    assert len(history.valid_regret) == 2


def test_a_regressor_is_fitted_itself() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data, ridge = top_k_data(), linear.Ridge()
    history = fit(ridge, None, data, data)
    expected = linear.Ridge().fit(data.features.double().numpy(), data.theta.double().numpy())
    np.testing.assert_allclose(ridge.coef_, expected.coef_)
    assert (len(history), history.start, history.best_epoch) == (1, None, 1)
    assert fit(linear.Ridge(), "mse", data).train_loss == history.train_loss
    with mistake("epochs", "epochs=3"):
        fit(ridge, None, data, epochs=3)
    with mistake("train", "ScikitLearn"):
        fit(ridge, None, item_data())


def test_weights_of_instances_reach_the_baselines() -> None:
    data = top_k_data(12)
    weights = torch.tensor([2.0, 1.0, 0.0, 3.0] * 3)
    twice = torch.arange(12).repeat_interleave(weights.long())
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    for make in (LinearRegression, lambda: LinearRegression(ridge=2.0), ConstantMean):
        expected, got = make().fit(data.subset(twice)), make().fit(weighted)
        torch.testing.assert_close(got(data.features), expected(data.features))
    with mistake("train", "NearestNeighbors"):
        fit(NearestNeighbors(), None, weighted)


def test_a_baseline_refuses_what_has_no_meaning_for_it() -> None:
    """`fit(LinearRegression(), None, train, lr=...)` once took fifteen arguments and used none."""
    with mistake("epochs", "epochs=5, lr=0.1, optimizer=type", "LinearRegression"):
        fit(LinearRegression(), None, top_k_data(), epochs=5, lr=0.1, optimizer=torch.optim.SGD)


MEANINGLESS: dict[str, Any] = {
    "epochs": 1, "batch_size": 8, "lr": 0.1, "optimizer": torch.optim.SGD, "scheduler": lambda o: None,
    "anneal": geometric(2.0, 1.0), "patience": 3, "monitor": "loss", "clip": 1.0, "device": "cpu", "seed": 1,
    "checkpoint": "run", "resume": True, "on_failure": "skip",
    "gamma": "auto", "warm_start": "two-stage",
}  # fmt: skip


def test_every_argument_of_training_is_meaningless_or_progress() -> None:
    keywords = {p.name for p in inspect.signature(fit).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert keywords == {*MEANINGLESS, "progress"}
    for name, value in MEANINGLESS.items():
        with mistake(name, f"{name}=", "ConstantMean"):
            fit(ConstantMean(), None, top_k_data(), top_k_data(seed=1), **{name: value})


def test_a_baseline_takes_validation_progress_and_defaults() -> None:
    lengths: list[int] = []
    train, valid = top_k_data(), top_k_data(seed=1)
    history = fit(ConstantMean(), None, train, valid, epochs=100, progress=lambda history: lengths.append(len(history)))
    assert lengths == [1]
    assert history.best == evaluate(ConstantMean().fit(train), valid, bootstrap=0).normalized_regret
    assert history.valid_regret == [history.best]
    assert len(fit(ConstantMean(), None, train, progress=False)) == 1


def test_a_generator_will_do_for_a_seed_and_nonsense_is_refused() -> None:
    def weights(seed: object) -> torch.Tensor:
        net = model()
        fit(net, MSE(), top_k_data(), epochs=2, batch_size=4, seed=seed)  # type: ignore[arg-type]
        return next(net.parameters()).detach()

    first, again = (weights(torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    for nonsense in (1.5, -1, "7"):
        with mistake("seed", "torch.Generator"):
            weights(nonsense)


def test_the_error_of_a_weighted_baseline_is_weighted() -> None:
    data = top_k_data(6)
    counts = torch.tensor([1, 0, 3, 2, 1, 1])
    heavy = DecisionDataset(data.features, data.theta, data.problem, weights=counts)
    repeated = data.subset(torch.arange(6).repeat_interleave(counts))
    losses = [fit(LinearRegression(ridge=1.0), None, part).train_loss[0] for part in (heavy, repeated)]
    assert losses[0] == pytest.approx(losses[1])


def test_columns_of_validation_are_those_of_training() -> None:
    pandas = pytest.importorskip("pandas")
    data = top_k_data(40)
    frame = pandas.DataFrame(data.features.numpy(), columns=["u", "v", "w"])
    train = DecisionDataset(frame, data.theta, data.problem)
    shuffled = DecisionDataset(frame[["w", "u", "v"]], data.theta, data.problem)
    scores = [fit(model(), "spo+", train, valid, epochs=2, lr=0.01).valid_regret for valid in (train, shuffled)]
    assert scores[0] == scores[1]
    with mistake("valid", "'u'"):
        fit(model(), "spo+", train, train.with_features(frame.rename(columns={"u": "z"})), epochs=1)
