"""Files of tables, read with suspicion."""

from __future__ import annotations

import gzip
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve import ForesolveError
from foresolve._base import table_files
from foresolve.data import read_table
from foresolve._base.table_files import TableFile


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ("a,b\n1,x\n2,y\n", ["a", "b"], [1, "x"]),
        ("a;b\n1,5;x\n2;y\n", ["a", "b"], [1.5, "x"]),
        ("a\tb\n1\t2\n", ["a", "b"], [1, 2]),
        (",a\n0,5\n1,6\n", ["a"], [5]),
        ("\ufeffa, b\n1,2\n", ["a", "b"], [1, 2]),
        ('"a,1",b\n1,2\n', ["a,1", "b"], [1, 2]),
        ("a\n1\n2\n", ["a"], [1]),
        ('a;"b, in EUR";c\n1;2,5;3\n', ["a", "b, in EUR", "c"], [1, 2.5, 3]),
        ("a;b, in EUR;c\n1;2,5;3\n", ["a", "b, in EUR", "c"], [1, 2.5, 3]),
        ('a,"b;c;d"\n1,2\n', ["a", "b;c;d"], [1, 2]),
    ],
)
def test_text(tmp_path: Path, text: str, columns: list[str], first: list[object]) -> None:
    frame = read_table(write(tmp_path, text))
    assert list(frame.columns) == columns
    assert frame.iloc[0].tolist() == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a\n1,2\n", "two columns 'a'"),
        ("a,b\n1,2,3\n", "longer than its first line"),
        ("a,,c\n1,2,3\n", "a column without a name, number 2"),
        (",a\nx,1\n", "a column without a name, number 1"),
        ("a,b\n", "a first line and nothing else"),
        ("", "is empty"),
        ("\na,b\n", "begins with an empty line"),
    ],
)
def test_what_is_wrong_with_text_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ForesolveError, match=message):
        read_table(write(tmp_path, text))


