from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from foresolve._base import leading_zeros
from foresolve._base.leading_zeros import padded_columns
from foresolve._base.table_files import read_table

pytest.importorskip("pandas")


def test_names_keep_their_zeros(tmp_path: Path) -> None:
    """ "00114" in a column is then what "00114" in a first line is."""
    (tmp_path / "a.csv").write_text("road,from,minutes,share,time\n00114,1,07.5,0.5,07:30\n00115,2,3,00.25,08:00\n")
    table = read_table(tmp_path / "a.csv")
    assert table["road"].tolist() == ["00114", "00115"]
    assert table["from"].tolist() == [1, 2]
    assert table["minutes"].tolist() == [7.5, 3.0]
    assert table["share"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("compressed", [False, True])
def test_separators_quotes_and_missing_entries(separator: str, compressed: bool, tmp_path: Path) -> None:
    rows = [["a", "b", "c"], ['"007"', "10", "x"], ["", "-010", "007"], ["12", "", "y"]]
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    path = tmp_path / ("a.csv.gz" if compressed else "a.csv")
    path.write_bytes(gzip.compress(text) if compressed else text)
    table = read_table(path)
    assert table["a"].fillna("").tolist() == ["007", "", "12"]
    assert table["b"].fillna("").tolist() == ["10", "-010", ""]
    assert table["c"].tolist() == ["x", "007", "y"]


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_wherever_the_file_is_cut(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1000,20\n1001,30\n1002,04\n1003,05\n")
    monkeypatch.setattr(leading_zeros, "BYTES", size)
    monkeypatch.setattr(leading_zeros, "ROWS", size)
    assert padded_columns(tmp_path / "a.csv", {}) == ["b"]


def test_rows_that_are_too_long_are_told_as_ever(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n007,2,3\n4,5,6\n")
    with pytest.raises(Exception, match="longer than its first line"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("entries", [1, 5, 2**20])
def test_however_many_columns_are_looked_at_together(
    entries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a,b,c,d,e\n1,01,,07:30,\n2,x,,3,04\n,3,,4,5\n6,7,08,,9\n")
    monkeypatch.setattr(leading_zeros, "ENTRIES", entries)
    monkeypatch.setattr(leading_zeros, "ROWS", 3)
    assert padded_columns(tmp_path / "a.csv", {}) == ["c", "e"]
