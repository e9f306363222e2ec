"""One process: inputs of one kind, one after the other, under a limit of memory; a line of JSON for each on stdout."""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from foresolve.errors import ForesolveError
from tests.fuzz.damage import restore
from tests.fuzz.kinds import KINDS, Kind
from tests.fuzz.readers import Unsound

SPACE = 3 * 2**30  # bytes of addresses beyond those of the process when it begins
MEMORY = 2**30  # bytes that one input may take
SECONDS = 20.0  # for one input


class Hang(BaseException):
    """An input took too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """An alarm; what does not listen to it (a loop in C) is ended by the parent process."""

    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Bench:
    """The sound folders of a kind, and what reading them gives."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.files: list[list[str]] = []
        self.sound: list[Any] = []
        for number in range(kind.variants):
            place = folder / f"sound-{number}"
            place.mkdir(parents=True)
            self.files.append([str(path.relative_to(place)) for path in kind.write(place, number)])
            restore(place, folder / "input")
            self.sound.append(kind.read(folder / "input"))

    def run(self, seed: int, seconds: float = SECONDS) -> dict[str, Any]:
        """Damage by the seed, read, judge."""
        rng = np.random.default_rng([seed, *self.kind.name.encode()])
        number, place = int(rng.integers(0, self.kind.variants)), self.folder / "input"
        restore(self.folder / f"sound-{number}", place)
        name = str(rng.choice(self.files[number]))
        before = (place / name).read_bytes()
        how = self.kind.damage(place / name, rng)
        clear_peak()
        start = memory("VmRSS")
        verdict, note = self._verdict(place, number, how, seconds)
        if memory("VmHWM") - start > MEMORY:
            verdict, note = "memory", f"{(memory('VmHWM') - start) / 2**30:.1f} GB; {verdict}: {note}"
        if (
            verdict == "loaded"
            and how == "bytes_of"
            and (place / name).is_file()
            and (place / name).read_bytes() == before
        ):
            verdict = "unharmed"
        return {"seed": seed, "file": name, "how": how, "verdict": verdict, "note": note}

    def _verdict(self, place: Path, number: int, how: str, seconds: float) -> tuple[str, str]:
        try:
            with limited(seconds):
                answer = self.kind.read(place)
        except ForesolveError as error:
            if "input" not in str(error) and str(place) not in str(error):
                return "no path", str(error)[:300]
            if len(str(error).splitlines()) > 1:
                return "many lines", str(error)[:300]
            return "refused", ""
        except Unsound as error:
            return "unsound", str(error)
        except Hang:
            return "hang", f"over {seconds:g} s"
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            ours = [entry for entry in traceback.extract_tb(error.__traceback__) if "/foresolve/" in entry.filename][
                -1:
            ]
            places = " < ".join(f"{Path(entry.filename).name}:{entry.lineno}" for entry in [where, *ours])
            return "raw", f"{type(error).__name__}: {str(error)[:160]} ({places})"
        if self.kind.exact and how == "bytes_of" and answer != self.sound[number]:
            return "unsound", "damaged bytes were not noticed"
        return "loaded", ""


def memory(name: str) -> int:
    """Bytes, as Linux counts them; 0 elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)


def clear_peak() -> None:
    """Let the highest use of memory be counted anew."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def main() -> None:
    """`python -m tests.fuzz.worker KIND FIRST LAST SECONDS`."""
    kind, (first, last) = KINDS[sys.argv[1]], map(int, sys.argv[2:4])
    seconds, lines = float(sys.argv[4]), sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no result
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(kind, Path(folder))
        most = memory("VmSize") + SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for seed in range(first, last):
            print(json.dumps({"begins": seed}), file=lines, flush=True)
            print(json.dumps(bench.run(seed, seconds)), file=lines, flush=True)


if __name__ == "__main__":
    main()
