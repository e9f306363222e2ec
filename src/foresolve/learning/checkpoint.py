"""Checkpoints: one file, a safetensors whose header holds the rest as JSON; written whole or not at all, no pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from foresolve._base import checks, files
from foresolve._base.container import Container, shown
from foresolve._base.extras import need
from foresolve.errors import FileError

CHECKPOINT = Container(
    "a checkpoint", "foresolve checkpoint", 4,
    remedy="Delete it to start over, or continue with the version that wrote it",
)  # fmt: skip
NAME = "checkpoint.safetensors"


class Checkpoint:
    """The file of a run.

    Parameters
    ----------
    path: a file, or a folder (any path without a suffix), in which it is "checkpoint.safetensors".
    identity: what the run must have in common with the one that wrote the file: sections of settings.
    """

    def __init__(self, path: str | Path, identity: dict[str, dict[str, Any]]) -> None:
        need("safetensors", "a checkpoint", "learn")
        path = checks.path("checkpoint", path)
        self.path = path / NAME if path.is_dir() or not path.suffix else path
        self.identity = identity

    def exists(self) -> bool:
        return self.path.exists()

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by one with this state (tensors, numbers, strings, in dicts and lists)."""
        tensors: dict[str, Tensor] = {}
        packed = files.pack(state, tensors, "state")
        CHECKPOINT.write_tensors(self.path, {"identity": self.identity, "state": packed}, tensors)

    def check_new(self, resume: bool) -> None:
        """Refuse a file that is there, unless a run is resumed."""
        if self.exists() and not resume:
            remedy = "Pass `resume=True` to continue from it, or delete it to start over"
            raise checks.fail("checkpoint", "a new path", f"{self.path}, which exists", remedy)

    def load(self) -> dict[str, Any]:
        """The state; an error where the file is damaged or of another run."""
        state, identity = self._read()
        self._compare(identity)
        return state

    def peek(self, name: str) -> Any:
        """An entry of the state, whatever run it is of."""
        state, _ = self._read()
        return state.get(name)

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """State and identity, if the file is a sound checkpoint."""
        tensors, document = CHECKPOINT.read_tensors(self.path)
        try:
            state = files.unpack(files.field(document, "state", dict, self.path), tensors, self.path)
        except RecursionError as error:
            raise FileError(self.path, "is damaged: it is nested too deeply") from error
        if not isinstance(state, dict):
            raise FileError(self.path, "is damaged: `state` must be a dict")
        return state, files.field(document, "identity", dict, self.path)

    def _compare(self, identity: dict[str, Any]) -> None:
        for section, current in self.identity.items():
            saved = files.field(identity, section, dict, self.path)
            for name in [*current, *(set(saved) - set(current))]:
                if current.get(name) != saved.get(name):
                    expected = f"one of the same {section}, with {name} = {shown(current.get(name))}"
                    where = f"{self.path}, which has {shown(saved.get(name))}"
                    remedy = "Choose another path, or train what it belongs to"
                    raise checks.fail("checkpoint", expected, where, remedy)
