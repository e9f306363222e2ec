from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from foresolve.learning import StudyInterrupted, StudyProgress
from foresolve.projects import Project, SettingsError
from foresolve.projects.samples.registry import SAMPLES
from mistakes import mistake
from projects.runs import change, quick_project


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_are_data_of_their_problem(kind: str, tmp_path: Path) -> None:
    project = Project.load(quick_project(tmp_path, kind))
    data = project.data()
    assert data.keys is not None
    assert len(data.keys) == len(data)
    assert data.problem.names is not None
    decisions = data.problem.solve(data.theta[:3])
    assert data.problem.at(data.theta[:3]).check(decisions).feasible.all()


def test_rows_and_columns_in_any_order_are_the_same_data(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    whole = Project.load(folder).data()
    for name in ("features.csv", "times.csv", "roads.csv"):
        table = pd.read_csv(folder / name)
        columns = list(table.columns[::-1])
        table.sample(frac=1, random_state=1)[columns].to_csv(folder / name, index=False)
    mixed = Project.load(folder).data()
    assert whole.feature_names == mixed.feature_names
    assert torch.equal(whole.features, mixed.features)
    names, others = whole.problem.names, mixed.problem.names
    assert names is not None
    assert others is not None
    assert sorted(names) == sorted(others)
    places = [others.index(name) for name in names]
    assert torch.equal(whole.theta, mixed.theta[:, places])


def test_other_data_of_the_same_project(tmp_path: Path) -> None:
    project = Project.load(quick_project(tmp_path))
    later = project.data(tmp_path / "later.csv", tmp_path / "later_actuals.csv")
    assert len(later) == 40
    assert later.feature_names is not None


def test_missing_values_by_the_rule_of_the_settings(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    table = pd.read_csv(folder / "features.csv")
    table.loc[[5, 9], "rain"] = None
    table.to_csv(folder / "features.csv", index=False)
    with mistake("features", "'rain'", kind=SettingsError):
        Project.load(folder).data()
    change(folder, {"missing": '"drop"'})
    assert len(Project.load(folder).data()) == 718


def test_errors_of_the_library_name_the_key(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    times = pd.read_csv(folder / "times.csv")
    times.rename(columns={times.columns[3]: "road from nowhere"}).to_csv(folder / "times.csv", index=False)
    with mistake("parameters", f"{folder / 'foresolve.toml'}: [data] parameters must be", kind=SettingsError):
        Project.load(folder).data()


def test_errors_of_the_library_say_what_to_write_into_the_file(tmp_path: Path) -> None:
    """A feature that is the truth: `encode` is a table here, and no argument."""
    folder = quick_project(tmp_path)
    pd.read_csv(folder / "times.csv").to_csv(folder / "features.csv", index=False)
    with mistake("features", '`R001 = "ignore"` in [data.encode]', kind=SettingsError):
        Project.load(folder).data()
    change(folder, {"source": '"J0"'})
    with mistake("source", "one of the 9 nodes of `file`; got 'J0'", kind=SettingsError):
        Project.load(folder).problem()


def test_a_method_that_there_is_not(tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    change(folder, {"decision": '["spo-"]'})
    with mistake("decision", "[methods] decision must be one of", "'spo-'", kind=SettingsError):
        Project.load(folder).study(tmp_path / "run", progress=False)


def test_a_call_that_is_wrong_leaves_the_folder_for_the_next(tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    with mistake("keep", "'spo+'", "got 'spo'"):
        Project.load(folder).study(tmp_path / "run", keep=["spo"], progress=False)
    change(folder, {"references": '["maen"]'})
    with mistake("references", "'maen'", "'mean'", kind=SettingsError):
        Project.load(folder).study(tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").iterdir())


def test_a_folder_that_is_taken(tmp_path: Path) -> None:
    project = Project.load(quick_project(tmp_path, "top-k"))
    with mistake("folder", repr(str(tmp_path))):
        project.study(tmp_path, progress=False)
    with mistake("folder", "the file"):
        project.study(tmp_path / "foresolve.toml", progress=False)


def test_a_run_that_goes_on_with_other_files_says_which(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)

    def stop(told: StudyProgress) -> None:
        if told.done:
            raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted):
        Project.load(folder).study(tmp_path / "run", progress=stop)
    words = {
        "times.csv": "parameters by times.csv and the settings in [data]",
        "features.csv": "features by features.csv and the settings in [data]",
    }
    for name, expected in words.items():
        before = (folder / name).read_bytes()
        table = pd.read_csv(folder / name)
        column = table.select_dtypes("float").columns[0]
        table[column] *= 2
        table.to_csv(folder / name, index=False)
        with mistake("folder", expected):
            Project.load(folder).study(tmp_path / "run", resume=True)
        (folder / name).write_bytes(before)
    change(folder, {"seed": "5"})
    with mistake(None, "seed (5)", "has 0"):
        Project.load(folder).study(tmp_path / "run", resume=True)
