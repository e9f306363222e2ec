from __future__ import annotations

import pytest

from foresolve._base.table import Cell
from foresolve.projects import Run
from foresolve.projects.tables import records, records_table, study_table


def test_the_method_of_the_policy_stands_out(run: Run) -> None:
    table = study_table(run)
    bold = [row[0].figure for row in table.rows if isinstance(row[0], Cell) and row[0].bold]
    assert bold == [run.method]
    reference = run.comparison().reference
    own = next(row for row in table.rows if isinstance(row[0], Cell) and row[0].figure == reference)
    assert own[3:] == (Cell(), Cell())
    assert table.headers[1] == "cost (minutes)"


def test_records_have_all_digits(run: Run) -> None:
    rows = {row.name: row for row in run.comparison()}
    for record in records(run):
        assert record["regret"] == rows[record["name"]].regret
        assert record["gained"] == rows[record["name"]].gained
        assert record["chosen"] == (record["name"] == run.method)
    table = records_table([run, run])
    assert len(table.rows) == 2 * len(rows)
    assert float(table.csv().splitlines()[1].split(",")[5]) == pytest.approx(records(run)[0]["regret"], rel=1e-15)
