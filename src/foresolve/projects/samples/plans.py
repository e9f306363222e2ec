"""A linear program from an MPS file: what to bake, where the prices of some goods are predicted."""

from __future__ import annotations

import numpy as np

from foresolve.projects.samples.sample import LATER, LATER_TRUTH, NEW, TRAINING, Sample, calendar, csv_text, weekday

_PLAN = """\
NAME          bakery
OBJSENSE
    MAX
ROWS
 N  worth
 L  flour
 L  oven
 L  hands
COLUMNS
    bread     worth     3.0    flour     1.0
    bread     oven      1.0    hands     0.5
    rolls     worth     3.5    flour     0.6
    rolls     oven      0.8    hands     1.2
    cakes     worth     6.0    flour     0.8
    cakes     oven      2.0    hands     1.5
    tarts     worth     5.0    flour     0.5
    tarts     oven      1.2    hands     2.0
    pasta     worth     2.0    flour     1.1
    pasta     hands     0.4
RHS
    RHS       flour     60.0   oven      55.0
    RHS       hands     70.0
BOUNDS
 UP BND       bread     40.0
 UP BND       rolls     40.0
 UP BND       cakes     15.0
 UP BND       tarts     20.0
 UP BND       pasta     30.0
ENDATA
"""
_PREDICTED = ("bread", "rolls", "cakes", "tarts")


def plans(days: int = 720, new: int = 7, later: int = 40, *, seed: int = 0) -> Sample:
    """The prices that goods fetched on past days, by weekday, warmth and visitors.

    Parameters
    ----------
    days: of the past; `new`: to come; `later`: after these, when the truth is known again.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    dates = calendar(days + new + later)
    warmth = (12 - 10 * np.cos(2 * np.pi * np.arange(len(dates)) / 365) + 3 * rng.standard_normal(len(dates))).round(1)
    visitors = rng.gamma(3.0, 40.0, len(dates)).round(0)
    free = np.array([date.weekday() >= 5 for date in dates])
    crowd = np.minimum(visitors / 150, 1.2)  # a full shop is full
    mean = np.stack(
        [
            3.0 + 0.8 * ~free,
            2.5 + 1.6 * crowd,
            4.0 + 4.5 * free * crowd,
            4.0 + 3.5 * (warmth > 15) * crowd,
        ],
        axis=1,
    )
    prices = mean * np.exp(0.12 * rng.standard_normal(mean.shape))
    features = [(d, weekday(d), float(w), int(v)) for d, w, v in zip(dates, warmth, visitors)]
    truth = [(d, *map(float, row)) for d, row in zip(dates, prices)]
    header = ("date", "weekday", "temperature", "visitors")
    files = {
        "plan.mps": _PLAN,
        "features.csv": csv_text(header, features[:days]),
        "prices.csv": csv_text(("date", *_PREDICTED), truth[:days]),
        NEW: csv_text(header, features[days : days + new]),
        LATER: csv_text(header, features[days + new :]),
        LATER_TRUTH: csv_text(("date", *_PREDICTED), truth[days + new :]),
    }
    data = {"features": "features.csv", "parameters": "prices.csv", "key": "date", "units": "euros"}
    problem = {"file": "plan.mps", "predict": list(_PREDICTED)}
    story = "A bakery plans the day within its flour, oven and hands; what most goods fetch is predicted."
    return Sample("mps", story, files, {"problem": problem, "data": data, "training": TRAINING})
