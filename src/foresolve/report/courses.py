"""How the networks of a run learned: the mean over its splits, at the budget of the figures."""

from __future__ import annotations

import math

from foresolve.learning.history import History, averaged
from foresolve.report.records import Course
from foresolve.report.view import RunView

LINES = 6  # more in one picture cannot be distinguished


def histories(run: RunView) -> dict[str, History]:
    """Regret and error of each method, in the order of the tables; of splits as far as all of them came."""
    return run.once("learning curves", _histories)


def shown(run: RunView) -> dict[str, History]:
    """All of them; where they are too many for one picture, those of the methods of the figures."""
    known = histories(run)
    main = {name: known[name] for name in run.info.figure_methods if name in known}
    return main if main and len(known) > LINES else known


def cut(run: RunView) -> bool:
    """Whether splits of a method stopped at different epochs."""
    return any(len({len(course["regret"]) for course in courses}) > 1 for courses in _courses(run).values())


def without(run: RunView) -> list[str]:
    """Methods that learn, of which nothing is known epoch by epoch."""
    known = _courses(run)
    return [name for name in run.methods if run.learned(name) and name not in known]


def _histories(run: RunView) -> dict[str, History]:
    return {name: averaged([_history(course) for course in courses]) for name, courses in _courses(run).items()}


def _courses(run: RunView) -> dict[str, list[Course]]:
    known: dict[str, list[Course]] = {name: [] for name in run.methods}
    for record in run.records:
        if record.k == run.accuracy_k and record.course:
            known[record.method].append(record.course)
    return {name: courses for name, courses in known.items() if courses}


def _history(course: Course) -> History:
    (start, *regret), (start_mse, *error) = course["regret"], course["mse"]
    history = History(monitor="regret", start=start, start_mse=start_mse, planned=len(regret))
    for share, squared in zip(regret, error):
        history.append(train_loss=math.nan, valid_regret=share, valid_mse=squared, skipped=0, seconds=0.0)
    return history
