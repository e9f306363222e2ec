"""Griffe, which reads the source for mkdocstrings, gets docstrings in Markdown."""

from __future__ import annotations

from typing import Any

import griffe
from tools.website.docstrings import as_markdown


class MarkdownDocstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Private fields of data classes are no arguments that users give."""
        for module in modules(pkg):
            for kind in module.classes.values():
                maker = kind.members.get("__init__")
                if not kind.is_alias and isinstance(maker, griffe.Function):
                    kept = [parameter for parameter in maker.parameters if not parameter.name.startswith("_")]
                    maker.parameters = griffe.Parameters(*kept)


def modules(module: griffe.Module) -> list[griffe.Module]:
    inner = [part for part in module.modules.values() if not part.is_alias]
    return [module, *(below for part in inner for below in modules(part))]
