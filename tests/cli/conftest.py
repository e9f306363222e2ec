"""A run that all tests of commands read, and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from projects.runs import quick_run


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a trained sample: a road network, files in CSV and Parquet."""
    pandas = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("town")
    quick_run(folder)
    for path in folder.glob("*.csv"):
        pandas.read_csv(path).to_parquet(path.with_suffix(".parquet"), index=False)
    return folder


@pytest.fixture(scope="session")
def run(sample: Path) -> Path:
    """Its run."""
    return sample / "run"
