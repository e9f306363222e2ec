from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foresolve._base.container import checksum, entry_of, line_of
from foresolve.report.records import Config, Job, JobResult, Record
from foresolve.reproduce import Engine, JobError, LocalEngine, Run, RunStopped, run, run_all
from foresolve.reproduce.runs.fingerprint import code_fingerprint
from mistakes import file_mistake, mistake
from reproduce import toys

HOW: dict[str, Any] = {"work": toys.work, "jobs": toys.jobs}


def go(config: Config, folder: Path, engine: Engine | None = None, **how: Any) -> Run:
    return run(config, folder, engine or toys.HereEngine(), **(HOW | how))


def timeless(records: list[Record]) -> list[Record]:
    return [replace(record, seconds=0) for record in records]


def test_a_folder_tells_what_was_run(tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    config = toys.config()
    finished = go(config, tmp_path / "a" / "b", progress=lambda *step: steps.append(step))
    document = json.loads((finished.folder / "config.json").read_text())
    assert Config.from_dict(document["config"]) == config
    assert set(document["environment"]) >= {
        "foresolve",
        "torch",
        "numpy",
        "scipy",
        "python",
        "platform",
        "cpus",
        "date",
    }
    assert [record.key for record in finished.records] == [
        (i, m, k) for i in range(2) for m in toys.PLAIN for k in (5, 10)
    ]
    lines = (finished.folder / "records.jsonl").read_text().splitlines()
    assert [Record.from_dict(entry_of(line)) for line in lines] == finished.records
    (session,) = finished.sessions
    assert (session["jobs"], session["engine"]) == (6, "here")
    assert finished.seconds == session["seconds"] >= 0
    assert steps[0] == (0, 6, "")
    assert steps[-1] == (6, 6, "toy, split 1, NN2-SPO+, k = 5, 10")
    assert {path.suffix for path in finished.folder.rglob("*") if path.is_file()} <= {".json", ".jsonl", ".npz", ""}


def test_pictures_come_back_by_method(tmp_path: Path) -> None:
    pictures = go(toys.config(), tmp_path).pictures()
    assert list(pictures) == list(toys.PLAIN)
    expected = toys.work(toys.config(), Job("toy", 0, "NN2-SPO+", (5, 10))).picture["theta"]
    assert np.array_equal(pictures["NN2-SPO+"]["theta"], expected)


def test_what_can_be_read_is_what_was_run(tmp_path: Path) -> None:
    finished = go(toys.config(ks=()), tmp_path)
    read = Run.read(tmp_path)
    assert (read.config, read.environment, read.sessions) == (finished.config, finished.environment, finished.sessions)
    assert read.records == finished.records
    with file_mistake(tmp_path, "Run.open"):
        read.add(Job("toy", 9, "a", (None,)), JobResult(()))
    with file_mistake(tmp_path / "nowhere", "config.json"):
        Run.read(tmp_path / "nowhere")


def test_the_order_of_finishing_does_not_show(tmp_path: Path) -> None:
    forwards = go(toys.config(), tmp_path / "a")
    backwards = go(toys.config(), tmp_path / "b", toys.HereEngine(backwards=True))
    assert timeless(forwards.records) == timeless(backwards.records) == timeless(Run.read(tmp_path / "b").records)


def test_interrupts_lose_nothing_and_say_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(RunStopped) as stopped:
        go(toys.config(), tmp_path / "a", toys.HereEngine(stop_after=2))
    assert "2 of 6 jobs" in str(stopped.value)
    assert str(tmp_path / "a") in str(stopped.value)
    engine = toys.HereEngine()
    finished = go(toys.config(), tmp_path / "a", engine)
    assert len(engine.seen) == 4
    assert timeless(finished.records) == timeless(go(toys.config(), tmp_path / "b").records)
    assert [session["jobs"] for session in finished.sessions] == [2, 4]
    again = toys.HereEngine()
    assert go(toys.config(), tmp_path / "a", again).records == finished.records
    assert again.seen == []


def test_an_error_in_a_job_keeps_the_rest(tmp_path: Path) -> None:
    with mistake("", "split 1, Most rated", "ZeroDivisionError", str(tmp_path), "error.txt", kind=JobError):
        go(toys.config(), tmp_path, work=toys.failing)
    assert len(Run.read(tmp_path).records) == 8
    assert "in failing" in (tmp_path / "error.txt").read_text()
    assert len(go(toys.config(), tmp_path).records) == 12
    assert not (tmp_path / "error.txt").exists()


@pytest.mark.parametrize("tail", ['{"domain": "to', "\0\0\0\0", '{"domain": "toy"}\n'])
def test_a_torn_last_line_is_done_again(tail: str, tmp_path: Path) -> None:
    everything = go(toys.config(), tmp_path).records
    path = tmp_path / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + tail)
    assert len(Run.read(tmp_path).records) == 11
    assert path.read_text().endswith(tail), "reading changes nothing"
    engine = toys.HereEngine()
    assert timeless(go(toys.config(), tmp_path, engine).records) == timeless(everything)
    assert [job for _, job in engine.seen] == [Job("toy", 1, "NN2-SPO+", (10,))]
    assert path.read_text().splitlines(keepends=True) == lines


