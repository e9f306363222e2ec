"""A real Ray on this machine; skipped where Ray is not installed (it is an extra of its own)."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foresolve import ForesolveError, InvalidInputError, MissingExtraError
from foresolve.cli import build
from foresolve.projects import deciding
from foresolve.projects.deciding import NoDecisionError, decide_file
from foresolve.projects.ray_deciding import decide_on_ray
from mistakes import mistake
from projects.policies import long, long_policy, wide, wide_policy, written

with_ray = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
TABLES: dict[str, Any] = {"wide": (wide, wide_policy), "long": (long, long_policy)}


def test_a_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "foresolve\[ray\]"'):
        decide_on_ray(tmp_path, tmp_path / "a.csv", tmp_path / "b.csv")


def test_the_shell_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from projects.runs import quick_run

    run = quick_run(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ["decide", str(run), "--data", str(tmp_path / "tomorrow.csv"), "--out", "b.csv", "--engine", "ray"]
    result = CliRunner().invoke(build(), words)
    assert result.exit_code == 1
    assert 'pip install "foresolve[ray]"' in result.stderr


class TestWithRay:
    pytestmark = with_ray

    @pytest.fixture(scope="class")
    def ray(self) -> Iterator[Any]:
        import ray

        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deciding, "MOST_TOGETHER", 64)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    @pytest.mark.parametrize("kind", TABLES)
    @pytest.mark.parametrize("form", ["long", "wide"])
    def test_the_file_is_that_of_one_process(
        self, kind: str, suffix: str, form: Any, ray: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Five blocks and a bit, read in chunks that end in the middle of instances."""
        table, policy = TABLES[kind]
        data = written(table(330, seed=1), tmp_path / f"data{suffix}")
        own = policy()
        own.save(tmp_path / "policy")
        told: list[tuple[int, int]] = []
        here = decide_file(own, data, tmp_path / f"here{suffix}", form=form)
        there = decide_on_ray(
            tmp_path / "policy", data, tmp_path / f"there{suffix}", form=form, chunk=101,
            progress=lambda done, total: told.append((done, total)),
        )  # fmt: skip
        assert (there.instances, there.rows) == (here.instances, here.rows)
        assert there.instances == 330
        assert told == [(done, 330) for done in (64, 128, 192, 256, 320, 330)]
        assert there.path.read_bytes() == here.path.read_bytes()
        assert ray.is_initialized()  # it was the caller's
        assert "Starting execution" not in capfd.readouterr().err

    def test_instances_without_a_decision_are_named(self, ray: Any, tmp_path: Path) -> None:
        wide_policy(missing="drop").save(tmp_path / "policy")
        table = wide(200)
        table.loc[[70, 150], "rain"] = None
        out = tmp_path / "out.csv"
        out.write_text("before")
        with mistake(None, "2 instances", "('00070', '2024-03-01')", "('00150', ", kind=NoDecisionError):
            decide_on_ray(tmp_path / "policy", written(table, tmp_path / "data.csv"), out)
        assert out.read_text() == "before"

    def test_warnings_are_told_once(self, ray: Any, tmp_path: Path) -> None:
        wide_policy().save(tmp_path / "policy")
        table = wide(200)
        table["rain"] *= 100
        data = written(table, tmp_path / "data.csv")
        with pytest.warns() as caught:
            decide_on_ray(tmp_path / "policy", data, tmp_path / "out.csv")
        messages = [str(warning.message) for warning in caught if warning.category.__name__ == "FeatureRangeWarning"]
        assert len(messages) == 1
        assert messages[0].endswith("(and 3 more such warnings)")

    @pytest.mark.parametrize("damage", ["column", "key", "entry"])
    def test_errors_are_those_of_one_process(self, damage: str, ray: Any, tmp_path: Path) -> None:
        policy = wide_policy()
        policy.save(tmp_path / "policy")
        table = wide(200)
        if damage == "column":
            table = table.drop(columns="wind")
        elif damage == "key":
            table.loc[150, "shop"] = "00003"
        else:
            table["wind"] = table["wind"].astype(object)
            table.loc[150, "wind"] = "strong"
        data, out = written(table, tmp_path / "data.csv"), tmp_path / "out.csv"
        with pytest.raises(ForesolveError) as here:
            decide_file(policy, data, out)
        with pytest.raises(type(here.value)) as there:
            decide_on_ray(tmp_path / "policy", data, out)
        assert str(there.value) == str(here.value)
        assert not out.exists()

    def test_a_worker_that_dies_is_replaced(self, ray: Any, tmp_path: Path) -> None:
        """By another one that decides what it had; nothing is lost or done twice."""
        policy = wide_policy()
        policy.save(tmp_path / "policy")
        data = written(wide(2000), tmp_path / "data.csv")
        killed: list[int] = []

        def kill(done: int, total: int) -> None:
            if not killed:
                killed.append(worker_of(os.getpid()))
                os.kill(killed[0], signal.SIGKILL)

        there = decide_on_ray(tmp_path / "policy", data, tmp_path / "there.csv", progress=kill)
        here = decide_file(policy, data, tmp_path / "here.csv")
        assert killed
        assert there.path.read_bytes() == here.path.read_bytes()


def worker_of(driver: int) -> int:
    """The process of a worker that decides for a Ray which this process started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # of a process that has ended
            if (folder / "cmdline").read_bytes().startswith(b"ray::MapWorker"):
                raylet = parent(int(folder.name))
                if parent(raylet) == driver:
                    return int(folder.name)
    raise AssertionError("no worker")


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


class TestOfItsOwn:
    pytestmark = with_ray

    def test_a_ray_of_its_own_is_shut_down(self, tmp_path: Path) -> None:
        import ray

        wide_policy().save(tmp_path / "policy")
        data = written(wide(20), tmp_path / "data.csv")
        assert decide_on_ray(tmp_path / "policy", data, tmp_path / "out.parquet").instances == 20
        assert not ray.is_initialized()

    def test_a_cluster_that_is_not_there(self, tmp_path: Path) -> None:
        wide_policy().save(tmp_path / "policy")
        data = written(wide(20), tmp_path / "data.csv")
        with pytest.raises(ForesolveError, match="no Ray cluster at 'auto'"):
            decide_on_ray(tmp_path / "policy", data, tmp_path / "out.csv", address="auto")

    def test_settings_are_checked_before_ray_starts(self, tmp_path: Path) -> None:
        import ray

        with pytest.raises(InvalidInputError, match="`form` must be"):
            decide_on_ray(tmp_path, tmp_path / "a.csv", tmp_path / "b.csv", form="tall")  # type: ignore[arg-type]
        assert not ray.is_initialized()
