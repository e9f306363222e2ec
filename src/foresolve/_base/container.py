"""The one form of all that is stored: what it is, in which format, by which version, and a checksum of all of it.

Beside its content a document has the entries

    kind      what it is: "foresolve policy"
    schema    the number of its format
    writer    the version of foresolve that wrote it
    sha256    of the rest of the document and of the tensors that lie with it

It is a JSON file, or stands in the header of a file of tensors. The checksum tells damage; it is no signature.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from foresolve._base import files
from foresolve.errors import FileError

ENTRIES = ("kind", "schema", "writer", "sha256")
OLD = "before 0.1.0"  # versions that did not write their number
DIGITS = 16  # of the checksum of a line

Document = dict[str, Any]


@dataclass(frozen=True)
class Container:
    """One kind of stored things.

    Attributes
    ----------
    name: what it is, with its article: "a policy".
    kind: what files call it.
    schema: the format that is written.
    older: formats without checksum and version that are still read.
    remedy: what else can be done with a file of a format that is not read.
    """

    name: str
    kind: str
    schema: int
    older: tuple[int, ...] = ()
    remedy: str = "Read it with the version that wrote it"

    def sealed(self, content: Mapping[str, Any], tensors: Mapping[str, Tensor] | None = None) -> Document:
        """The content with what a container says of it."""
        document = {"kind": self.kind, "schema": self.schema, "writer": version(), **content}
        return document | {"sha256": checksum(document, tensors or {})}

    def checked(self, document: Any, path: Path, tensors: Mapping[str, Tensor] | None = None) -> Document:
        """A document that was read, if it is of this kind, of a format that is known, and as it was written."""
        if not isinstance(document, dict) or document.get("kind") != self.kind:
            raise FileError(path, f"is not {self.name} of foresolve")
        schema = document.get("schema")
        if isinstance(schema, bool) or schema not in (self.schema, *self.older):
            known = " and ".join(map(str, (*self.older, self.schema)))
            writer = document.get("writer", OLD)
            raise FileError(
                path,
                f"has the schema {str(schema)[:20]}, written by a version of foresolve ({str(writer)[:20]}); "
                f"this one, {version()}, reads {known}",
                self.remedy,
            )
        if schema in self.older:
            return document
        try:
            sound = document.get("sha256") == checksum(document, tensors or {})
        except RecursionError as error:
            raise FileError(path, "is damaged: it is nested too deeply") from error
        if not sound:
            raise FileError(path, "is damaged: it is not what was written (its checksum differs)")
        return document

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """A JSON file."""
        files.write_text(path, json.dumps(self.sealed(content), indent=1) + "\n")

    def read(self, path: Path) -> Document:
        """What `write` wrote."""
        return self.checked(files.read_json(path), path)

    def write_tensors(self, path: Path, content: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """A file of tensors with the content in its header."""
        files.write_bytes(path, files.tensor_bytes(tensors, self.sealed(content, tensors)))

    def read_tensors(self, path: Path) -> tuple[dict[str, Tensor], Document]:
        """What `write_tensors` wrote."""
        tensors, document = files.read_tensors(path)
        return tensors, self.checked(document, path, tensors)


def checksum(document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of a document but for its checksum, whatever the order of its entries, and of tensors, by name."""
    content = {name: value for name, value in document.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        if len(flat):
            digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


@functools.cache
def version() -> str:
    """Of this package, which need not be installed: a source tree on the path is enough."""
    return str(importlib.import_module("foresolve").__version__)


def shown(value: Any, most: int = 60) -> str:
    """An entry in a message."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


# -- files that grow by lines ------------------------------------------------------------------------------------------


def line_of(entry: Mapping[str, Any]) -> str:
    """An entry as a line of JSON with a checksum of its own."""
    return json.dumps({**entry, "sha256": checksum(entry, {})[:DIGITS]}, allow_nan=False) + "\n"


def entry_of(line: str | bytes) -> dict[str, Any]:
    """What `line_of` was given; lines of older versions have no checksum. A `ValueError` where it is damaged."""
    try:
        entry = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(entry, dict):
        raise ValueError("it is no table of entries")
    if "sha256" in entry and entry.pop("sha256") != checksum(entry, {})[:DIGITS]:
        raise ValueError("it is not what was written (its checksum differs)")
    return entry