def test_a_whole_line_without_its_end_is_done_again(tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    path = tmp_path / "records.jsonl"
    before = path.read_text()
    path.write_text(before.rstrip("\n"))
    go(toys.config(), tmp_path)
    assert path.read_text() == before


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    path = tmp_path / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "x\n", *lines[2:]]))
    with file_mistake(path, "line 2"):
        go(toys.config(), tmp_path)


def test_a_config_may_grow(tmp_path: Path) -> None:
    small = go(toys.config(splits=1, ks=(10,), methods=("b",)), tmp_path / "a")
    assert len(small.records) == 1
    engine = toys.HereEngine()
    grown = go(toys.config(splits=2, ks=(5, 10), methods=("a", "b")), tmp_path / "a", engine)
    assert [job.ks for _, job in engine.seen] == [(5, 10), (5,), (5, 10), (5, 10)]
    everything = go(toys.config(splits=2, ks=(5, 10), methods=("a", "b")), tmp_path / "b")
    assert timeless(grown.records) == timeless(everything.records)
    assert Run.read(tmp_path / "a").config == grown.config
    assert grown.environment == small.environment


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("splits", {"splits": 1}),
        ("ks", {"ks": (5,)}),
        ("methods", {"methods": ("NN1-Decision",)}),
        ("seed", {"seed": 1}),
        ("protocol", {"protocol": "paper"}),
        ("quick", {"quick": True}),
        ("data", {"data": "elsewhere"}),
        ("files", {"files": {"a": "1"}}),
    ],
)
def test_other_changes_are_refused(name: str, change: dict[str, Any], tmp_path: Path) -> None:
    before = go(toys.config(), tmp_path).records
    with file_mistake(tmp_path, f"`{name}`", repr(change[name]), "--out"):
        go(replace(toys.config(), **change), tmp_path)
    assert Run.read(tmp_path).records == before


def test_the_same_files_may_lie_elsewhere(tmp_path: Path) -> None:
    go(toys.config(data="here", files={"a": "1"}), tmp_path)
    moved = toys.config(data="there", files={"a": "1"}, share=0.44)  # which earlier versions did not note
    again = go(moved, tmp_path)
    assert (len(again.records), again.config.share) == (12, 0.44)


def test_another_device_may_continue(tmp_path: Path) -> None:
    go(toys.config(splits=1), tmp_path)
    grown = go(toys.config(splits=2, device="cuda"), tmp_path)
    assert len(grown.records) == 12
    assert [session["device"] for session in grown.sessions] == ["cpu", "cuda"]


def test_one_writer_a_folder(tmp_path: Path) -> None:
    with Run.open(tmp_path, toys.config()):
        with file_mistake(tmp_path, "--out"):
            go(toys.config(), tmp_path)
        assert Run.read(tmp_path).records == []
    assert len(go(toys.config(), tmp_path).records) == 12