def test_other_kinds(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a\n1\n")
    assert read_table(tmp_path / "t.csv.gz")["a"].tolist() == [1]
    np.savez(tmp_path / "t.npz", day=[1, 2], cost=np.eye(2), cost_names=np.array(["r1", "r2"]), more=np.ones((2, 1)))
    assert list(read_table(tmp_path / "t.npz").columns) == ["day", "r1", "r2", "more 0"]
    frame = pd.DataFrame({"a": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.parquet").equals(frame)
    assert read_table(tmp_path / "t.arrow").equals(frame)


def test_streams_of_arrow_too(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read_table(tmp_path / "t.arrow")["a"].tolist() == [1, 2]


def test_archives_that_are_no_table(tmp_path: Path) -> None:
    for name, arrays, message in (
        ("cube", {"a": np.zeros((2, 2, 2))}, r"of shape \(2, 2, 2\)"),
        ("uneven", {"a": np.zeros(2), "b": np.zeros(3)}, r"lengths are \[2, 3\]"),
        ("names", {"a": np.zeros((2, 2)), "a_names": np.array(["x"])}, "1 names for the 2 columns"),
    ):
        np.savez(tmp_path / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        with pytest.raises(ForesolveError, match=message):
            read_table(tmp_path / f"{name}.npz")
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ForesolveError, match="not numbers, text or times"):
        read_table(tmp_path / "objects.npz")


def test_files_that_are_not_there_or_not_known(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "roads.csv")
    with pytest.raises(ForesolveError, match=r"road.csv is not there. Did you mean 'roads.csv'"):
        read_table(tmp_path / "road.csv")
    with pytest.raises(ForesolveError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(ForesolveError, match=r"a \.csv, \.tsv"):
        read_table(write(tmp_path, "{}", "a.json"))
    with pytest.raises(ForesolveError, match="cannot be read"):
        read_table(write(tmp_path, "junk", "a.parquet"))


def test_tables_of_too_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(np.ones((2, 9)), columns=[f'"{j},{j}"' for j in range(9)])
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", x=frame.to_numpy()[:, :8], y=frame.to_numpy()[:, 8])
    if importlib.util.find_spec("pyarrow"):
        frame.to_parquet(tmp_path / "a.parquet")
        frame.to_feather(tmp_path / "a.arrow")
    paths = list(tmp_path.iterdir())
    monkeypatch.setattr(table_files, "MOST_COLUMNS", 9)
    assert all(read_table(path).shape == (2, 9) for path in paths)
    monkeypatch.setattr(table_files, "MOST_COLUMNS", 8)
    for path in paths:
        with pytest.raises(ForesolveError, match=rf"{path.name} has 9 columns; tables of at most 8 are read"):
            read_table(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("read", [read_table, lambda path: next(table_chunks(path))])
def test_text_in_another_encoding(encoding: str, read: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("road,stra\u00dfe\nr1,1\n", encoding=encoding)
    with pytest.raises(ForesolveError, match=r"t\.csv cannot be read: it is no text in UTF-8 .*Save it as UTF-8"):
        read(tmp_path / "t.csv")


GROUPS = [
    ("day;units;weight\n1;1.234;3,5\n2;987;4,25\n", "'1.234' in the column 'units', and '3,5' in 'weight'"),
    ("day;units;weight\n1;1.234;1.234,50\n2;987;987,10\n", "'1.234' in the column 'units', and '1.234,50' in 'weight'"),
    ("day;units;weight\n1;1,234;3.5\n2;987;4.25\n", "'1,234' in the column 'units', and '3.5' in 'weight'"),
    ("day;units\n1;12.500\n2;987\n", "'12.500' in the column 'units': '.' may stand between thousands"),
    ("day;units\n1;12,500\n2;987\n", "'12,500' in the column 'units': ',' may stand between thousands"),
]


@pytest.mark.parametrize("reader", [read_table, lambda path: list(table_chunks(path, 1))])
@pytest.mark.parametrize(("text", "message"), GROUPS)
def test_marks_that_may_stand_between_thousands(tmp_path: Path, text: str, message: str, reader: Any) -> None:
    """They were read as decimals, a thousandth of what they are."""
    with pytest.raises(ForesolveError, match=re.escape(message)):
        reader(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day;weight\n27.05.2024;1,250\n28.05.2024;2,500\n", [1.25, 2.5]),  # dates have points
        ("day;weight\n1;1.250\n2;2.500\n", [1.25, 2.5]),  # all have three decimals
        ("day;weight\n1;1,234\n2;7\n", [1.234, 7.0]),  # a seven needs no decimals
        ("day;weight\n1;0,500\n2;7\n", [0.5, 7.0]),  # no thousand begins with a zero
        ("day,weight\n1,12.500\n2,987\n", [12.5, 987.0]),  # no decimal commas where commas separate
    ],
)
def test_marks_that_stand_before_decimals(tmp_path: Path, text: str, expected: list[float]) -> None:
    assert read_table(write(tmp_path, text))["weight"].tolist() == expected


def test_archives_with_a_column_twice(tmp_path: Path) -> None:
    """The later one took the place of the first."""
    table = np.array([[1, 2], [3, 4]])
    arrays: list[dict[str, Any]] = [{"x_names": np.array(["p", "p"])}, {"x_names": np.array(["p", "q"]), "p": table[0]}]
    for others in arrays:
        np.savez(tmp_path / "table.npz", x=table, **others)
        with pytest.raises(ForesolveError, match="has two columns 'p'"):
            read_table(tmp_path / "table.npz")


def test_columns_are_counted_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "MOST_COLUMNS", 3)
    monkeypatch.setattr(table_files, "MOST_HEADER", 60)
    for name, text in (("quotes in names", 'x",,,,"y\n1\n'), ("names of lines", '"a\nb",,,,\n1\n')):
        with pytest.raises(ForesolveError, match=r"has 5 columns; tables of at most 3 are read"):
            read_table(write(tmp_path, text, f"{name}.csv"))
    for text in ("a" * 60 + ",b\n1,2\n", '"' + "a\n" * 40):
        with pytest.raises(ForesolveError, match=r"begins with more than 60 bytes of names of columns"):
            read_table(write(tmp_path, text))
    assert read_table(write(tmp_path, '"a\n1",b\r1,2\r')).to_dict("list") == {"a\n1": [1], "b": [2]}


def test_columns_named_twice_in_other_kinds(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(ForesolveError, match=rf"{name} has two columns 'a'"):
            read_table(tmp_path / name)
    with pytest.raises(ForesolveError, match="has two columns 'a'"):
        list(table_chunks(tmp_path / "t.parquet"))
