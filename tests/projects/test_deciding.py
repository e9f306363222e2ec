from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve.errors import FeatureRangeWarning, FileError, ForesolveError, ForesolveWarning
from foresolve.learning import Policy
from foresolve.problems import TopK
from foresolve.projects import NoDecisionError, decide_file, deciding
from foresolve.projects.deciding import block_size
from mistakes import mistake
from projects.policies import KEYS, dated, dated_policy, long, long_policy, wide, wide_policy, written

TABLES: dict[str, tuple[Callable[..., pd.DataFrame], Callable[[], Policy]]] = {
    "wide": (wide, wide_policy), "long": (long, long_policy),
}  # fmt: skip


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"shop": str}) if path.suffix == ".csv" else pd.read_parquet(path)


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST_TOGETHER", 16)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", TABLES)
def test_the_file_is_the_same_whatever_the_chunks_are(kind: str, suffix: str, tmp_path: Path) -> None:
    """Instances are decided in the same blocks, so that even rounding is the same; and as in one call."""
    table, policy = TABLES[kind][0](75, seed=1), TABLES[kind][1]()
    data = written(table, tmp_path / f"data{suffix}")
    files = []
    for chunk in (1, 7, 64, 100_000):
        out = tmp_path / f"{chunk}{suffix}"
        result = decide_file(policy, data, out, chunk=chunk)
        assert (result.instances, result.rows) == (75, 150)
        files.append(out.read_bytes())
    assert len(set(files)) == 1
    whole, key = policy(table).frame(), KEYS if kind == "wide" else ["week"]
    parts = read(tmp_path / f"7{suffix}")
    assert parts["name"].tolist() == whole["name"].tolist()
    assert [*map(tuple, parts[key].astype(str).to_numpy())] == [*map(tuple, whole[key].astype(str).to_numpy())]
    np.testing.assert_allclose(parts["objective"], whole["objective"], rtol=1e-6)


@pytest.mark.usefixtures("_small_blocks")
def test_what_was_last_known_may_stand_in_an_earlier_block(tmp_path: Path) -> None:
    policy, table = dated_policy(), dated(50, seed=1)
    for chunk in (1, 64):
        decide_file(policy, written(table, tmp_path / "data.csv"), tmp_path / "out.csv", chunk=chunk)
        whole = policy(table).frame()
        np.testing.assert_allclose(read(tmp_path / "out.csv")["objective"], whole["objective"], rtol=1e-6)
    with mistake("", "order of time", kind=FileError):
        decide_file(policy, written(table[::-1], tmp_path / "data.csv"), tmp_path / "out.csv")


def test_an_error_does_not_hide_the_warning_that_explains_it(tmp_path: Path) -> None:
    policy = wide_policy()
    policy.model = lambda features: features[:, :4] / (features[:, :1] < 100)
    with (
        pytest.warns(FeatureRangeWarning, match="'rain' is 999"),
        mistake("model(features)"),
    ):
        decide_file(policy, written(wide(3).assign(rain=999.0), tmp_path / "data.csv"), tmp_path / "out.csv")


def test_keys_are_written_as_they_were_read(tmp_path: Path) -> None:
    """Zeros in front belong to a name."""
    decide_file(wide_policy(), written(wide(5), tmp_path / "data.csv"), tmp_path / "out.csv", form="wide")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("00000,2024-03-01,")
    decide_file(wide_policy(), written(wide(5), tmp_path / "data.parquet"), tmp_path / "out.parquet", form="wide")
    assert pd.read_parquet(tmp_path / "out.parquet")["shop"].tolist() == [f"0000{i}" for i in range(5)]


