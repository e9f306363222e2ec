"""Shortest path: a town whose low streets are slow in heavy rain."""

from __future__ import annotations

import numpy as np

from foresolve.projects.samples.sample import (
    LATER,
    LATER_TRUTH,
    NEW,
    TRAINING,
    Sample,
    calendar,
    csv_text,
    showers,
    weekday,
)

_HEAVY = 6.0  # millimeters, from which on low streets are flooded


def roads(
    rows: int = 3,
    columns: int = 3,
    days: int = 720,
    new: int = 7,
    later: int = 40,
    *,
    diagonals: int = 0,
    missing: float = 0.0,
    shuffled: bool = False,
    seed: int = 0,
) -> Sample:
    """A grid of two-way streets, and the minutes that each took on past days.

    Parameters
    ----------
    rows, columns: of junctions.
    days: of the past; `new`: to come; `later`: after these, when the truth is known again.
    diagonals: streets across a block.
    missing: the share of times that no sensor took; they are dropped with their day.
    shuffled: whether rows and columns stand in different orders in the files.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    arcs = _arcs(rows, columns, diagonals)
    names = [f"R{number:03}" for number in range(1, len(arcs) + 1)]
    dates = calendar(days + new + later)
    rain, warmth = showers(rng, len(dates)), _warmth(rng, len(dates))
    working = np.array([date.weekday() < 5 for date in dates])
    base, low = rng.uniform(3.0, 8.0, len(arcs)), np.repeat(rng.random(len(arcs) // 2) < 0.4, 2)
    base = np.where(low, 0.5 * base, base)  # along the river: fast, until it rains
    busy = rng.uniform(0.0, 0.5, len(arcs))
    # A step, not a slope: a straight line through it is wrong on both sides.
    flood = np.where((rain > _HEAVY)[:, None] & low, rng.uniform(1.5, 4.0, len(arcs)), 0.0)
    times = base * (1 + busy * working[:, None] + 0.01 * rain[:, None] + flood)
    times = times * np.exp(0.12 * rng.standard_normal(times.shape))
    features = [(d, weekday(d), float(r), float(w)) for d, r, w in zip(dates, rain, warmth)]
    truth = [(d, *map(float, row)) for d, row in zip(dates, times)]
    past = _holed(rng, truth[:days], missing)
    order, across = (rng.permutation(days), rng.permutation(len(arcs))) if shuffled else (range(days), range(len(arcs)))
    header, end = ("date", "weekday", "rain", "temperature"), days + new
    network = [(name, *arc) for name, arc in zip(names, arcs)]
    files = {
        "roads.csv": csv_text(("road", "from", "to"), network),
        "features.csv": csv_text(header, features[:days]),
        "times.csv": csv_text(
            ("date", *(names[i] for i in across)), [(past[i][0], *(past[i][1 + j] for j in across)) for i in order]
        ),
        NEW: csv_text(header, features[days:end]),
        LATER: csv_text(header, features[end:]),
        LATER_TRUTH: csv_text(("date", *names), truth[end:]),
    }
    data = {"features": "features.csv", "parameters": "times.csv", "key": "date", "units": "minutes"}
    if missing:
        data = {**data, "missing": "drop"}
    problem = {"file": "roads.csv", "name": "road", "source": "J01", "target": f"J{rows * columns:02}"}
    story = "A driver crosses a town every morning; its low streets are fast, until heavy rain floods them."
    return Sample("shortest-path", story, files, {"problem": problem, "data": data, "training": TRAINING})


def _arcs(rows: int, columns: int, diagonals: int) -> list[tuple[str, str]]:
    """Both directions of every street of a grid."""
    streets = []
    for row in range(rows):
        for column in range(columns):
            here = row * columns + column
            streets += [(here, here + 1)] if column + 1 < columns else []
            streets += [(here, here + columns)] if row + 1 < rows else []
    streets += [(i * columns + i, (i + 1) * columns + i + 1) for i in range(diagonals)]
    return [(f"J{a + 1:02}", f"J{b + 1:02}") for street in streets for a, b in (street, street[::-1])]


def _warmth(rng: np.random.Generator, count: int) -> np.ndarray:
    return (12 - 9 * np.cos(2 * np.pi * np.arange(count) / 365) + 3 * rng.standard_normal(count)).round(1)


def _holed(rng: np.random.Generator, truth: list[tuple], share: float) -> list[tuple]:
    """The same rows, some entries missing."""
    return [(row[0], *(None if rng.random() < share else value for value in row[1:])) for row in truth]
