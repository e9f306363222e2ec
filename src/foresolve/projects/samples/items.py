"""Knapsack, from one long file, and top-k, from two wide ones."""

from __future__ import annotations

import numpy as np

from foresolve.projects.samples.sample import LATER, LATER_TRUTH, NEW, TRAINING, Sample, calendar, csv_text, weekday

_SEASONS = ("winter", "spring", "summer", "autumn")
_GOODS = ("apples", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey", "ice", "jam", "kale", "leeks")


def knapsack(items: int = 8, weeks: int = 200, new: int = 4, later: int = 40, *, seed: int = 0) -> Sample:
    """What each good earned in each week, by season, price and promotion.

    Parameters
    ----------
    items: at most 12.
    weeks: of the past; `new`: to come; `later`: after these, when the truth is known again.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    names, count = _GOODS[:items], weeks + new + later
    weights, base = rng.integers(5, 25, items), rng.uniform(20, 60, items)
    favorite, elasticity = rng.integers(4, size=items), rng.uniform(0.8, 2.2, items)
    price = rng.uniform(0.7, 1.4, (count, items)).round(2)
    promoted = rng.random((count, items)) < 0.2
    season = np.arange(count) // 13 % 4
    # Effects multiply, and promotion counts for twice as much in a good's own season.
    liked = season[:, None] == favorite
    earned = base * price ** (1 - elasticity) * np.where(liked, 1.6, 1.0) * np.where(promoted, 1 + 0.5 * (1 + liked), 1)
    earned = earned * np.exp(0.15 * rng.standard_normal(earned.shape))
    rows = [
        (f"{2021 + w // 52}-W{w % 52 + 1:02}", name, _SEASONS[season[w]], float(price[w, i]),
         "yes" if promoted[w, i] else "no", float(earned[w, i]))
        for w in range(count) for i, name in enumerate(names)
    ]  # fmt: skip
    cut, end, header = weeks * items, (weeks + new) * items, ("week", "item", "season", "price", "promoted")
    files = {
        "items.csv": csv_text(("item", "weight"), [(name, int(w)) for name, w in zip(names, weights)]),
        "history.csv": csv_text((*header, "earned"), rows[:cut]),
        NEW: csv_text(header, [row[:-1] for row in rows[cut:end]]),
        LATER: csv_text(header, [row[:-1] for row in rows[end:]]),
        LATER_TRUTH: csv_text(("week", "item", "earned"), [(*row[:2], row[-1]) for row in rows[end:]]),
    }
    data = {"features": "history.csv", "key": "week", "variable": "item", "value": "earned", "units": "euros",
            "dates": False}  # fmt: skip
    problem = {"file": "items.csv", "name": "item", "weight": "weight", "capacity": int(weights.sum() // 2)}
    story = "A van is loaded for the market every week; what a good earns depends on season, price and promotion."
    return Sample("knapsack", story, files, {"problem": problem, "data": data, "training": TRAINING})


def top_k(areas: int = 12, days: int = 720, new: int = 7, later: int = 40, *, seed: int = 0) -> Sample:
    """How many calls came from each area on each day, by weekday, warmth and event.

    Parameters
    ----------
    areas: of the town.
    days: of the past; `new`: to come; `later`: after these, when the truth is known again.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    names, dates = [f"area {i + 1}" for i in range(areas)], calendar(days + new + later)
    warmth = (12 - 10 * np.cos(2 * np.pi * np.arange(len(dates)) / 365) + 4 * rng.standard_normal(len(dates))).round(1)
    event = rng.random(len(dates)) < 0.15
    free = np.array([date.weekday() >= 5 for date in dates])
    base, lake, hall = rng.uniform(8, 14, areas), rng.random(areas) < 0.4, rng.random(areas) < 0.3
    # Who goes to the lake goes on hot free days: neither warmth nor the weekday alone says so.
    hot = (warmth > 17) & free
    mean = base * (1 + np.where(hot[:, None] & lake, 1.4, 0.0) + np.where(event[:, None] & hall, 0.9, 0.0))
    calls = rng.poisson(mean)
    features = [(d, weekday(d), float(w), "yes" if e else "no") for d, w, e in zip(dates, warmth, event)]
    truth = [(d, *map(int, row)) for d, row in zip(dates, calls)]
    header = ("date", "weekday", "temperature", "event")
    files = {
        "areas.csv": csv_text(("area",), [(name,) for name in names]),
        "features.csv": csv_text(header, features[:days]),
        "calls.csv": csv_text(("date", *names), truth[:days]),
        NEW: csv_text(header, features[days : days + new]),
        LATER: csv_text(header, features[days + new :]),
        LATER_TRUTH: csv_text(("date", *names), truth[days + new :]),
    }
    data = {"features": "features.csv", "parameters": "calls.csv", "key": "date", "units": "calls"}
    problem = {"file": "areas.csv", "name": "area", "k": 3}
    story = "Three ambulances wait where most calls will come from; on hot free days that is the lake."
    return Sample("top-k", story, files, {"problem": problem, "data": data, "training": TRAINING})
