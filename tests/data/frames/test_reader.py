"""Features of later days, read as those of training were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import foresolve
from foresolve import DecisionDataset, ForesolveWarning
from foresolve.data import FrameReader, TableFile
from mistakes import mistake
from tests.data.frames.tables import days, read


def reader(**options: object) -> FrameReader:
    features, minutes = days()
    data = read(features, minutes, **options)
    assert data.reader is not None
    return FrameReader.from_config(json.loads(json.dumps(data.reader.config())))


def test_rows_keep_their_order_and_columns_go_by_name(tmp_path: Path) -> None:
    features, minutes = days()
    whole, later = read(features, minutes), features.iloc[[7, 2]][["rain", "date", "weekday"]]
    path = tmp_path / "tomorrow.csv"
    later.assign(note="x").to_csv(path, index=False)
    for source in (later, path, str(path)):
        result = reader().read(source)
        assert torch.equal(result.features, whole.features[[7, 2]])
        assert [result.keys[0], result.keys[1]] == ["2023-01-08", "2023-01-03"]


def test_later_files_are_read_as_the_file_of_training(tmp_path: Path) -> None:
    features, minutes = days()
    path, later = tmp_path / "features.csv", tmp_path / "later.csv"
    german = features.assign(
        date=pd.to_datetime(features["date"]).dt.strftime("%d.%m.%Y"), rain=1000 + features["rain"]
    )
    german.to_csv(path, sep=";", decimal=",", index=False)
    german[5:7].to_csv(later, sep=";", decimal=",", index=False)
    data = read(TableFile(path, decimal=",", date_format="%d.%m.%Y"), minutes)
    assert data.reader is not None
    stored = FrameReader.from_config(json.loads(json.dumps(data.reader.config())))
    result = stored.read(later)
    assert torch.equal(result.features, data.features[5:7])
    assert result.keys[0] == "2023-01-06"
    with mistake("decimal", str(later)):
        reader().read(later)
    assert torch.equal(reader().read(TableFile(later, decimal=",", date_format="%d.%m.%Y")).features, result.features)
    config = data.reader.config()
    assert FrameReader.from_config({name: config[name] for name in config if name != "file"}).file == {}  # old policies


def test_without_keys_rows_are_numbered() -> None:
    features, _ = days()
    assert reader().read(features.drop(columns="date")).keys[3] == "3"
    by_index = reader().read(features.set_index("date"))
    assert by_index.keys.names == ("date",)
    assert by_index.keys[3] == "2023-01-04"


def test_what_is_wrong_is_named() -> None:
    features, _ = days()
    with mistake("features", "'rain'", "'Rain'"):
        reader().read(features.rename(columns={"rain": "Rain"}))
    with mistake("features", "'2023-01-01'"):
        reader().read(pd.concat([features, features[:1]]))
    with mistake("features", "'rain'", "'2023-01-02'"):
        reader().read(features.assign(rain=features["rain"].where(features.index != 1)))
    with mistake("features", "'rain'", "2"):
        reader().read(features.assign(rain=features["rain"].where(features.index != 2, float("inf"))))
    weekday = features["weekday"].where(features.index != 1)
    with mistake("features", "'weekday'", "'2023-01-02'"):
        reader().read(features.assign(weekday=weekday))
    with mistake("features"):
        reader().read(3)


def test_holes_are_filled_as_in_training() -> None:
    features, _ = days()
    holed = features.assign(rain=features["rain"].where(features.index != 0))
    filled = reader(missing="mean").read(holed)
    assert float(filled.features[0, 0]) == pytest.approx(features["rain"].mean())
    last = reader(missing="previous").read(holed)
    assert float(last.features[0, 0]) == pytest.approx(features["rain"].iloc[-1])  # the last known before decisions
    with pytest.warns(ForesolveWarning, match="1 instances have missing features and are left out: '2023-01-01'"):
        assert len(reader(missing="drop").read(holed).keys) == 29


def test_the_previous_value_is_that_before_in_time() -> None:
    """Whatever the order of the rows: what comes later is not known yet."""
    features, _ = days()
    holed = features.assign(rain=features["rain"].where(features.index != 4))
    forward, backward = (reader(missing="previous").read(table).features for table in (holed, holed[::-1]))
    assert float(forward[4, 0]) == float(forward[3, 0])
    assert torch.equal(forward, backward.flip(0))


def test_the_last_known_of_each_variable() -> None:
    """Tea is not filled with the price of rum."""
    dates = pd.date_range("2024-01-01", periods=6).repeat(2)
    table = pd.DataFrame({"day": dates, "item": ["tea", "rum"] * 6, "price": [1.0, 20.0] * 6, "profit": 1.0})
    problem = foresolve.TopK.from_frame(table, 1)
    data = DecisionDataset.from_frames(
        table, problem=problem, key="day", variable="item", value="profit", missing="previous"
    )
    assert data.reader is not None
    stored = FrameReader.from_config(json.loads(json.dumps(data.reader.config())))
    later = table.iloc[:2].assign(day=pd.Timestamp("2024-02-01"), price=np.nan)
    assert torch.equal(stored.read(later).features, data.features[-1:])
    with pytest.raises(ValueError, match="numbers"):
        FrameReader.from_config({**data.reader.config(), "fill": [1.0, 2.0, 3.0]})


def test_the_long_form_in_any_order() -> None:
    rng = np.random.default_rng(0)
    rows = [(day, item, *rng.random(2)) for day in range(4) for item in ("a", "b", "c")]
    sales = pd.DataFrame(rows, columns=["day", "item", "price", "profit"])
    problem = foresolve.TopK.from_frame(sales, 1)
    data = DecisionDataset.from_frames(sales, problem=problem, key="day", variable="item", value="profit")
    assert data.reader is not None
    assert data.reader.columns == ("day", "item", "price")
    later = sales[["item", "price", "day"]].sample(frac=1, random_state=3)
    result = data.reader.read(later)
    order = [int(key) for key in (result.keys[i] for i in range(4))]
    assert torch.equal(result.features, data.features[order])
    with mistake("features", "1"):
        data.reader.read(sales[1:])
    with mistake("features", "'day'"):
        data.reader.read(sales.drop(columns="day"))


def test_settings_that_do_not_belong_together_are_refused() -> None:
    config = reader(missing="mean").config()
    with pytest.raises(ValueError, match="`fill` must have"):
        FrameReader.from_config(config | {"fill": [1.0]})
    with mistake("decimal"):
        FrameReader.from_config(config | {"file": {"decimal": ";"}})


def test_missing_entries_of_the_long_form_are_the_users_own() -> None:
    """Cells of the table and its columns, not the numbers they become; rows that are not there by their variables."""
    rows = [
        (day, hour, sky, 1.0, 2.0)
        for day in range(4)
        for hour, sky in (("h1", "clear"), ("h2", "rain"), ("h3", "snow"))
    ]
    table = pd.DataFrame(rows, columns=["day", "hour", "sky", "heat", "rides"])
    problem = foresolve.TopK.from_frame(table, 1, name="hour")
    form = {"problem": problem, "key": "day", "variable": "hour", "value": "rides"}
    holes = table.astype({"sky": object})
    holes.loc[[0, 1, 5], "sky"] = None
    with mistake("features", "3", "2", "'sky'", "'0'", "'1'"):
        DecisionDataset.from_frames(holes, missing={"theta": "drop"}, **form)
    fewer = table.drop([1, 4, 8])
    with mistake("features", "'h2'", "'h3'", "'0'", "'1'", "'2'"):
        DecisionDataset.from_frames(fewer, missing={"theta": "drop"}, **form)
    data = DecisionDataset.from_frames(table, **form)
    assert data.reader is not None
    with mistake("features", "'h1'", "'0'"):
        data.reader.read(table.drop(0))
