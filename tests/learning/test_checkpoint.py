from __future__ import annotations

import copy
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from foresolve._base import extras, files
from foresolve._base.container import checksum
from foresolve.data import Batch, DecisionDataset
from foresolve.errors import ForesolveError, MissingExtraError, NoImprovementWarning, StorageError
from foresolve.layers import PerturbedAdditive
from foresolve.learning import fit
from foresolve.losses import MSE, NCE, DecisionLoss, Loss, SolutionPool
from foresolve.models import MLP
from learning.instances import NoisySquares, Squares, model, same, top_k_data
from mistakes import caution, file_mistake, mistake

pytest.importorskip("safetensors")


def net(seed: int = 0) -> nn.Module:
    """With dropout and running statistics."""
    body = MLP(3, 6, seed=seed)
    head = MLP(6, 5, seed=seed + 1)
    return nn.Sequential(body, nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), head)


def options(optimizer: Any) -> dict[str, Any]:
    return {
        "train": top_k_data(30),
        "valid": top_k_data(10, seed=1),
        "lr": 0.03,
        "batch_size": 8,
        "optimizer": optimizer,
        "scheduler": lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [2, 4]),
        "clip": 1.0,
    }


LOSSES = [
    NoisySquares,
    lambda: DecisionLoss(PerturbedAdditive(samples=3, sigma=0.5)),
    lambda: NCE(SolutionPool(solve_ratio=0.5)),
]


@pytest.mark.parametrize("make", LOSSES, ids=["noise", "perturbed", "pool"])
@pytest.mark.parametrize("optimizer", [None, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)], ids=["adam", "sgd"])
def test_resumes_to_the_same_weights_bit_for_bit(make: Any, optimizer: Any, tmp_path: Path) -> None:
    unbroken, paused = net(), net()
    expected = fit(unbroken, make(), epochs=6, **options(optimizer))
    fit(paused, make(), epochs=3, checkpoint=tmp_path / "run", **options(optimizer))
    resumed = net(seed=5)  # weights come from the file
    torch.rand(3)
    history = fit(resumed, make(), epochs=6, checkpoint=tmp_path / "run", resume=True, **options(optimizer))
    assert same(unbroken, resumed)
    assert expected.train_loss == history.train_loss
    assert expected.valid_regret == history.valid_regret
    assert expected.lr == history.lr
    assert expected.best_epoch == history.best_epoch
    assert expected.start == history.start
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint.safetensors"]


def test_early_stopping_is_resumed_too(tmp_path: Path) -> None:
    settings = {"train": top_k_data(16), "valid": top_k_data(16, seed=1), "lr": 0.3, "patience": 4, "monitor": "loss"}
    settings["scheduler"] = None  # the default one depends on `epochs`
    unbroken, paused = net(), net()
    expected = fit(unbroken, MSE(), epochs=100, **settings)
    assert expected.best_epoch is not None
    fit(paused, MSE(), epochs=expected.best_epoch + 3, checkpoint=tmp_path / "a.safetensors", **settings)
    history = fit(paused, MSE(), epochs=100, checkpoint=tmp_path / "a.safetensors", resume=True, **settings)
    assert same(unbroken, paused)
    assert expected.valid_loss == history.valid_loss
    repeated = net(1)
    finished = fit(repeated, MSE(), epochs=100, checkpoint=tmp_path / "a.safetensors", resume=True, **settings)
    assert len(finished) == len(expected)
    assert finished.stopped_early
    assert same(repeated, unbroken)


def test_the_start_is_a_candidate_after_a_break_too(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"train": top_k_data(16), "valid": top_k_data(16, seed=1), "patience": None}
    trained = model()
    fit(trained, MSE(), **settings)
    spoiled = copy.deepcopy(trained)
    settings |= {"checkpoint": tmp_path, "lr": 10.0}
    with pytest.warns(NoImprovementWarning):
        first = fit(spoiled, MSE(), epochs=2, **settings)
    with caution("4 epochs", kind=NoImprovementWarning):
        history = fit(model(seed=7), MSE(), epochs=4, resume=True, **settings)
    assert history.start == first.start == history.best
    assert history.best_epoch == 0
    with pytest.warns(NoImprovementWarning):
        fit(resumed := model(seed=7), MSE(), epochs=5, resume=True, **settings)
    assert same(resumed, trained)


def test_a_run_that_was_stopped_in_its_first_epoch_has_its_start(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"train": top_k_data(30), "valid": top_k_data(10, seed=1), "epochs": 3, "batch_size": 8}
    expected = fit(net(), NoisySquares(), **settings)
    stopped = fit(net(), Impatient(1), checkpoint=tmp_path, **settings)
    assert (len(stopped), stopped.start, stopped.interrupted) == (0, expected.start, True)


class Impatient(NoisySquares):
    """Presses Ctrl-C in its n-th call."""

    def __init__(self, call: int) -> None:
        super().__init__()
        self.moment = call

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        if self.calls == self.moment:
            self.moment = -1
            raise KeyboardInterrupt
        return super().forward(theta_hat, batch)


@pytest.mark.parametrize("call", [0, 6, 9])
def test_ctrl_c_leaves_a_checkpoint_and_a_history(call: int, tmp_path: Path) -> None:
    settings = {"train": top_k_data(30), "epochs": 5, "batch_size": 8}
    unbroken = net()
    fit(unbroken, Impatient(-1), **settings)
    history = fit(net(), Impatient(call), checkpoint=tmp_path, **settings)
    assert history.interrupted
    assert len(history) == call // 4
    again = net(3)
    history = fit(again, Impatient(-1), checkpoint=tmp_path, resume=True, **settings)
    assert not history.interrupted
    assert len(history) == 5
    assert same(again, unbroken)


