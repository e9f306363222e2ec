'""The words for what is wrong with a user\'s tables, in one place.""'

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from foresolve.data import Encoding, TableFile
from foresolve.errors import ForesolveError
from tests.data.frames.tables import days, read


def text(content: str, **settings: Any) -> Callable[[Path], object]:
    '""Reading a file with this content.""'

    def call(folder: Path) -> object:
        (folder / "a.csv").write_text(content, encoding="utf-8")
        return TableFile(folder / "a.csv", **settings).frame()

    return call


def frames(change: Callable[[pd.DataFrame, pd.DataFrame], tuple[Any, Any]], **options: Any) -> Callable[[Path], object]:
    '""A data set of two tables with a change.""'
    return lambda _: read(*change(*days()), **options)


WORDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a column twice": (text("a,a\n1,2\n"), "FILE has two columns 'a'"),
    "a long row": (text("a,b\n1,2,3\n"), "FILE has rows that are longer than its first line"),
    "no name": (text("a,,c\n1,2,3\n"), "FILE has a column without a name, number 2"),
    "no rows": (text("a,b\n"), "FILE has no rows"),
    "nothing": (text(""), "FILE is empty"),
    "an empty line": (text("\na,b\n"), "FILE begins with an empty line, not with names"),
    "no file": (lambda folder: TableFile(folder / "a.cvs").frame(), "FILE is not there. Did you mean 'a.csv'?"),
    "decimals": (
        text("road;km\nr1;1,5\n"),
        "`decimal` must be given for FILE, whose column 'km' can be read in two ways; got '1,5'. Set it in "
        '`foresolve.data.TableFile`: `decimal=","` if \',\' stands before decimals, `thousands=","` if it stands '
        "between "
        "thousands",
    ),
    "thousands": (
        text("road;km\nr1;1.500\n", decimal=","),
        "`thousands` must be given for FILE, whose column 'km' can be read in two ways; got '1.500'. Set it in "
        '`foresolve.data.TableFile`: `decimal="."` if \'.\' stands before decimals, `thousands="."` if it stands '
        "between "
        "thousands",
    ),
    "dates of keys": (
        frames(lambda f, m: tuple(t.assign(date=pd.to_datetime(t["date"]).dt.strftime("%d/%m/%Y")) for t in (f, m))),
        "`dates` must be dates written 2024-05-27 in the key 'date'; got '01/01/2023'. For a file, set "
        '`date_format="%d.%m.%Y"` in `foresolve.data.TableFile`; if they are only names, set `dates` to False',
    ),
    "a column that is no date": (
        frames(lambda f, m: (f, m), dates="weekday"),
        "`dates` must be a column of dates; got 'weekday', with 'Sunday'. Dates are written 2024-05-27, or 2024-05-27 "
        '08:30. For a file, set `date_format="%d.%m.%Y"` in `foresolve.data.TableFile`',
    ),
    "numbers": (
        frames(lambda f, m: (f, m.assign(r1=[*m["r1"].astype(str)[:-1], "1,5"]))),
        "`theta` must be numbers in the column 'r1'; got '1,5' in row 29 (1 such entries). Numbers are written 1234.5. "
        "For a file, set `decimal` and `thousands` in `foresolve.data.TableFile`",
    ),
    "numbers of a feature": (
        lambda _: Encoding.of(pd.DataFrame({"price": ["12 %", "7 %"]}), ["price"]),
        "`features` must be numbers in the column 'price'; got '12 %'. Numbers are written 1234.5. For a file, set "
        "`decimal` and `thousands` in `foresolve.data.TableFile`; if they are names, set "
        '`encode={"price": "category"}`',
    ),
    "missing entries": (
        frames(lambda f, m: (f.assign(rain=f["rain"].where(f.index != 4)), m)),
        "`features` must be complete; got 1 missing entries in 1 instances: 'rain' of '2023-01-05'. Choose a rule for "
        'it in `missing`: "drop" leaves such instances out; "mean", "median" and "previous" fill the entries',
    ),
    "a key twice": (
        frames(lambda f, m: (f, pd.concat([m, m[:1]]))),
        "`theta` must be one row for each date; got '2023-01-01' more than once (1 rows too many). Name all columns "
        "that identify an instance: `key=[...]`; or `variable=...` for the long form",
    ),
    "no such column": (
        frames(lambda f, m: (f, m), columns=["ran"]),
        "`columns` must be the name of a column of `features`; got 'ran'. Did you mean 'rain'?",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name: str, tmp_path: Path) -> None:
    call, words = WORDS[name]
    (tmp_path / "a.csv").touch()
    with pytest.raises(ForesolveError) as caught:
        call(tmp_path)
    assert str(caught.value) == words.replace("FILE", str(tmp_path / ("a.cvs" if name == "no file" else "a.csv")))
