from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.calls import document, done, refused
from foresolve.learning import Policy


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_evaluate(suffix: str, sample: Path, run: Path) -> None:
    """Minutes are positive: what is minimized is told as the user has it."""
    files = [(sample / name).with_suffix(suffix) for name in ("later.csv", "later_actuals.csv")]
    numbers = document("evaluate", run, "--data", files[0], "--actuals", files[1])
    decisions = Policy.load(run / "policy")(files[0])
    truth = pd.read_csv(sample / "later_actuals.csv").set_index("date")[list(decisions.problem.names or ())]
    minutes = float((decisions.x.numpy() * truth.to_numpy()).sum(1).mean())
    assert numbers["value"] == pytest.approx(minutes)
    assert numbers["regret"] == pytest.approx(numbers["value"] - numbers["optimum"])
    low, high = numbers["intervals"]["value"]
    assert low < numbers["value"] < high
    assert (numbers["instances"], numbers["units"]) == (40, "minutes")
    text = done("evaluate", run, "--data", files[0], "--actuals", files[1]).stdout
    assert f"{minutes:.4g}" in text
    assert text.rstrip().endswith("values and regret in minutes")


def test_monitor(sample: Path, run: Path, tmp_path: Path) -> None:
    words = ["monitor", str(run), "--data", str(sample / "later.csv"), "--actuals"]
    quiet = document(*words, sample / "later_actuals.csv")
    assert quiet["instances"] == 40
    assert done(*words, sample / "later_actuals.csv").stdout.count(quiet["sentence"]) == 1
    other = pd.read_csv(sample / "later_actuals.csv")
    roads = other.columns.drop("date")
    other[roads] = other[roads[::-1]].to_numpy() * 3  # another town
    other.to_csv(tmp_path / "other.csv", index=False)
    assert document(*words, tmp_path / "other.csv")["retrain"] is True
    assert "foresolve train" in done(*words, tmp_path / "other.csv").stdout


@pytest.mark.filterwarnings("ignore:.*without their whole truth are left out")
def test_instances_whose_truth_is_not_complete(sample: Path, run: Path, tmp_path: Path) -> None:
    later = pd.read_csv(sample / "later_actuals.csv")
    later.loc[[1, 5], "R001"] = None
    later[:30].to_csv(tmp_path / "some.csv", index=False)
    words = [run, "--data", sample / "later.csv", "--actuals", tmp_path / "some.csv"]
    for command in ("evaluate", "monitor"):
        assert refused(1, command, *words).endswith("whose truth is not complete: --missing drop")
        assert document(command, *words, "--missing", "drop")["instances"] == 28


def test_what_is_missing_is_named_by_its_option(sample: Path, run: Path) -> None:
    message = refused(1, "evaluate", run, "--data", sample / "later.csv")
    assert message.startswith("'--actuals' must be a frame with a column for each of the 24 parameters")
    assert "variable=" not in message
    message = refused(1, "monitor", run, "--data", sample / "roads.csv", "--actuals", sample / "later_actuals.csv")
    assert message.startswith("'--data' must be a frame with the")
