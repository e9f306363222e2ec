from __future__ import annotations

import errno
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from foresolve.data import SOURCES, check_source, fetch_source
from foresolve.data.real.registry import DataFile, Source
from foresolve.errors import ForesolveError
from mistakes import mistake

DATA = Path(os.environ.get("FORESOLVE_DATA", "nowhere"))
WORDS, LINKS, NOTES = b"p1\t0\t1\np2\t1\t1\n", b"from\tto\tday\np1\tp2\t3\n", b"notes"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FILES = (
    DataFile("toy.words", width=3, rows=2, sha256=sha256(WORDS)),
    DataFile("toy.links", columns=("to", "from"), rows=1),
    DataFile("toy.txt", optional=True),
)


def tar(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def moved(archive: bytes) -> bytes:
    """A zip whose directory is said to lie far behind its place, so that all files lie before the beginning."""
    end = archive.rindex(b"PK\x05\x06")
    return archive[: end + 16] + (len(archive) + 10**6).to_bytes(4, "little") + archive[end + 20 :]


def packed_lzma(members: dict[str, bytes]) -> bytes:
    """A zip packed by LZMA, with a fault in what is packed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    content = bytearray(stream.getvalue())
    start = 30 + len(next(iter(members)))
    content[start + 4 : start + 12] = b"\xff" * 8
    return bytes(content)


MEMBERS = {"toy/toy.words": WORDS, "toy/toy.links": LINKS, "toy/toy.txt": NOTES}


class Server(ThreadingHTTPServer):
    body = b""
    missing = 0  # bytes that are announced but not sent


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path != "/toy":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body) + self.server.missing))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A web server for the source "toy", without a proxy on the way."""
    monkeypatch.setenv("no_proxy", "*")
    with Server(("127.0.0.1", 0), Answer) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{running.server_address[1]}/toy"
        monkeypatch.setitem(SOURCES, "toy", Source("toy", "Toy", "A toy.", "toy-1", FILES, url, "none"))
        yield running
        running.shutdown()
        thread.join()


def written(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pack", [tar, zipped])
def test_fetch(server: Server, tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]) -> None:
    server.body = pack({**MEMBERS, "toy/other": b"x", "toy/deeper/toy.words": b"not this"})
    heard: list[tuple[int, int | None]] = []
    target = fetch_source("toy", tmp_path / "data", lambda done, total: heard.append((done, total)))
    assert target == tmp_path / "data" / "toy-1"
    assert written(tmp_path) == {
        "data/toy-1/toy.words": WORDS,
        "data/toy-1/toy.links": LINKS,
        "data/toy-1/toy.txt": NOTES,
    }
    assert heard[-1] == (len(server.body), len(server.body))
    assert all(finding.ok for finding in check_source("toy", tmp_path / "data"))


def test_paths_and_links_of_an_archive_are_not_trusted(server: Server, tmp_path: Path) -> None:
    """Nothing is written outside, and a link in the archive is no file of it."""
    server.body = tar({"../../toy.words": WORDS, "/tmp/toy.links": LINKS, "../evil": b"x"})
    fetch_source("toy", tmp_path / "in" / "data")
    assert set(written(tmp_path)) == {"in/data/toy-1/toy.words", "in/data/toy-1/toy.links"}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("toy.words")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    server.body = stream.getvalue()
    with mistake(None, "toy.words", "/toy", kind=ForesolveError):
        fetch_source("toy", tmp_path / "linked")


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (tar({**MEMBERS, "toy/toy.words": WORDS + b"p3\t0\t0\n"}), ("toy.words", "sha256")),
        (tar({**MEMBERS, "toy/toy.links": LINKS * 2}), ("toy.links", "3 rows", "not 1")),
        (tar({**MEMBERS, "toy/toy.links": b"a\tb\n1\t2\n"}), ("toy.links", "to, from")),
        (tar({"toy/toy.words": WORDS}), ("toy.links",)),
        (zipped(MEMBERS)[:-40], ("zip or tar",)),
        (moved(zipped(MEMBERS)), ("zip or tar",)),
        (packed_lzma(MEMBERS), ("zip or tar",)),
        (tar(MEMBERS)[:-40], ("zip or tar",)),
        (b"<html>moved</html>", ("zip or tar",)),
        (b"", ("zip or tar",)),
    ],
    ids=["content", "rows", "columns", "a file less", "cut zip", "moved zip", "lzma", "cut tar", "page", "nothing"],
)
def test_what_is_not_the_published_file_is_not_kept(
    server: Server, tmp_path: Path, body: bytes, facts: tuple[str, ...]
) -> None:
    server.body = body
    with mistake(None, *facts, "/toy", kind=ForesolveError):
        fetch_source("toy", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_transfer_that_breaks_off(server: Server, tmp_path: Path) -> None:
    server.body, server.missing = tar(MEMBERS), 10
    with pytest.raises(ForesolveError, match=r"178 of 188 bytes|could not fetch"):
        fetch_source("toy", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_the_error_says_what_to_do(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    port = closed.server_address[1]
    closed.server_close()
    monkeypatch.setitem(SOURCES, "toy", replace(SOURCES["toy"], url=f"http://127.0.0.1:{port}/toy"))
    with mistake(None, "/toy", "toy.words and toy.links", str(tmp_path / "toy-1"), kind=ForesolveError):
        fetch_source("toy", tmp_path)
    monkeypatch.setitem(SOURCES, "toy", replace(SOURCES["toy"], url=f"http://127.0.0.1:{server.server_port}/gone"))
    with mistake(None, "/gone: Not Found", kind=ForesolveError):
        fetch_source("toy", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_not_blamed_on_the_archive_or_the_network(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        name = "archive"

        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    server.body = tar(MEMBERS)
    monkeypatch.setattr(Path, "open", lambda self, mode: Full())
    with mistake(None, os.strerror(errno.ENOSPC), kind=ForesolveError):
        fetch_source("toy", tmp_path)


def test_fetch_never_replaces(server: Server, tmp_path: Path) -> None:
    server.body = tar(MEMBERS)
    (tmp_path / "toy-1").mkdir()
    (tmp_path / "toy-1" / "README").write_text("mine")
    fetch_source("toy", tmp_path)
    assert set(written(tmp_path)) == {f"toy-1/{name}" for name in ("README", "toy.words", "toy.links", "toy.txt")}
    (tmp_path / "toy-1" / "toy.words").write_text("changed")
    with mistake(None, str(tmp_path / "toy-1"), "toy.words, toy.links, toy.txt", kind=ForesolveError):
        fetch_source("toy", tmp_path)
    assert (tmp_path / "toy-1" / "toy.words").read_text() == "changed"


def test_fetch_into_what_is_no_folder(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with mistake(None, str(tmp_path / "file"), os.strerror(errno.EEXIST), kind=ForesolveError):
        fetch_source("toy", tmp_path / "file")


def test_sources_without_an_address_or_a_name(tmp_path: Path) -> None:
    with mistake(None, "edges.*", "ratings.dat", str(tmp_path / "edges"), kind=ForesolveError):
        fetch_source("edges", tmp_path)
    for call in (check_source, fetch_source):
        with mistake("name", "'edges'", "got 'cara'"):
            call("cara", tmp_path)


def test_check_tells_the_published_from_others(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "toy-1"
    assert [finding.ok for finding in check_source("toy", tmp_path)] == [False, False, True]
    folder.mkdir()
    (folder / "toy.words").write_bytes(WORDS)
    (folder / "toy.links").write_bytes(LINKS)
    words, links, notes = check_source("toy", tmp_path)
    assert words.message == "the published file (sha256 agrees)"
    assert links.message == "no published checksum is known; columns are right, 1 rows, as published"
    assert notes.message == "not there; nothing needs it"
    assert check_source("toy", folder) == [words, links, notes]
    (folder / "toy.words").write_bytes(b"p1\t0\t0\n\n")
    words = check_source("toy", tmp_path)[0]
    assert words.ok
    assert words.message == ("differs from the published file; columns are right, 1 rows, 50.0 % of the published 2")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("toy.words", b"p1\t0\t0\np2\t1\n", "line 2 has too few columns: 2, and 3 are needed"),
        ("toy.words", b"", "there are no rows in it"),
        ("toy.links", b"from\tday\n1\t2\n", "its first line must name the columns to, from; to is missing"),
        ("toy.links", b"day\tfrom\tto\n1\t2\n", "line 2 has too few columns: 2, and 3 are needed"),
        ("toy.links", b"from\tto\n", "there are no rows in it"),
    ],
)
def test_check_finds_faults(server: Server, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    finding = next(finding for finding in check_source("toy", tmp_path) if finding.file == name)
    assert not finding.ok
    assert finding.message == message


@pytest.mark.parametrize("content", ["% made by hand\n1 2\n1  3\n", "1,2,0.5\n1,3,0.5\n", "1::2\n\n1::3\n"])
def test_check_of_any_edge_list(tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.txt").write_text(content)
    (finding,) = check_source("edges", tmp_path / "mine.txt")
    assert finding.ok
    assert finding.file == "mine.txt"
    assert finding.message.endswith("2 rows")


def test_the_registry_is_complete() -> None:
    for name, source in SOURCES.items():
        assert source.name == name
        assert all((source.title, source.description, source.terms, source.folder))
        assert any(not file.optional for file in source.files)
        assert source.url is None or source.url.startswith("https://")
        assert all(file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32 for file in source.files)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the real data: FORESOLVE_DATA")
@pytest.mark.parametrize("name", ["cora", "movielens", "edges", "movietweetings"])
def test_real_data(name: str) -> None:
    if not (DATA / SOURCES[name].folder).is_dir():
        pytest.skip(f"no {SOURCES[name].folder} in FORESOLVE_DATA")
    assert all(finding.ok for finding in check_source(name, DATA))
