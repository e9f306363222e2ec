"""Errors by class and field, warnings by category: what a test of a refusal asserts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from foresolve.errors import ForesolveError, ForesolveWarning, InvalidInputError


@contextmanager
def mistake(
    argument: str | None = None,
    *facts: str,
    kind: type[ForesolveError] = InvalidInputError,
    instances: Sequence[int] | None = None,
) -> Iterator[pytest.ExceptionInfo[ForesolveError]]:
    """The block must raise exactly `kind`, about this argument.

    Parameters
    ----------
    argument: the argument that the error is about; "" for none, `None` for any.
    facts: numbers and names that its message must hold, such as "(32, 2400)" or "'store 3'"; no sentences.
    kind: the class of the error.
    instances: positions that it must name.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert type(error) is kind
    if argument is not None:
        assert error.argument == argument, f"the error is about {error.argument!r}: {error}"
    if instances is not None:
        assert error.instances == tuple(instances)
    for fact in facts:
        assert fact in str(error), f"{fact!r} is missing in: {error}"
    del caught, error  # its traceback holds this frame: together they would keep what the block left open


@contextmanager
def file_mistake(path: str | Path, *facts: str) -> Iterator[pytest.ExceptionInfo[ForesolveError]]:
    """The block must raise an error that names this file, or the last part of its name, and the facts."""
    with pytest.raises(ForesolveError) as caught:
        yield caught
    for fact in (str(path), *facts):
        assert fact in str(caught.value), f"{fact!r} is missing in: {caught.value}"


@contextmanager
def caution(*facts: str, kind: type[ForesolveWarning] = ForesolveWarning) -> Iterator[pytest.WarningsRecorder]:
    """The block must issue a warning of this category, one of which holds all facts: numbers and names."""
    with pytest.warns(kind) as caught:
        yield caught
    said = [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
    assert any(all(fact in text for fact in facts) for text in said), f"{facts} are missing in: {said}"


def said(call: Callable[[], object]) -> str:
    """The words of the error that a call raises or, if it raises none, of its first warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except ForesolveError as error:
            return str(error)
    return str(caught[0].message) if caught else "nothing"
