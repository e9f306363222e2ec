"""Grids of cells as graphs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from foresolve._base import checks

Moves = Literal["right-down", "4", "8"]

_AHEAD, _BACK, _DIAGONAL = [(0, 1), (1, 0)], [(0, -1), (-1, 0)], [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def grid_arcs(height: int, width: int, moves: Moves) -> np.ndarray:
    """`(n_arcs, 2)`, cell `(i, j)` with the number `i * width + j`, in the order that `ShortestPath.grid` states."""
    if height * width < 2:
        raise checks.fail("height", "such that the grid has two cells or more", f"{height} x {width}")
    if moves not in ("right-down", "4", "8"):
        raise checks.fail("moves", '"right-down", "4" or "8"', repr(moves))
    arcs = _steps(height, width, _AHEAD, by_row=True)
    if moves == "right-down":
        return arcs
    others = _BACK + (_DIAGONAL if moves == "8" else [])
    return np.concatenate([arcs, _steps(height, width, others, by_row=False)])


def cell_number(name: str, cell: Any, shape: tuple[int, int]) -> int:
    """The number of a cell that the argument `name` gives as `(i, j)` or as a number."""
    height, width = shape
    if isinstance(cell, tuple | list):
        whole = all(isinstance(k, int | np.integer) for k in cell)
        if len(cell) != 2 or not whole or not (0 <= cell[0] < height and 0 <= cell[1] < width):
            raise checks.fail(name, f"a cell (i, j) of the {height} x {width} grid, or its number", repr(cell))
        return int(cell[0] * width + cell[1])
    return cell


def _steps(height: int, width: int, steps: list[tuple[int, int]], *, by_row: bool) -> np.ndarray:
    """Arcs `(i, j) -> (i, j) + step` that stay inside, by node and step, or by row, step and column."""
    i, j = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    axis = 1 if by_row else 2
    tail = np.stack([i * width + j for _ in steps], axis)
    row, column = np.stack([i + a for a, _ in steps], axis), np.stack([j + b for _, b in steps], axis)
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return np.stack([tail[inside], (row * width + column)[inside]], -1)