def test_a_refused_folder_is_not_locked(tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    for _ in range(2):
        with file_mistake(tmp_path, "`seed`"):
            Run.open(tmp_path, toys.config(seed=5))


def test_folders_that_are_no_runs_are_told(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(json.dumps(Record("toy", 0, "a", None, 1.0, None, 1.0).to_dict()) + "\n")
    with file_mistake(tmp_path, "config.json", "--out"):
        Run.open(tmp_path, toys.config())
    for content in ("{", '{"config": {}}'):
        (tmp_path / "config.json").write_text(content)
        with file_mistake(tmp_path / "config.json"):
            Run.open(tmp_path, toys.config())


def test_outcomes_are_checked(tmp_path: Path) -> None:
    job = Job("toy", 0, "a", (5,))
    with Run.open(tmp_path, toys.config()) as opened:
        for record in (Record("toy", 1, "a", 5, 1.0, None, 1.0), Record("other", 0, "a", 5, 1.0, None, 1.0)):
            with mistake("", repr((record.domain, record.split, "a", 5)), kind=JobError):
                opened.add(job, JobResult((record,)))
        with mistake("", "JSON", "k = 5", kind=JobError):
            opened.add(job, JobResult((Record("toy", 0, "a", 5, float("nan"), None, 1.0),)))
    assert Run.read(tmp_path).records == []


@pytest.mark.parametrize(
    "course", [[], {"regret": [0.1]}, {"regret": [0.1], "mse": []}, {"regret": [], "mse": []},
               {"regret": ["much"], "mse": [1.0]}, {"regret": 1.0, "mse": 1.0}],
)  # fmt: skip
def test_a_course_is_two_lists_of_numbers(course: Any, tmp_path: Path) -> None:
    """A line that is none is not a record: the last one is left out, an earlier one is an error by name."""
    before = go(toys.config(), tmp_path).records
    path = tmp_path / "records.jsonl"
    sound = path.read_text()
    path.write_text(sound + line_of(replace(before[0], course=course).to_dict()))
    assert Run.read(tmp_path).records == before
    path.write_text(path.read_text() + sound.splitlines(keepends=True)[0])
    with file_mistake(path, "line 13", "`course`"):
        Run.read(tmp_path)


def test_a_course_is_kept(tmp_path: Path) -> None:
    course = {"regret": [None, 0.25], "mse": [1.5, 2.5]}
    config = toys.config()
    record = Record("toy", 0, config.methods[0], config.ks[0], 1.0, None, 1.0, course=course)
    with Run.open(tmp_path, config) as opened:
        opened.add(Job("toy", 0, record.method, (record.k,)), JobResult((record,)))
    assert Run.read(tmp_path).records == [record]


def test_several_runs_share_an_engine(tmp_path: Path) -> None:
    configs = [toys.config(splits=1), replace(toys.config(splits=2), domain="other")]
    steps: list[tuple[int, int, str]] = []
    wanted = [(config, tmp_path / config.domain) for config in configs]
    runs = run_all(wanted, toys.HereEngine(backwards=True), lambda *step: steps.append(step), **HOW)
    assert [finished.config for finished in runs] == configs
    assert [len(finished.records) for finished in runs] == [6, 12]
    assert steps[-1][:2] == (9, 9)


def test_machines_share_a_run(tmp_path: Path) -> None:
    """Each does a part of the splits; one takes over what the others did."""
    config = toys.config(splits=5)
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for i, folder in enumerate(folders, 1):
        part = go(config, folder, part=(i, 3))
        assert {record.split for record in part.records} == {s for s in range(5) if s % 3 == i - 1}
    whole = go(config, tmp_path / "whole")
    merged = go(config, folders[2], merge=folders[:2])
    assert timeless(merged.records) == timeless(whole.records)
    assert merged.pictures().keys() == whole.pictures().keys()
    assert [session["jobs"] for session in merged.sessions] == [3, 6, 6]
    again = go(config, folders[2], merge=folders[:2])
    assert (again.records, again.sessions) == (merged.records, merged.sessions)


def test_the_rest_of_a_merged_run_is_done(tmp_path: Path) -> None:
    small = go(toys.config(splits=1), tmp_path / "small")
    grown = go(toys.config(splits=2), tmp_path / "grown", merge=[small.folder])
    assert len(grown.records) == 12
    assert [session["jobs"] for session in grown.sessions] == [3, 3]


def test_only_parts_of_the_same_run_are_merged(tmp_path: Path) -> None:
    other = go(toys.config(seed=1), tmp_path / "seed")
    with file_mistake(other.folder, "`seed`", "1; got 0"):
        go(toys.config(), tmp_path / "a", merge=[other.folder])
    larger = go(toys.config(splits=3), tmp_path / "larger")
    with file_mistake(larger.folder, "`splits`", "got 2"):
        go(toys.config(), tmp_path / "a", merge=[larger.folder])
    elsewhere = go(replace(toys.config(), domain="elsewhere"), tmp_path / "domain")
    with mistake("merge", "toy (exact)", "elsewhere (exact)"):
        go(toys.config(), tmp_path / "a", merge=[elsewhere.folder])
    assert go(toys.config(), tmp_path / "a").records  # what was refused is not locked


def test_code_that_changed_does_not_add_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = go(toys.config(), tmp_path)
    assert before.codes == {code_fingerprint()}
    monkeypatch.setattr("foresolve.reproduce.runs.run.code_fingerprint", lambda: "another")
    assert go(toys.config(), tmp_path).records == before.records  # nothing to add
    with file_mistake(tmp_path, code_fingerprint(), "3 jobs", "--out"):
        go(toys.config(splits=3), tmp_path)
    assert go(toys.config(), tmp_path).records == before.records  # what was refused left no trace


def test_records_of_two_versions_of_the_code_are_not_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = go(toys.config(splits=4), tmp_path / "here", part=(1, 2))
    monkeypatch.setattr("foresolve.reproduce.runs.folder.code_fingerprint", lambda: "other")
    monkeypatch.setattr("foresolve.reproduce.runs.run.code_fingerprint", lambda: "other")
    there = go(toys.config(splits=4), tmp_path / "there", part=(2, 2))
    monkeypatch.undo()
    with file_mistake(there.folder, code_fingerprint(), "other"):
        go(toys.config(splits=4), here.folder, merge=[there.folder])
    assert Run.read(here.folder).records == here.records
    assert len(go(toys.config(splits=4), here.folder).records) == 24  # and it goes on


def settings_are(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    monkeypatch.setattr("foresolve.reproduce.runs.folder.method_fingerprints", lambda config: settings)


def test_methods_with_other_settings_do_not_add_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_are(monkeypatch, **{"Most rated": "one"})
    before = go(toys.config(), tmp_path / "here")
    assert json.loads((before.folder / "config.json").read_text())["methods"] == {"Most rated": "one"}
    settings_are(monkeypatch, **{"Most rated": "two", "NN2-SPO+": "new"})
    assert go(toys.config(), tmp_path / "here").records == before.records  # nothing to add
    with file_mistake(tmp_path / "here", "Most rated", "one; now two"):
        go(toys.config(splits=3), tmp_path / "here")
    there = go(toys.config(splits=3), tmp_path / "there")
    settings_are(monkeypatch, **{"Most rated": "one"})
    with file_mistake(there.folder, "Most rated", "two; now one"):
        go(toys.config(splits=3), tmp_path / "here", merge=[there.folder])
    assert len(go(toys.config(splits=3), tmp_path / "here").records) == 18


def spoiled(path: Path, change: Any) -> None:
    """Content that is wrong, with a checksum to match."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document | {"sha256": checksum(document, {})}))


@pytest.mark.parametrize(
    ("name", "change", "fact"),
    [
        ("config.json", lambda d: d.pop("config"), "`config`"),
        ("config.json", lambda d: d["config"].update(ks="x"), "`ks`"),
        ("config.json", lambda d: d["config"].update(splits=True), "`splits`"),
        ("config.json", lambda d: d["config"].update(methods=[1]), "`methods`"),
        ("config.json", lambda d: d.update(methods={"a": 1}), "`methods`"),
        ("config.json", lambda d: d.update(schema=9), "schema 9"),
        ("sessions.json", lambda d: d.update(sessions={}), "sessions"),
        ("sessions.json", lambda d: d.update(sessions=[{"seconds": "x"}]), "`seconds`"),
    ],
)
def test_damaged_folders_are_told(name: str, change: Any, fact: str, tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    spoiled(tmp_path / name, change)
    with file_mistake(tmp_path / name, fact):
        Run.read(tmp_path)
    (tmp_path / name).write_text("[1]")
    with file_mistake(tmp_path / name):
        Run.read(tmp_path)


def test_damage_of_numbers_is_told_by_line(tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    path = tmp_path / "records.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    entry = entry_of(first)
    for changed, fact in (
        (json.dumps(json.loads(first) | {"value": 0.25}), "checksum"),
        (line_of(entry | {"value": "x"}), "`value`"),
        (line_of(entry | {"optimum": None}), "`optimum`"),
        (line_of(entry | {"method": "unknown"}), "'unknown'"),
        (line_of(entry | {"k": 7}), "k = 7"),
        (line_of(entry | {"split": -1}), "`split`"),
    ):
        path.write_text(changed.strip() + "\n" + "".join(rest))
        with file_mistake(path, "line 1", fact):
            Run.read(tmp_path)
    path.write_text("".join([json.dumps(entry) + "\n", *rest]))  # as older versions wrote it
    assert len(Run.read(tmp_path).records) == 12


def test_folders_of_the_first_format_are_read(tmp_path: Path) -> None:
    finished = go(toys.config(), tmp_path)
    config, sessions = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("config", "sessions"))
    (tmp_path / "config.json").write_text(json.dumps({name: config[name] for name in ("config", "environment")}))
    (tmp_path / "sessions.json").write_text(json.dumps(sessions["sessions"]))
    assert Run.read(tmp_path).records == finished.records
    assert len(go(toys.config(splits=3), tmp_path).records) == 18


def test_damaged_pictures_are_told(tmp_path: Path) -> None:
    go(toys.config(), tmp_path)
    path = next((tmp_path / "pictures").iterdir())
    np.savez(path, theta=np.array([[1.0, np.nan]]))
    with file_mistake(path, "'theta'"):
        Run.read(tmp_path).pictures()
    path.write_bytes(b"junk")
    with file_mistake(path):
        Run.read(tmp_path).pictures()


def test_a_session_that_went_on_counts_once(tmp_path: Path) -> None:
    config = toys.config(splits=2)
    with Run.open(tmp_path / "there", config) as there:
        there.begin_session(toys.HereEngine())
        for job in toys.jobs(config)[:3]:
            there.add(job, toys.work(config, job), 1.0)
        go(config, tmp_path / "here", merge=[there.folder], part=(1, 2))
        for job in toys.jobs(config)[3:]:
            there.add(job, toys.work(config, job), 1.0)
    merged = go(config, tmp_path / "here", merge=[there.folder])
    assert [(session["jobs"], session["seconds"]) for session in merged.sessions] == [(6, 6.0)]


def test_sessions_without_an_identity_are_kept(tmp_path: Path) -> None:
    folders = [go(toys.config(), tmp_path / name, part=(i, 2)).folder for i, name in ((1, "here"), (2, "there"))]
    for folder in folders:
        (session,) = json.loads((folder / "sessions.json").read_text())["sessions"]
        del session["id"]
        (folder / "sessions.json").write_text(json.dumps([session]))
    assert len(go(toys.config(), folders[0], merge=[folders[1]]).sessions) == 2


def test_pictures_of_other_budgets_are_not_taken_over(tmp_path: Path) -> None:
    """The figures' budget may not be among them."""
    small = go(toys.config(splits=1, ks=(5,)), tmp_path / "small")
    assert small.pictures()
    merged = go(
        toys.config(splits=1, ks=(5, 10), methods=(*toys.PLAIN, "x")),
        tmp_path / "large",
        merge=[small.folder],
        part=(2, 2),
    )
    assert len(merged.records) == 3
    assert merged.pictures() == {}


@pytest.mark.parametrize("part", [(0, 2), (3, 2), (1, 0)])
def test_parts_that_are_none_are_refused(part: tuple[int, int], tmp_path: Path) -> None:
    with mistake("part", str(part)):
        go(toys.config(), tmp_path, part=part)


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """SIGKILL in the middle of a job, with real workers: what was finished is not done again."""
    config = toys.config(splits=3, methods=("a",), data=str(tmp_path))
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom reproduce import toys\nfrom foresolve.reproduce.runs import engines, run\n"
        "if __name__ == '__main__':\n"
        "    config = toys.config(splits=3, methods=('a',), data=sys.argv[1])\n"
        "    engine = engines.LocalEngine(1)\n"
        "    run.run(config, sys.argv[1] + '/run', engine, work=toys.waiting, jobs=toys.jobs)\n"
    )
    path = os.pathsep.join([str(Path(toys.__file__).parents[1]), *sys.path])
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env={**os.environ, "PYTHONPATH": path})
    (worker,) = toys.pids(tmp_path, split=1, count=1)
    sessions = tmp_path / "run" / "sessions.json"
    while not sessions.exists() or '"jobs": 1' not in sessions.read_text():  # the next job begins before it is kept
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    toys.wait_for_end(worker)
    (tmp_path / "go").touch()
    finished = go(config, tmp_path / "run", LocalEngine(1), work=toys.waiting)
    assert timeless(finished.records) == timeless(go(config, tmp_path / "other").records)
    assert [len(toys.pids(tmp_path, split, count=1)) for split in range(3)] == [1, 2, 1]
    assert [session["jobs"] for session in finished.sessions] == [1, 2]


@pytest.mark.slow
def test_ctrl_c_at_a_terminal(tmp_path: Path) -> None:
    """SIGINT to the whole process group, as a terminal does: one message, no traceback of a worker."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom reproduce import toys\nfrom foresolve.reproduce.runs import engines, run\n"
        "if __name__ == '__main__':\n"
        "    config = toys.config(splits=3, methods=('a',), data=sys.argv[1])\n"
        "    try:\n"
        "        run.run(config, sys.argv[1] + '/run', engines.LocalEngine(2), work=toys.waiting, jobs=toys.jobs)\n"
        "    except run.RunStopped as stopped:\n"
        "        sys.exit(str(stopped))\n"
    )
    path = os.pathsep.join([str(Path(toys.__file__).parents[1]), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    toys.pids(tmp_path, split=2, count=1)
    (worker,) = toys.pids(tmp_path, split=1, count=1)
    while len(Run.read(tmp_path / "run").records) < 4:
        pass
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert message.startswith("stopped with 2 of 3 jobs done")
    assert message.count("\n") == 1
    assert toys.ended(worker)
