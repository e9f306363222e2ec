from __future__ import annotations

import torch
from matplotlib.colors import to_rgba

import foresolve
from foresolve._base.drawing.palette import CHOSEN


def test_pairs_that_are_made_are_lines_in_the_color_of_decisions() -> None:
    problem = foresolve.BipartiteMatching(["ann", "bob"], ["dig", "cook", "sail"])
    theta = torch.tensor([1.0, 3.0, 0.5, 2.0, 3.0, -1.0])
    axes = problem.plot(theta)
    made = [line for line in axes.get_lines() if line.get_color() == CHOSEN]
    assert len(made) == 2
    others = [line for line in axes.get_lines() if line.get_color() != CHOSEN]
    assert len(others) == 3  # the pair of negative weight is not one
    names = {text.get_text() for text in axes.texts}
    assert {"ann", "bob", "dig", "cook", "sail", "3", "2"} <= names


def test_fractions_are_paler() -> None:
    problem = foresolve.BipartiteMatching(1, 2)
    lines = problem.draw(torch.tensor([0.75, 0.25])).get_lines()
    assert lines[0].get_alpha() > lines[1].get_alpha()  # type: ignore[operator]


def test_many_pairs_are_a_matrix() -> None:
    problem, theta = foresolve.BipartiteMatching(30, 40), torch.rand(1200, generator=torch.Generator().manual_seed(0))
    axes = problem.plot(theta)
    image = axes.images[0].get_array()
    assert image is not None
    assert image.shape == (30, 40)
    marks = axes.collections[0]
    assert len(marks.get_offsets()) == 30  # type: ignore[arg-type]
    assert tuple(marks.get_edgecolors()[0]) == to_rgba(CHOSEN)  # type: ignore[attr-defined]
    assert not problem.draw(problem.solve(theta)).images
