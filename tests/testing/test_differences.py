"""Differences of functions whose derivatives and kinks are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from foresolve.testing.differences import compare, directions, nearest_kink


def line(function: Callable[[Tensor], Tensor]) -> Callable[[Sequence[float]], Tensor]:
    """A function of one number as a line of one instance."""
    return lambda times: function(torch.tensor(times, dtype=torch.float64))[:, None]


ONE = torch.ones(1, dtype=torch.float64)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda t: torch.sin(3 * t + 1), 3 * float(torch.cos(torch.tensor(1.0).double()))),
        (lambda t: torch.exp(t), 1.0),
        (lambda t: 2 * t, 2.0),
        (lambda t: 0 * t + 1, 0.0),
        (lambda t: t.abs() + 5 * (t - 1e-3).abs(), None),  # a kink at 0 and another one close by
        (lambda t: (t - 3e-3).abs(), -1.0),  # a kink that the largest step crosses
        (lambda t: (t - 3e-4).abs(), -1.0),
    ],
)
def test_slopes_are_found_to_the_eighth_digit(function, slope: float | None) -> None:
    claimed = torch.tensor([[0.0 if slope is None else slope]], dtype=torch.float64)
    comparison = compare([line(function)], claimed, ONE)
    assert bool(comparison.kink) == (slope is None)
    if slope is not None:
        assert float(comparison.differences) == pytest.approx(slope, abs=1e-8)
        assert float(comparison.error) <= 1e-8
        assert not bool(comparison.undecided)


def test_errors_are_relative_to_the_largest_slope_of_the_instance() -> None:
    lines = [line(lambda t: 100 * t), line(lambda t: t)]
    comparison = compare(lines, torch.tensor([[100.0], [2.0]], dtype=torch.float64), ONE)
    assert comparison.error.flatten().tolist() == pytest.approx([0.0, 0.01], abs=1e-6)


def test_noise_is_doubt_and_decides_nothing() -> None:
    generator = torch.Generator().manual_seed(0)

    def noisy(t: Tensor) -> Tensor:
        return t + torch.randn(t.shape, generator=generator, dtype=torch.float64)

    comparison = compare([line(noisy)], ONE[None], ONE)
    assert bool(comparison.undecided)
    assert float(comparison.error) == 0


def test_nan_is_wrong_where_it_is_claimed_and_undecided_where_it_is_the_value() -> None:
    claimed = torch.full((1, 1), torch.nan, dtype=torch.float64)
    assert float(compare([line(lambda t: t)], claimed, ONE).error) == torch.inf
    assert bool(compare([line(lambda t: t / 0 * 0)], ONE[None], ONE).undecided)


@pytest.mark.parametrize("place", [3e-6, 1e-3, -0.07, 0.3, -0.45])
@pytest.mark.parametrize("curvature", [0.0, 1e-3])
def test_kinks_are_found(place: float, curvature: float) -> None:
    distance = nearest_kink(line(lambda t: (t - place).abs() + curvature * t**2), ONE)
    assert float(distance) == pytest.approx(abs(place), rel=1e-2)


@pytest.mark.parametrize("function", [torch.sin, torch.exp, lambda t: t**2, lambda t: t**3, lambda t: 3 * t])
def test_smooth_functions_have_none(function) -> None:
    assert float(nearest_kink(line(function), ONE)) == torch.inf


def test_directions_are_as_long_as_is_asked() -> None:
    like, size = torch.zeros(3, 4, 5), torch.tensor([1.0, 10.0, 1e-3])
    moves = list(directions(like, size, 8, torch.Generator().manual_seed(0)))
    assert len(moves) == 8
    for move in moves:
        torch.testing.assert_close(move.flatten(1).abs().amax(1), size)
    units = list(directions(like[:, 0, :3], size, 8, torch.Generator()))
    assert [int(unit[0].argmax()) for unit in units] == [0, 1, 2]
