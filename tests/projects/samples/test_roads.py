from __future__ import annotations

import csv

from foresolve.projects.samples.roads import roads


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def test_a_town_of_thirty_junctions() -> None:
    sample = roads(5, 6, 40, diagonals=2, missing=0.01, shuffled=True)
    network = rows(sample.files["roads.csv"])[1:]
    assert len(network) == 102
    assert len({node for _, *ends in network for node in ends}) == 30
    header, *times = rows(sample.files["times.csv"])
    assert header[1:] != [name for name, *_ in network]
    assert sorted(header[1:]) == [name for name, *_ in network]
    dates = [row[0] for row in times]
    assert dates != sorted(dates)
    assert sum(row.count("") for row in times) > 0


def test_low_streets_are_slow_in_heavy_rain() -> None:
    sample = roads(days=400)
    rain = {row[0]: float(row[2]) for row in rows(sample.files["features.csv"])[1:]}
    times = rows(sample.files["times.csv"])
    for column in range(1, len(times[0])):
        wet = [float(row[column]) for row in times[1:] if rain[row[0]] > 6]
        dry = [float(row[column]) for row in times[1:] if rain[row[0]] == 0]
        ratio = (sum(wet) / len(wet)) / (sum(dry) / len(dry))
        assert ratio < 1.3 or ratio > 1.5  # high streets, low streets
