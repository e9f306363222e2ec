"""The same table from whatever holds it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from foresolve.data.inputs import as_table, by_name, column_names, first_table, map_tables
from foresolve.errors import InvalidInputError
from mistakes import mistake

CPU = torch.device("cpu")
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        np.array(ROWS, dtype=np.int64),
        pd.DataFrame(ROWS),
        pd.Series([np.array(row) for row in ROWS]),
        pa.table({"a": [1, 3, 5], "b": [2, 4, 6]}),
        pa.array(ROWS),
    ],
    ids=["lists", "integers", "frame", "series of arrays", "arrow table", "arrow array of lists"],
)
def test_every_holder_gives_the_same_table(value) -> None:
    table = as_table("features", value, CPU)
    assert table.dtype == torch.get_default_dtype()
    assert table.tolist() == ROWS


def test_tensors_keep_what_they_are_but_for_their_graph() -> None:
    tensor = torch.tensor(ROWS, dtype=torch.float16, requires_grad=True)
    table = as_table("features", tensor, CPU)
    assert table.dtype == torch.float16
    assert not table.requires_grad
    assert table.data_ptr() == tensor.data_ptr()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "an array of numbers"),
        (3.0, "a single number"),
        ([1.0, np.nan], "finite"),
        (torch.tensor([1.0 + 1j]), "real numbers; got torch.complex64"),
        (torch.ones(2).to_sparse(), "dense"),
        ([[1.0], [1.0, 2.0]], "array"),
    ],
)
def test_bad_tables(value, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"`features` must be .*{message}"):
        as_table("features", value, CPU)


def test_tables_within_dicts_and_tuples() -> None:
    nested = {"a": ROWS, "b": (ROWS, ROWS[:1])}
    assert map_tables(len, nested) == {"a": 3, "b": (3, 1)}
    assert map_tables(len, ROWS) == 3
    assert first_table(nested) is ROWS
    assert first_table((nested, None)) is ROWS


def test_tables_that_run_backwards() -> None:
    array = np.array(ROWS)
    assert as_table("x", array[::-1, ::-1], CPU).tolist() == [[6.0, 5.0], [4.0, 3.0], [2.0, 1.0]]
    frame = pd.DataFrame(array, columns=["a", "b"])
    assert as_table("x", frame[["b", "a"]][::-1], CPU).tolist() == [[6.0, 5.0], [4.0, 3.0], [2.0, 1.0]]


def test_names_of_columns() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    assert column_names(frame) == column_names(pa.Table.from_pandas(frame)) == ("a", "b")
    for unnamed in (pd.DataFrame(ROWS), np.array(ROWS), frame["a"], ROWS, None):
        assert column_names(unnamed) is None
    assert column_names(frame.rename(columns={"a": 1})) == ("1", "b")
    assert column_names(pd.DataFrame(ROWS, columns=[11.0, 7.0])) == ("11", "7")


def test_columns_by_name() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    for table in (frame, pa.Table.from_pandas(frame)):
        assert as_table("y", by_name("y", table, ("b", "a")), CPU).tolist() == [row[::-1] for row in ROWS]
        assert by_name("y", table, ("a", "b")) is table
        assert by_name("y", table, None) is table
        with mistake("y", "(2)", "'c'", "'b'"):
            by_name("y", table, ("a", "c"))
    with mistake("y", "'a'"):
        by_name("y", frame[["a", "b", "a"]], ("b", "a"))
    numbered = pd.DataFrame(ROWS)
    assert by_name("y", numbered, ("b", "a")) is numbered


@pytest.mark.parametrize(
    "value",
    [np.array([1 + 1j, 2]), pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}), np.array([1, 2], dtype="m8[s]")],
    ids=["complex", "dates", "lengths of time"],
)
def test_what_numpy_would_take_for_numbers_is_refused(value) -> None:
    with mistake("theta"):
        as_table("theta", value, CPU)
