"""The two homes of the solvers speak the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.solvers.arrays import Array, namespace, to_array, to_tensor

RNG = np.random.default_rng(0)
NUMBERS = np.round(3 * RNG.standard_normal((4, 5, 3)))  # ties
TABLE = RNG.standard_normal((4, 5))
INDEX = RNG.integers(0, 100, (4, 5))
WORDS: dict[str, Callable[[Any, Array], Any]] = {
    "zeros_like": lambda xp, a: xp.zeros_like(a),
    "full": lambda xp, a: xp.full((2, 3), np.inf, a),
    "whole numbers": lambda xp, a: xp.full((2, 3), 7, a),
    "arange": lambda xp, a: xp.arange(4, a),
    "amax": lambda xp, a: xp.amax(a, keepdims=True),
    "amax of nothing": lambda xp, a: xp.amax(a[:, :0]),
    "amin": lambda xp, a: xp.amin(a),
    "amin of nothing": lambda xp, a: xp.amin(a[:, :0]),
    "total": lambda xp, a: xp.total(a),
    "cat": lambda xp, a: xp.cat([a, a[:, :2]]),
    "real": lambda xp, a: xp.real(a > 0),
    "counts": lambda xp, a: xp.counts(a),
    "nonzero": lambda xp, a: xp.nonzero(a[0] > 0),
    "clean": lambda xp, a: xp.clean(a / (a - a[:, :1]), 2.0),
    "broadcast_like": lambda xp, a: xp.broadcast_like(a[0] > 0, a),
    "expand": lambda xp, a: xp.expand(a[:, :1], (4, 6)),
    "at_least": lambda xp, a: xp.at_most(xp.at_least(a, -0.5), 0.5),
}


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("word", list(WORDS))
def test_numpy_and_torch_agree(word: str) -> None:
    tensor = torch.from_numpy(TABLE.copy())
    here, tensors = WORDS[word](namespace(TABLE), TABLE.copy()), WORDS[word](namespace(tensor), tensor)
    assert isinstance(here, np.ndarray)
    assert isinstance(tensors, torch.Tensor)
    np.testing.assert_allclose(here, tensors.numpy(), rtol=1e-14)
    assert torch.from_numpy(here.copy()).dtype == tensors.dtype


def test_the_least_along_the_second_axis_and_what_belongs_to_it() -> None:
    for numbers, index in ((NUMBERS, INDEX), (torch.from_numpy(NUMBERS), torch.from_numpy(INDEX))):
        xp = namespace(numbers)
        values, slots = xp.least(numbers)
        np.testing.assert_array_equal(values, NUMBERS.min(1))
        np.testing.assert_array_equal(xp.pick(index, slots), np.take_along_axis(INDEX, np.asarray(slots), 1))


def test_zeros_like_infinities_are_zero() -> None:
    for array in (np.array([[np.inf, np.nan]]), torch.tensor([[torch.inf, torch.nan]])):
        assert namespace(array).zeros_like(array).tolist() == [[0.0, 0.0]]


def test_what_is_broadcast_can_be_written_to() -> None:
    for mask in (np.array([True, False]), torch.tensor([True, False])):
        like = np.zeros((3, 2)) if isinstance(mask, np.ndarray) else torch.zeros(3, 2)
        copies = namespace(mask).broadcast_like(mask, like)
        copies[0, 0] = False
        assert copies.tolist() == [[False, False], [True, False], [True, False]]


def test_a_tensor_and_its_array_share_their_numbers() -> None:
    tensor = torch.ones(3, dtype=torch.float64, requires_grad=True)
    array = to_array(tensor)
    assert to_tensor(array).data_ptr() == tensor.data_ptr()
    assert not to_tensor(array).requires_grad
