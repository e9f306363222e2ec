"""Coverage: which channels reach most customers, from a wide and a long file."""

from __future__ import annotations

import numpy as np

from foresolve.projects.samples.sample import LATER, LATER_TRUTH, NEW, TRAINING, Sample, csv_text

_CHANNELS = ("radio", "press", "posters", "mail", "cinema", "trams")


def channels(groups: int = 5, weeks: int = 120, new: int = 4, later: int = 40, *, seed: int = 0) -> Sample:
    """The share of each group of customers that each channel reached, by weather and holidays.

    Parameters
    ----------
    groups: of customers.
    weeks: of the past; `new`: to come; `later`: after these, when the truth is known again.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    names, count = [f"group {i + 1}" for i in range(groups)], weeks + new + later
    dates = [f"{2023 + w // 52}-W{w % 52 + 1:02}" for w in range(count)]
    holiday, sun = rng.random(count) < 0.25, rng.uniform(0, 60, count).round(1)
    base = rng.beta(1.2, 4.0, (len(_CHANNELS), groups))
    outdoors, away = np.array([0, 0, 1, 0, -1, 1.0]), rng.uniform(-2.0, 1.0, (len(_CHANNELS), groups))
    # Logits bend: the same sunshine moves a channel that reaches few much less.
    logits = np.log(base / (1 - base)) + outdoors[:, None] * ((sun - 30) / 20)[:, None, None]
    logits = logits + holiday[:, None, None] * away + 0.2 * rng.standard_normal((count, len(_CHANNELS), groups))
    reach = 1 / (1 + np.exp(-logits))
    features = [(d, "yes" if h else "no", float(s)) for d, h, s in zip(dates, holiday, sun)]
    rows = [
        (dates[w], channel, name, float(reach[w, i, j]))
        for w in range(count) for i, channel in enumerate(_CHANNELS) for j, name in enumerate(names)
    ]  # fmt: skip
    size, header = len(_CHANNELS) * groups, ("week", "holiday", "sunshine")
    files = {
        "channels.csv": csv_text(("channel",), [(name,) for name in _CHANNELS]),
        "customers.csv": csv_text(("group", "people"), [(name, int(rng.integers(50, 400))) for name in names]),
        "features.csv": csv_text(header, features[:weeks]),
        "reach.csv": csv_text(("week", "channel", "group", "reach"), rows[: weeks * size]),
        NEW: csv_text(header, features[weeks : weeks + new]),
        LATER: csv_text(header, features[weeks + new :]),
        LATER_TRUTH: csv_text(("week", "channel", "group", "reach"), rows[(weeks + new) * size :]),
    }
    data = {"features": "features.csv", "parameters": "reach.csv", "key": "week", "variable": ["channel", "group"],
            "value": "reach", "units": "people", "dates": False}  # fmt: skip
    problem = {"file": "channels.csv", "name": "channel", "k": 2, "targets": "customers.csv", "target": "group",
               "worth": "people"}  # fmt: skip
    story = "Two channels carry an advertisement every week; who has been reached by one is not reached again."
    return Sample("coverage", story, files, {"problem": problem, "data": data, "training": TRAINING})
