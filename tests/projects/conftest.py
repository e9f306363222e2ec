"""A run that tests of this room read, and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from foresolve.projects import Run
from projects.runs import quick_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of the sample of a road network."""
    pytest.importorskip("pandas")
    folder: Path = tmp_path_factory.mktemp("town")
    return Run.open(quick_run(folder))
