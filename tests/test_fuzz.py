"""A few inputs of each kind of `make fuzz`, and whether it would notice."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foresolve.errors import ForesolveError
from tests.fuzz import report, stored
from tests.fuzz.damage import NO_FILES, restore
from tests.fuzz.kinds import KINDS, Kind
from tests.fuzz.report import FINE
from tests.fuzz.runner import run
from tests.fuzz.worker import Bench

pytest.importorskip("safetensors")
pytest.importorskip("pandas")

FEW = 15


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_are_refused_or_read_soundly(name: str, tmp_path: Path) -> None:
    for extra in {"parquet": ["pyarrow"], "arrow": ["pyarrow"], "estimator": ["skops", "sklearn"]}.get(name, []):
        pytest.importorskip(extra)
    bench = Bench(KINDS[name], tmp_path)
    results = [bench.run(seed, 60.0) for seed in range(FEW)]
    assert [result for result in results if result["verdict"] not in FINE] == []
    assert any(result["verdict"] == "refused" for result in results)


@pytest.mark.parametrize("what", range(len(NO_FILES)))
@pytest.mark.parametrize("name", ["cache", "csv", "mps", "edge list", "reproduction", "foresolve.toml"])
def test_what_is_no_file_is_refused_at_once(name: str, what: int, tmp_path: Path) -> None:
    kind = KINDS[name]
    (tmp_path / "sound").mkdir()
    path = kind.write(tmp_path / "sound", 0)[0]
    path.unlink()
    NO_FILES[what](path)
    missing = not path.exists()
    if name == "cache" and missing:  # it is made
        kind.read(tmp_path / "sound")
        return
    with pytest.raises(ForesolveError) as error:
        kind.read(tmp_path / "sound")
    assert str(tmp_path / "sound") in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def _broken(folder: Path) -> Any:
    return json.loads((folder / "a").read_text())


def _slow(folder: Path) -> Any:
    time.sleep(60)


def _greedy(folder: Path) -> Any:
    content = (folder / "a").read_text()
    return content if content == "[1, 2, 3]" else np.ones(2**24).sum()


def _silent(folder: Path) -> Any:
    raise ForesolveError("something is wrong")


def _write(folder: Path, number: int) -> list[Path]:
    (folder / "a").write_text("[1, 2, 3]")
    return [folder / "a"]


def _zeros(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(bytes(9))


@pytest.mark.parametrize(
    ("read", "verdict"), [(_broken, "raw"), (_greedy, "memory"), (_slow, "hang"), (_silent, "no path")]
)
def test_what_is_wrong_is_noticed(read: Any, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.worker.MEMORY", 2**26)
    if verdict == "memory" and not Path("/proc/self/clear_refs").exists():
        pytest.skip("memory is counted on Linux alone")
    kind = Kind("a kind", _write, lambda folder: None, (_zeros,))
    bench = Bench(kind, tmp_path)
    bench.kind = Kind("a kind", _write, read, (_zeros,))
    results = [bench.run(seed, 0.5 if verdict == "hang" else 60.0) for seed in range(3)]
    assert verdict in {result["verdict"] for result in results}


def test_damage_that_goes_unnoticed_is_told(tmp_path: Path) -> None:
    from tests.fuzz.damage import bytes_of

    kind = Kind("a kind", _write, lambda folder: (folder / "a").read_bytes(), (bytes_of,), exact=True)
    bench = Bench(kind, tmp_path)
    assert "unsound" in {bench.run(seed)["verdict"] for seed in range(10)}


@pytest.mark.slow
def test_batches_run_in_processes_of_their_own(tmp_path: Path) -> None:
    results = list(run(["edge list"], 3, 0, 1))
    assert [result["seed"] for _, result in results] == [0, 1, 2]
    record = report.counted(results, {"first seed": 0, "minutes": 0.1})
    assert not record["failures"]
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n")
    report.write_page(record, page)
    text = page.read_text()
    assert "old" not in text
    assert "| edge list | 3 |" in text
    assert text.endswith("after\n")


def test_the_sound_folder_is_restored(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    stored.write_edges(tmp_path / "a", 0)
    restore(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "edges.csv").unlink()
    restore(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "edges.csv").read_text() == (tmp_path / "a" / "edges.csv").read_text()
