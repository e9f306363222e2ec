from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from foresolve.data.frames.scans import scan_keys
from foresolve.errors import ForesolveError


def csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["a,b,x", *rows]) + "\n")
    return path


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_kinds_do_not_depend_on_the_chunks(rows: int, tmp_path: Path) -> None:
    for entries, kind in {
        ("1", "2", "30"): "number",
        ("1", "2", "c"): "text",
        ("007", "8", "9"): "text",
        ("2024-01-01", "2024-01-02", "2024-02-01"): "date",
        ("2024-01-01", "2024-01-02 08:00", "2024-02-01"): "time",
        ("2024-01-01", "2024-01-02", "soon"): "text",
        ("2024-01-01", "3", "4"): "text",
    }.items():
        scan = scan_keys(csv(tmp_path / "a.csv", *(f"{entry},0,1" for entry in entries)), ["a"], rows)
        assert (scan.rows, scan.instances, scan.kinds) == (3, 3, {"a": kind})


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_key_that_stands_twice_is_named(rows: int, tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "1,p,0", "2,p,0", "1,q,0", "2,p,0")
    with pytest.raises(ForesolveError, match=r"the key '1' in several places|the key '2' in several places"):
        scan_keys(path, ["a"], rows)
    with pytest.raises(ForesolveError, match=r"the key \('2', 'p'\) in several places. Sort the file by its key"):
        scan_keys(path, ["a", "b"], rows)


def test_in_the_long_form_rows_of_an_instance_stand_together(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "1,p,0", "1,q,0", "2,p,0", "2,q,0")
    scan = scan_keys(path, ["a"], 1, long=True)
    assert (scan.rows, scan.instances) == (4, 2)
    with pytest.raises(ForesolveError, match="in several places"):
        scan_keys(path, ["a"], 1)
    with pytest.raises(ForesolveError, match="the key '1' in several places"):
        scan_keys(csv(path, "1,p,0", "2,p,0", "1,q,0"), ["a"], 1, long=True)


def test_a_missing_key(tmp_path: Path) -> None:
    with pytest.raises(ForesolveError, match="without a key: the column 'a' has missing entries"):
        scan_keys(csv(tmp_path / "a.csv", "1,p,0", ",q,0"), ["a"])


def test_text_of_parquet_stays_text(tmp_path: Path) -> None:
    """Also where it looks like numbers: those who join the decisions with their tables have text there."""
    pd.DataFrame({"s": ["10", "20"]}).to_parquet(tmp_path / "a.parquet")
    assert scan_keys(tmp_path / "a.parquet", ["s"]).kinds == {"s": "text"}


def test_keys_of_parquet_have_types(tmp_path: Path) -> None:
    table = pd.DataFrame({"n": [1, 2], "t": pd.to_datetime(["2024-01-01", "2024-01-02"]), "s": ["1", "x"]})
    table.to_parquet(tmp_path / "a.parquet")
    assert scan_keys(tmp_path / "a.parquet", ["n", "t", "s"]).kinds == {"n": "number", "t": "date", "s": "text"}
