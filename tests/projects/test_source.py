from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from foresolve.errors import ForesolveError, ForesolveWarning
from foresolve.projects import decide_file, deciding
from projects.policies import KEYS, wide, wide_policy, written


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
    with pytest.raises(ForesolveError, match="numbers in the column 'rain'; got 'much' in row 27"):
        decide_file(wide_policy(), data, tmp_path / "out.csv", chunk=4)
