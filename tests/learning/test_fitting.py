from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError, SolverError
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import Relative
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.mlp import MLP
from foresolve.problems.shortest_path import ShortestPath
from foresolve.schedules import geometric
from learning.instances import NoisySquares, Squares, top_k_data


def model(seed: int = 0, **options: Any) -> MLP:
    return MLP(3, 5, seed=seed, **options)


def same(one: nn.Module, two: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))


@pytest.mark.parametrize("loss", [MSE(), SPOPlus(), DecisionLoss(QuadraticRelaxation(gamma=1.0))], ids=repr)
def test_learns(loss: Any) -> None:
    train, valid = top_k_data(64), top_k_data(32, seed=1)
    net = model()
    before = evaluate(net, valid, bootstrap=0).normalized_regret
    history = fit(net, loss, train, valid, epochs=15, lr=0.05)
    assert history.train_loss[-1] < history.train_loss[0]
    assert history.valid_regret[-1] < before / 2  # type: ignore[operator]
    assert history.valid_regret[-1] == pytest.approx(evaluate(net, valid, bootstrap=0).normalized_regret, abs=1e-6)


def test_the_run_is_that_of_its_seed_and_leaves_the_global_generator_alone() -> None:
    def run(seed: int) -> nn.Module:
        net = nn.Sequential(nn.Dropout(0.5), model())
        fit(net, MSE(), top_k_data(), epochs=2, seed=seed)
        return net

    before = torch.get_rng_state()
    one = run(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert same(one, run(0))
    assert not same(one, run(1))


def test_early_stopping_goes_back_to_the_best_weights() -> None:
    train, valid = top_k_data(16), top_k_data(16, seed=1)
    net = model()
    history = fit(net, MSE(), train, valid, epochs=200, lr=0.3, patience=4, monitor="loss")
    assert history.stopped_early
    assert history.best_epoch == len(history) - 5
    assert history.valid_loss[history.best_epoch] == min(history.valid_loss)  # type: ignore[type-var]
    assert evaluate(net, valid, bootstrap=0).mse == pytest.approx(min(history.valid_loss), rel=1e-5)  # type: ignore[type-var]


def test_validation_does_not_touch_the_loss() -> None:
    nets = model(), model()
    losses = NoisySquares(), NoisySquares()
    fit(nets[0], losses[0], top_k_data(), top_k_data(seed=1), epochs=3, monitor="loss")
    fit(nets[1], losses[1], top_k_data(), epochs=3)
    assert same(*nets)
    assert losses[0].calls == losses[1].calls == 3


def test_anneals_the_layer() -> None:
    layer = QuadraticRelaxation(gamma=1.0)
    history = fit(model(), DecisionLoss(layer), top_k_data(), epochs=3, anneal=geometric(4.0, 1.0))
    assert history.gamma == pytest.approx([4.0, 2.0, 1.0])
    assert layer.gamma == pytest.approx(1.0)
    history = fit(model(), DecisionLoss(layer), top_k_data(), epochs=2, anneal=lambda p: Relative(1.0 - 0.5 * p))
    assert layer.gamma == Relative(0.5)
    assert history.gamma == [None, None]
    fit(model(), DecisionLoss(layer), top_k_data(), epochs=2, anneal={"gamma": lambda p: 3.0 + p})
    assert layer.gamma == 4.0


def test_optimisers_and_schedulers() -> None:
    net = model()
    sgd = torch.optim.SGD(net.parameters(), lr=0.5)
    history = fit(net, MSE(), top_k_data(), epochs=3, optimizer=sgd, scheduler=torch.optim.lr_scheduler.StepLR(sgd, 1))
    assert history.lr == pytest.approx([0.5, 0.05, 0.005])
    one, two = model(), model()
    fit(one, MSE(), top_k_data(), epochs=2, lr=0.2, optimizer=torch.optim.SGD)
    fit(two, MSE(), top_k_data(), epochs=2, optimizer=lambda p: torch.optim.SGD(p, lr=0.2))
    assert same(one, two)
    history = fit(
        model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=4, lr=1.0, monitor="loss",
        scheduler=lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.1, patience=0, threshold=10.0),
    )  # fmt: skip
    assert history.lr[-1] < 1.0  # type: ignore[operator]


def test_clips() -> None:
    net = model()
    before = torch.cat([p.detach().flatten() for p in net.parameters()])
    fit(net, MSE(), top_k_data(), epochs=1, batch_size=32, optimizer=lambda p: torch.optim.SGD(p, lr=1.0), clip=1e-3)
    after = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert float((after - before).norm()) == pytest.approx(1e-3, rel=1e-3)


def test_nan_names_the_batch() -> None:
    net = model()
    message = r"the loss is nan in epoch 0, batch \d \(training instances? (7|9)(, (7|9))?\)"
    with pytest.raises(ForesolveError, match=message):
        fit(net, Squares(nan=(7, 9)), top_k_data(), batch_size=8)
    assert all(bool(torch.isfinite(p).all()) for p in net.parameters())
    with torch.no_grad():
        net.layers[0].weight[0, 0] = torch.inf  # type: ignore[index]
    with pytest.raises(ForesolveError, match=r"the prediction is -?inf in epoch 0, batch 0"):
        fit(net, MSE(), top_k_data())


