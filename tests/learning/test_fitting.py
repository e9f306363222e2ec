from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Subset, random_split

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.mlp import MLP
from foresolve.schedules import geometric
from learning.instances import model, same, top_k_data
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
    ("arguments", "message"),
    [
        ({"model": "linear"}, "`model` must be an nn.Module, a Baseline or an estimator; got str$"),
        (
            {"model": MLP},
            r"`model` must be an nn.Module, .*; got the class MLP\. Did you mean an instance, `MLP\(...\)`",
        ),
        (
            {"model": lambda a: a},
            "`model` must be .*; got function. A function without parameters has nothing to train",
        ),
        ({"model": SPOPlus()}, r"got the loss SPOPlus\. Did you mean `fit\(model, loss, train\)`\?"),
        ({"model": nn.Identity()}, "`model` must be one with parameters to train"),
        ({"model": MLP(3, 4)}, r"`theta_hat` must be \(32, 5\) to match the true parameters; got \(32, 4\)"),
        ({"loss": None}, "`loss` must be a foresolve Loss; got None"),
        ({"loss": nn.MSELoss()}, r"`loss` must be a foresolve Loss; got torch's MSELoss\. Did you mean `MSE\(\)`"),
        ({"train": [1, 2]}, "`train` must be a DecisionDataset, or a `Subset` of one; got list"),
        ({"valid": Subset([1, 2], [0])}, "`valid.dataset` must be a DecisionDataset"),
        ({"device": "cuda:77"}, "`device` must be one that is available"),
        ({"device": "toaster"}, "`device` must be one that is available"),
        ({"device": "meta"}, "`device` must be one that holds numbers; got meta"),
        ({"lr": "x"}, "`lr` must be a finite number > 0; got .x."),
        ({"seed": "x"}, "`seed` must be an integer >= 0 or a torch.Generator; got .x."),
        ({"optimizer": "adam"}, "`optimizer` must be .* `torch.optim.Adam`; got .adam."),
        ({"patience": 3}, "`valid` must be given"),
        ({"monitor": "value"}, "`monitor` must be"),
        ({"on_failure": "ignore"}, "`on_failure` must be"),
        ({"epochs": -1}, "`epochs` must be an integer >= 0"),
        ({"anneal": 3.0}, "`anneal` must be a function"),
        ({"anneal": lambda p: 1.0}, "`anneal` must be for a loss with a layer"),
        ({"lr": 0.0}, "`lr` must be"),
        ({"clip": -1.0}, "`clip` must be"),
        ({"optimizer": lambda p: None}, "`optimizer` must be"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    settings = {"model": model(), "loss": MSE(), "train": top_k_data()} | arguments
    with pytest.raises(InvalidInputError, match=message):
        fit(**settings)


def test_a_loss_by_name_is_that_loss() -> None:
    data = top_k_data()
    named, made = model(), model()
    assert fit(named, "SPO+", data, epochs=2).train_loss == fit(made, SPOPlus(), data, epochs=2).train_loss
    assert same(named, made)
    with pytest.raises(
        InvalidInputError, match=r"`loss` must be a Loss or one of .*; got 'spo\+\+'\. Did you mean 'spo\+'"
    ):
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
    with pytest.raises(InvalidInputError, match="`epochs` must be left out for a baseline; got epochs=3"):
        fit(ridge, None, data, epochs=3)
    with pytest.raises(
        InvalidInputError, match=r"`train` must be of vectors .* got a row per item\. Fit `ScikitLearn\("
    ):
        fit(ridge, None, item_data())


def test_weights_of_instances_reach_the_baselines() -> None:
    data = top_k_data(12)
    weights = torch.tensor([2.0, 1.0, 0.0, 3.0] * 3)
    twice = torch.arange(12).repeat_interleave(weights.long())
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    for make in (LinearRegression, lambda: LinearRegression(ridge=2.0), ConstantMean):
        expected, got = make().fit(data.subset(twice)), make().fit(weighted)
        torch.testing.assert_close(got(data.features), expected(data.features))
    with pytest.raises(InvalidInputError, match="`train` must be without weights for NearestNeighbors"):
        fit(NearestNeighbors(), None, weighted)


def test_a_baseline_refuses_what_has_no_meaning_for_it() -> None:
    """`fit(LinearRegression(), None, train, lr=...)` once took fifteen arguments and used none."""
    message = (
        r"`epochs`, `lr`, `optimizer` must be left out for a baseline; got epochs=5, lr=0.1, optimizer=type\. "
        "LinearRegression is fitted in one go, by its own rule"
    )
    with pytest.raises(InvalidInputError, match=message):
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
        with pytest.raises(InvalidInputError, match=f"`{name}` must be left out for a baseline"):
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
        with pytest.raises(InvalidInputError, match="`seed` must be an integer >= 0"):
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
    with pytest.raises(InvalidInputError, match="`valid` must be of the 3 columns"):
        fit(model(), "spo+", train, train.with_features(frame.rename(columns={"u": "z"})), epochs=1)
