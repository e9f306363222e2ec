"""Learning curves on pages: regret beside the error of predictions, and what they did in a sentence."""

from __future__ import annotations

from foresolve._base.drawing.palette import COLORS
from foresolve.learning.history import History
from foresolve.report.pages.document import Block, Drawing
from foresolve.report.pages.learning import directions, histories_curves, history_curves
from learning.pictures.test_curves import history

FOCUSED = history([0.5, 0.25], [2.0, 3.0])  # from 0.8 and 1.0
TWO_STAGE = history([0.7, 0.6], [0.5, 0.4])


def drawing(block: Block | None) -> Drawing:
    assert isinstance(block, Drawing)
    return block


def test_regret_and_error_stand_side_by_side_and_in_words() -> None:
    block = drawing(histories_curves({"a": FOCUSED, "b": TWO_STAGE}, {"a": "heuristic", "b": "two-stage"}, "Two."))
    assert block.alt == (
        "Over epochs: a, regret from 80 % to 25 %, least 25 %; a, squared error of predictions from 1 to 3, least 1; "
        "b, regret from 80 % to 60 %, least 60 %; b, squared error of predictions from 1 to 0.4, least 0.4."
    )
    assert block.caption == (
        "From the first epoch to the last, regret fell while the squared error of predictions rose in a; "
        "regret and the squared error of predictions fell in b. Two."
    )
    assert "normalized regret (%)" in block.svg
    assert "mean squared error of predictions" in block.svg
    assert COLORS["heuristic"] in block.svg


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


def test_one_training_has_its_losses_and_its_best_epoch() -> None:
    block = drawing(history_curves(FOCUSED))
    assert block.title == "How it learned"
    assert "best epoch" in block.svg
    assert "regret from 80 % to 25 %, least 25 %" in block.alt
    assert "training loss from 5 to 2.5, least 2.5" in block.alt
    assert block.caption == (
        "From the first epoch to the last, regret fell while the squared error of predictions rose. "
        "Regret was least at epoch 2, the squared error of predictions was least at epoch 0."
    )


def test_losses_stand_in_where_nothing_was_validated() -> None:
    lone = History(train_loss=[2.0, 1.0])
    assert drawing(histories_curves({"a": lone}, {})).alt == "Over epochs: a, training loss from 2 to 1, least 1."
    assert histories_curves({"a": History()}, {}) is None
    assert history_curves(History()) is None
