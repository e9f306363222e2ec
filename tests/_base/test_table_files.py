"""Files of tables, read with suspicion: each is opened once, and nothing about its entries is guessed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve._base.table_files import TableWriter
from foresolve.data import TableFile, read_table
from foresolve.errors import FileError, ForesolveError, InvalidInputError
from mistakes import mistake
from opens import opens


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ("a,b\n1,x\n2,y\n", ["a", "b"], [1, "x"]),
        ("a;b\n1.5;x\n2;y\n", ["a", "b"], [1.5, "x"]),
        ("a\tb\n1\t2\n", ["a", "b"], [1, 2]),
        (",a\n0,5\n1,6\n", ["a"], [5]),
        ("\ufeffa, b\n1,2\n", ["a", "b"], [1, 2]),
        ('"a,1",b\n1,2\n', ["a,1", "b"], [1, 2]),
        ("a\n1\n2\n", ["a"], [1]),
        ('a;"b, in EUR";c\n1;2.5;3\n', ["a", "b, in EUR", "c"], [1, 2.5, 3]),
        ("a;b, in EUR;c\n1;2.5;3\n", ["a", "b, in EUR", "c"], [1, 2.5, 3]),
        ('a,"b;c;d"\n1,2\n', ["a", "b;c;d"], [1, 2]),
        ('"a\n1",b\r1,2\r', ["a\n1", "b"], [1, 2]),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", ["a", "b"], [1, 2]),
    ],
)
def test_text(tmp_path: Path, text: str, columns: list[str], first: list[object]) -> None:
    path = write(tmp_path, text)
    frame = read_table(path)
    assert list(frame.columns) == columns
    assert frame.iloc[0].tolist() == first
    assert [title for title in TableFile(path).titles() if title] == columns
    assert next(TableFile(path).chunks(1)).iloc[0].tolist() == first


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("a,a\n1,2\n", "'a'"),
        ("a,b\n1,2,3\n", "longer"),
        ("a,,c\n1,2,3\n", "number 2"),
        (",a\nx,1\n", "number 1"),
        ("a,b\n", "no rows"),
        ("", "empty"),
        ("\na,b\n", "empty line"),
        ('a,b\n1,"2\n3,4\n', "cannot be read"),
    ],
)
@pytest.mark.parametrize("rows", [None, 1])
def test_text_that_is_no_table(tmp_path: Path, text: str, fact: str, rows: int | None) -> None:
    path = write(tmp_path, text)
    with mistake("", str(path), fact, kind=FileError):
        list(TableFile(path).chunks(rows))


def test_entries_are_numbers_truth_values_or_text(tmp_path: Path) -> None:
    columns = {
        "whole": ["1", "-2", "30"],
        "holes": ["1", "", "3"],
        "float": ["1.5", "-.5", "1e3"],
        "empty": ["", "NA", "null"],
        "truth": ["True", "false", "TRUE"],
        "name": ["007", "114", "9"],
        "word": ["1", "2", "None"],
        "odd": ["1_0", "2", "3"],
        "endless": ["1", "inf", "2"],
        "time": ["07:30", "08:00", "9"],
        "padded": ["07.5", "3", "1"],
    }
    pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
    frame = read_table(tmp_path / "table.csv")
    kinds = {name: frame[name].dtype.kind for name in frame}
    assert {name for name, kind in kinds.items() if kind == "i"} == {"whole"}
    assert {name for name, kind in kinds.items() if kind == "f"} == {"holes", "float", "empty", "padded"}
    assert {name for name, kind in kinds.items() if kind == "b"} == {"truth"}
    assert frame["float"].tolist() == [1.5, -0.5, 1000.0]
    assert frame["holes"].isna().tolist() == [False, True, False]
    assert frame["name"].tolist() == ["007", "114", "9"]
    assert TableFile(tmp_path / "table.csv").frame(text=("whole", "truth"))["whole"].tolist() == ["1", "-2", "30"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("compressed", [False, True])
def test_names_keep_their_zeros(separator: str, compressed: bool, tmp_path: Path) -> None:
    rows = [["a", "b", "c"], ['"007"', "10", "x"], ["", "-010", "007"], ["12", "", "y"]]
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    path = tmp_path / ("a.csv.gz" if compressed else "a.csv")
    path.write_bytes(gzip.compress(text) if compressed else text)
    table = read_table(path)
    assert table["a"].fillna("").tolist() == ["007", "", "12"]
    assert table["b"].fillna("").tolist() == ["10", "-010", ""]
    assert table["c"].tolist() == ["x", "007", "y"]


def test_numbers_are_read_to_the_last_digit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random(500) * 10.0 ** np.arange(-250, 250)
    path = write(tmp_path, "x\n" + "".join(f"{number!r}\n" for number in numbers.tolist()))
    assert (read_table(path)["x"].to_numpy() == numbers).all()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("rows", [None, 1])
def test_text_in_another_encoding(encoding: str, rows: int | None, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("road,stra\u00dfe\nr1,1\n", encoding=encoding)
    with mistake("", "UTF-8", kind=FileError):
        next(TableFile(tmp_path / "t.csv").chunks(rows))


# -- numbers and dates that are written otherwise ----------------------------------------------------------------------

TWO_WAYS = [
    ("a;b\n1,5;x\n2;y\n", {}, "decimal", "'1,5'"),
    ('a,b\n"1,5",x\n', {}, "decimal", "'1,5'"),
    ("a;b\n1.234,50;x\n12;x\n", {}, "decimal", "'1.234,50'"),
    ("a;b\n1.234.567;x\n12;x\n", {}, "decimal", "'1.234.567'"),
    ("a;b\n1.5;x\n1,5;x\n", {}, "decimal", "'1,5'"),
    ("day;units;weight\n1;1,234;3.5\n2;987;4.25\n", {}, "decimal", "'1,234'"),
    ("day;units\n1;12.500\n2;987\n", {}, "decimal", "'12.500'"),
    ("day;units\n1;12,500\n2;987\n", {}, "decimal", "'12,500'"),
    ("day;units;weight\n1;1.234;3,5\n2;987;4,25\n", {"decimal": ","}, "thousands", "'1.234'"),
    ("day;units\n1;12,500\n2;987\n", {"decimal": "."}, "thousands", "'12,500'"),
]


@pytest.mark.parametrize("rows", [None, 100])
@pytest.mark.parametrize(("text", "settings", "setting", "entry"), TWO_WAYS)
def test_a_column_that_can_be_read_in_two_ways_names_the_setting(
    text: str, settings: dict[str, Any], setting: str, entry: str, rows: int | None, tmp_path: Path
) -> None:
    """It was read as decimals, a thousandth of its size, or as categories."""
    path = write(tmp_path, text)
    with mistake(setting, str(path), entry):
        list(TableFile(path, **settings).chunks(rows))


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("day;weight\n27.05.2024;1,250\n28.05.2024;2,500\n", {"decimal": ","}, [1.25, 2.5]),
        ("day;weight\n1;1.250\n2;2.500\n", {}, [1.25, 2.5]),  # all have three decimals
        ("day;weight\n1;1,234\n2;7\n", {"decimal": ","}, [1.234, 7.0]),
        ("day;weight\n1;0.500\n2;7\n", {}, [0.5, 7.0]),  # no thousand begins with a zero
        ("day,weight\n1,12.500\n2,987\n", {}, [12.5, 987.0]),  # no sign of another notation
        ("day;weight\n1;12.500\n2;987\n", {"decimal": "."}, [12.5, 987.0]),
        ("day;weight\n1;12.500\n2;987\n", {"thousands": "."}, [12500, 987]),
        ("day;weight\n1;1.234,5\n2;-12.345.678\n3;5\n", {"decimal": ",", "thousands": "."}, [1234.5, -12345678, 5]),
        ("day;weight\n1;1 234\n2;5e3\n", {"thousands": " "}, [1234, 5000]),
        ('day,weight\n1,"1,234.5"\n2,7\n', {"thousands": ","}, [1234.5, 7]),
    ],
)
def test_numbers_as_the_settings_have_them(
    text: str, settings: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    assert read_table(write(tmp_path, text), **settings)["weight"].tolist() == expected


def test_entries_that_are_no_numbers_under_the_settings_stay_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b;c;d\n1,5 kg;1.2345;1.23,4;12.34\n2;3,5;5;27.05.2024\n")
    frame = read_table(path, decimal=",", thousands=".")
    assert frame.iloc[0].tolist() == ["1,5 kg", "1.2345", "1.23,4", "12.34"]


def test_columns_of_names_are_never_ambiguous(tmp_path: Path) -> None:
    path = write(tmp_path, "cell;x\n1,5;2\n2,5;3\n")
    assert TableFile(path).frame(text=("cell",))["cell"].tolist() == ["1,5", "2,5"]


@pytest.mark.parametrize(
    ("entries", "date_format", "expected"),
    [
        (["27.05.2024", "1.6.2024"], "%d.%m.%Y", ["2024-05-27", "2024-06-01"]),
        (["03/04/2026", ""], "%m/%d/%Y", ["2026-03-04", None]),
        (["20240527", "20240601"], "%Y%m%d", ["2024-05-27", "2024-06-01"]),
        (["27.05.2024 08:30", "28.05.2024 00:00"], "%d.%m.%Y %H:%M", ["2024-05-27T08:30:00", "2024-05-28T00:00:00"]),
        (["27.05.2024", "2024-05-28"], "%d.%m.%Y", ["2024-05-27", "2024-05-28"]),  # another program wrote the rest
        (["27.05.2024", "Total"], "%d.%m.%Y", ["27.05.2024", "Total"]),
        (["Monday", "Tuesday"], "%d.%m.%Y", ["Monday", "Tuesday"]),
    ],
)
def test_dates_as_the_format_has_them(
    entries: list[str], date_format: str, expected: list[Any], tmp_path: Path
) -> None:
    path = write(tmp_path, "\n".join(["day,x", *(f"{entry},1" for entry in entries)]) + "\n")
    for text in ((), ("day",)):
        frame = TableFile(path, date_format=date_format).frame(text)
        assert frame["day"].astype(object).where(frame["day"].notna(), None).tolist() == expected


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"decimal": ";"}, "decimal"),
        ({"thousands": "00"}, "thousands"),
        ({"thousands": "1"}, "thousands"),
        ({"decimal": ",", "thousands": ","}, "thousands"),
        ({"date_format": "dd.mm.yyyy"}, "date_format"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], argument: str) -> None:
    with mistake(argument):
        TableFile("table.csv", **settings)


def test_settings_are_not_lost_on_the_way() -> None:
    with mistake("path"):
        read_table(TableFile("table.csv", decimal=","))


# -- other files -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("arrays", "facts"),
    [
        ({"a": np.zeros((2, 2, 2))}, ["(2, 2, 2)"]),
        ({"a": np.zeros(2), "b": np.zeros(3)}, ["[2, 3]"]),
        ({"a": np.zeros((2, 2)), "a_names": np.array(["x"])}, ["1 names", "2 columns"]),
        ({"x": np.eye(2), "x_names": np.array(["p", "p"])}, ["'p'"]),
        ({"x": np.eye(2), "x_names": np.array(["p", "q"]), "p": np.ones(2)}, ["'p'"]),
    ],
)
def test_archives_that_are_no_table(arrays: dict[str, Any], facts: list[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", **arrays)
    with mistake("", str(tmp_path), *facts, kind=FileError):
        read_table(tmp_path / "table.npz")


def test_archives_of_objects(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ForesolveError) as caught:
        read_table(tmp_path / "objects.npz")
    assert "objects.npz" in str(caught.value)


def test_columns_named_twice_in_other_kinds(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        for rows in (None, 1):
            with mistake("", name, "'a'", kind=FileError):
                list(TableFile(tmp_path / name).chunks(rows))


def test_files_that_are_not_there_or_not_known(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "roads.csv")
    with mistake("", "road.csv", "'roads.csv'", kind=FileError):
        read_table(tmp_path / "road.csv")
    with pytest.raises(ForesolveError) as caught:
        read_table(tmp_path)
    assert "path" in str(caught.value)
    with mistake("path", "'a.json'"):
        read_table(write(tmp_path, "{}", "a.json"))
    with mistake("", "a.parquet", kind=FileError):
        read_table(write(tmp_path, "junk", "a.parquet"))


# -- pieces ------------------------------------------------------------------------------------------------------------


def long(count: int = 25, variables: int = 3) -> pd.DataFrame:
    keys = np.repeat(np.arange(count), variables)
    names = np.tile([f"v{i}" for i in range(variables)], count)
    return pd.DataFrame({"key": keys, "variable": names, "a": np.arange(len(keys)) / 8, "b": "text, with a comma"})


@pytest.fixture(params=["long.csv", "long.csv.gz", "long.tsv", "long.parquet", "long.feather"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path, table = tmp_path / request.param, long()
    if ".csv" in path.name or ".tsv" in path.name:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    elif path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=10)
    else:
        table.to_feather(path)
    return path


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_chunks_hold_all_rows_in_order(path: Path, rows: int) -> None:
    chunks = list(TableFile(path).chunks(rows))
    assert all(len(chunk) <= rows for chunk in chunks)
    whole = pd.concat(chunks)
    assert whole.index.tolist() == list(range(75))
    pd.testing.assert_frame_equal(whole, long(), check_dtype=False, check_index_type=False)


def test_some_columns(path: Path) -> None:
    chunks = list(TableFile(path).chunks(10, only=["a", "key"]))
    assert all(set(chunk.columns) == {"key", "a"} for chunk in chunks)
    assert pd.concat(chunks)["a"].tolist() == long()["a"].tolist()
    assert next(TableFile(path).chunks(10, only=["a", "kee"])).columns.tolist() == long().columns.tolist()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.feather", "a.npz"])
def test_a_file_is_opened_once(name: str, tmp_path: Path) -> None:
    """A CSV was opened five times: to look at it, for its names, their separator, leading zeros, and its rows."""
    table, path = pd.DataFrame({"a": ["007", "114", "9"], "b": [1.5, 12.5, 987.0]}), tmp_path / name
    if ".csv" in name:
        table.to_csv(path, sep=";", index=False)
    elif name == "a.npz":
        np.savez(path, b=table["b"].to_numpy())
    else:
        getattr(table, {".parquet": "to_parquet", ".feather": "to_feather"}[path.suffix])(path)
    for read in (TableFile.frame, TableFile.titles, lambda file: list(file.chunks(2))):
        with opens(path) as seen:
            read(TableFile(path))
        assert len(seen) == 1


# -- writing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    table = long()
    with TableWriter(tmp_path / name) as writer:
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
            writer.write(long())
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        write()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "before")]


def test_other_files_are_not_written(tmp_path: Path) -> None:
    with mistake("path", "'a.xlsx'", kind=InvalidInputError):
        TableWriter(tmp_path / "a.xlsx")


def test_ctrl_c_before_a_text_is_read_on_is_no_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interruption that comes before pandas' call of `read` leaves only the news that it failed."""

    def failed(*_: object, **__: object) -> None:
        raise pd.errors.ParserError("Error tokenizing data. C error: Calling read(nbytes) on source failed.")

    monkeypatch.setattr(pd, "read_csv", failed)
    with pytest.raises(KeyboardInterrupt):
        TableFile(write(tmp_path, "x,y\n1,2\n")).frame()
