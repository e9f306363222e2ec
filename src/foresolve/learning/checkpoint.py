"""Checkpoints: one file, a safetensors whose header holds the rest as JSON; written whole or not at all, no pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from foresolve._base import checks, files
from foresolve._base.extras import need
from foresolve.errors import ForesolveError

KIND, SCHEMA = "foresolve checkpoint", 3
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
        document = {"kind": KIND, "schema": SCHEMA, "identity": self.identity, "state": packed}
        files.write_bytes(self.path, files.tensor_bytes(tensors, document))

    def check_new(self, resume: bool) -> None:
        """Refuse a file that is there, unless a run is resumed."""
        if self.exists() and not resume:
            remedy = "Pass `resume=True` to continue from it, or delete it to start over"
            raise checks.fail("checkpoint", "a new path", f"{self.path}, which exists", remedy)

    def load(self) -> dict[str, Any]:
        """The state; an error where the file is damaged or of another run."""
        tensors, document = self._read()
        self._compare(files.field(document, "identity", dict, self.path))
        return files.unpack(files.field(document, "state", dict, self.path), tensors, self.path)

    def peek(self, name: str) -> Any:
        """An entry of the state, whatever run it is of."""
        tensors, document = self._read()
        return files.unpack(files.field(document, "state", dict, self.path), tensors, self.path).get(name)

    def _read(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and document of the file, if it is a checkpoint."""
        tensors, document = files.read_tensors(self.path)
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise ForesolveError(f"{self.path} is not a checkpoint of foresolve")
        if document.get("schema") != SCHEMA:
            raise ForesolveError(
                f"{self.path} has the schema {document.get('schema')!r}; this version of foresolve reads {SCHEMA}. "
                "Delete it to start over, or go on with the version that wrote it"
            )
        return tensors, document

    def _compare(self, identity: dict[str, Any]) -> None:
        for section, current in self.identity.items():
            saved = files.field(identity, section, dict, self.path)
            for name in [*current, *(set(saved) - set(current))]:
                if current.get(name) != saved.get(name):
                    expected = f"one of the same {section}, with {name} = {_shown(current.get(name))}"
                    where = f"{self.path}, which has {_shown(saved.get(name))}"
                    remedy = "Choose another path, or train the model that it belongs to"
                    raise checks.fail("checkpoint", expected, where, remedy)


def identity_of(model: nn.Module, loss: Any, optimizer: Any, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What tells runs apart."""
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items() if isinstance(tensor, Tensor)}
    return {
        "model": {"class": type(model).__name__, **shapes},
        "loss": {"class": type(loss).__name__},
        "optimizer": {"class": type(optimizer).__name__},
        "settings": settings,
    }


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)
