from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foresolve.data import DecisionDataset, TableFile
from foresolve.errors import FileError, ForesolveWarning
from foresolve.learning.policy import Policy
from foresolve.models.baselines import LinearRegression
from foresolve.projects import Project, decide_file, deciding
from foresolve.projects.source import Source
from mistakes import mistake
from opens import opens
from projects.policies import (
    ITEMS,
    KEYS,
    TOP,
    dated,
    dated_policy,
    long,
    long_policy,
    wide,
    wide_policy,
    written,
)
from projects.runs import quick_project


@pytest.mark.parametrize("titles", [KEYS, KEYS[:1]])
def test_keys_may_stand_in_the_index_of_a_parquet_file(titles: list[str], tmp_path: Path) -> None:
    table = wide(5, seed=1)
    table.to_parquet(tmp_path / "plain.parquet")
    table.set_index(titles).to_parquet(tmp_path / "indexed.parquet")
    for name in ("plain", "indexed"):
        decide_file(wide_policy(), tmp_path / f"{name}.parquet", tmp_path / f"{name}.csv", chunk=2)
    assert (tmp_path / "indexed.csv").read_text() == (tmp_path / "plain.csv").read_text()


def test_instances_without_keys_are_numbered_and_that_is_said(tmp_path: Path) -> None:
    data = written(wide(3).rename(columns={"shop": "Shop"}), tmp_path / "data.csv")
    with pytest.warns(ForesolveWarning, match=r"data.csv has no column 'shop'.*numbered. Did you mean 'Shop'\?"):
        decide_file(wide_policy(), data, tmp_path / "out.csv", form="wide")
    assert pd.read_csv(tmp_path / "out.csv")["row"].tolist() == [0, 1, 2]


def test_a_wrong_entry_is_found_by_its_row_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST_TOGETHER", 16)
    table = wide(30).astype({"rain": object})
    table.loc[27, "rain"] = "much"
    data = written(table, tmp_path / "data.csv")
    with mistake("features", "'rain'", "'much'", "27"):
        decide_file(wide_policy(), data, tmp_path / "out.csv", chunk=4)


# -- keys --------------------------------------------------------------------------------------------------------------


def csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["shop,day,weekday,rain,wind", *rows]) + "\n")
    return path


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_keys_are_counted_and_those_that_stand_twice_are_named(rows: int, tmp_path: Path) -> None:
    policy, path = wide_policy(), tmp_path / "a.csv"
    data = csv(path, "1,p,mon,0,1", "2,p,mon,0,1", "1,q,mon,0,1", "007,p,mon,0,1", "7,p,mon,0,1")
    assert Source.of(policy, data, rows).instances == 5
    data = csv(path, "1,p,mon,0,1", "2,p,mon,0,1", "1,q,mon,0,1", "2,p,mon,0,1")
    with mistake("", str(path), "('2', 'p')", kind=FileError):
        Source.of(policy, data, rows)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_rows_of_an_instance_of_the_long_form_stand_together(rows: int, tmp_path: Path) -> None:
    table = long(3)
    assert Source.of(long_policy(), written(table, tmp_path / "a.csv"), rows).instances == 3
    with mistake("", "'0'", kind=FileError):
        Source.of(long_policy(), written(pd.concat([table[1:], table[:1]]), tmp_path / "a.csv"), rows)


def test_a_missing_key(tmp_path: Path) -> None:
    with mistake("", "'shop'", kind=FileError):
        Source.of(wide_policy(), csv(tmp_path / "a.csv", "1,p,mon,0,1", ",q,mon,0,1"), 10)


@pytest.mark.parametrize("clock", ["0h", "90min"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_dates_of_parquet_come_back_as_they_are(
    clock: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In CSV they are written alike in all blocks: by itself, the first block would hold a date without hours."""
    monkeypatch.setattr(deciding, "MOST_TOGETHER", 1)
    table = dated(3).assign(rain=0.5)
    days = pd.to_datetime(table["day"]) + pd.to_timedelta(clock) * np.arange(3)
    data = written(table.assign(day=days), tmp_path / "data.parquet")
    out = decide_file(dated_policy(), data, tmp_path / f"out{suffix}", form="wide").path
    if suffix == ".parquet":
        assert pd.read_parquet(out)["day"].tolist() == days.tolist()
    else:
        texts = days.dt.strftime("%Y-%m-%d" if clock == "0h" else "%Y-%m-%d %H:%M:%S")
        assert pd.read_csv(out)["day"].tolist() == texts.tolist()


def test_numbers_and_dates_are_read_as_in_the_file_of_training(tmp_path: Path) -> None:
    features = dated(60).assign(rain=np.linspace(0, 1, 60).round(3))
    theta = pd.DataFrame(np.random.default_rng(9).random((60, 4)), columns=ITEMS).assign(day=features["day"])
    german = features.assign(day=pd.to_datetime(features["day"]).dt.strftime("%d.%m.%Y"))
    path = tmp_path / "data.csv"
    german.to_csv(path, sep=";", decimal=",", index=False)
    data = DecisionDataset.from_frames(TableFile(path, decimal=",", date_format="%d.%m.%Y"), theta, TOP, key="day")
    policy = Policy(LinearRegression(1.0).fit(data), TOP, train=data)
    policy.save(tmp_path / "policy")
    for file in (path, TableFile(path, decimal=",", date_format="%d.%m.%Y")):
        out = decide_file(tmp_path / "policy", file, tmp_path / "out.csv", form="wide", chunk=7).path
        table = pd.read_csv(out)
        assert table["day"].tolist() == features["day"].tolist()
        np.testing.assert_allclose(table["objective"], policy(features).frame("wide")["objective"], rtol=1e-6)


def test_one_date_that_is_written_in_two_ways_is_one_key(tmp_path: Path) -> None:
    """The keys behind it would be those of other decisions."""
    rows = [f"2024-06-0{day}{clock},mon,0.5,1" for day in (1, 2) for clock in ("", " 00:00")]
    (tmp_path / "a.csv").write_text("\n".join(["day,weekday,rain,wind", *rows]) + "\n")
    with mistake("features", "'2024-06-01'"):
        decide_file(dated_policy(), tmp_path / "a.csv", tmp_path / "out.csv")


# -- opens -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("form", ["wide", "long"])
def test_a_policy_opens_a_file_once_and_decide_twice(form: str, suffix: str, tmp_path: Path) -> None:
    """It was 6 and 18 times, for a CSV."""
    policy, table = (wide_policy(), wide(20)) if form == "wide" else (long_policy(), long(20))
    data = written(table, tmp_path / f"data{suffix}")
    with opens(data) as seen:
        policy(data)
    assert len(seen) == 1
    with opens(data) as seen:
        decide_file(policy, data, tmp_path / "out.csv", chunk=7)
    assert len(seen) == 2


def test_training_reads_a_file_once_after_its_columns_were_checked(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    with opens(folder / "features.csv") as features, opens(folder / "roads.csv") as roads:
        project = Project.load(folder)
        assert (len(features), len(roads)) == (1, 1)
        project.problem()
        project.data()
    assert (len(features), len(roads)) == (2, 2)
