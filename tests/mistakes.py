"""Errors by class and field: what a test of a refusal asserts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from foresolve.errors import ForesolveError, InvalidInputError


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
