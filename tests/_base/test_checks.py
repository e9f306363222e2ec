from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foresolve._base import checks
from foresolve.errors import ForesolveWarning, InvalidInputError
from mistakes import mistake


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
    with mistake("a", "str"):
        checks.as_tensor("a", "text")


@pytest.mark.parametrize(
    ("check", "entries", "expected", "got"),
    [
        (checks.finite, [[0.0, math.nan], [math.inf, 0.0]], "finite", "nan at [0, 1] (2 such entries)"),
        (checks.unit_interval, [0.0, 1.0, 1.5, -1.0], "in [0, 1]", "1.5 at [2] (2 such entries)"),
        (checks.unit_interval, [0.0, math.nan], "finite", "nan at [1] (1 such entries)"),
        (checks.non_negative, [[1.0], [-2.0]], ">= 0", "-2 at [1, 0] (1 such entries)"),
        (checks.non_negative, [1.0, math.inf], "finite", "inf at [1] (1 such entries)"),
    ],
)
def test_the_first_bad_entry_is_named(check: Any, entries: Any, expected: str, got: str) -> None:
    with mistake("a") as caught:
        check("a", torch.tensor(entries, dtype=torch.float64))
    assert (caught.value.expected, caught.value.got) == (expected, got)


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
        ("0.5", "[0, 1]", False),
        (np.float64(0.5), "(0, 1)", True),
    ],
)
def test_between_reads_the_interval_as_it_is_written(value: Any, interval: str, sound: bool) -> None:
    if sound:
        assert checks.between("p", value, interval) == value
        return
    with pytest.raises(InvalidInputError) as caught:
        checks.between("p", value, interval, "Try again")
    shown = repr(value) if isinstance(value, str) else value
    assert str(caught.value) == f"`p` must be in {interval}; got {shown}. Try again"


def test_one_of_lists_the_options() -> None:
    assert checks.one_of("kind", "b", ("a", "b")) == "b"
    with mistake("kind", "'c'"):
        checks.one_of("kind", "c", ("a", "b"))
    with mistake("kind", "'haming'", "'hamming'"):
        checks.one_of("kind", "haming", ("exact", "hamming"))
    with mistake("kind", "'x'"):
        checks.one_of("kind", "x", (1, 2))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "1", math.nan, math.inf])
def test_positive_int_refuses(value: Any) -> None:
    with mistake("n"):
        checks.positive_int("n", value)


def test_paths_and_functions() -> None:
    assert checks.path("folder", "a/b") == checks.path("folder", Path("a", "b")) == Path("a/b")
    with mistake("folder", "Path", "None"):
        checks.path("folder", None)
    for value, fact in (("", "'.'"), ("a\0b", repr("a\0b")), ("a" * 5000, "a" * 5000)):
        with mistake("folder", fact):
            checks.path("folder", value)
    checks.function("rule", print, "rule(x)")
    with mistake("rule", "rule(x)", "'solve'"):
        checks.function("rule", "solve", "rule(x)", "Leave it out")


def test_positive_numbers() -> None:
    assert checks.positive_int("n", 2.0) == 2
    assert checks.positive_int("n", 0, zero=True) == 0
    assert checks.positive("tol", 1e-9) == 1e-9
    assert checks.positive("tol", torch.tensor(2)) == 2.0
    assert checks.positive("tol", np.array([2])) == checks.positive("tol", torch.tensor([2.0])) == 2.0
    with mistake("tol", "'x'"):
        checks.positive("tol", "x", "Think again", expected="small")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-1, "-1"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        (True, "True"),
        ("1", "'1'"),
        (None, "None"),
        (1j, "1j"),
        ([1.0], "list"),
        ([[1], [1, 2]], "list"),
        ({}, "dict"),
        (np.ones(2), "an array of shape (2,)"),
        (torch.ones(2), "an array of shape (2,)"),
        (torch.tensor(True), "True"),
        (torch.tensor(-2.0), "-2.0"),
        (torch.nn.Parameter(torch.ones(())), "a tensor that requires grad, which nothing would train here"),
    ],
)
def test_what_is_no_positive_number_is_shown_or_named(value: Any, shown: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        checks.positive("tol", value)
    assert str(caught.value) == f"`tol` must be a finite number > 0; got {shown}"


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        (None, "None"),
        ([[1], [1, 2]], "list"),
        (np.array([1j]), "complex128"),
        (torch.tensor([1j]), "torch.complex64"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64[D]"),
        (torch.ones(2).to(torch.float8_e4m3fn), "torch.float8_e4m3fn"),
        (torch.ones(2).to_sparse(), "`.to_dense()`"),
        (torch.ones(2, device="meta"), "'meta'"),
        ([torch.ones(1, requires_grad=True)], "`torch.stack`"),
    ],
)
def test_what_would_lose_something_as_a_tensor_is_refused(value: Any, fact: str) -> None:
    with mistake("a", fact):
        checks.as_tensor("a", value)


class _Elsewhere:
    """Stands for a tensor on a GPU."""

    device = torch.device("cuda:0")


def test_the_one_on_the_cpu_is_the_one_to_move() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda:0")
    checks.same_device("theta", torch.ones(1), cpu)
    with mistake("theta", "cuda", "problem", "problem.to('cuda:0')"):
        checks.same_device("theta", _Elsewhere(), cpu)  # type: ignore[arg-type]
    with mistake("theta", "(cuda:0)", "cpu", "theta.to('cuda:0')"):
        checks.same_device("theta", torch.ones(1), gpu)
    with mistake("capacity", "weights", "(cuda:0)", "cpu"):
        checks.same_device("capacity", torch.ones(1), gpu, "weights")
    with mistake("theta", "meta", "'meta'"):
        checks.same_device("theta", torch.ones(1, device="meta"), cpu)


def test_shapes() -> None:
    checks.last_dim("theta", torch.zeros(3, 4), 4)
    checks.last_dims("theta", torch.zeros(3, 4, 5), (None, 5))
    with mistake("theta", "(*batch, 5)", "(3, 4)"):
        checks.last_dim("theta", torch.zeros(3, 4), 5)
    with mistake("theta", "(*batch, ..., 5)", "(5,)"):
        checks.last_dims("theta", torch.zeros(5), (None, 5))
    assert checks.broadcast_batch({"a": (3,), "b": (), "c": (2, 1)}) == (2, 3)
    with mistake("", "a (3,)", "b (2,)"):
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


def test_did_you_mean() -> None:
    assert checks.did_you_mean("Blu", ["red", "blue"]) == "Did you mean 'blue'?"
    assert checks.did_you_mean("samplse", ["samples", "seed"], code=True) == "Did you mean `samples`?"
    assert checks.did_you_mean(1001, [1000, 7]) == "Did you mean 1000?"
    assert checks.did_you_mean("J01 ", ["J01"]) == "Did you mean 'J01'?"
    assert checks.did_you_mean("K\u00f6ln", ["Ko\u0308ln"]) == r"Did you mean 'Ko\u0308ln'?"  # they look the same
    assert checks.did_you_mean("blue", ["red", "green"]) == ""
    assert checks.did_you_mean("blu", ["blue", *map(str, range(checks.MOST_OPTIONS))]) == ""  # it would take too long
