"""Chromium without a window, driven over a pipe by the DevTools protocol: no further package is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--remote-debugging-pipe")  # fmt: skip
PATIENCE = 300.0  # seconds, for an answer that never comes: a busy machine may well take one


def program() -> str | None:
    """Where Chromium is; `None` where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own, with an empty profile."""

    def __init__(self, path: str) -> None:
        self.path, self.count, self.rest = path, 0, b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self.profile = tempfile.mkdtemp(prefix="foresolve-chromium-")
        theirs_in, self.out = _pipe()
        self.into, theirs_out = _pipe()
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, a, b) for a, b in ((theirs_in, 3), (theirs_out, 4), (null, 1), (null, 2))]
        command = [self.path, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        self.process = os.posix_spawn(self.path, command, dict(os.environ), file_actions=actions, setpgroup=0)
        for descriptor in (theirs_in, theirs_out, null):
            os.close(descriptor)
        pages = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Ask the browser and wait for its answer; what it says meanwhile is kept in `events`."""
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def call(self, method: str, **parameters: Any) -> Any:
        """Ask the page."""
        return self.send(method, self.session, **parameters)

    def wait(self, loader: str) -> None:
        """Until the document of this loader has loaded; that of another, the blank page's say, does not count."""
        loaded = {"name": "load", "loaderId": loader}
        while not any(
            event.get("method") == "Page.lifecycleEvent" and loaded.items() <= event["params"].items()
            for event in self.events
        ):
            self.events.append(self._read())

    def open(self, path: Path, width: int, height: int = 900, mobile: bool = False) -> None:
        """Show a file in a window of this size."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.wait(self.call("Page.navigate", url=path.resolve().as_uri())["loaderId"])

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def screenshot(self, path: Path, whole: bool = False) -> Path:
        """What is seen, or the page from top to bottom."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, fromSurface=True)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def print(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and whatever was asked of a network."""
        told: list[str] = []
        for event in self.events:
            name, what = event.get("method"), event.get("params", {})
            if name == "Runtime.exceptionThrown" or (name == "Log.entryAdded" and what["entry"]["level"] != "verbose"):
                told.append(json.dumps(what))
            elif name == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                told.append(json.dumps(what["args"]))
            elif name == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "data:")):
                told.append(what["request"]["url"])
        return told

    def _read(self) -> dict[str, Any]:
        ends = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready = select.select([self.into], [], [], max(0.0, ends - time.monotonic()))[0]
            part = os.read(self.into, 1 << 20) if ready else b""
            assert part, "Chromium does not answer"
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are none of the numbers that the browser expects its own at."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
