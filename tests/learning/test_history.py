from __future__ import annotations

import json
import math

import pytest

from foresolve.errors import ForesolveError
from foresolve.learning.fitting import fit
from foresolve.learning.history import COLUMNS, History
from foresolve.losses.prediction import MSE
from learning.instances import model, top_k_data


def test_to_json_and_back() -> None:
    history = fit(model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=3)
    document = json.loads(json.dumps(history.to_dict()))
    assert History.from_dict(document) == history
    assert "3 epochs" in repr(history)
    assert "validation regret" in repr(history)
    with pytest.raises(ForesolveError, match="entries"):
        History.from_dict({"train_loss": []})
    with pytest.raises(ForesolveError, match="one length"):
        History.from_dict(document | {"lr": []})


def test_both_stages_and_what_was_chosen_come_back() -> None:
    first = History(train_loss=[1.0], planned=1)
    for name in ("valid_loss", "valid_regret", "valid_distance", "seconds", "gamma", "lr", "skipped"):
        getattr(first, name).append(0.5)
    history = History(**{**first.to_dict(), "warm_start": first, "chosen": {"lr": 0.01, "batch_size": 8}})
    assert History.from_dict(json.loads(json.dumps(history.to_dict()))) == history
    assert "lr 0.01, batch_size 8, after 1 epoch on predictions" in repr(history)


def test_as_table_and_plot() -> None:
    history = fit(model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=3)
    pytest.importorskip("pandas")
    frame = history.to_frame()
    assert list(frame.index) == [0, 1, 2, 3]
    assert math.isnan(frame["train_loss"][0])
    assert frame["train_loss"].tolist()[1:] == history.train_loss
    assert frame["valid_regret"].tolist() == [history.start, *history.valid_regret]
    unvalidated = fit(model(), MSE(), top_k_data(), epochs=2).to_frame()
    assert list(unvalidated.index) == [1, 2]
    pytest.importorskip("matplotlib")
    axes = history.plot()
    assert axes.get_xlabel() == "epoch"
    losses, regrets = (axis.get_lines()[0] for axis in axes.figure.axes)
    assert losses.get_xdata().tolist() == [1, 2, 3]
    assert regrets.get_xdata().tolist() == [0, 1, 2, 3]
    assert regrets.get_ydata()[0] == pytest.approx(100 * history.start)  # type: ignore[operator]
    image = history._repr_png_()
    assert image is not None
    assert image[:4] == b"\x89PNG"


def test_every_column_grows_with_an_epoch() -> None:
    history = History(planned=3)
    assert repr(history) == "History(no epochs)"
    assert history.best is None
    history.append(train_loss=2.0, valid_loss=0.5, seconds=0.25, skipped=1)
    history.monitor, history.start, history.best_epoch = "loss", 0.75, 1
    assert len(history) == 1
    assert history.monitored == [0.5]
    assert history.best == 0.5
    assert {len(getattr(history, name)) for name in COLUMNS} == {1}
    assert history.gamma == history.lr == history.valid_regret == [None]
    assert repr(history) == "History(1 epoch, loss 2, best validation loss 0.5 after epoch 1, 0.25 s, 1 skipped)"
    history.start, history.best_epoch = 0.25, 0
    assert history.best == 0.25
    assert "best validation loss 0.25 before training: no epoch improved it" in repr(history)
    history.stopped_early = history.interrupted = True
    assert repr(history).endswith("stopped early, interrupted)")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": "x"}, "lists of numbers"),
        ({"lr": ["x"]}, "lists of numbers"),
        ({"lr": [1.0]}, "one length"),
        ({"chosen": {"lr": "x"}}, "numbers by name"),
        ({"chosen": 3}, "numbers by name"),
        ({"warm_start": {}}, "entries"),
    ],
)
def test_damaged_documents_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ForesolveError, match=message):
        History.from_dict(History().to_dict() | change)
    with pytest.raises(ForesolveError, match="entries"):
        History.from_dict([])


def test_the_plot_shows_what_was_monitored() -> None:
    pytest.importorskip("matplotlib")
    history = History(monitor="loss", start=2.5, best_epoch=1)
    for epoch in range(3):
        history.append(train_loss=3.0 - epoch, valid_loss=2.0 + epoch, seconds=0.1, skipped=0)
    axes = history.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["training loss", "validation loss", "best epoch"]
    _, validation, best = axes.get_lines()
    assert validation.get_xydata().tolist() == [[0, 2.5], [1, 2.0], [2, 3.0], [3, 4.0]]
    assert set(best.get_xdata()) == {1}
