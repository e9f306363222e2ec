from __future__ import annotations

from pathlib import Path

import pytest

from foresolve.data import SOURCES, check_source, load_cora, load_movielens
from foresolve.data.real.registry import DataFile, Source, locate
from foresolve.errors import InvalidInputError
from mistakes import mistake


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    files = (
        DataFile("y.dat", others=("x.*",)),
        DataFile("z.txt", width=1, optional=True),
        DataFile("readme", optional=True),
    )
    monkeypatch.setitem(SOURCES, "toy", Source("toy", "Toy", "A toy.", "a", files, None, "none", ("b",)))


def test_files_are_looked_for_in_the_folders_of_the_source_and_then_in_the_folder_itself(tmp_path: Path) -> None:
    inner = tmp_path / "b"
    inner.mkdir()
    (tmp_path / "x.dat").touch()
    assert locate("toy", tmp_path) == [tmp_path / "x.dat"]
    (inner / "x.txt").touch()
    assert locate("toy", tmp_path) == [inner / "x.txt"]
    (inner / "y.dat").mkdir()  # no file
    assert locate("toy", tmp_path) == locate("toy", inner) == [inner / "x.txt"]
    (tmp_path / "a").mkdir()  # has nothing
    (inner / "z.txt").touch()
    (inner / "readme").touch()
    assert locate("toy", tmp_path) == [inner / "x.txt", inner / "z.txt"]


def test_all_files_are_of_one_place(tmp_path: Path) -> None:
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "cora.content").touch()
    (tmp_path / "cora.cites").touch()
    with pytest.raises(InvalidInputError):
        locate("cora", tmp_path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with mistake("data", "y.dat or x.*", "a or b", str(tmp_path)):
        locate("toy", tmp_path, "data")
    with mistake("folder", "nowhere", "`foresolve data fetch cora`"):
        locate("cora", tmp_path / "nowhere")
    with mistake("name", "'cora'", "got 'cara'"):
        locate("cara", tmp_path)


def test_loaders_and_check_look_in_the_same_places(tmp_path: Path) -> None:
    """A folder of the archive's second version was known to the domain alone, not to the loader and the check."""
    place = tmp_path / "hetrec2011-movielens-2k-v2"
    place.mkdir()
    (place / "user_ratedmovies.dat").write_text("userID\tmovieID\trating\n75\t3\t1\n")
    (place / "movie_actors.dat").write_text("movieID\tactorID\n3\tann\n")
    assert len(load_movielens(tmp_path).movies) == 1
    assert all(finding.ok for finding in check_source("movielens", tmp_path))
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "cora.content").write_text("1\t0\t1\tTheory\n2\t1\t1\tTheory\n")
    (tmp_path / "cora" / "cora.cites").write_text("1\t2\n")
    assert len(load_cora(tmp_path).ids) == 2


def test_an_edge_list_of_any_name_is_checked(tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "edges.csv").write_text("1,2\n1,3\n")
    (finding,) = check_source("edges", tmp_path)
    assert finding.ok
    assert finding.message.endswith("2 rows")
