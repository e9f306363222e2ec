"""The public names of the package, floor by floor, each with the first sentence of its docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import foresolve

# As in docs/architecture.md: what is decided first, what is built on it after.
FLOORS = ("problems", "sets", "layers", "losses", "data", "models", "learning", "schedules", "projects", "report",
          "reproduce", "testing", "errors")  # fmt: skip


@dataclass(frozen=True)
class PublicName:
    floor: str
    name: str
    thing: Any

    @property
    def address(self) -> str:
        return f"foresolve.{self.floor}.{self.name}"

    @property
    def short(self) -> str:
        """Where users import it from: the top, for the names of the first hour."""
        at_the_top = self.name in foresolve.__all__ and getattr(foresolve, self.name) is self.thing
        return f"foresolve.{self.name}" if at_the_top else self.address

    @property
    def is_class(self) -> bool:
        return inspect.isclass(self.thing)

    @property
    def is_documented(self) -> bool:
        """Whether Python keeps a docstring for it: it forgets those of constants and type aliases."""
        return self.is_class or inspect.isfunction(self.thing)

    @property
    def docstring(self) -> str:
        text = self.thing.__doc__ if self.is_documented else constants(self.floor).get(self.name)
        return inspect.cleandoc(text or "")

    @property
    def summary(self) -> str:
        return first_sentence(self.docstring)


def public_names(floor: str) -> list[PublicName]:
    module = importlib.import_module(f"foresolve.{floor}")
    return [PublicName(floor, name, getattr(module, name)) for name in sorted(module.__all__, key=str.lower)]


@cache
def constants(floor: str) -> dict[str, str]:
    """The strings below the constants of a floor, by name."""
    texts: dict[str, str] = {}
    for path in (Path(foresolve.__file__).parent / floor).rglob("*.py"):
        body = ast.parse(path.read_bytes()).body
        for node, after in pairwise(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if is_text and isinstance(targets[0], ast.Name):
                texts[targets[0].id] = str(after.value.value)  # type: ignore[union-attr]
    return texts


def about(floor: str) -> str:
    """What a floor holds, in a sentence."""
    return first_sentence(inspect.cleandoc(importlib.import_module(f"foresolve.{floor}").__doc__ or ""))


def first_sentence(docstring: str) -> str:
    """In one line, without the roles of Sphinx."""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    plain = re.sub(r":math:(`[^`]*`)", r"\1", paragraph)
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`(*])|(?=; `theta`)", plain)[0]
    return sentence.rstrip(":;")