def test_rows_of_an_instance_that_are_apart_are_refused(tmp_path: Path) -> None:
    """Before any work is done: half an instance would be decided as if the rest were missing."""
    table = long(30).sample(frac=1, random_state=0)
    with mistake("", "several places", kind=FileError):
        decide_file(long_policy(), written(table, tmp_path / "data.csv"), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.usefixtures("_small_blocks")
def test_instances_without_a_decision_are_named(tmp_path: Path) -> None:
    table = wide(40)
    table.loc[[3, 20, 39], "rain"] = None
    policy, out = wide_policy(missing="drop"), tmp_path / "out.csv"
    out.write_text("before")
    with pytest.raises(NoDecisionError) as caught, pytest.warns(ForesolveWarning, match="left out"):
        decide_file(policy, written(table, tmp_path / "data.csv"), out)
    names = ", ".join(f"('{place:05d}', '2024-03-01')" for place in (3, 20, 39))
    assert f"3 instances have no decision in {tmp_path / 'data.csv'}: {names}. Nothing was written" in str(caught.value)
    assert out.read_text() == "before"


def test_only_so_many_are_named(tmp_path: Path) -> None:
    table = wide(40)
    table.loc[:30, "rain"] = None
    with (
        mistake(None, "31 instances", "21 more", kind=NoDecisionError),
        pytest.warns(ForesolveWarning, match="left out"),
    ):
        decide_file(wide_policy(missing="drop"), written(table, tmp_path / "data.csv"), tmp_path / "out.csv")


@pytest.mark.usefixtures("_small_blocks")
def test_warnings_are_told_once(tmp_path: Path) -> None:
    table = wide(40)
    table["rain"] *= 100
    with pytest.warns(FeatureRangeWarning) as caught:
        decide_file(wide_policy(), written(table, tmp_path / "data.csv"), tmp_path / "out.csv")
    assert len(caught) == 1
    assert str(caught[0].message).endswith("(and 2 more such warnings)")


@pytest.mark.usefixtures("_small_blocks")
def test_progress_counts_instances(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    data = written(long(40), tmp_path / "data.csv")
    decide_file(long_policy(), data, tmp_path / "out.csv", progress=lambda *counts: told.append(counts), chunk=9)
    assert told == [(16, 40), (32, 40), (40, 40)]


def test_bounds(tmp_path: Path) -> None:
    data = written(wide(20), tmp_path / "data.csv")
    for form in ("long", "wide"):
        out = decide_file(wide_policy(), data, tmp_path / "out.csv", form=form, certify=True).path
        table = read(out)
        assert table["proven"].all()
        assert (table["bound"] >= table["objective"] - 1e-6).all()


def test_instances_together_are_as_many_as_fit() -> None:
    assert block_size(wide_policy()) == 1024
    assert block_size(Policy(lambda features: features, TopK(2**20, 1))) == 4


def test_bad_arguments(tmp_path: Path) -> None:
    data = written(wide(3), tmp_path / "data.csv")
    for options, name in (({"form": "tall"}, "form"), ({"chunk": 0}, "chunk")):
        with mistake(name):
            decide_file(wide_policy(), data, tmp_path / "out.csv", **options)  # type: ignore[arg-type]
    with mistake("", "no.csv", kind=FileError):
        decide_file(wide_policy(), tmp_path / "no.csv", tmp_path / "out.csv")


def test_the_file_that_is_read_is_never_written_to(tmp_path: Path) -> None:
    data = written(wide(3), tmp_path / "data.csv")
    before = data.read_bytes()
    (tmp_path / "linked.csv").symlink_to(data)
    for out in (data, tmp_path / "linked.csv", tmp_path / "." / "data.csv"):
        with mistake("out"):
            decide_file(wide_policy(), data, out)
    assert data.read_bytes() == before


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.csv.gz"])
def test_where_nothing_can_be_written_is_told_before_anything_is_read(name: str, tmp_path: Path) -> None:
    with mistake("out"):
        decide_file(wide_policy(), tmp_path / "no.csv", tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with mistake("out"):
        decide_file(wide_policy(), tmp_path / "no.csv", tmp_path / "folder.csv")


# The most memory of the process so far; `ru_maxrss` would be that of the process that started it, where that has more.
MEASURED = """
import sys
from foresolve.learning import Policy
from foresolve.problems import TopK
from foresolve.projects import decide_file
decide_file(Policy.load(sys.argv[1]), sys.argv[2], sys.argv[3])
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(line.split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_a_million_rows_take_no_more_memory_than_some(tmp_path: Path) -> None:
    """But for the bytes of each key by which repeated ones are found."""
    wide_policy().save(tmp_path / "policy")
    rng, memory = np.random.default_rng(0), {}
    for count in (100_000, 1_000_000):
        table = pd.DataFrame({"shop": np.arange(count), "day": "2024-03-01", "weekday": "mon",
                              "rain": rng.random(count).round(3), "wind": rng.random(count).round(3)})  # fmt: skip
        data = written(table, tmp_path / f"{count}.csv")
        words: list[Any] = [tmp_path / "policy", data, tmp_path / "out.csv"]
        result = subprocess.run([sys.executable, "-c", MEASURED, *words], check=True, capture_output=True, text=True)
        memory[count] = int(result.stdout) * 1024
        with (tmp_path / "out.csv").open() as file:
            assert sum(1 for _ in file) == 2 * count + 1
    assert memory[1_000_000] - memory[100_000] < 32 * 900_000, memory


def test_the_folder_of_a_policy_or_of_a_run_will_do(tmp_path: Path) -> None:
    policy, data = wide_policy(), written(wide(10, seed=1), tmp_path / "data.csv")
    run = tmp_path / "run"
    policy.save(run / "policy")
    (run / "run.json").write_text("{}")
    decide_file(policy, data, tmp_path / "expected.csv")
    for folder in (run, run / "policy", str(run)):
        decide_file(folder, data, tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    with mistake("policy"):
        decide_file(3, data, tmp_path / "out.csv")  # type: ignore[arg-type]
    with pytest.raises(ForesolveError) as caught:
        decide_file(tmp_path / "nowhere", data, tmp_path / "out.csv")
    assert "nowhere" in str(caught.value)
