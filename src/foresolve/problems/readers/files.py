"""A model file, whatever its format."""

from __future__ import annotations

from typing import Any

from foresolve._base import checks
from foresolve.problems.readers.lp_format import read_lp
from foresolve.problems.readers.lp_tokens import SECTIONS
from foresolve.problems.readers.model import Model
from foresolve.problems.readers.mps import SECTIONS as MPS_SECTIONS
from foresolve.problems.readers.mps import read_mps
from foresolve.problems.readers.source import Source, read_source


def read_model(path: Any) -> Model:
    """The model in a file; MPS and LP are recognized by how they begin, compression by the first bytes.

    Parameters
    ----------
    path: any name will do: `.mps`, `.lp`, `.mps.gz`, `.lp.gz`, `.gz`.
    """
    source = read_source(path)
    word = _first_word(source)
    if word in MPS_SECTIONS:
        return read_mps(source)
    if SECTIONS.get(word.lower()) in {"minimize", "maximize"}:
        return read_lp(source)
    begun = f"begins with {word!r:.40}" if word else "is empty"
    remedy = "An MPS file begins with NAME or ROWS, an LP file with `minimize` or `maximize`"
    raise checks.fail("path", "a model as an MPS or LP file", f"{source.path!r}, which {begun}", remedy)


def _first_word(source: Source) -> str:
    """The first that is no comment of either format; MPS keywords stand at the start of a line, LP's anywhere."""
    for line in source.lines:
        words = line.partition("\\")[0].split()
        if words and not line.startswith("*"):
            return words[0]
    return ""
