"""The same table from whatever holds it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from foresolve.data.inputs import as_table, first_table, map_tables
from foresolve.errors import InvalidInputError

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