def test_a_checkpoint_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit(net(), MSE(), top_k_data(), epochs=1, checkpoint=tmp_path)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError) as caught:
        fit(net(), MSE(), top_k_data(), epochs=2, checkpoint=tmp_path, resume=True)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "checkpoint.safetensors"))
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_another_run_is_refused(tmp_path: Path) -> None:
    fit(net(), MSE(), top_k_data(), epochs=1, checkpoint=tmp_path)

    def resume(model: nn.Module, loss: Loss, **settings: Any) -> None:
        fit(model, loss, settings.pop("train", top_k_data()), checkpoint=tmp_path, resume=True, **settings)

    with mistake("checkpoint", "resume=True"):
        fit(net(), MSE(), top_k_data(), epochs=1, checkpoint=tmp_path)
    with mistake("checkpoint", "'MLP'", "'Sequential'"):
        resume(MLP(3, 5), MSE())
    with mistake("checkpoint", "0.weight", "[5, 3]"):
        resume(nn.Sequential(nn.Linear(3, 5)), MSE())
    with mistake("checkpoint", "same loss"):
        resume(net(), Squares())
    with mistake("checkpoint", "seed = 1"):
        resume(net(), MSE(), seed=1)
    with mistake("checkpoint", "instances = 12"):
        resume(net(), MSE(), train=top_k_data(12))
    with mistake("checkpoint", "same optimizer"):
        resume(net(), MSE(), optimizer=torch.optim.SGD)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    fit(net(), MSE(), top_k_data(), epochs=1, checkpoint=tmp_path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    tensors, _ = files.read_tensors(path)

    def written(change: Any) -> bytes:
        document = json.loads(header["__metadata__"]["json"])
        change(document)
        document["sha256"] = checksum(document, tensors)
        text = json.dumps(header | {"__metadata__": {"json": json.dumps(document)}}).encode()
        return len(text).to_bytes(8, "little") + text + content[8 + size :]

    bad = [
        (content[: len(content) // 2], "safetensors"),
        (b"", "safetensors"),
        (b"\xff" * 8 + content[8:], "safetensors"),
        (written(lambda d: d.update(kind="other")), "a checkpoint"),
        (written(lambda d: d.update(schema=99)), "schema 99"),
        (written(lambda d: d.update(identity=[])), "`identity`"),
        (written(lambda d: d.pop("state")), "`state`"),
        (written(lambda d: d["state"].pop("optimizer")), "'optimizer'"),
        (written(lambda d: d["state"].update(optimizer={"state": 1, "param_groups": 2})), ""),
        (written(lambda d: d["state"]["history"].update(train_loss="x")), "history"),
        (written(lambda d: d["state"].update(model={"__tensor__": "nowhere"})), "'nowhere'"),
    ]
    for damaged, fact in bad:
        path.write_bytes(damaged)
        with file_mistake(path, fact):
            fit(net(), MSE(), top_k_data(), epochs=2, checkpoint=tmp_path, resume=True)


def test_a_state_that_only_pickle_could_save_is_refused(tmp_path: Path) -> None:
    class Odd(Squares):
        def get_extra_state(self) -> Any:
            return object()

        def set_extra_state(self, state: Any) -> None: ...

    with mistake("", "_extra_state", "object", kind=ForesolveError):
        fit(net(), Odd(), top_k_data(), epochs=1, checkpoint=tmp_path)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with mistake("", "safetensors", "foresolve[learn]", kind=MissingExtraError):
        fit(net(), MSE(), top_k_data(), epochs=1, checkpoint=tmp_path)


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
def test_other_weights_and_monitors_are_other_runs(tmp_path: Path) -> None:
    data = top_k_data()
    weights = torch.linspace(1.0, 2.0, len(data))
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    fit(net(), MSE(), weighted, data, epochs=1, checkpoint=tmp_path)
    run: dict[str, Any] = {"epochs": 2, "checkpoint": tmp_path, "resume": True}
    for train, options, what in (
        (data, {}, "weights = nothing"),
        (DecisionDataset(data.features, data.theta, data.problem, weights=weights.flip(0)), {}, "weights = "),
        (weighted, {"monitor": "loss"}, "monitor = 'loss'"),
        (weighted, {"valid": None}, "monitor = nothing"),
    ):
        with mistake("checkpoint", "settings", what, str(tmp_path)):
            fit(net(), MSE(), train, **{"valid": data} | run | options)
    assert len(fit(net(), MSE(), weighted, data, **run)) == 2


def test_one_training_at_a_time_writes_a_checkpoint(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"train": top_k_data(), "epochs": 3, "checkpoint": tmp_path / "run", "resume": True}
    expected, refused = net(), []
    fit(expected, MSE(), top_k_data(), epochs=3)

    def second(history: object) -> None:
        with file_mistake(tmp_path / "run" / "checkpoint.safetensors", "`checkpoint`"):
            fit(net(), MSE(), **settings)
        refused.append(history)

    trained = net()
    fit(trained, MSE(), **settings, progress=second)
    assert len(refused) == 3
    assert same(trained, expected)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint.safetensors"]
