from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foresolve.data.frames.streams import TableWriter, table_chunks
from foresolve.errors import ForesolveError, InvalidInputError


def frame(count: int = 25, variables: int = 3) -> pd.DataFrame:
    keys = np.repeat(np.arange(count), variables)
    names = np.tile([f"v{i}" for i in range(variables)], count)
    return pd.DataFrame({"key": keys, "variable": names, "a": np.arange(len(keys)) / 8, "b": "text, with a comma"})


@pytest.fixture(params=["long.csv", "long.csv.gz", "long.tsv", "long.parquet", "long.feather"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path, table = tmp_path / request.param, frame()
    if ".csv" in path.name or ".tsv" in path.name:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    elif path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=10)
    else:
        table.to_feather(path)
    return path


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_chunks_hold_all_rows_in_order(path: Path, rows: int) -> None:
    chunks = list(table_chunks(path, rows))
    assert all(len(chunk) <= rows for chunk in chunks)
    whole = pd.concat(chunks)
    assert whole.index.tolist() == list(range(75))
    pd.testing.assert_frame_equal(whole, frame(), check_dtype=False, check_index_type=False)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 1000])
def test_no_instance_is_cut_in_two(path: Path, rows: int) -> None:
    chunks = list(table_chunks(path, rows, key=["key"]))
    seen = [set(chunk["key"]) for chunk in chunks]
    assert sum(map(len, seen)) == 25
    assert all(len(chunk) % 3 == 0 for chunk in chunks)
    pd.testing.assert_frame_equal(pd.concat(chunks), frame(), check_dtype=False, check_index_type=False)


def test_columns_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,a\n007,1\n008,2\nx,3\n")
    assert [chunk["key"].iloc[0] for chunk in table_chunks(tmp_path / "a.csv", 1, text=["key"])] == ["007", "008", "x"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n", "has no rows"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "cannot be read"),
        ("a.csv", b"a,a\n1,2\n", "two columns 'a'"),
        ("a.csv", b'a,b\n1,"2\n3,4\n', "cannot be read"),
        ("a.parquet", b"PAR1 but not really", "cannot be read"),
    ],
)
def test_damaged_files_are_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ForesolveError, match=f"{name} .*{message}"):
        list(table_chunks(tmp_path / name, 1))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ForesolveError, match=r"a.csv is not there"):
        table_chunks(tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match="rows"):
        table_chunks(tmp_path / "a.csv", 0)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    table = frame()
    with TableWriter(tmp_path / name, {"key": "number"}) as writer:
        for start in range(0, len(table), 10):
            writer.write(table.iloc[start : start + 10])
        assert not (tmp_path / name).exists()
    assert writer.rows == 75
    read = pd.read_csv(tmp_path / name) if name.endswith("csv") else pd.read_parquet(tmp_path / name)
    pd.testing.assert_frame_equal(read, table, check_dtype=False)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_nothing_is_written_if_anything_fails(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("before")

    def write() -> None:
        with TableWriter(tmp_path / name) as writer:
            writer.write(frame())
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        write()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "before")]


@pytest.mark.parametrize(
    ("kind", "entries", "texts"),
    [
        ("date", ["2024-01-01", "2024-01-02"], ["2024-01-01", "2024-01-02"]),
        ("time", ["2024-01-01 00:00:00", "2024-01-02 08:30:00"], ["2024-01-01 00:00:00", "2024-01-02 08:30:00"]),
        ("text", ["2024-01-01", "later"], ["2024-01-01", "later"]),
        ("number", [7, 8], ["7", "8"]),
    ],
)
def test_keys_are_written_alike_in_all_frames(kind: str, entries: list[str], texts: list[str], tmp_path: Path) -> None:
    """By itself, the first frame would hold a date without hours."""
    with TableWriter(tmp_path / "a.csv", {"key": kind}) as writer:
        for entry in entries:
            series = pd.to_datetime(pd.Series([entry])) if kind in ("date", "time") else pd.Series([entry])
            writer.write(pd.DataFrame({"key": series, "x": 1}))
    assert (tmp_path / "a.csv").read_text() == "key,x\n" + "".join(f"{text},1\n" for text in texts)


def test_other_files_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"a .csv or .parquet file; got 'a.xlsx'"):
        TableWriter(tmp_path / "a.xlsx")
