from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.calls import document, done, invoke, refused
from foresolve.learning import Policy


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


@pytest.mark.parametrize("given", [".csv", ".parquet"])
@pytest.mark.parametrize("wanted", [".csv", ".parquet"])
def test_csv_and_parquet(given: str, wanted: str, sample: Path, run: Path, tmp_path: Path) -> None:
    data, out = (sample / "tomorrow.csv").with_suffix(given), tmp_path / f"x{wanted}"
    result = done("decide", run, "--data", data, "--out", out, "--chunk", "2")
    assert result.stdout.startswith("7 instances decided in ")
    assert result.stdout.rstrip().endswith(str(out))
    expected = Policy.load(run / "policy")(data).frame()
    table = read(out)
    table["date"] = pd.to_datetime(table["date"])
    pd.testing.assert_frame_equal(table, expected, check_dtype=False, rtol=1e-12)


def test_a_row_for_each_instance(sample: Path, run: Path, tmp_path: Path) -> None:
    done("decide", run, "--data", sample / "tomorrow.csv", "--out", tmp_path / "x.csv", "--form", "wide", "--certify")
    table = read(tmp_path / "x.csv")
    assert table["date"].tolist() == read(sample / "tomorrow.csv")["date"].tolist()
    assert table["proven"].all()
    assert (table["gap"].abs() <= 1e-9 * table["objective"]).all()
    roads = read(sample / "roads.csv")["road"].tolist()
    assert set(roads) <= set(table.columns)


def test_json(sample: Path, run: Path, tmp_path: Path) -> None:
    result = document("decide", run, "--data", sample / "later.csv", "--out", tmp_path / "x.csv")
    assert result.keys() == {"path", "instances", "rows", "seconds"}
    assert (result["path"], result["instances"]) == (str(tmp_path / "x.csv"), 40)
    assert result["rows"] == len(read(tmp_path / "x.csv"))


def test_rows_and_columns_in_any_order(sample: Path, run: Path, tmp_path: Path) -> None:
    table = read(sample / "later.csv")
    table.sample(frac=1, random_state=0)[table.columns[::-1]].to_csv(tmp_path / "mixed.csv", index=False)
    for name, path in (("a", sample / "later.csv"), ("b", tmp_path / "mixed.csv")):
        done("decide", run, "--data", path, "--out", tmp_path / f"{name}.csv")
    straight, mixed = (read(tmp_path / f"{name}.csv").sort_values(["date", "name"]) for name in "ab")
    pd.testing.assert_frame_equal(straight.reset_index(drop=True), mixed.reset_index(drop=True), rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("date,weekday\n2026-01-01,Mon\n", "--data' must be a frame with the"),
        ("date,weekday,rain,temperature\n2026-01-01,Mon,,3\n", "2026-01-01"),
        ("date,weekday,rain,temperature\n2026-01-01,Mon,1,3\n2026-01-01,Tue,1,3\n", "'2026-01-01' in several places"),
        ("date,weekday,rain,temperature\n2026-01-01,Mon,much,3\n", "'rain'"),
        ("date,weekday,rain,temperature\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_files_that_cannot_be_decided(rows: str, told: str, run: Path, tmp_path: Path) -> None:
    """The work failed: status 1, and the file of decisions is as it was."""
    (tmp_path / "data.csv").write_text(rows)
    (tmp_path / "x.csv").write_text("before")
    assert told in refused(1, "decide", run, "--data", tmp_path / "data.csv", "--out", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "before"


def test_what_to_do_is_said_for_the_shell(run: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("date,weekday,rain,temperature\n2026-01-01,Mon,,3\n")
    message = refused(1, "decide", run, "--data", tmp_path / "data.csv", "--out", tmp_path / "x.csv")
    assert message.endswith("Fill them in, or train again with a rule for `missing` in [data]")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("row", ["2026-01-01,{},1,3", "2026-01-01,Mon,{},3"])
def test_only_the_beginning_of_a_long_entry_is_told(row: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"date,weekday,rain,temperature\n{row.format('much ' * 1000)}\n")
    result = invoke("decide", run, "--data", tmp_path / "data.csv", "--out", tmp_path / "x.csv")
    assert "'much much much" in result.stderr
    assert len(result.stderr) < 500


def test_a_method_that_was_not_kept(sample: Path, run: Path) -> None:
    words = ["decide", run, "--data", sample / "later.csv", "--out", "x.csv", "--method", "spo"]
    assert "Invalid value for '--method': must be one of" in refused(2, *words)