def test_gradients_that_are_not_finite() -> None:
    class Steep(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return (theta_hat * 0.0).sum(-1).abs().sqrt()

    with pytest.raises(ForesolveError, match="the gradient is not finite in epoch 0, batch 0"):
        fit(model(), Steep(), top_k_data())


@pytest.mark.parametrize("names", [True, False])
def test_a_failing_instance_is_named_or_skipped(names: bool) -> None:
    with pytest.raises(SolverError, match=r"training instance (3|20): the instance is beyond me") as caught:
        fit(model(), Squares(fails=(3, 20), names=names), top_k_data())
    assert caught.value.instances[0] in (3, 20)
    history = fit(model(), Squares(fails=(3, 20), names=names), top_k_data(), epochs=2, batch_size=4, on_failure="skip")
    assert history.skipped == [2, 2]
    with pytest.raises(SolverError, match="failed on every training instance"):
        fit(model(), Squares(fails=tuple(range(32))), top_k_data(), on_failure="skip")


def test_validation_skips_what_cannot_be_solved() -> None:
    """Negative predicted costs on a cycle have no shortest path."""
    problem = ShortestPath([(0, 1), (1, 0), (1, 2)], 0, 2)
    generator = torch.Generator().manual_seed(0)
    data = DecisionDataset(torch.randn(20, 3, generator=generator), torch.rand(20, 3, generator=generator), problem)
    net = MLP(3, 3, seed=generator)
    with pytest.raises(SolverError):
        fit(net, MSE(), data, data, epochs=1, lr=1e-6)
    history = fit(net, MSE(), data, data, epochs=1, lr=1e-6, on_failure="skip")
    assert history.valid_regret[0] == pytest.approx(0.0)


def test_decisions_are_worked_out_once() -> None:
    train, valid = top_k_data(), top_k_data(seed=1)
    fit(model(), SPOPlus(), train, valid, epochs=1)
    assert train.solved
    assert valid.solved


def test_a_loss_without_one_number_for_each_instance() -> None:
    class Mean(Squares):
        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            return super().forward(theta_hat, batch).mean()

    with pytest.raises(InvalidInputError, match=r"`loss\(theta_hat, batch\)` must be \(32,\), one number.*got \(\)"):
        fit(model(), Mean(), top_k_data())


def test_progress_gets_the_history() -> None:
    seen: list[int] = []
    fit(model(), MSE(), top_k_data(), epochs=3, progress=lambda history: seen.append(len(history)))
    assert seen == [1, 2, 3]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    fit(model(), SPOPlus(), top_k_data(), top_k_data(seed=1), epochs=2)
    assert capfd.readouterr() == ("", "")


def test_history() -> None:
    history = fit(model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=3)
    document = json.loads(json.dumps(history.to_dict()))
    assert History.from_dict(document) == history
    assert "3 epochs" in repr(history)
    assert "validation regret" in repr(history)
    with pytest.raises(ForesolveError, match="entries"):
        History.from_dict({"train_loss": []})
    with pytest.raises(ForesolveError, match="one length"):
        History.from_dict(document | {"lr": []})


def test_history_as_table_and_plot() -> None:
    history = fit(model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=3)
    pytest.importorskip("pandas")
    frame = history.to_frame()
    assert list(frame.index) == [0, 1, 2]
    assert frame["train_loss"].tolist() == history.train_loss
    pytest.importorskip("matplotlib")
    assert history.plot().get_xlabel() == "epoch"
    image = history._repr_png_()
    assert image is not None
    assert image[:4] == b"\x89PNG"


def test_features_take_the_dtype_of_the_model() -> None:
    data = top_k_data()
    wide = DecisionDataset(data.features.double(), data.theta.double(), data.problem)
    assert len(fit(model(), SPOPlus(), wide, wide, epochs=1).train_loss) == 1
    double = model().double()
    assert len(fit(double, SPOPlus(), data, data, epochs=1).train_loss) == 1
    assert next(double.parameters()).dtype == torch.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "linear"}, "`model` must be an nn.Module or a Baseline; got str"),
        ({"model": nn.Identity()}, "`model` must be one with parameters to train"),
        ({"model": MLP(3, 4)}, r"`theta_hat` must be \(32, 5\) to match the true parameters; got \(32, 4\)"),
        ({"loss": None}, "`loss` must be a foresolve Loss; got None"),
        ({"loss": nn.MSELoss()}, "`loss` must be a foresolve Loss; got MSELoss"),
        ({"train": [1, 2]}, "`train` must be a DecisionDataset; got list"),
        ({"device": "cuda:77"}, "`device` must be one that is there"),
        ({"device": "toaster"}, "`device` must be one that is there"),
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
    given = {"model": model(), "loss": MSE(), "train": top_k_data()} | arguments
    with pytest.raises(InvalidInputError, match=message):
        fit(**given)
