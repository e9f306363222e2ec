from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from foresolve._base import checks
from foresolve.errors import ForesolveWarning, InvalidInputError


def test_the_message_has_a_name_what_was_expected_what_was_found_and_a_remedy() -> None:
    error = checks.fail("k", "an integer >= 1", "0", "Choose one")
    assert isinstance(error, ValueError)
    assert str(error) == "`k` must be an integer >= 1; got 0. Choose one"
    assert str(checks.fail("k", "an integer >= 1", "0")) == "`k` must be an integer >= 1; got 0"


def test_numbers_become_tensors_and_tensors_keep_their_type() -> None:
    assert checks.as_tensor("a", [1, 2]).dtype == torch.float64
    assert checks.as_tensor("a", torch.tensor([1, 0], dtype=torch.bool)).dtype == torch.float64
    single = torch.ones(2, dtype=torch.float32)
    assert checks.as_tensor("a", single) is single
    with pytest.raises(InvalidInputError, match="`a` must be an array of numbers; got str"):
        checks.as_tensor("a", "text")


@pytest.mark.parametrize(
    ("check", "entries", "message"),
    [
        (checks.finite, [[0.0, math.nan], [math.inf, 0.0]], r"`a` must be finite; got nan at \[0, 1\] \(2 such"),
        (checks.unit_interval, [0.0, 1.0, 1.5, -1.0], r"`a` must be in \[0, 1\]; got 1.5 at \[2\] \(2 such entries\)"),
        (checks.unit_interval, [0.0, math.nan], r"`a` must be finite; got nan at \[1\]"),
        (checks.non_negative, [[1.0], [-2.0]], r"`a` must be >= 0; got -2 at \[1, 0\] \(1 such entries\)"),
        (checks.non_negative, [1.0, math.inf], r"`a` must be finite; got inf at \[1\]"),
    ],
)
def test_the_first_bad_entry_is_named(check: Any, entries: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check("a", torch.tensor(entries, dtype=torch.float64))


def test_sound_entries_pass() -> None:
    checks.finite("a", torch.tensor([1e308, 1e308, 1e308], dtype=torch.float64))  # whose sum is not finite
    checks.finite("a", torch.tensor([math.inf]), allow_infinite=True)
    for check in (checks.finite, checks.unit_interval, checks.non_negative):
        check("a", torch.tensor([0.0, 0.5, 1.0]))
        check("a", torch.zeros(0))


@pytest.mark.parametrize(
    ("value", "interval", "sound"),
    [
        (0, "[0, 1]", True),
        (1.0, "[0, 1]", True),
        (0, "(0, 1]", False),
        (1, "[0, 1)", False),
        (1e300, "[0, inf)", True),
        (math.inf, "[0, inf)", False),
        (math.inf, "[0, inf]", True),
        (math.nan, "[0, inf]", False),
        (True, "[0, 1]", False),
        ("half", "[0, 1]", False),
        (np.float64(0.5), "(0, 1)", True),
    ],
)
def test_between_reads_the_interval_as_it_is_written(value: Any, interval: str, sound: bool) -> None:
    if sound:
        assert checks.between("p", value, interval) == value
        return
    with pytest.raises(InvalidInputError) as caught:
        checks.between("p", value, interval, "Try again")
    assert str(caught.value) == f"`p` must be in {interval}; got {value}. Try again"


def test_one_of_lists_the_options() -> None:
    assert checks.one_of("kind", "b", ("a", "b")) == "b"
    with pytest.raises(InvalidInputError, match=r"`kind` must be one of 'a', 'b'; got 'c'"):
        checks.one_of("kind", "c", ("a", "b"))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "1", math.nan, math.inf])
def test_positive_int_refuses(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="`n` must be an integer >= 1"):
        checks.positive_int("n", value)


def test_positive_numbers() -> None:
    assert checks.positive_int("n", 2.0) == 2
    assert checks.positive_int("n", 0, zero=True) == 0
    assert checks.positive("tol", 1e-9) == 1e-9
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInputError, match="`tol` must be a finite number > 0"):
            checks.positive("tol", value)


def test_shapes() -> None:
    checks.last_dim("theta", torch.zeros(3, 4), 4)
    checks.last_dims("theta", torch.zeros(3, 4, 5), (None, 5))
    with pytest.raises(InvalidInputError, match=r"\(\*batch, 5\) to match the problem; got \(3, 4\)"):
        checks.last_dim("theta", torch.zeros(3, 4), 5)
    with pytest.raises(InvalidInputError, match=r"\(\*batch, \.\.\., 5\) to match the problem; got \(5,\)"):
        checks.last_dims("theta", torch.zeros(5), (None, 5))
    assert checks.broadcast_batch({"a": (3,), "b": (), "c": (2, 1)}) == (2, 3)
    with pytest.raises(InvalidInputError, match=r"batch shapes must broadcast together; got a \(3,\), b \(2,\)"):
        checks.broadcast_batch({"a": (3,), "b": (2,)})


@pytest.mark.parametrize(
    ("flat", "batch", "expected"),
    [
        ([0], [], "the instance"),
        ([3], [5], "instance 3"),
        ([1, 2], [2, 2], "instances (0, 1), (1, 0)"),
        (range(7), [9], "instances 0, 1, 2, 3, 4 and 2 more"),
    ],
)
def test_instances_have_readable_names(flat: Any, batch: list[int], expected: str) -> None:
    assert checks.instance_names(flat, batch) == expected


def test_warnings_point_to_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checks.warn("careful", ForesolveWarning)
    assert caught[0].filename == __file__
