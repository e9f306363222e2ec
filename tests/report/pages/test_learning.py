"""Learning curves on pages: regret beside the error of predictions, and what they did in a sentence."""

from __future__ import annotations

from foresolve.learning.history import History
from foresolve.report.pages.learning import directions, histories_curves, history_curves
from learning.pictures.test_curves import history

FOCUSED = history([0.5, 0.25], [2.0, 3.0])  # from 0.8 and 1.0
TWO_STAGE = history([0.7, 0.6], [0.5, 0.4])


def test_regret_and_error_stand_side_by_side_in_the_colors_of_roles() -> None:
    drawn = histories_curves({"a": FOCUSED, "b": TWO_STAGE}, {"a": "decision-focused", "b": "two-stage"}, "Two.")
    assert drawn is not None
    regret, error = drawn.panels
    assert [curve.values for curve in regret.curves] == [(80.0, 50.0, 25.0), (80.0, 70.0, 60.0)]
    assert [curve.values for curve in error.curves] == [(1.0, 2.0, 3.0), (1.0, 0.5, 0.4)]
    assert regret.styles == error.styles == ["line-0 decision-focused", "line-0 two-stage"]
    assert regret.epochs == error.epochs == (0, 2)
    assert drawn.caption == (
        "From the first epoch to the last, regret fell while the squared error of predictions rose in a; "
        "regret and the squared error of predictions fell in b. Two."
    )


def test_the_sentence_is_true_of_each_training() -> None:
    worse = history([0.9, 0.95], [1.0, 1.0])
    told = directions({"a": FOCUSED, "b": worse, "c": FOCUSED})
    assert "rose in a and c; regret rose while the squared error of predictions did not change in b." in told
    alone = History(monitor="regret", start=0.5)
    for regret in (0.4, 0.3):
        alone.append(train_loss=1.0, valid_regret=regret, skipped=0)
    assert directions({"a": alone}) == "From the first epoch to the last, regret fell in a."
    agreement = History(monitor="agreement", start=0.5)
    agreement.append(train_loss=1.0, valid_distance=0.6, skipped=0)
    assert directions({"": agreement}) == "From the first epoch to the last, distance to decisions on record rose."
    assert directions({}) == directions({"a": History()}) == ""


def test_one_training_has_its_best_epoch_in_every_panel() -> None:
    drawn = history_curves(FOCUSED)
    assert drawn is not None
    assert [panel.title for panel in drawn.panels] == [
        "Regret in validation (%)", "Squared error of predictions in validation", "Loss",
    ]  # fmt: skip
    assert [panel.best for panel in drawn.panels] == [2, 2, 2]
    assert drawn.caption == (
        "From the first epoch to the last, regret fell while the squared error of predictions rose. "
        "Regret was least at epoch 2, the squared error of predictions was least at epoch 0."
    )
    assert history_curves(History()) is None
    assert histories_curves({"a": History()}, {}) is None
