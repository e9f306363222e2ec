from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foresolve._base import files
from foresolve._base.disk import storage_errors
from foresolve.errors import ForesolveError, StorageError
from foresolve.learning import fit
from foresolve.losses import MSE
from foresolve.models import MLP
from foresolve.reproduce import Run, run
from learning.instances import model, same, top_k_data
from reproduce import toys

LIMITED = """
import resource, sys
from pathlib import Path
from foresolve._base import files
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
files.write_bytes(Path(sys.argv[1]), b"x" * 4096)
files.write_bytes(Path(sys.argv[1]), b"y" * 5000)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", place):
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fault(error: StorageError) -> tuple[int | None, str]:
    """The number of an error, and the name of its file."""
    return error.errno, Path(error.filename).name


def _mount(*words: object) -> int:
    try:
        return subprocess.run(["mount", *map(str, words)], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return 1


def test_errors_of_the_disk_name_the_file_and_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(StorageError) as caught, storage_errors(path):
        raise OSError(errno.ENOSPC, "No space left on device", "a name that nobody knows")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert "Free some space" in str(caught.value)
    with pytest.raises(StorageError) as caught, storage_errors(path):
        raise OSError(errno.ESPIPE, "Odd")
    assert str(caught.value) == f"{path}: Odd"
    for own in (OSError("without a number"), ForesolveError("ours")):
        with pytest.raises(type(own)) as kept, storage_errors(path):
            raise own
        assert kept.value is own


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError) as caught:
        files.write_text(tmp_path / "file" / "x", "")
    assert caught.value.filename == str(tmp_path / "file" / "x")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files there")
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False)
    assert f"StorageError: {path}: File too large. What was there before is as it was. Raise the limit" in done.stderr
    assert path.read_bytes() == b"x" * 4096
    assert list(tmp_path.iterdir()) == [path]


def network() -> MLP:
    return MLP(3, 5, hidden=(32,), seed=0)


def test_a_training_goes_on_where_the_disk_was_full(small_disk: Path) -> None:
    expected = network()
    fit(expected, MSE(), top_k_data(), epochs=4)
    ballast = small_disk / "ballast"

    def fill(history: object) -> None:
        free = 2**12  # a page: no room for another checkpoint
        ballast.write_bytes(b"x" * max(0, _room(small_disk) - free))

    with pytest.raises(StorageError) as caught:
        fit(network(), MSE(), top_k_data(), epochs=4, checkpoint=small_disk / "run", progress=fill)
    assert fault(caught.value) == (errno.ENOSPC, "checkpoint.safetensors")
    ballast.unlink()
    assert [path.name for path in (small_disk / "run").iterdir()] == ["checkpoint.safetensors"]
    resumed = network()
    history = fit(resumed, MSE(), top_k_data(), epochs=4, checkpoint=small_disk / "run", resume=True)
    assert len(history) == 4
    assert same(resumed, expected)


def _room(place: Path) -> int:
    import os

    figures = os.statvfs(place)
    return figures.f_bavail * figures.f_frsize


def test_a_run_goes_on_where_the_disk_was_full(small_disk: Path) -> None:
    folder, ballast = small_disk / "run", small_disk / "ballast"
    expected = run(toys.config(splits=3), small_disk.parent / "undisturbed", toys.HereEngine(), work=toys.work,
                   jobs=toys.jobs).records  # fmt: skip

    def fill(done: int, total: int, label: str) -> None:
        if done == 4:
            ballast.write_bytes(b"x" * _room(small_disk))

    with pytest.raises(StorageError) as caught:
        run(toys.config(splits=3), folder, toys.HereEngine(), fill, work=toys.work, jobs=toys.jobs)
    assert caught.value.errno == errno.ENOSPC
    assert Path(caught.value.filename).is_relative_to(folder)
    ballast.unlink()
    assert len(Run.read(folder).records) >= 4
    again = run(toys.config(splits=3), folder, toys.HereEngine(), work=toys.work, jobs=toys.jobs)
    assert again.records == expected
    assert not list(folder.rglob(".*.part"))


def test_a_folder_that_can_only_be_read_is_named_before_any_work(small_disk: Path) -> None:
    fit(model(), MSE(), top_k_data(), epochs=1, checkpoint=small_disk / "run")
    assert not _mount("-o", "remount,ro", small_disk)
    for name, call in {
        "checkpoint.safetensors": lambda: fit(
            model(), MSE(), top_k_data(), epochs=2, checkpoint=small_disk / "run", resume=True
        ),
        "new": lambda: Run.open(small_disk / "new", toys.config()),
        "file": lambda: files.write_text(small_disk / "file", "x"),
    }.items():
        with pytest.raises(StorageError) as caught:
            call()
        assert fault(caught.value) == (errno.EROFS, name)
