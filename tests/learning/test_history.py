from __future__ import annotations

import json
import math

import pytest

from foresolve.errors import ForesolveError
from foresolve.layers import QuadraticRelaxation
from foresolve.learning import History, evaluate, fit
from foresolve.learning.history import COLUMNS, averaged
from foresolve.losses import MSE, DecisionLoss
from foresolve.solvers.statistics import solver_statistics
from learning.instances import model, top_k_data
from mistakes import mistake


def test_to_json_and_back() -> None:
    history = fit(model(), MSE(), top_k_data(), top_k_data(seed=1), epochs=3)
    document = json.loads(json.dumps(history.to_dict()))
    assert History.from_dict(document) == history
    assert "3 epochs" in repr(history)
    assert "validation regret" in repr(history)
    with mistake("", "valid_regret", kind=ForesolveError):
        History.from_dict({"train_loss": []})
    with mistake("", "length", kind=ForesolveError):
        History.from_dict(document | {"lr": []})


def test_both_stages_and_what_was_chosen_come_back() -> None:
    first = History(train_loss=[1.0], planned=1)
    for name in COLUMNS[1:]:
        getattr(first, name).append(0.5)
    history = History(**{**first.to_dict(), "warm_start": first, "chosen": {"lr": 0.01, "batch_size": 8}})
    assert History.from_dict(json.loads(json.dumps(history.to_dict()))) == history
    assert "lr 0.01, batch_size 8, after 1 epoch on predictions" in repr(history)


def test_a_history_of_an_earlier_version_has_no_statistics_of_solvers() -> None:
    document = fit(model(), MSE(), top_k_data(), epochs=2).to_dict()
    for name in ("solver_seconds", "solver_iterations", "unconverged"):
        del document[name]
    assert History.from_dict(document).solver_iterations == [None, None]
    assert "2 epochs" in repr(History.from_dict(document))


def test_solvers_are_summed_by_epoch_and_times_make_no_difference() -> None:
    loss = DecisionLoss(QuadraticRelaxation(gamma=1.0))
    train = top_k_data().solve()
    with solver_statistics() as statistics:
        history = fit(model(), loss, train, epochs=3)
    training = [call for call in statistics.calls if call.solver == "projection"]
    assert sum(history.solver_iterations) == sum(call.iterations for call in training) > 0
    assert history.unconverged == [0, 0, 0]
    assert 0 < sum(history.solver_seconds) < sum(history.seconds)
    again = fit(model(), DecisionLoss(QuadraticRelaxation(gamma=1.0)), train, epochs=3)
    assert again == history
    again.unconverged[1] = 2
    assert again != history
    assert "2 not solved to tolerance" in repr(again)


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
    assert frame["valid_mse"].tolist() == [history.start_mse, *history.valid_mse]
    assert history.curve("valid_regret") == ([0, 1, 2, 3], [history.start, *history.valid_regret])
    assert history.curve("train_loss") == ([1, 2, 3], history.train_loss)
    html = history._repr_html_()
    assert "<img" in html
    assert "<img" not in History()._repr_html_()


def test_the_error_of_predictions_is_that_of_the_report() -> None:
    data = top_k_data(seed=1)
    network = model()
    history = fit(network, MSE(), top_k_data(), data, epochs=3, patience=None)
    assert history.best_epoch is not None
    best = history.curve("valid_mse")[1][history.best_epoch]
    assert best == pytest.approx(evaluate(network, data).mse, rel=1e-5)
    assert fit(model(), MSE(), top_k_data(), epochs=1).valid_mse == [None]


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
    ("change", "fact"),
    [
        ({"lr": "x"}, "columns"),
        ({"lr": ["x"]}, "columns"),
        ({"lr": [1.0]}, "length"),
        ({"chosen": {"lr": "x"}}, "chosen"),
        ({"chosen": 3}, "chosen"),
        ({"warm_start": {}}, "valid_regret"),
        ({"monitor": {"regret": 1}}, "monitored"),
        ({"monitor": "x"}, "monitored"),
        ({"planned": None}, "planned"),
        ({"start": [1.0]}, "start"),
        ({"best_epoch": 7}, "best epoch"),
        ({"best_epoch": "1"}, "best epoch"),
    ],
)
def test_damaged_documents_are_refused(change: dict[str, object], fact: str) -> None:
    with mistake("", fact, kind=ForesolveError):
        History.from_dict(History().to_dict() | change)
    with mistake("", "valid_regret", kind=ForesolveError):
        History.from_dict([])


def test_the_mean_of_trainings_ends_with_the_first_that_ends() -> None:
    long, short = History(monitor="regret", start=1.0), History(monitor="regret", start=0.5, start_mse=2.0)
    for regret, error in ((0.5, 1.0), (0.25, None), (0.125, 3.0)):
        long.append(train_loss=1.0, valid_regret=regret, valid_mse=error, skipped=0)
    for regret, error in ((0.25, 3.0), (0.75, 4.0)):
        short.append(train_loss=1.0, valid_regret=regret, valid_mse=error, skipped=0)
    mean = averaged([long, short])
    assert (mean.start, mean.valid_regret) == (0.75, [0.375, 0.5])
    assert (mean.start_mse, mean.valid_mse) == (None, [2.0, None])
    assert (len(mean), mean.monitor, mean.best_epoch) == (2, "regret", None)
